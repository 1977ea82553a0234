//! Python functions and lines, against what the interpreter says: of each interpreter that is installed here.
#![cfg(all(not(miri), target_arch = "x86_64"))]

mod built;

use std::path::{Path, PathBuf};
use std::process::Command;

/// `python3` and those that pyenv keeps.
fn interpreters() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["/usr/bin/python3", "/usr/local/bin/python3"].map(PathBuf::from).to_vec();
    let home = std::env::var("HOME").unwrap_or_default();
    for version in std::fs::read_dir(Path::new(&home).join(".pyenv/versions")).into_iter().flatten().flatten() {
        found.push(version.path().join("bin/python3"));
    }
    found.retain(|path| path.exists());
    found
}

fn run(interpreter: &Path, library: &Path) -> (String, String) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/frames.py");
    let done = Command::new(interpreter).arg(program).arg(library).output().unwrap();
    (String::from_utf8_lossy(&done.stdout).into_owned(), String::from_utf8_lossy(&done.stderr).into_owned())
}

/// `3.11` for an interpreter of that version.
fn version(interpreter: &Path) -> Option<(u32, u32)> {
    let words = "import sys; print(*sys.version_info[:2])";
    let done = Command::new(interpreter).args(["-c", words]).output().ok()?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[test]
fn functions_and_lines_are_those_of_the_interpreter() {
    let (library, mut known) = (built::library(), 0);
    for interpreter in interpreters() {
        let Some(version) = version(&interpreter) else { continue };
        let (out, err) = run(&interpreter, &library);
        if ((3, 9)..=(3, 13)).contains(&version) {
            assert!(out.trim().parse::<u32>().is_ok_and(|checks| checks > 500), "{}: {err}", interpreter.display());
            known += 1;
        } else if version >= (3, 6) {
            // Of those that are not known nothing is read: the program ends where it compares for the first time.
            let (found, _) =
                err.split_once("expected\n").unwrap_or_else(|| panic!("{}: {out}{err}", interpreter.display()));
            assert!(found.starts_with("depth 0\nfound\n") && !found.contains("frames.py"), "{found}");
        }
    }
    assert!(known > 0, "no Python of 3.9 to 3.13");
}
