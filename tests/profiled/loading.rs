//! The ways in which a program comes to its profiler, preloading apart, and to its MPI library.

use std::path::Path;
use std::process::Command;

use common::{
    Kin, Launch, Mpi, Program, check, executable, execute, interpreter, library, library_file, plugin, root,
    static_library, temporary_folder,
};

/// Linked into the program instead of preloaded, the library counts the same.
#[test]
fn a_statically_linked_program_is_profiled() {
    let archive = static_library();
    let archive = archive.to_str().expect("a path in UTF-8");
    let link = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-ldl", "-lm"].map(str::to_owned).to_vec();
    for mpi in Mpi::ALL {
        for name in ["completion", "creators"] {
            let program = Program { name, link: link.clone() }.compiled(mpi);
            check(&Launch::of(mpi, program).ranks(4).run().succeeded());
        }
    }
}

/// The MPI library comes with a plugin whose symbols nobody else sees, as in interpreters.
#[test]
fn a_plugin_that_brings_mpi_is_profiled() {
    for mpi in Mpi::ALL {
        for name in ["p2p", "creators"] {
            let plugin = plugin(mpi, name);
            let launch = Launch::of(mpi, executable("host")).preload(library());
            check(&launch.ranks(4).arguments(&[plugin.to_str().expect("a path in UTF-8")]).run().succeeded());
        }
    }
}

/// Functions come from the handle of a library, as with Python's `ctypes`. It needs commsee first and then MPI, as docs/howto/languages.md
/// says.
#[test]
fn a_library_that_needs_both_is_profiled_by_its_handle() {
    let folder = tempfile::tempdir_in(temporary_folder()).expect("a temporary folder");
    for mpi in Mpi::ALL {
        let both = folder.path().join(format!("libmpi_commsee-{mpi}.so"));
        let mut link = Command::new("cc");
        link.args(["-shared", "-Wl,--no-as-needed", "-o"]).arg(&both).args([library(), library_file(mpi)]);
        assert!(execute(&mut link).status.success());
        let by = |library: &Path| {
            let script = root().join("tests/programs/by_handle.py");
            let words = [&script, library].map(|path| path.to_str().expect("a path in UTF-8"));
            Launch::of(mpi, interpreter()).arguments(&words).arguments(&[&mpi.to_string()])
        };
        check(&by(&both).run().succeeded());
        check(&by(&both).preload(library()).run().succeeded());
        by(&library_file(mpi)).run().succeeded();
    }
}

/// A library that has an ABI of its own and forwards all to an MPI library tells that one's version. Its programs run as without commsee.
#[test]
fn a_library_that_translates_is_left_alone() {
    let folder = tempfile::tempdir_in(temporary_folder()).expect("a temporary folder");
    let programs = root().join("tests/programs");
    let debian = Mpi::ALL.map(|mpi| (mpi.to_string(), mpi, None));
    let kin = Kin::all().into_iter().map(|kin| (kin.name().to_owned(), kin.mpi(), Some(kin)));
    for (name, mpi, kin) in debian.into_iter().chain(kin) {
        let real = kin.as_ref().map_or_else(|| library_file(mpi), Kin::mpi_library);
        let translating = folder.path().join(format!("libmpi_translating-{name}.so"));
        let mut compile = Command::new(mpi.compiler());
        compile.args(["-shared", "-fPIC", "-O1", "-Wall", &format!("-DLIBRARY=\"{}\"", real.display())]);
        let done = execute(
            compile.arg(programs.join("translating.c")).arg("-o").arg(&translating).args(["-Wl,--as-needed", "-ldl"]),
        );
        assert!(done.status.success(), "{}", done.stderr);
        let program = folder.path().join(format!("translated-{name}"));
        let done =
            execute(Command::new("cc").arg(programs.join("translated.c")).arg(&translating).arg("-o").arg(&program));
        assert!(done.status.success(), "{}", done.stderr);
        let launch = || kin.iter().fold(Launch::of(mpi, program.clone()).ranks(3), Launch::under);
        assert_eq!(launch().run().succeeded().stdout, "3 ranks\n", "{name}");
        let run = launch().preload(library()).run().succeeded();
        assert_eq!(run.stdout, "3 ranks\n", "{name}: {}", run.output());
        assert_eq!(run.stderr.matches("another ABI").count(), 1, "{name}: {}", run.output());
        assert!(!run.profile_path().exists(), "{name}");
    }
}
