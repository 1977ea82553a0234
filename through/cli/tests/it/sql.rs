//! `through sql` and `through sql --schema`.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{Folder, heat};

fn folder() -> Folder {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    folder
}

const VALUES: &str = "SELECT 'a\tb' AS text, 1 AS n, NULL AS none, 9223372036854775807 AS great, 0.1 AS r, 2.0 AS whole, x'00Ff' AS bytes";

#[test]
fn every_format_has_every_kind_of_value() {
    let folder = folder();
    let ask = |format: &str| folder.through(&["sql", VALUES, "heat.db", "--format", format]).ok();
    assert_eq!(
        ask("table"),
        "text  n  none                great    r  whole  bytes\n\
         a\\tb  1  null  9223372036854775807  0.1    2.0  00FF\n"
    );
    assert_eq!(ask("csv"), "text,n,none,great,r,whole,bytes\na\\tb,1,,9223372036854775807,0.1,2.0,00FF\n");
    assert_eq!(
        ask("json"),
        "[{\"text\":\"a\\tb\",\"n\":1,\"none\":null,\"great\":9223372036854775807,\"r\":0.1,\"whole\":2.0,\"bytes\":\"00FF\"}]\n"
    );
    // No row is an answer as well.
    let none = folder.through(&["sql", "SELECT comm FROM profile WHERE 0", "heat.db", "--format", "json"]);
    assert_eq!((none.status, none.out.as_str()), (0, "[]\n"));
    assert_eq!(folder.through(&["sql", "SELECT 1 AS a, 2 AS a", "--format", "csv"]).ok(), "a,a_2\n1,2\n");
}

/// Other commands take the profile first.
#[test]
fn the_profile_may_come_first() {
    let folder = folder();
    assert_eq!(folder.through(&["sql", "heat.db", "SELECT 1 AS a", "--format", "csv"]).ok(), "a\n1\n");
    let answer = folder.through(&["sql", "heat.db"]);
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("through sql 'SELECT … FROM profile' heat.db"), "{}", answer.err);
}

#[test]
fn the_format_follows_the_name_of_the_file() {
    let folder = folder();
    for (name, begin) in [("out.csv", "a\n1\n"), ("out.json", "["), ("out.parquet", "PAR1")] {
        folder.through(&["sql", "SELECT 1 AS a", "-o", name]).ok();
        let content = std::fs::read(folder.path(name)).unwrap();
        assert!(content.starts_with(begin.as_bytes()), "{name}: {}", String::from_utf8_lossy(&content));
    }
}

#[test]
fn only_one_statement_is_run_and_only_to_read() {
    let folder = folder();
    let before = fs::read(folder.path("heat.db")).unwrap();
    for (sql, why) in [
        ("SELECT comm FORM profile", "near \"profile\": syntax error, at character 18 (profile)"),
        ("SELECT nonsense FROM profile", "no such column: nonsense, at character 8 (nonsense FROM profile)"),
        ("SELECT 'ü', nonsense FROM profile", "at character 13 (nonsense"),
        ("SELECT 1; SELECT 2", "a second statement at character 11 (SELECT 2)"),
        ("SELECT 1; nonsense", "a second statement at character 11 (nonsense)"),
        ("SELECT", "incomplete input"),
        ("", "there is no statement"),
        ("/* nothing */", "there is no statement"),
        ("SELECT ?1", "the parameter ?1 has no value"),
        ("DELETE FROM cell", "read only"),
        ("CREATE TEMP TABLE t (x)", "read only"),
        ("ATTACH 'other.db' AS other", "read only"),
        ("VACUUM INTO 'other.db'", "read only"),
        ("PRAGMA user_version = 3", "read only"),
        ("PRAGMA journal_mode = WAL", "read only"),
        ("BEGIN", "read only"),
        ("SELECT load_extension('x')", "no such function: load_extension"),
        ("SELECT abs(-9223372036854775807 - 1)", "integer overflow"),
    ] {
        let answer = folder.through(&["sql", sql, "heat.db", "-o", "out.txt"]);
        assert_eq!((answer.status, answer.out.as_str()), (2, ""), "{sql}: {}", answer.err);
        assert!(answer.err.lines().count() == 1 && answer.err.contains(why), "{sql}: {}", answer.err);
    }
    assert_eq!(folder.names(), ["heat.db"]);
    assert_eq!(fs::read(folder.path("heat.db")).unwrap(), before);
    for sql in
        ["SELECT 1;", "SELECT 1; -- done\n ", "VALUES (1)", "WITH a AS (SELECT 1) SELECT * FROM a", "EXPLAIN SELECT 1"]
    {
        assert_eq!(folder.through(&["sql", sql, "heat.db"]).status, 0, "{sql}");
    }
    assert!(folder.through(&["sql", "PRAGMA table_info(ranks)", "heat.db"]).ok().contains("wall_s"));
    assert!(folder.through(&["sql", "SELECT name FROM pragma_table_info('ranks')", "heat.db"]).ok().contains("wall_s"));
}

