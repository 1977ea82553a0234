//! `groupbench.h`: programs in C, linked with either library, under the MPI library that this was compiled for.

#[allow(dead_code)]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Done, PROGRAM, alone, done, launcher};

/// Compiled without a warning; `is_static`: with the archive.
fn compiled(source: &str, folder: &Path, is_static: bool) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Where cargo leaves the libraries that it makes for tests.
    let libraries = Path::new(PROGRAM).parent().unwrap().join("deps");
    let program = folder.join(if is_static { "static" } else { "shared" });
    let mut command = Command::new(env!("GROUPBENCH_MPICC"));
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-I"]).arg(own).arg(own.join(source));
    command.arg("-o").arg(&program);
    match is_static {
        true => command.arg(libraries.join("libgroupbench.a")).args(["-ldl", "-lpthread", "-lm"]),
        false => {
            command.arg("-L").arg(&libraries).arg(format!("-Wl,-rpath,{}", libraries.display())).arg("-lgroupbench")
        }
    };
    let compiled = command.output().unwrap();
    assert!(compiled.status.success(), "{source}: {}", String::from_utf8_lossy(&compiled.stderr));
    program
}

fn job(ranks: usize, program: &Path, words: &[&str]) -> Done {
    let _alone = alone();
    done(launcher(ranks).arg(program).args(words).output().unwrap())
}

#[test]
fn a_program_in_c_composes_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    for is_static in [false, true] {
        let program = compiled("examples/stripe.c", folder.path(), is_static);
        // Three libraries, and such as keep messages in memory of their own.
        for library in ["shared/twosided/put", "persistent", "get/alltoallv", "alltoallv/shared/twosided"] {
            let ran = job(4, &program, &[library]).succeeded();
            assert!(ran.stdout.starts_with("0 bytes wrong in 3 rounds"), "{library}: {}", ran.stdout);
        }
        let unknown = job(4, &program, &["pigeon"]);
        assert!(
            unknown.status != Some(0) && unknown.stderr.contains("stripe: \"pigeon\" is no library"),
            "{}",
            unknown.stderr
        );
    }
}

#[test]
fn errors_have_a_code_and_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("tests/c/errors.c", folder.path(), false);
    let ran = job(2, &program, &[]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.matches("0 differing").count(), 2, "{}", ran.stdout);
}

/// A structure or a function that one side has otherwise than the other would be found by chance only.
#[test]
fn the_header_is_one_of_cpp_too() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("header.cpp");
    let text = "#include <groupbench.h>\nstatic_assert(sizeof(groupbench_place) == 16 && sizeof(groupbench_times) == 64, \"as in Rust\");\n";
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(env!("GROUPBENCH_MPICC"));
    command.args(["-x", "c++", "-std=c++11", "-Wall", "-Werror", "-fsyntax-only", "-I", env!("CARGO_MANIFEST_DIR")]);
    let compiled = command.arg(&source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}
