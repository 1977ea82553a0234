//! No case of `cargo bench --bench percall` takes more instructions than its ceiling. The counts are those of valgrind's callgrind, which has
//! no clock: they are the same on a busy machine. Ceilings leave room for other versions of compilers and MPI libraries, and for simpler
//! code: below them no line is spent on speed.

#[path = "../benches/percall/cases.rs"]
#[allow(dead_code)]
mod cases;
#[path = "../benches/common/mod.rs"]
mod common;
#[path = "../benches/percall/count.rs"]
mod count;
#[path = "../benches/percall/job.rs"]
#[allow(dead_code)]
mod job;

use std::thread;

use self::common::{Library, Mpi, installed};
use ::common::{library, skip};
use cases::{CASES, Case, Recording};
use count::{instructions, is_counted};
use job::Programs;

/// Instructions that commsee may add to an iteration of a case, under each MPI library.
const CEILINGS: &[(&str, f64)] = &[
    ("send_proc_null", 160.0),
    ("iprobe", 100.0),
    ("test_null", 120.0),
    ("test_inactive", 300.0),
    ("testany_16_pending", 950.0),
    ("sendrecv_self", 190.0),
    ("bcast_self", 130.0),
    ("barrier_self", 100.0),
    ("allreduce_self", 120.0),
    ("allreduce_dup", 120.0),
    ("allreduce_4_comms", 160.0),
    ("allreduce_64_comms", 160.0),
    ("allreduce_2_sizes", 600.0),
    ("allreduce_2_datatypes", 500.0),
    ("isend_irecv_waitall_self", 1_050.0),
    ("isend_irecv_waitall_4_comms", 1_150.0),
    ("isend_irecv_waitall_64_comms", 1_250.0),
    ("isend_irecv_wait_each", 1_150.0),
    ("2_isend_2_irecv_waitall", 1_750.0),
    ("4_irecv_isend_waitall", 3_500.0),
    ("2_isend_2_irecv_waitall_2_comms", 2_700.0),
    ("16_isend_16_irecv_waitany", 51_000.0),
    ("32_isend_32_irecv_waitall", 23_000.0),
    ("startall_waitall", 1_850.0),
    ("start_wait_each", 1_600.0),
    ("startall_16_waitany", 38_000.0),
    ("isend_mprobe_mrecv_wait", 1_100.0),
    ("neighbor_allgather", 500.0),
    ("improbe", 120.0),
    ("pcontrol_allreduce", 1_200.0),
    ("waitall_64_null", 240.0),
    ("put_flush", 260.0),
    // Handles of Open MPI are addresses: some sixty instructions more or less.
    ("dup_free", 660.0),
    ("allreduce_4_threads", 120.0),
    ("isend_irecv_waitall_4_threads", 1_800.0),
    ("handed_over_4_threads", 1_250.0),
    ("send_proc_null_fortran", 280.0),
    ("allreduce_self_fortran", 270.0),
    ("allreduce_dup_fortran", 270.0),
    ("isend_irecv_waitall_self_fortran", 1_600.0),
    ("send_proc_null_timeline", 450.0),
    ("allreduce_self_timeline", 450.0),
    ("send_proc_null_datatypes", 230.0),
    ("allreduce_self_datatypes", 360.0),
    ("send_proc_null_sites", 360.0),
    ("allreduce_self_sites", 350.0),
    ("isend_irecv_waitall_self_sites", 2_100.0),
    ("allreduce_self_fortran_sites", 550.0),
    ("send_proc_null_ucx", 160.0),
    ("allreduce_self_ucx", 120.0),
    ("sendrecv_self_ucx", 2_200.0),
    ("isend_irecv_waitall_self_ucx", 2_650.0),
    ("32_isend_32_irecv_waitall_ucx", 84_000.0),
    ("send_proc_null_paused", 20.0),
    ("test_null_paused", 90.0),
    ("send_proc_null_disabled", 20.0),
    ("test_null_disabled", 20.0),
];

#[test]
fn no_case_takes_more_instructions_than_its_ceiling() {
    if cfg!(debug_assertions) {
        return skip("instructions of a debug build are not judged: cargo test --release");
    }
    if !installed("valgrind", "valgrind") {
        return skip("no instructions are counted: install valgrind");
    }
    let complaints: Vec<String> = thread::scope(|scope| {
        let run = |mpi| {
            let named = thread::Builder::new().name(format!("instructions under {mpi}"));
            named.spawn_scoped(scope, move || above(mpi)).expect("a thread")
        };
        let running: Vec<_> = Mpi::wanted().into_iter().map(run).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("the counts of a library")).collect()
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What is above its ceiling, in words.
fn above(mpi: Mpi) -> Vec<String> {
    let programs = Programs::compiled(mpi).expect("the programs of benches/");
    let cases: Vec<&'static Case> = CEILINGS.iter().map(|(name, _)| case(name)).collect();
    let preload = library().display().to_string();
    let commsee = Library { name: "commsee".to_owned(), preload, launcher: Vec::new() };
    let alone = instructions(mpi, &programs, None, &cases);
    let with = instructions(mpi, &programs, Some(&commsee), &cases);
    let mut complaints = Vec::new();
    for (place, (name, ceiling)) in CEILINGS.iter().enumerate() {
        let (Some(alone), Some(with)) = (alone[place], with[place]) else {
            // It was built without UCX.
            let is_of_module = cases[place].recording == Recording::Module;
            assert!(alone[place].is_none() && is_of_module, "{mpi}: {name} cannot be counted");
            continue;
        };
        let added = with - alone;
        if added > *ceiling {
            complaints.push(format!("{mpi}, {name}: {added:.0} instructions, at most {ceiling} are allowed"));
        }
    }
    complaints
}

fn case(name: &str) -> &'static Case {
    let case = CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {name}"));
    assert!(is_counted(case), "{name} is not counted");
    case
}
