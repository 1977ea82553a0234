//! What the tutorials and guides tell a reader to type works as it is typed, on the programs that ship.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::{Launch, Mpi, Profile, execute, execute_within_s, library, root, through};
use tempfile::TempDir;

/// It prepares what the others use.
const FIRST: &str = "tutorial/first-profile.md";

const PAGES: &[&str] = &[
    "tutorial/first-finding.md",
    "tutorial/tune-a-collective.md",
    "howto/slice.md",
    "howto/find-the-line.md",
    "howto/find-the-reason.md",
    "howto/compare-runs.md",
    "howto/rank-order.md",
    "howto/report.md",
    "howto/timeline.md",
    "howto/analyse-elsewhere.md",
    "howto/which-command.md",
    "reference/cheat-sheet.md",
];

/// First words of what a reader types into a shell.
const COMMANDS: &[&str] = &["mpicc", "mpirun", "through", "target/release/through", "export", "sh", "wc"];

/// What tests do not have.
const OTHERS: &[&str] = &["flamegraph.pl", "dot -T"];

/// The commands of a page: those after `$ `, blocks of `sh`, and lines of blocks without a language that begin as a command does.
fn commands(page: &str) -> Vec<String> {
    let (mut found, mut fence) = (Vec::new(), None);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            if fence.is_none() && language == "sh" {
                found.push(String::new());
            }
            fence = if fence.is_some() { None } else { Some(language) };
            continue;
        }
        match fence {
            Some("sh") => *found.last_mut().expect("its block") += &format!("{line}\n"),
            // Some are shown for their error.
            Some("console") if lines.peek().is_some_and(|next| next.starts_with("through: ")) => {}
            Some("console") => found.extend(line.strip_prefix("$ ").map(str::to_owned)),
            Some(_) => {}
            None => found.extend(line.strip_prefix("    ").filter(|line| is_command(line)).map(str::to_owned)),
        }
    }
    found.retain(|command| !OTHERS.iter().any(|other| command.contains(other)));
    found
}

fn is_command(line: &str) -> bool {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let first = line.split(' ').find(|word| !word.starts_with("COMMSEE_")).unwrap_or_default();
    COMMANDS.contains(&first)
}

/// One shell runs them all, and names each that fails.
fn script(commands: &[String]) -> String {
    let mut script = ": >failed\n".to_owned();
    for command in commands {
        let command = command.strip_prefix("$ ").unwrap_or(command);
        script += &format!(
            "\n{}\nstatus=$?; case $status in 0) ;; *) echo \"== $status: \"{} ;; esac >>failed\n",
            command.trim_end(),
            quoted(command)
        );
    }
    script
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.trim_end().replace('\'', "'\\''"))
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join("docs").join(page)).expect("the page")
}

/// A folder like a clone in which `cargo build --release` has run, with Open MPI's commands under the names that pages use.
fn clone(folder: &Path) {
    fs::create_dir_all(folder.join("target")).expect("a folder");
    fs::create_dir_all(folder.join("bin")).expect("a folder");
    symlink(root().join("examples"), folder.join("examples")).expect("a link");
    symlink(through().parent().expect("a folder"), folder.join("target/release")).expect("a link");
    for command in ["mpicc", "mpirun"] {
        let which = execute(Command::new("sh").args(["-c", &format!("command -v {command}.openmpi")])).stdout;
        symlink(which.trim(), folder.join("bin").join(command)).expect("a link");
    }
}

fn temporary() -> TempDir {
    tempfile::Builder::new().prefix("commsee-test-").tempdir().expect("a temporary folder")
}

/// The commands that fail when they are typed in a folder, with all that they say.
fn typed(page: &str, commands: &[String], folder: &Path) -> String {
    fs::write(folder.join("page.sh"), script(commands)).expect("a script");
    let path = format!("{}/bin:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let mut shell = Command::new("sh");
    shell.arg("page.sh").current_dir(folder).env("PATH", path).env("COMMSEE_DIR", folder);
    shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    shell.env("OMPI_MCA_mpi_yield_when_idle", "1").env("OMPI_MCA_orte_tmpdir_base", folder);
    let done = execute_within_s(&mut shell, 600);
    let failed = fs::read_to_string(folder.join("failed")).expect("what failed");
    if failed.is_empty() { failed } else { format!("{page}:\n{failed}\n{}\n{}\n", done.stdout, done.stderr) }
}

#[test]
fn what_the_pages_tell_to_type_works() {
    Mpi::OpenMpi.demand();
    let first = commands(&read(FIRST));
    assert!(first.len() > 5, "{first:?}");
    let prepared = temporary();
    clone(prepared.path());
    let mut all = typed(FIRST, &first, prepared.path());
    let settings: Vec<String> = first.into_iter().filter(|command| command.starts_with("export ")).collect();
    for page in PAGES {
        let own = commands(&read(page));
        assert!(!own.is_empty(), "{page} has no commands");
        let folder = temporary();
        let copied = Command::new("cp").arg("-a").arg(prepared.path().join(".")).arg(folder.path()).status();
        assert!(copied.expect("cp").success());
        all += &typed(page, &[&settings[..], &own].concat(), folder.path());
    }
    assert!(all.is_empty(), "{all}");
}

#[test]
fn the_heat_equation_takes_what_the_pages_give_it() {
    let source = root().join("examples/heat.c");
    for mpi in Mpi::ALL {
        mpi.demand();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("heat");
        let mut compiler = Command::new(mpi.compiler());
        compiler.args(["-Wall", "-Wextra", "-Werror", "-O2", "-g", "-o"]).arg(&program).arg(&source).arg("-lm");
        let compiled = execute(compiler.args(mpi.compiler_flags()));
        assert!(compiled.status.success(), "{mpi}: {}", compiled.stderr);
        let launch =
            |words: &[&str]| Launch::of(mpi, program.clone()).preload(library()).ranks(4).arguments(words).run();
        let profile: Profile =
            launch(&["--grid", "2x2", "--cells", "64", "--steps", "20", "--uneven"]).succeeded().profile();
        let mut labels: Vec<String> = profile.communicators.iter().filter_map(|comm| comm.label.clone()).collect();
        labels.sort();
        labels.dedup();
        assert_eq!(labels, ["column", "grid", "output", "row"], "{mpi}");
        for wrong in [&["--grid", "4x2"][..], &["--grid", "2"], &["--steps", "0"], &["--cells"], &["512"]] {
            let run = launch(wrong);
            assert_eq!(run.status.code(), Some(2), "{mpi} {wrong:?}: {}", run.output());
            assert!(run.stderr.contains("usage: heat [--grid"), "{mpi} {wrong:?}: {}", run.output());
        }
    }
}
