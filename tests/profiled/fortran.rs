//! Fortran programs, through each of Fortran's interfaces to MPI.

use common::{
    Launch, Mpi, check, fortran, fortran_library, library, mpi_shared_library, shared_library, wide_fortran,
    with_fortran,
};

const MPIF_H: u32 = 1;
const USE_MPI: u32 = 2;
const USE_MPI_F08: u32 = 3;

fn holds(interface: u32) {
    for mpi in Mpi::ALL {
        for ranks in [2, 4] {
            let launch = Launch::of(mpi, fortran(mpi, "fortran", interface)).preload(library());
            check(&launch.ranks(ranks).run().succeeded());
        }
    }
}

#[test]
fn mpif_h_is_counted() {
    holds(MPIF_H);
}

#[test]
fn the_module_mpi_is_counted() {
    holds(USE_MPI);
}

#[test]
fn the_module_mpi_f08_is_counted() {
    holds(USE_MPI_F08);
}

/// Under the names of MPI 4, or of Open MPI 4's extension.
#[test]
fn persistent_collectives_are_counted() {
    for mpi in Mpi::ALL {
        for interface in [MPIF_H, USE_MPI, USE_MPI_F08] {
            let launch = Launch::of(mpi, fortran(mpi, "persistent_init", interface)).preload(library());
            check(&launch.ranks(2).run().succeeded());
        }
    }
}

#[test]
fn every_compilers_way_to_write_a_name_is_known() {
    for mpi in Mpi::ALL {
        check(&Launch::of(mpi, with_fortran(mpi, "manglings")).preload(library()).run().succeeded());
    }
}

/// On each path of a call.
#[test]
fn requests_go_from_one_language_to_the_other() {
    for mpi in Mpi::ALL {
        for (name, value) in [("COMMSEE_SITES", "0"), ("COMMSEE_SITES", "1"), ("COMMSEE_TRACE", "1")] {
            for program in ["crossing", "at_once"] {
                let launch = Launch::of(mpi, with_fortran(mpi, program)).preload(library()).variable(name, value);
                check(&launch.ranks(1).run().succeeded());
            }
        }
    }
}

#[test]
fn functions_that_only_share_a_name_are_left_alone() {
    for mpi in Mpi::ALL {
        check(&Launch::new(mpi, "namesake_user").preload(shared_library("namesakes")).run().succeeded());
    }
}

#[test]
fn fortran_that_is_loaded_late_is_understood() {
    for mpi in Mpi::ALL {
        let plugin = fortran_library(mpi, "late");
        let launch = Launch::new(mpi, "late_host").arguments(&[plugin.to_str().expect("a path in UTF-8")]);
        check(&launch.run().succeeded());
    }
}

/// INTEGERs that are 8 bytes wide in the program, and 4 in the MPI library, with a library between them that translates. Where the MPI
/// library's Fortran calls C by its `MPI_` names, all is counted there.
#[test]
fn wide_integers_reach_the_library_that_translates_them() {
    for mpi in Mpi::ALL {
        let layer = mpi_shared_library(mpi, "wide_layer");
        for ranks in [2, 4] {
            let launch = Launch::of(mpi, wide_fortran(mpi, "wide", std::slice::from_ref(&layer))).ranks(ranks);
            let run = launch.preload(library()).run().succeeded();
            match mpi {
                Mpi::Mpich => check(&run),
                _ => assert!(run.stderr.contains("Fortran calls are not recorded"), "{}", run.output()),
            }
        }
    }
}

#[test]
fn what_a_tool_calls_in_a_fortran_call_is_counted_once() {
    for mpi in Mpi::ALL {
        let launch = Launch::of(mpi, with_fortran(mpi, "over_tool")).preload(library());
        check(&launch.preload(mpi_shared_library(mpi, "between")).run().succeeded());
    }
}
