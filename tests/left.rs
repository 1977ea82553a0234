//! Calls that the program leaves otherwise than by their return: callbacks that throw, jump or end their thread.

mod common;

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use common::{Launch, Mpi, Program, check, demand, library};
use commsee::profile::recover;
use rusqlite::Connection;

const RANKS: usize = 2;

fn job(mpi: Mpi, how: &[&str]) -> Launch {
    demand("g++", "g++");
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/leaving.cpp");
    let link = vec![helper.display().to_string(), "-lstdc++".to_owned()];
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

/// Nobody is found in a call that was left long ago.
#[test]
fn a_call_that_was_left_is_over() {
    for mpi in Mpi::ALL {
        for how in ["throws", "jumps", "exits"] {
            let run = job(mpi, &[how, "killed"]).run();
            assert!(!run.status.success(), "{mpi} {how}: {}", run.output());
            let left = (0..300).find_map(|_| {
                let ended = recover::find(&[run.folder().join("shards")]).pop().filter(|run| !run.alive);
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
