//! The wheel for pip, from what was built: what it puts where, that this works from there, and that it is the same each time. `./release` makes it of libraries
//! for older systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Done, Mpi, Program, execute, root, target_folder};
use tempfile::TempDir;

fn succeeded(done: Done) -> String {
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    done.stdout
}

/// The wheel of an installation, in a folder below.
fn wheel(folder: &Path, name: &str) -> PathBuf {
    let out = folder.join(name);
    fs::create_dir(&out).unwrap();
    let mut pack = Command::new("python3");
    pack.arg(root().join("scripts/release/wheel.py")).arg(folder.join("root")).args(["0.1.0", std::env::consts::ARCH]);
    PathBuf::from(succeeded(execute(pack.arg(&out).env("SOURCE_DATE_EPOCH", "1700000000"))).trim())
}

/// Below a folder, by its last components.
fn find(folder: &Path, end: &str) -> PathBuf {
    let found = execute(Command::new("find").arg(folder).args(["-path", &format!("*/{end}")]));
    PathBuf::from(found.stdout.lines().next().unwrap_or_else(|| panic!("no {end} in {}", folder.display())))
}

fn installed() -> TempDir {
    let folder = tempfile::Builder::new().prefix("commsee-test-").tempdir().expect("a temporary folder");
    let mut install = Command::new(root().join("install"));
    install.args(["--no-build", "--prefix"]).arg(folder.path().join("root"));
    succeeded(execute(install.env("CARGO_TARGET_DIR", target_folder()).env_remove("DESTDIR")));
    let wheel = wheel(folder.path(), "dist");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--prefix"]).arg(folder.path().join("prefix"));
    succeeded(execute(pip.arg(wheel)));
    folder
}

#[test]
fn a_wheel_brings_the_command_its_libraries_and_the_package() {
    let folder = installed();
    let prefix = folder.path().join("prefix");
    let through = find(&prefix, "bin/through");
    let package = find(&prefix, "commsee/__init__.py");
    let packages = package.parent().and_then(Path::parent).unwrap();
    let python = |words: &[&str]| {
        let mut python = Command::new("python3");
        execute(python.args(words).env("PYTHONPATH", packages).env_remove("COMMSEE_LIB").current_dir(folder.path()))
    };

    let mpi = Mpi::ALL[0];
    let program = Program { name: "halo", link: Vec::new() }.compiled(mpi);
    let mut by_command = mpi.run_by(&through, &["-o", "run.db"], 2);
    succeeded(execute(
        by_command.arg(&program).args(["2", "0", "3"]).env_remove("COMMSEE_LIB").current_dir(folder.path()),
    ));
    let program = program.display().to_string();
    succeeded(python(&["-m", "commsee", "run", "-o", "module.db", "--", &program, "1", "0", "3"]));

    for file in ["run.db", "module.db"] {
        let script = format!("import commsee; run = commsee.read('{file}'); print('profile' in run.views, run)");
        assert_eq!(succeeded(python(&["-c", &script])), format!("True commsee.read('{file}')\n"));
    }
    fs::write(folder.path().join("none.db"), "none").unwrap();
    for (file, what) in [
        ("none.db", "ValueError: none.db: no profile of commsee"),
        ("no.db", "FileNotFoundError: no.db: there is no such file"),
    ] {
        let done = python(&["-c", &format!("import commsee; commsee.read('{file}')")]);
        assert!(!done.status.success() && done.stderr.contains(what), "{}", done.stderr);
    }

    // With pandas, where it is.
    let has_pandas = python(&["-c", "import pandas"]).status.success();
    let script = "import commsee; run = commsee.read('run.db'); print(len(run.ranks['rank']), sorted(run.matrix.columns), run.sql('SELECT 1 AS a').a[0])";
    let done = python(&["-c", script]);
    match has_pandas {
        true => assert_eq!(succeeded(done), "2 ['bytes', 'calls', 'comm', 'dst', 'op', 'src'] 1\n"),
        false => assert!(done.stderr.contains("ImportError: pandas is missing: pip install pandas"), "{}", done.stderr),
    }
}

#[test]
fn a_wheel_is_the_same_each_time() {
    let folder = installed();
    let again = wheel(folder.path(), "again");
    let first = folder.path().join("dist").join(again.file_name().unwrap());
    assert!(fs::read(first).unwrap() == fs::read(again).unwrap(), "two wheels of one installation differ");
}
