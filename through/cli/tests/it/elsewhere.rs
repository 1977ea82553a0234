//! What `through` writes for other programs, read by these: Parquet files, and the recipes of docs/howto/analyse-elsewhere.md. The
//! packages are installed, or in $COMMSEE_ANALYSIS, where `./test` puts DuckDB; what is missing is left out with a word.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{Folder, heat};

fn left_out(why: &str) {
    eprintln!("left out: {why}");
}

/// Runs a script of Python with the packages, or returns nothing where one of them is not there.
fn python(script: &str, packages: &[&str], folder: &Folder) -> Option<Output> {
    let run = |script: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", script]).current_dir(folder.0.path());
        python.env("PYTHONPATH", std::env::var_os("COMMSEE_ANALYSIS").unwrap_or_default());
        python.output().ok()
    };
    let import = format!("import {}", packages.join(", "));
    match run(&import).is_some_and(|output| output.status.success()) {
        true => run(script),
        false => {
            left_out(&format!("{} of Python (install it, or set COMMSEE_ANALYSIS)", packages.join(", ")));
            None
        }
    }
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The code of a section of the page.
fn recipe(title: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/howto/analyse-elsewhere.md");
    let page = fs::read_to_string(path).unwrap();
    let section = page.split(&format!("\n## {title}\n")).nth(1).expect("the section");
    let code = section.split(&format!("```{language}\n")).nth(1).expect("its code");
    let code = code.split("```").next().unwrap().to_owned();
    assert!(code.lines().filter(|line| !line.is_empty()).count() <= 10, "{title} has more than ten lines");
    code
}

fn profile() -> Folder {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    folder.through(&["heat.db", "-a", "--format", "parquet", "-o", "heat.parquet"]).ok();
    folder
}

/// Communicators with their time, heaviest first, as SQL has them.
fn expected(folder: &Folder) -> Vec<(String, f64)> {
    let sql = "SELECT comm, sum(time_s) AS s FROM profile GROUP BY comm ORDER BY s DESC";
    let rows = folder.through(&["sql", sql, "heat.db", "--format", "csv"]).csv();
    rows.iter().map(|row| (row["comm"].clone(), row["s"].parse().unwrap())).collect()
}

#[track_caller]
fn agrees(printed: &str, folder: &Folder) {
    let expected = expected(folder);
    let printed: Vec<(&str, f64)> = printed
        .lines()
        .map(|line| line.split_once(' ').map(|(comm, time)| (comm, time.trim().parse().unwrap())).unwrap())
        .collect();
    assert_eq!(printed.len(), expected.len(), "{printed:?}");
    for ((comm, time_s), (known, known_s)) in printed.iter().zip(&expected) {
        assert!(comm == known && (time_s - known_s).abs() < 1e-6, "{printed:?} and {expected:?}");
    }
}

#[test]
fn recipes_for_python_give_what_sql_gives() {
    for (title, packages) in [("pandas", &["pandas"][..]), ("polars", &["polars"]), ("DuckDB", &["duckdb"])] {
        let folder = profile();
        if let Some(output) = python(&recipe(title, "python"), packages, &folder) {
            agrees(&succeeded(&output), &folder);
        }
    }
}

#[test]
fn the_recipe_for_r_gives_what_sql_gives() {
    let there = Command::new("Rscript").args(["-e", "library(DBI); library(RSQLite)"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return left_out("R with DBI and RSQLite");
    }
    let folder = profile();
    let output = Command::new("Rscript").args(["-e", &recipe("R", "r")]).current_dir(folder.0.path()).output().unwrap();
    agrees(&succeeded(&output), &folder);
}

/// Compares a Parquet file with the CSV file of the same table, value by value, as two readers see it.
const COMPARE: &str = r#"
import csv, sys, math
import duckdb, polars

def values(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))

def same(text, value):
    if value is None:
        return text == ""
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, int):
        return int(text) == value
    if isinstance(value, float):
        return math.isclose(float(text), value, rel_tol=1e-15, abs_tol=0)
    return text == value

