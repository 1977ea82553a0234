//! What holds under Debian's MPI libraries holds under newer ones and under Intel MPI, which have their ABI. `./test` fetches MPICH 4.3 and Open MPI 5,
//! `./test --heavy` more; without them there is nothing to run.

use std::fmt::Write as _;
use std::panic::catch_unwind;
use std::path::PathBuf;

use common::{Kin, Launch, Mpi, Run, check, library, static_library, wide_fortran};

const WITH_TWO_RANKS: [&str; 9] =
    ["p2p", "persistent", "completion", "requests", "io", "partitioned", "phases", "threads", "inner"];
const WITH_FOUR_RANKS: [&str; 5] = ["collectives", "neighbors", "creators", "completes", "rma"];

fn launch(kin: &Kin, program: PathBuf) -> Launch {
    Launch::of(kin.mpi(), program).under(kin)
}

fn profiled(kin: &Kin, program: PathBuf, ranks: usize) -> Run {
    launch(kin, program).preload(library()).ranks(ranks).run().succeeded()
}

#[test]
fn programs_are_counted_exactly() {
    for kin in Kin::all() {
        for name in WITH_TWO_RANKS {
            check(&profiled(&kin, kin.compiled(name), 2));
        }
        // Of MPICH's family Intel MPI 2021.19 hangs in one and crashes in another without commsee.
        for name in WITH_FOUR_RANKS.into_iter().filter(|_| kin.mpi() == Mpi::OpenMpi) {
            check(&profiled(&kin, kin.compiled(name), 4));
        }
    }
}

/// Of what a library runs by itself. `scripts/versions.sh` runs it with many libraries, and makes the table in docs/explanation/tested.md of the
/// file: a line for each library and program.
#[test]
#[ignore = "minutes for each library"]
fn what_a_library_runs_by_itself_is_counted_exactly() {
    let programs = WITH_TWO_RANKS.map(|name| (name, 2)).into_iter().chain(WITH_FOUR_RANKS.map(|name| (name, 4)));
    let programs: Vec<(&str, usize)> = programs.collect();
    let mut lines = String::new();
    for kin in Kin::all() {
        for (name, ranks) in &programs {
            let run = |with: bool| {
                catch_unwind(|| {
                    let plain = launch(&kin, kin.compiled(name)).ranks(*ranks).limit(60);
                    if with {
                        check(&plain.preload(library()).run().succeeded())
                    } else {
                        drop(plain.run().succeeded())
                    }
                })
            };
            let outcome = match (run(true), run(false)) {
                (Ok(()), _) => "exact",
                (Err(_), Err(_)) => "fails",
                (Err(_), Ok(())) => "differs",
            };
            writeln!(lines, "{} {name} {outcome}", kin.name()).unwrap();
        }
    }
    if let Some(file) = std::env::var_os("COMMSEE_VERSIONS") {
        std::fs::write(file, &lines).expect("the file of outcomes");
    }
    assert!(!lines.contains("differs"), "{lines}");
}

/// Newer MPICHs have calls that tell of several requests.
#[test]
fn what_is_told_to_be_complete_is_counted_once() {
    for kin in Kin::all() {
        let launch = || launch(&kin, kin.compiled("revealed")).preload(library()).ranks(2);
        check(&launch().run().succeeded());
        check(&launch().arguments(&["threads"]).run().succeeded());
    }
}

/// Also of errors that a library tells of only to the program's own handler.
#[test]
fn errors_are_those_without_commsee() {
    for kin in Kin::all() {
        for (name, ranks) in [("errors", 2), ("wrong", 1)] {
            // Open MPI since 5.0.10 loses errors of MPI_Waitall that is given no statuses; commsee gives it some.
            let arguments: &[&str] = if kin.mpi() == Mpi::OpenMpi { &["with-statuses"] } else { &[] };
            let launch = || launch(&kin, kin.compiled(name)).arguments(arguments).ranks(ranks);
            let plain = launch().run().succeeded();
            let with = launch().preload(library()).run().succeeded();
            assert_eq!(plain.stdout, with.stdout, "{name} under {}", kin.name());
            // No count is below zero.
            with.profile();
        }
    }
}

/// Where the program passes no place for what a call tells, which MPICH since 4.2 may say to nobody but its handler. Open MPI crashes
/// there by itself.
#[test]
fn calls_without_a_place_for_their_result_end_as_without_commsee() {
    for kin in Kin::all().iter().filter(|kin| kin.mpi() == Mpi::Mpich && !kin.is_intel()) {
        let launch = || launch(kin, kin.compiled("nowhere")).ranks(1);
        let plain = launch().run().succeeded();
        for everything in ["0", "1"] {
            let with = launch().preload(library()).variable("COMMSEE_TRACE", everything);
            let with = with.variable("COMMSEE_SITES", everything).variable("COMMSEE_DATATYPES", everything);
            assert_eq!(plain.stdout, with.run().succeeded().stdout, "{}", kin.name());
        }
    }
}

/// All that a library is bound at once to is there before the program is.
#[test]
fn a_statically_linked_program_is_profiled() {
    let archive = static_library();
    let archive = archive.to_str().expect("a path in UTF-8");
    for kin in Kin::all() {
        let more = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-ldl", "-lm"];
        let program = kin.compiled_with("completion", &more);
        check(&launch(&kin, program).ranks(2).variable("LD_BIND_NOW", "1").run().succeeded());
    }
}

/// What MPI 4 added, of which Open MPI 4 has nothing.
#[test]
fn sessions_of_open_mpi_are_one_run() {
    for kin in Kin::all().iter().filter(|kin| kin.mpi() == Mpi::OpenMpi) {
        // In a second start Open MPI 5.0.11 crashes by itself.
        for how in ["one", "several", "beside", "across"] {
            let launch = launch(kin, kin.compiled("sessions")).arguments(&[how]);
            check(&launch.preload(library()).ranks(3).run().succeeded());
        }
    }
}

#[test]
fn wide_integers_reach_the_library_that_translates_them() {
    for kin in Kin::all().iter().filter(|kin| kin.is_intel()) {
        let libraries = ["libmpi_ilp64.so.4", "libmpifort.so.12", "libmpi.so.12"].map(|file| kin.library(file));
        let program = wide_fortran(Mpi::Mpich, "wide", &libraries);
        [2, 4].into_iter().for_each(|ranks| check(&profiled(kin, program.clone(), ranks)));
    }
}

/// Intel MPI has the standard ABI as well, and lacks some of its datatypes.
#[test]
fn programs_of_the_standard_abi_are_counted_exactly() {
    if Mpi::Standard.is_there() {
        for kin in Kin::all().iter().filter(|kin| kin.is_intel()) {
            let program = common::Program { name: "p2p", link: Vec::new() }.compiled(Mpi::Standard);
            check(&profiled(kin, program, 2));
        }
    }
}
