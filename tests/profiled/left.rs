//! Calls that the program leaves otherwise than by their return: callbacks that throw, jump or end their thread.

use std::time::Duration;
use std::{fs, thread};

use common::{Launch, Mpi, Program, answer, check, demand, library, root};
use commsee::profile::recover;
use rusqlite::Connection;

const RANKS: usize = 2;

fn job(mpi: Mpi, how: &[&str]) -> Launch {
    job_with(mpi, how, Vec::new())
}

fn job_with(mpi: Mpi, how: &[&str], flags: Vec<String>) -> Launch {
    demand("g++", "g++");
    let helper = root().join("tests/programs/leaving.cpp");
    let link = [helper.display().to_string(), "-lstdc++".to_owned()].into_iter().chain(flags).collect();
    let program = Program { name: "left", link }.compiled(mpi);
    Launch::of(mpi, program).preload(library()).ranks(RANKS).arguments(how)
}

#[test]
fn calls_that_are_left_fail_and_those_behind_them_are_right() {
    for mpi in Mpi::ALL {
        for how in ["throws", "jumps", "exits"] {
            let run = job(mpi, &[how]).run().succeeded();
            assert_eq!(run.stderr.matches("internal error").count(), 0, "{mpi} {how}: {}", run.output());
            check(&run);
        }
    }
}

/// The library's Fortran layer may lie between the wrapper and the callback, and a second wrapper of ours in it.
#[test]
fn calls_in_fortran_are_left_like_others() {
    for mpi in Mpi::ALL {
        demand(mpi.fortran_compiler(), "gfortran");
        let layer = if mpi == Mpi::Mpich { "-lmpichfort" } else { "-lmpi_mpifh" };
        for how in ["throws", "jumps", "exits"] {
            let run = job_with(mpi, &[how], vec!["-DFORTRAN".to_owned(), layer.to_owned()]).run().succeeded();
            check(&run);
        }
    }
}

/// A thread that was cancelled ends in the program's calls of the system, not in ours, which counting needs now and then.
#[test]
fn a_cancelled_thread_does_not_end_in_ours() {
    for mpi in Mpi::ALL {
        let run = job(mpi, &["cancels"]).run().succeeded();
        let profile = run.profile();
        for operation in ["MPI_Send", "MPI_Ssend", "MPI_Rsend", "MPI_Recv", "MPI_Sendrecv"] {
            assert_eq!(profile.total(operation), 200 * RANKS as u64, "{operation} under {mpi}");
        }
    }
}

/// A handler of a signal may leave whatever the thread was in for good. It finds commsee before or behind what it asks of the system, never
/// in the midst, where locks are held: later calls would wait for them for ever. Calls are lost then, as is said.
#[test]
fn a_signal_is_not_handled_in_the_midst_of_ours() {
    let cases =
        [("jumps", ""), ("jumps", "64M"), ("finalizes", ""), ("multiple", ""), ("multiple", "64M"), ("threads", "")];
    for mpi in Mpi::ALL {
        let link = ["-rdynamic", "-ldl", "-lpthread"].map(str::to_owned).to_vec();
        let program = Program { name: "signalled", link }.compiled(mpi);
        for (how, trace) in cases {
            let launch = Launch::of(mpi, program.clone()).preload(library()).ranks(1).arguments(&[how]);
            let run = launch.variable("COMMSEE_TRACE", trace).variable("COMMSEE_DATATYPES", "1").run().succeeded();
            assert!(!run.stderr.contains("internal error"), "{how} {trace} under {mpi}: {}", run.output());
            let number = |sql: &str| -> u64 { answer(&run.profile_path(), sql)[0].parse().expect("a number") };
            let calls = |operation: &str| {
                number(&format!("SELECT coalesce(sum(calls), 0) FROM profile WHERE op = '{operation}'"))
            };
            let lost = number("SELECT coalesce(max(value), 0) FROM meta WHERE key = 'lost_calls'");
            let what = format!("{how} {trace} under {mpi}, {lost} lost");
            assert!(lost == 0 || run.stderr.contains("some calls are not counted"), "{what}");
            let reductions = calls("MPI_Allreduce");
            match how {
                // Some threads jump before their call is made.
                "threads" => assert!(reductions <= 200 && reductions + lost >= 100, "{what}"),
                "finalizes" => assert_eq!(reductions, 0, "{what}"),
                _ => assert!(reductions <= 1000 && reductions + lost >= 1000, "{what}"),
            }
            assert!(how == "threads" || calls("MPI_Comm_set_name") + lost > 0, "{what}");
        }
    }
}

/// Nobody is found in a call that was left long ago. (Of a jump nobody is told.)
#[test]
fn a_call_that_was_left_is_over() {
    for mpi in Mpi::ALL {
        for how in ["throws", "exits"] {
            let run = job(mpi, &[how, "killed"]).run();
            assert!(!run.status.success(), "{mpi} {how}: {}", run.output());
            let left = (0..300).find_map(|_| {
                let ended = recover::find(&[run.folder().join("shards")]).pop().filter(|run| !run.is_alive());
                ended.or_else(|| {
                    thread::sleep(Duration::from_millis(50));
                    None
                })
            });
            let left = left.unwrap_or_else(|| panic!("{mpi} {how}: no shards\n{}", run.output()));
            recover::recover(&left, &run.profile_path()).expect("a profile of the shards");
            let db = Connection::open(run.profile_path()).expect("the profile opens");
            let inside = "SELECT count(*) FROM standing WHERE op IS NOT NULL";
            let inside: i64 = db.query_row(inside, [], |row| row.get(0)).expect("the table");
            assert_eq!(inside, 0, "{mpi} {how}");
            fs::remove_file(run.profile_path()).expect("a profile");
        }
    }
}