for name in NAMES:
    head, *rows = values(name + ".csv")
    by_duckdb = duckdb.sql(f"SELECT * FROM '{name}.parquet'")
    by_polars = polars.read_parquet(name + ".parquet")
    assert by_duckdb.columns == head == by_polars.columns, (name, head, by_duckdb.columns)
    for read in (by_duckdb.fetchall(), by_polars.rows()):
        assert len(read) == len(rows), (name, len(read), len(rows))
        for row, written in zip(read, rows):
            for column, value, text in zip(head, row, written):
                assert same(text, value), (name, column, value, text)
    print(name, len(rows), [str(kind) for kind in by_duckdb.types])
"#;

#[test]
fn parquet_holds_what_csv_holds() {
    let folder = profile();
    let views: [(&str, &[&str]); 8] = [
        ("all", &["-a"]),
        ("operations", &[]),
        ("communicators", &["-u"]),
        ("ranks", &["-e"]),
        ("matrix", &["traffic"]),
        ("efficiency", &["show", "--efficiency"]),
        ("advise", &["advise"]),
        ("hist", &["show", "--sizes"]),
    ];
    let mut names = Vec::new();
    for (name, words) in views {
        let (command, view): (&[&str], &[&str]) = match words {
            [first, ..] if !first.starts_with('-') => (words, &[]),
            _ => (&[], words),
        };
        for format in ["csv", "parquet"] {
            let file = format!("{name}.{format}");
            let words = [command, &["heat.db"], view, &["--format", format, "-o", &file]].concat();
            assert!(folder.through(&words).status < 2, "{name}");
        }
        let bytes = fs::read(folder.path(&format!("{name}.parquet"))).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name}");
        names.push(format!("'{name}'"));
    }
    let script = COMPARE.replace("NAMES", &format!("[{}]", names.join(", ")));
    let Some(output) = python(&script, &["duckdb", "polars"], &folder) else { return };
    let told = succeeded(&output);
    assert!(told.contains("all ") && !told.contains("all 0 "), "{told}");
    assert!(told.lines().all(|line| line.contains("BIGINT") || line.contains("DOUBLE")), "{told}");
}

/// More rows than a row group holds, and every kind of value that SQL has.
#[test]
fn parquet_keeps_kinds_nulls_and_many_rows() {
    let folder = profile();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) \
               SELECT i, CASE WHEN i % 3 THEN i / 2.0 END AS half, CASE WHEN i % 2 THEN 'ü' || i END AS text, \
               CASE i WHEN 7 THEN x'00ff' END AS bytes, NULL AS none, 9223372036854775807 AS great, \
               CASE WHEN i % 2 THEN 9007199254740993 ELSE 0.5 END AS mixed, i AS i FROM n";
    folder.through(&["sql", sql, "heat.db", "--format", "parquet", "-o", "many.parquet"]).ok();
    let script = r#"
import duckdb
table = duckdb.sql("SELECT * FROM 'many.parquet'")
print(dict(zip(table.columns, map(str, table.types))))
print(duckdb.sql("SELECT count(*), sum(i), count(half), sum(half), count(text), count(bytes), count(none), min(great), sum(i_2) FROM 'many.parquet'").fetchall())
print(duckdb.sql("SELECT text, bytes, mixed FROM 'many.parquet' WHERE i IN (7, 8) ORDER BY i").fetchall())
"#;
    let Some(output) = python(script, &["duckdb"], &folder) else { return };
    let told = succeeded(&output);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[0],
        "{'i': 'BIGINT', 'half': 'DOUBLE', 'text': 'VARCHAR', 'bytes': 'BLOB', 'none': 'VARCHAR', 'great': 'BIGINT', 'mixed': 'VARCHAR', 'i_2': 'BIGINT'}"
    );
    let halves = (1..=300_000u64).filter(|i| i % 3 > 0).map(|i| i as f64 / 2.0).sum::<f64>();
    let sum = 300_000u64 * 300_001 / 2;
    assert_eq!(lines[1], format!("[(300000, {sum}, 200000, {halves:?}, 150000, 1, 0, 9223372036854775807, {sum})]"));
    assert_eq!(lines[2], r"[('ü7', b'\x00\xff', '9007199254740993'), (None, None, '0.5')]");
}
