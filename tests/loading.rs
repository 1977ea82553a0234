//! The ways in which a program comes to its profiler, preloading apart, and to its MPI library.

use common::{Launch, Mpi, Program, check, executable, library, plugin, static_library};

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
