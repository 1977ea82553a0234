//! `./test` goes on after a failure, and ends with what failed and with totals. All commands that it calls are stand-ins.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

const PROGRAMS: [&str; 19] = [
    "cc",
    "gmx_mpi",
    "hpcc",
    "gfortran",
    "lmp",
    "mpicc.mpich",
    "mpicc.openmpi",
    "mpirun.mpich",
    "mpirun.openmpi",
    "munged",
    "nm",
    "NPmpich2",
    "slurmctld",
    "chromium",
    "valgrind",
    "ip",
    "unshare",
    "hostname",
    "g++",
];
/// Nothing is fetched.
const FAILING: [&str; 3] = ["python3", "python3-config", "pip3"];

/// Notes how it is called; says and returns what lies in the file of its command, where there is one.
const CARGO: &str = r#"#!/bin/bash
echo "${MPICC-} cargo $*" >>calls
case "$*" in
fmt*) name=fmt ;;
clippy*) name=clippy ;;
build*) name=build ;;
*--no-run*) name=no-run ;;
*groupbench\ --release*) name=groupbench ;;
*) name=workspace ;;
esac
[ ! -e "$name" ] || cat "$name"
exit "$(cat "$name.status" 2>/dev/null || echo 0)"
"#;

const PASSES: &str = "
     Running unittests src/lib.rs (target/release/deps/commsee-1)

running 2 tests
test a ... ok
test b ... ignored

test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests commsee

