//! Where output goes, and what it must not do there.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::{Builder, Did, Folder, heat};

#[test]
fn a_file_is_written_and_replaced() {
    let folder = Folder::with_sample();
    for format in ["csv", "json", "table"] {
        let printed = folder.through(&["--format", format]).ok();
        fs::write(folder.path("out"), "before").unwrap();
        assert_eq!(folder.through(&["--format", format, "-o", "out"]).ok(), "");
        assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), printed);
    }
    assert_eq!(folder.names(), ["out", "sample.db"]);
    assert_eq!(folder.through(&["-o", "-"]).ok(), folder.through(&[]).ok());
    assert_eq!(folder.through(&["-o", "/dev/null"]).ok(), "");
}

/// Of every command that writes several formats.
#[test]
fn the_name_of_a_file_tells_the_format() {
    let folder = Folder::with_sample();
    let commands: [&[&str]; 7] = [
        &["sample.db"],
        &["compare", "sample.db", "b.db"],
        &["compare", "sample.db", "b.db"],
        &["traffic", "heat.db"],
        &["traffic", "--reorder", "heat.db"],
        &["show", "--flat", "sample.db"],
        &["sql", "SELECT * FROM ranks", "sample.db"],
    ];
    fs::copy(folder.path("sample.db"), folder.path("b.db")).unwrap();
    heat(&folder.path("heat.db"));
    for words in commands {
        for format in ["csv", "json"] {
            let file = format!("out.{format}");
            let named = folder.through(&[words, &["-o", &file]].concat());
            let asked = folder.through(&[words, &["--format", format]].concat());
            assert_eq!(named.status, asked.status, "{words:?}: {}", named.err);
            assert_eq!(fs::read_to_string(folder.path(&file)).unwrap_or_default(), asked.out, "{words:?}");
            let _ = fs::remove_file(folder.path(&file));
        }
    }
    for command in [["sql", "--schema"], ["traffic", "--graph"]] {
        let asked = folder.through(&[&command[..], &["heat.db", "--format", "json"]].concat()).ok();
        folder.through(&[&command[..], &["heat.db", "-o", "out.json"]].concat()).ok();
        assert_eq!(fs::read_to_string(folder.path("out.json")).unwrap(), asked, "{command:?}");
    }
    folder.through(&["compare", "sample.db", "b.db", "-o", "out.csv", "--format", "table"]).ok();
    assert!(fs::read_to_string(folder.path("out.csv")).unwrap().starts_with("first run"));
}

#[test]
fn a_database_is_never_overwritten() {
    let folder = Folder::with_sample();
    let before = fs::read(folder.path("sample.db")).unwrap();
    let answer = folder.through(&["sample.db", "--format", "csv", "-o", "sample.db"]);
    assert_eq!((answer.status, answer.err.lines().count()), (2, 1));
    assert!(fs::read(folder.path("sample.db")).unwrap() == before);
}

#[test]
fn what_cannot_be_written_is_told_in_one_line() {
    let folder = Folder::with_sample();
    for file in [".", "missing/out.csv", "/dev/full"] {
        let answer = folder.through(&["--format", "csv", "-o", file]);
        assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{file}: {}", answer.err);
    }
    let full = folder.command(&["-a"]).stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
    assert_eq!(full.status.code(), Some(2));
    for words in [&["--help"][..], &["compare", "--help"], &["--version"]] {
        let full =
            folder.command(words).stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
        assert_eq!(full.status.code(), Some(2), "{words:?}");
        assert_eq!(String::from_utf8(full.stderr).unwrap().lines().count(), 1, "{words:?}");
    }
    assert_eq!(folder.names(), ["sample.db"]);
}

#[test]
fn a_reader_may_stop_early() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("large.db"), 3000);
    profile.comm("W0.0", None, None, 3000, "0-2999");
    for rank in 0..3000 {
        for op in ["MPI_Barrier", "MPI_Send", "MPI_Recv"] {
            profile.cell("W0.0", op, 0, rank, Did(1, 1, 1, 1));
        }
    }
    profile.finish(|_| 1);
    for format in ["table", "csv", "json"] {
        let mut child =
            folder.command(&["-a", "--format", format]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{format}");
    }
}

#[test]
fn names_from_a_profile_do_not_steer_the_terminal() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 1);
    let hostile = "\u{1b}]0;title\u{7}\u{202e}\u{9b}31m\r\n\u{8}";
    profile.meta("command", hostile);
    profile.meta("mpi_library", hostile);
    profile.meta("start_time", hostile);
    profile.meta("lost_calls", hostile);
    profile.comm(&format!("s{hostile}"), Some(hostile), None, 1, hostile);
    profile.cell(&format!("s{hostile}"), "MPI_Barrier", 0, 0, Did(1, 0, 0, 5));
    profile.finish(|_| 10);
    for words in [
        &[][..],
        &["-a"],
        &["-u"],
        &["-e"],
        &["--comm", hostile],
        &["--comm", "none"],
        &["--op", hostile],
        &["--op", "send"],
    ] {
        let answer = folder.through(words);
        for text in [&answer.out, &answer.err] {
            let is_harmless = |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
            assert!(text.chars().all(is_harmless), "{words:?}: {text:?}");
        }
    }
    let exact = folder.through(&["--format", "json"]).json();
    assert_eq!(exact["communicators"][0]["label"], hostile);
}

