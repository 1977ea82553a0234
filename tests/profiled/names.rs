//! A function is there for a program exactly if it is there without the profiler: for weak references and `dlsym`, in C and Fortran,
//! wherever the MPI library was loaded.

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Mpi, demand, execute, library, mpi_symbols, root, static_library};

fn programs() -> PathBuf {
    root().join("tests/programs")
}

/// Compiles for an MPI library, or without one.
fn compile(compiler: &str, output: &Path, arguments: &[&str]) {
    demand(compiler, compiler);
    let made = execute(Command::new(compiler).args(arguments).arg("-o").arg(output));
    assert!(made.status.success(), "{compiler} {arguments:?}:\n{}", made.stderr);
}

struct Said {
    stdout: String,
    stderr: String,
}

fn run(program: &Path, arguments: &[&str], now: bool, preload: bool) -> Said {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("LD_PRELOAD").env_remove("LD_BIND_NOW");
    if now {
        command.env("LD_BIND_NOW", "1");
    }
    if preload {
        command.env("LD_PRELOAD", library());
    }
    let done = execute(&mut command);
    assert!(done.status.success(), "{}: {}\n{}{}", program.display(), done.status, done.stdout, done.stderr);
    Said { stdout: done.stdout, stderr: done.stderr }
}

/// With the profiler and without it, bound lazily and at once: the same answers, and nothing else is said.
fn is_the_same(program: &Path, arguments: &[&str]) -> String {
    let plain = run(program, arguments, false, false);
    for now in [false, true] {
        let profiled = run(program, arguments, now, true);
        assert_eq!(plain.stdout, profiled.stdout, "bound at once: {now}");
        assert_eq!(plain.stderr, profiled.stderr, "bound at once: {now}");
    }
    assert_eq!(plain.stdout.matches("references that differ: 0").count(), plain.stdout.matches("differ").count());
    plain.stdout
}

fn answers(text: &str, name: &str) -> Vec<bool> {
    let about = |line: &&str| line.contains(&format!(" {name}: "));
    text.lines().filter(about).map(|line| !line.contains("reference 0")).collect()
}

fn has(mpi: Mpi, name: &str) -> bool {
    mpi_symbols(mpi).contains(name)
}

#[test]
fn names_are_there_where_the_library_has_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (asks, asking) = (programs().join("asks.c"), programs().join("asking.c"));
    let (asks, asking) = (asks.to_str().unwrap(), asking.to_str().unwrap());
    for mpi in Mpi::ALL {
        for compiler in [mpi.compiler(), mpi.fortran_compiler()] {
            // What asks is the program, or a library that is relocated before ours is.
            let program = folder.path().join(format!("program-{compiler}"));
            compile(compiler, &program, &["-Wl,--no-as-needed", "-w", asks, asking]);
            let text = is_the_same(&program, &[]);
            for name in ["MPI_Send", "MPI_Isendrecv", "MPI_Bcast_init", "MPIX_Bcast_init"] {
                assert_eq!(answers(&text, name), [has(mpi, name)], "{name}: {text}");
            }
            for flags in [&["-Wl,-z,lazy"][..], &["-Wl,-z,now", "-Wl,-z,relro"]] {
                let part = folder.path().join(format!("libasks-{compiler}-{}.so", flags.len()));
                compile("cc", &part, &[&["-w", "-shared", "-fPIC", asks], flags].concat());
                let program = folder.path().join(format!("linked-{compiler}-{}", flags.len()));
                let library = part.to_str().unwrap();
                // Whether it calls MPI itself or not, its MPI library is loaded with it.
                compile(compiler, &program, &["-Wl,--no-as-needed", "-w", asking, library]);
                is_the_same(&program, &[]);
            }
        }
    }
}

#[test]
fn names_come_with_a_library_that_is_opened_later() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (asks, asking) = (programs().join("asks.c"), programs().join("asking.c"));
    let (asks, asking) = (asks.to_str().unwrap(), asking.to_str().unwrap());
    let program = folder.path().join("program");
    compile("cc", &program, &["-w", asks, asking, "-ldl"]);
    for mpi in Mpi::ALL {
        let plugin = folder.path().join(format!("plugin-{mpi}.so"));
        compile(mpi.compiler(), &plugin, &["-Wl,--no-as-needed", "-w", "-shared", "-fPIC", asks]);
        let (plugin, library) = (plugin.to_str().unwrap(), mpi.library());
        let text = is_the_same(&program, &[plugin, library, "global"]);
        let known: Vec<bool> = answers(&text, "MPI_Send_c");
        assert_eq!((known.first(), known.last()), (Some(&false), Some(&has(mpi, "MPI_Send_c"))), "{text}");
        // In a scope of its own a library is not seen by `dlsym` without us, and is with us; plugins see it either way.
        let [plain, profiled] = [false, true].map(|preload| run(&program, &[plugin, library, "local"], false, preload));
        let of_plugin = |said: &Said| -> Vec<String> {
            let lines = said.stdout.lines().filter(|line| line.starts_with("plugin: "));
            lines.map(|line| line.split(", dlsym").next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(of_plugin(&plain), of_plugin(&profiled));
    }
}

/// A process without MPI, whatever asks.
#[test]
fn without_mpi_there_is_no_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (asks, asking) = (programs().join("asks.c"), programs().join("asking.c"));
    let program = folder.path().join("program");
    compile("cc", &program, &["-w", asks.to_str().unwrap(), asking.to_str().unwrap(), "-ldl"]);
    let text = is_the_same(&program, &[]);
    assert!(!text.contains("reference 1") && !text.contains("dlsym 1"), "{text}");
}

/// Linked into the program, where what is in every library is there in any case.
#[test]
fn names_of_the_archive_are_there_where_the_library_has_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (asks, asking) = (programs().join("asks.c"), programs().join("asking.c"));
    let archive = static_library();
    let link = ["-Wl,--whole-archive", archive.to_str().unwrap(), "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm"];
    for mpi in Mpi::ALL {
        let program = folder.path().join(format!("program-{mpi}"));
        let sources = ["-Wl,--no-as-needed", "-w", asks.to_str().unwrap(), asking.to_str().unwrap()];
        compile(mpi.compiler(), &program, &[&sources[..], &link].concat());
        let known = ["MPI_Isendrecv", "MPI_Send_c"].map(|name| (name, has(mpi, name)));
        let expected = [&[("MPI_Send", true), ("MPI_SEND", false)][..], &known].concat();
        // Bound at once, an MPI library that refers to its own functions is bound before the program is.
        for now in [false, true] {
            let text = run(&program, &[], now, false).stdout;
            for (name, expected) in &expected {
                assert_eq!(answers(&text, name), [*expected], "{name} under {mpi}, bound at once: {now}: {text}");
            }
        }
    }
}
