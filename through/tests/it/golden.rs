//! Profiles of older versions stay readable. `tests/golden/version-N.db` was written by the version that had schema N, and
//! `version-N.csv` is what `through -a` made of it then, `version-N-VIEW.csv` what other views did.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Answer, Folder};

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name)
}

#[test]
fn version_1_says_what_it_said() {
    let folder = Folder::empty();
    fs::copy(golden("version-1.db"), folder.path("old.db")).unwrap();
    let csv = folder.through(&["-a", "--format", "csv"]).ok();
    // Columns that came later stand at the end, and are empty.
    let without_phase: Vec<&str> = csv.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
    assert_eq!(without_phase, fs::read_to_string(golden("version-1.csv")).unwrap().lines().collect::<Vec<_>>());
    assert!(csv.lines().skip(1).all(|line| line.ends_with(',')));

    let rows = folder.through(&["--phases", "--format", "csv"]).csv();
    assert_eq!((rows.len(), rows[0]["phase"].as_str(), rows[0]["ranks_calling"].as_str()), (1, "", "2"));
    let all: f64 =
        folder.through(&["-u", "--format", "csv"]).csv().iter().map(|row| row["mpi_s"].parse::<f64>().unwrap()).sum();
    assert!((all - rows[0]["mpi_s"].parse::<f64>().unwrap()).abs() < 1e-9);
    let in_none = folder.through(&["-a", "--phase", "", "--format", "csv"]).ok();
    assert_eq!(in_none.lines().count(), csv.lines().count());
    for view in ["--top=0", "-a", "-u", "-e", "--phases"] {
        for format in ["table", "csv", "json"] {
            assert!(!folder.through(&[view, "--format", format]).ok().is_empty());
        }
    }
    assert_eq!(folder.through(&["--datatypes"]).status, 1);
    assert_eq!(folder.through(&["--phase", "solve"]).status, 2);
}

/// What all views say of a profile of this version.
fn says_what_it_said(version: u32) {
    let folder = Folder::empty();
    fs::copy(golden(&format!("version-{version}.db")), folder.path("old.db")).unwrap();
    for (name, words) in [
        ("cells", &["-a"][..]),
        ("operations", &["--top=0"]),
        ("communicators", &["-u"]),
        ("ranks", &["-e"]),
        ("phases", &["--phases"]),
        ("datatypes", &["--datatypes"]),
        ("outside", &["-a", "--phase="]),
    ] {
        let csv = folder.through(&[words, &["--format", "csv"]].concat()).ok();
        let said = fs::read_to_string(golden(&format!("version-{version}-{name}.csv"))).unwrap();
        // Columns that came later stand at the end, and are empty.
        let columns = |line: Option<&str>| line.unwrap_or_default().split(',').count();
        let later = columns(csv.lines().next()) - columns(said.lines().next());
        let names = csv.lines().next().unwrap();
        assert!(names.starts_with(said.lines().next().unwrap()), "{version} {name}: {names}");
        let rows: Vec<&str> = csv.lines().skip(1).collect();
        let wanted: Vec<String> = said.lines().skip(1).map(|line| line.to_owned() + &",".repeat(later)).collect();
        assert_eq!(rows, wanted, "{version} {name}");
    }
}

#[test]
fn version_2_says_what_it_said() {
    says_what_it_said(2);
}

#[test]
fn version_3_says_what_it_said() {
    says_what_it_said(3);
}

#[test]
fn version_4_says_what_it_said() {
    says_what_it_said(4);
}

#[test]
fn version_5_says_what_it_said() {
    says_what_it_said(5);
}

#[test]
fn version_6_says_what_it_said() {
    says_what_it_said(6);
}

#[test]
fn version_7_says_what_it_said() {
    says_what_it_said(7);
}

/// What layers below MPI did, and the timeline, with so many calls and operations, and arrows between them. Columns that came later do not
/// count.
fn says_what_it_said_of_layers(version: u32, drawn: [usize; 2]) {
    let folder = Folder::empty();
    fs::copy(golden(&format!("version-{version}-layers.db")), folder.path("old.db")).unwrap();
    for (name, words) in
        [("layers", &["ucx"][..]), ("transfers", &["ucx", "--all"]), ("between", &["matrix", "--layer", "made-up"])]
    {
        let csv = folder.through(&[words, &["--format", "csv"]].concat()).csv();
        let path = golden(&format!("version-{version}-{name}.csv"));
        let said = Answer { status: 0, out: fs::read_to_string(path).unwrap(), err: String::new() }.csv();
        assert_eq!(csv.len(), said.len(), "{name}");
        for (row, said) in csv.iter().zip(&said) {
            said.iter().for_each(|(column, value)| assert_eq!(row.get(column), Some(value), "{name}: {column}"));
        }
    }
    let devices = folder.through(&["graph", "--of=devices"]).ok();
    assert_eq!(devices, fs::read_to_string(golden(&format!("version-{version}-devices.dot"))).unwrap());
    folder.through(&["trace", "-o", "trace.json"]);
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(folder.path("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    // Arrows begin and end.
    assert_eq!((of("X"), of("s"), of("f")), (drawn[0], drawn[1], drawn[1]));
}

#[test]
fn version_4_says_what_it_said_of_layers() {
    says_what_it_said_of_layers(4, [448, 300]);
}

#[test]
fn version_5_says_what_it_said_of_layers() {
    says_what_it_said_of_layers(5, [448, 300]);
}

#[test]
fn version_6_says_what_it_said_of_layers() {
    says_what_it_said_of_layers(6, [448, 300]);
}

#[test]
fn version_7_says_what_it_said_of_layers() {
    says_what_it_said_of_layers(7, [448, 300]);
}

#[test]
fn version_8_says_what_it_said() {
    says_what_it_said(8);
}

#[test]
fn version_8_says_what_it_said_of_layers() {
    says_what_it_said_of_layers(8, [448, 300]);
}
