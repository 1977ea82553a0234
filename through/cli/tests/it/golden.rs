//! What `through` says of a profile stays as it is. `tests/golden/version-1.db` is what four ranks of `tests/programs/phases.c` left
//! with `COMMSEE_DATATYPES=1`, and `version-1-layers.db` those of `hooked.c` with the module `made_up.c` and `COMMSEE_TRACE=1`;
//! `version-1-VIEW.csv` is what a view says of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Folder;

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn says_what_it_said(profile: &str, name: &str, words: &[&str]) {
    let folder = Folder::empty();
    fs::copy(golden(profile), folder.path("run.db")).unwrap();
    assert_eq!(folder.through(words).ok(), fs::read_to_string(golden(name)).unwrap(), "{name}");
}

#[test]
fn views_say_what_they_said() {
    for (view, words) in [
        ("cells", &["-a"][..]),
        ("operations", &["--top=0"]),
        ("communicators", &["-u"]),
        ("ranks", &["-e"]),
        ("phases", &["--phases"]),
        ("datatypes", &["--datatypes"]),
        ("outside", &["-a", "--phase="]),
    ] {
        says_what_it_said("version-1.db", &format!("version-1-{view}.csv"), &[words, &["--format", "csv"]].concat());
    }
}

/// What layers below MPI did.
#[test]
fn views_of_layers_say_what_they_said() {
    for (view, words) in [
        ("layers", &["layers"][..]),
        ("transfers", &["layers", "--all"]),
        ("between", &["traffic", "--layer", "made-up"]),
    ] {
        let words = [words, &["--format", "csv"]].concat();
        says_what_it_said("version-1-layers.db", &format!("version-1-{view}.csv"), &words);
    }
    says_what_it_said("version-1-layers.db", "version-1-devices.dot", &["traffic", "--graph", "--by=device"]);
}

/// So many calls and operations, and arrows between them.
#[test]
fn the_timeline_is_drawn_as_it_was() {
    let folder = Folder::empty();
    fs::copy(golden("version-1-layers.db"), folder.path("run.db")).unwrap();
    folder.through(&["export", "perfetto", "-o", "trace.json"]);
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(folder.path("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    // Arrows begin and end.
    assert_eq!((of("X"), of("s"), of("f")), (448, 300, 300));
}
