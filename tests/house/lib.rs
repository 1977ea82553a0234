//! The order of the rooms: no folder imports another that imports it, in any crate of the workspace. What a folder
//! stands on can then be read, tested and changed without it (docs/architecture.md). And what each package is held to.

#![cfg(test)]

mod circles;
mod packaging;
mod runner;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use circles::{Rooms, circles};
use source::Crate;

/// Crates in which no two files of a folder import each other either.
const DOWN_TO_FILES: &[&str] = &["commsee", "commsee-profiler", "commsee-ucx"];

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace")
}

struct Target {
    package: String,
    manifest: PathBuf,
    root: PathBuf,
    /// Whether `cargo test` runs the tests that are in it. Build scripts have none, and lie beside others' tests.
    is_tested: bool,
}

fn metadata() -> Value {
    let done = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(done.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("cargo metadata is JSON")
}

/// Libraries, programs and build scripts of the workspace: what is not there for tests or benchmarks.
fn targets() -> Vec<Target> {
    let metadata = metadata();
    let mut targets = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        for target in package["targets"].as_array().expect("targets") {
            let kinds = target["kind"].as_array().expect("kinds");
            if kinds.iter().any(|kind| ["test", "bench", "example"].iter().any(|other| kind == other)) {
                continue;
            }
            targets.push(Target {
                package: package["name"].as_str().expect("a name").to_owned(),
                manifest: package["manifest_path"].as_str().expect("a manifest").into(),
                root: target["src_path"].as_str().expect("a file").into(),
                is_tested: target["test"] == true || kinds.iter().any(|kind| kind == "custom-build"),
            });
        }
    }
    targets
}

#[test]
fn no_folder_imports_one_that_imports_it() {
    let base = workspace();
    let targets = targets();
    assert!(targets.len() >= 5, "only {} crates were found", targets.len());
    let mut wrong = String::new();
    for target in &targets {
        let rooms = if DOWN_TO_FILES.contains(&target.package.as_str()) { Rooms::Files } else { Rooms::Folders };
        for circle in circles(&Crate::read(&target.root), rooms, base) {
            wrong += &format!("{}: a circle {circle}", target.package);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A library that links with no MPI library cannot be a test of itself.
#[test]
fn no_test_is_where_none_is_run() {
    let mut untested = 0;
    for target in targets().iter().filter(|target| !target.is_tested) {
        untested += 1;
        let mut folders = vec![target.root.parent().expect("a folder").to_owned()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).expect("a source");
                    assert!(!text.contains("#[test]"), "{} is never run: {}", target.package, path.display());
                }
            }
        }
    }
    assert!(untested > 0);
}

/// The lints that ask of every unsafe block why it is sound are denied for the workspace, which only holds for packages that say so.
#[test]
fn what_is_built_by_default_needs_no_mpi_library() {
    let metadata = metadata();
    let defaults = metadata["workspace_default_members"].as_array().expect("default members");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let built: Vec<&Value> = packages.filter(|package| defaults.contains(&package["id"])).collect();
    assert!(built.len() >= 4, "{defaults:?}");
    for package in built {
        for needed in package["dependencies"].as_array().expect("dependencies") {
            let name = needed["name"].as_str().expect("a name");
            assert!(!["mpi", "mpi-sys", "build-probe-mpi"].contains(&name), "{} needs {name}", package["name"]);
        }
    }
}

#[test]
fn every_package_takes_the_lints_of_the_workspace() {
    for target in targets() {
        let manifest = fs::read_to_string(&target.manifest).expect("a manifest");
        assert!(
            manifest.contains("\n[lints]\nworkspace = true\n"),
            "{}: needs `lints.workspace = true`",
            target.manifest.display()
        );
    }
}

/// Writes a crate into a folder, from the names and contents of its files.
fn house(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = house(files);
    circles(&Crate::read(&folder.path().join("lib.rs")), Rooms::Folders, folder.path())
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let forms = [
        "use crate::upper::U;",
        "use crate::{upper::{other, U}};",
        "use super::upper::U as V;",
        "use crate::upper::*;",
        "fn f() -> crate::upper::U { todo!() }",
        "fn f() { use crate::upper::U; }",
        "fn f() { assert!(crate::upper::U::is()); }",
        "mod inner { use super::super::upper::U; }",
        "macro_rules! m { () => { use $crate::{upper::U}; } }",
        // By what the root hands on, under its own name, another, or as one of many.
        "use crate::U;",
        "use crate::W;",
        "use crate::front::U;",
    ];
    for form in forms {
        let circles = circles_of(&[
            ("lib.rs", "mod upper; mod lower; mod front;\npub use upper::U; pub use upper::U as W;"),
            ("front.rs", "pub use crate::upper::*;"),
            ("upper/mod.rs", "pub mod deep; pub struct U; impl U { pub fn is() -> bool { true } } pub mod other {}"),
            ("upper/deep.rs", "use crate::lower;"),
            ("lower.rs", form),
        ]);
        assert_eq!(circles.len(), 1, "{form}");
        assert!(circles[0].starts_with("in crate: lower, upper\n"), "{form}: {}", circles[0]);
        assert!(
            circles[0].contains("upper/deep.rs:1: crate::lower") && circles[0].contains("lower.rs:1: "),
            "{}",
            circles[0]
        );
    }
}

#[test]
fn folders_in_a_folder_may_not_form_one_either() {
    let circles = circles_of(&[
        ("lib.rs", "mod outer;"),
        ("outer/mod.rs", "mod a; mod b; mod c;"),
        ("outer/a/mod.rs", "mod one; pub fn f() {}"),
        ("outer/a/one.rs", "use super::super::b::deep::g;"),
        ("outer/b/mod.rs", "pub mod deep;"),
        ("outer/b/deep.rs", "use crate::outer::c::x::h; pub fn g() {}"),
        ("outer/c/mod.rs", "pub mod x;"),
        ("outer/c/x.rs", "pub fn h() { crate::outer::a::f() }"),
    ]);
    assert_eq!(circles.len(), 1, "{circles:?}");
    assert!(circles[0].starts_with("in crate::outer: a, b, c\n"), "{}", circles[0]);
}

#[test]
fn what_only_tests_import_and_what_is_handed_on_ties_no_circle() {
    let circles = circles_of(&[
        ("lib.rs", "mod upper; mod lower;\npub use upper::U; pub struct Root;"),
        ("upper.rs", "use crate::{lower::L, Root}; pub struct U; pub enum E { A }"),
        (
            "lower.rs",
            "pub struct L; pub(in crate::upper) struct M; mod upper { pub struct U; } use self::upper::U;\n\
             #[cfg(test)] use crate::upper::E;\n#[cfg(test)] mod tests { use crate::upper::U; }\n\
             #[cfg(all(test, unix))] mod more { use crate::upper::U; }",
        ),
    ]);
    assert!(circles.is_empty(), "{circles:?}");
}