#[test]
fn it_answers_what_the_views_answer() {
    let folder = folder();
    let sql = "SELECT comm, op, sum(calls) AS calls FROM profile GROUP BY comm, op ORDER BY comm, op";
    let asked = folder.through(&["sql", sql, "heat.db", "--format", "csv"]).csv();
    let mut shown = std::collections::BTreeMap::<(String, String), i64>::new();
    for row in folder.through(&["heat.db", "-a", "--format", "csv"]).csv() {
        *shown.entry((row["comm"].clone(), row["op"].clone())).or_default() += row["calls"].parse::<i64>().unwrap();
    }
    let asked: Vec<_> =
        asked.iter().map(|row| ((row["comm"].clone(), row["op"].clone()), row["calls"].parse().unwrap())).collect();
    assert_eq!(asked, shown.into_iter().collect::<Vec<_>>());
}

/// What a view takes more steps for than a profile may, the user may.
#[test]
fn rows_come_one_by_one() {
    let folder = folder();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'some text that takes memory' FROM n";
    for format in ["table", "csv", "json"] {
        // Without an end: only what is read is computed, and a reader who has enough ends it. Kept, so many rows would take more memory.
        let line = format!(
            "ulimit -v 262144; \"$T\" sql \"$Q\" heat.db --format {format} | head -n 3000000 | wc -l; echo ${{PIPESTATUS[0]}}"
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(folder.0.path()).env("T", env!("CARGO_BIN_EXE_through")).env("Q", sql);
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "3000000\n0\n", "{format}: {said}");
    }
}

#[test]
fn the_schema_says_what_everything_means() {
    let folder = folder();
    let text = folder.through(&["sql", "--schema", "heat.db", "--format", "json"]).ok();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let sql = "SELECT type || ' ' || name AS what FROM sqlite_schema WHERE type IN ('view', 'table') ORDER BY 1";
    let there = folder.through(&["sql", sql, "heat.db", "--format", "csv"]).csv();
    let mut told = Vec::new();
    for relation in schema["relations"].as_array().unwrap() {
        let (name, kind) = (relation["name"].as_str().unwrap(), relation["kind"].as_str().unwrap());
        told.push(format!("{kind} {name}"));
        assert!(relation["meaning"].as_str().is_some_and(|text| !text.is_empty()), "{name} means what?");
        for column in relation["columns"].as_array().unwrap() {
            let meaning = column["meaning"].as_str().unwrap_or_default();
            assert!(kind == "table" || !meaning.is_empty(), "{name}.{} means what?", column["name"]);
            assert!(!meaning.contains("](") && !meaning.contains('`'), "{meaning}");
        }
    }
    told.sort();
    assert_eq!(told, there.iter().map(|row| row["what"].clone()).collect::<Vec<_>>());
    let table = folder.through(&["sql", "--schema", "heat.db"]).ok();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let wrong = folder.through(&["sql", "--schema=nonsense", "heat.db"]);
    assert!(
        wrong.status == 2 && wrong.err.contains("there are ") && wrong.err.contains(" call_sites,"),
        "{}",
        wrong.err
    );
}