#[test]
fn help_and_version() {
    let folder = Folder::empty();
    assert!(folder.through(&["--help"]).ok().contains("Examples:"));
    assert!(folder.through(&["--version"]).ok().starts_with("through "));
    assert_eq!(folder.through(&["--no-such-option"]).status, 2);
}

/// Programs get each text as it is; what a person opens holds no formula and no date.
#[test]
fn a_spreadsheet_finds_text_where_there_is_text() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 8);
    for (name, label) in [("s4.1", "=1+1"), ("s4.2", "+a"), ("s4.3", "-2-3"), ("s4.4", "@SUM(1)"), ("s4.5", "ähre")] {
        profile.comm(name, Some(label), None, 4, "4-7");
        (4..8).for_each(|rank| profile.cell(name, "MPI_Barrier", 0, rank, Did(1, 0, 0, 1)));
    }
    profile.finish(|_| 1000);
    let cells = |text: &str| -> Vec<[String; 3]> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let names = reader.headers().unwrap().clone();
        let at = |name: &str| names.iter().position(|one| one == name).unwrap();
        let columns = [at("comm"), at("label"), at("ranks")];
        let row = |row: csv::StringRecord| columns.map(|column| row[column].to_owned());
        let mut rows: Vec<_> = reader.records().map(|record| row(record.unwrap())).collect();
        rows.sort();
        rows
    };
    let exact = ["=1+1", "+a", "-2-3", "@SUM(1)", "ähre"].map(|label| [label.to_owned(), "4-7".to_owned()]);
    let found = |text: &str| cells(text).into_iter().map(|[_, label, ranks]| [label, ranks]).collect::<Vec<_>>();
    assert_eq!(found(&folder.through(&["-u", "--format", "csv"]).ok()), exact);
    let sheet = folder.through(&["-u", "--format", "spreadsheet"]).ok();
    let safe = ["'=1+1", "'+a", "'-2-3", "'@SUM(1)", "ähre"].map(|label| [label.to_owned(), "'4-7".to_owned()]);
    assert_eq!(found(sheet.strip_prefix('\u{feff}').unwrap()), safe);
    let sql = "SELECT label AS '=name', ranks, size FROM communicators WHERE comm = 's4.3'";
    let asked = |format: &str| folder.through(&["sql", sql, "--format", format]).ok();
    assert_eq!(asked("csv"), "=name,ranks,size\n-2-3,4-7,4\n");
    assert_eq!(asked("spreadsheet"), "\u{feff}'=name,ranks,size\n'-2-3,'4-7,4\n");
    let [rows, sheet] = ["csv", "spreadsheet"].map(|format| folder.through(&["export", format]).ok());
    assert_eq!((rows.lines().count(), sheet.lines().count()), (21, 21));
    opened(&folder);
}

/// What LibreOffice makes of it for a British reader, where it is installed: it writes the results of formulas, and dates as days.
fn opened(folder: &Folder) {
    let home = format!("-env:UserInstallation=file://{}", folder.path("office").display());
    let again = |format: &str| {
        fs::write(folder.path("sheet.csv"), folder.through(&["-u", "--format", format]).ok()).unwrap();
        let mut office = Command::new("soffice");
        office.args(["--headless", &home, "--infilter=Text - txt - csv (StarCalc):44,34,76,1,,2057,false,true"]);
        office.args(["--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76", "--outdir", "out", "sheet.csv"]);
        let office = office.current_dir(folder.path("")).output().ok()?;
        assert!(office.status.success(), "{office:?}");
        Some(fs::read_to_string(folder.path("out/sheet.csv")).unwrap())
    };
    let Some(exact) = again("csv") else {
        return eprintln!("skipped: LibreOffice is not installed (Debian package libreoffice-calc-nogui)");
    };
    assert!(!exact.contains("=1+1") && !exact.contains("4-7"), "{exact}");
    let sheet = again("spreadsheet").unwrap();
    for text in ["'=1+1", "'+a", "'-2-3", "'@SUM(1)", "ähre"] {
        assert_eq!(sheet.matches(&format!(",{text},")).count(), 1, "{text}: {sheet}");
    }
    assert_eq!(sheet.matches(",'4-7").count(), 5, "{sheet}");
}
