//! What tests build: the library that tells who called it, and C programs.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that tells who called it.
pub fn library() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet", "-p", "commsee-sites", "--example", "inspect"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    assert!(cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    // Beside the folder of the tests.
    std::env::current_exe().unwrap().parent().unwrap().with_file_name("examples").join("libinspect.so")
}

/// An empty folder of a test's own.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Builds a program of `programs/`.
pub fn compile(source: &str, program: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let done = Command::new("cc").arg(source).arg("-o").arg(program).args(options).output().expect("cc");
    assert!(done.status.success(), "{options:?}: {}", String::from_utf8_lossy(&done.stderr));
}