running 1 test
test src/lib.rs - (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

/// Two fail, of which one has printed what looks like totals, and a program dies.
const FAILS: &str = "
     Running unittests src/lib.rs (target/release/deps/commsee-1)

running 3 tests
test c::d ... FAILED
test a ... ok
test e ... FAILED

failures:

---- c::d stdout ----
    not a name
test result: ok. 100 passed; 100 failed; 100 ignored; 0 measured; 0 filtered out; finished in 0.00s

---- e stdout ----
assertion failed


failures:
    c::d
    e

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p commsee --lib`
     Running tests/dies.rs (target/release/deps/dies-2)

running 2 tests
error: test failed, to rerun pass `-p commsee --test dies`
     Running tests/later.rs (target/release/deps/later-3)

running 1 test
test f ... ok

test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: 2 targets failed:
    `-p commsee --lib`
    `-p commsee --test dies`
";

struct Clone {
    folder: TempDir,
}

impl Clone {
    fn new() -> Clone {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clone = Clone { folder };
        fs::create_dir_all(clone.path("bin")).unwrap();
        fs::create_dir_all(clone.path("scripts")).unwrap();
        fs::copy(super::workspace().join("test"), clone.path("test")).unwrap();
        for entry in fs::read_dir(super::workspace().join("scripts")).unwrap().map(|entry| entry.unwrap()) {
            if entry.path().is_file() {
                fs::copy(entry.path(), clone.path("scripts").join(entry.file_name())).unwrap();
            }
        }
        let stand_in = |name: &str, program: &str| symlink(program, clone.path("bin").join(name)).unwrap();
        PROGRAMS.iter().for_each(|name| stand_in(name, "/bin/true"));
        FAILING.iter().for_each(|name| stand_in(name, "/bin/false"));
        // What has no stand-in is not installed for these tests.
        stand_in("apt-get", "/bin/false");
        fs::write(clone.path("bin/cargo"), CARGO).unwrap();
        fs::set_permissions(clone.path("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        clone
    }

    /// As `git clone` may have it.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("my work/commsee").join(name)
    }

    /// What a command of cargo says, and its status.
    fn with(self, command: &str, output: &str, status: i32) -> Clone {
        fs::write(self.path(command), output).unwrap();
        fs::write(self.path(&format!("{command}.status")), status.to_string()).unwrap();
        self
    }

    fn test(&self, words: &[&str]) -> Output {
        let mut test = Command::new(self.path("test"));
        test.args(words).current_dir("/").env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        test.env("LIBCLANG_PATH", "/nowhere").env("COMMSEE_ANALYSIS", "/nowhere").env_remove("MPICC").output().unwrap()
    }

    /// The commands of cargo that ran tests.
    fn tested(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap();
        let is_run = |line: &&str| line.contains(" cargo test ") && !line.contains("--no-run");
        calls.lines().filter(is_run).map(str::to_owned).collect()
    }
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Lines of the form that continuous integration looks for.
fn totals(lines: &[String]) -> Vec<&String> {
    let is_count = |word: &str| word.parse::<u32>().is_ok();
    let is_total = |line: &&String| match line.split([' ', ',']).filter(|word| !word.is_empty()).collect::<Vec<_>>()[..]
    {
        [a, "passed", b, "failed", c, "skipped"] => [a, b, c].into_iter().all(is_count),
        _ => false,
    };
    lines.iter().filter(is_total).collect()
}

#[test]
fn totals_are_over_all_parts() {
    for (words, included, parts) in [(&[][..], "", 2), (&["--heavy"], " --include-ignored", 3)] {
        let clone = Clone::new().with("workspace", PASSES, 0).with("groupbench", PASSES, 0);
        let output = clone.test(words);
        let lines = lines(&output);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(totals(&lines), [&format!("{} passed, 0 failed, {parts} skipped", 2 * parts)]);
        assert_eq!(totals(&lines)[0], lines.last().unwrap());
        assert!(!lines.iter().any(|line| line.contains("failed:") || line.contains("failed tests")), "{lines:?}");
        let tested = clone.tested();
        assert_eq!(tested.len(), parts, "{tested:?}");
        assert!(tested.iter().all(|line| line.contains(&format!(" --no-fail-fast --{included}"))), "{tested:?}");
    }
}

#[test]
fn a_failure_hides_nothing_that_comes_after_it() {
    let clone = Clone::new().with("fmt", "", 1).with("clippy", "", 101);
    let clone = clone.with("workspace", FAILS, 101).with("groupbench", PASSES, 0);
    let output = clone.test(&[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(clone.tested().len(), 2);
    let lines = lines(&output);
    assert_eq!(totals(&lines), ["4 passed, 3 failed, 3 skipped"]);
    let end = lines.iter().position(|line| line == "failed tests:").expect("the names of failed tests");
    let dead = "    tests/dies.rs (target/release/deps/dies-2): ended without a result";
    assert_eq!(lines[end + 1..end + 4], ["    c::d", "    e", dead]);
    assert_eq!(
        lines[end + 4..],
        [
            "failed: cargo fmt",
            "failed: cargo clippy",
            "failed: cargo clippy for groupbench, openmpi",
            "failed: cargo test --release --workspace --exclude groupbench --no-fail-fast --",
            "4 passed, 3 failed, 3 skipped",
        ]
    );
}

/// What cargo cannot do beyond its tests, such as compile examples in documentation, is a failure as well.
#[test]
fn a_part_that_fails_without_a_failed_test_fails_all() {
    let clone = Clone::new().with("workspace", PASSES, 0).with("groupbench", "", 101);
    let output = clone.test(&[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(lines(&output).last().unwrap(), "2 passed, 0 failed, 1 skipped");
}

#[test]
fn a_failed_build_ends_at_once() {
    for command in ["build", "no-run"] {
        let clone = Clone::new().with("fmt", "", 1).with(command, "error: could not compile\n", 101);
        let output = clone.test(&[]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(clone.tested(), Vec::<String>::new());
        let lines = lines(&output);
        assert_eq!(totals(&lines), Vec::<&String>::new());
        assert_eq!(lines.last().unwrap(), "failed: cargo fmt");
        assert!(String::from_utf8_lossy(&output.stderr).contains("; no test has run\n"), "{output:?}");
    }
}
