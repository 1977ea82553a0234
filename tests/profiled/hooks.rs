//! What a hook module tells is charged to the call it happened in, over the interface of `commsee_hook.h`, and lands in the profile.

use std::path::Path;

use commsee::profile::recover;
use commsee::shard;

use common::{Launch, Mpi, Run, answer, mpi_shared_library};

fn hooked(mpi: Mpi, ranks: usize) -> Launch {
    let launch = Launch::new(mpi, "hooked").ranks(ranks).preload(mpi_shared_library(mpi, "made_up"));
    launch.variable("COMMSEE_HOOKS", "ucx-to-be, Made-Up")
}

fn check(path: &Path, ranks: usize) {
    let sent = answer(path, "SELECT comm, op, src, dst, calls, bytes FROM matrix ORDER BY 1, 2, 3, 4");
    let told = "SELECT comm, op, src, dst, calls, bytes FROM transfers WHERE function = 'put' AND op <> '-' ORDER BY 1, 2, 3, 4";
    assert!(sent.len() > ranks, "{sent:?}");
    assert_eq!(answer(path, told), sent, "each message from rank to rank");

    let received =
        "SELECT comm, op, rank, bucket_lo, calls, bytes_recv FROM profile WHERE op = 'MPI_Recv' ORDER BY 1, 2, 3, 4";
    let arrived = "SELECT comm, op, dst, bucket_lo, sum(calls), sum(bytes) FROM transfers WHERE layer = 'made-up-rx' \
                   GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";
    assert_eq!(answer(path, arrived), answer(path, received), "each arrival at its rank");
    let pairs = |columns: &str, filter: &str| {
        answer(path, &format!("SELECT {columns} FROM transfers WHERE {filter} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"))
    };
    let (there, here) = ("comm, src, dst, sum(calls), sum(bytes)", "layer = 'made-up-rx'");
    assert_eq!(pairs(there, "function = 'put' AND op <> '-'"), pairs(there, here), "what one sends the other receives");

    let reduced =
        "SELECT comm, op, rank, 3 * calls, 3 * bytes_sent FROM profile WHERE op = 'MPI_Allreduce' ORDER BY 1, 2, 3";
    let parts = "SELECT comm, op, src, sum(calls), sum(bytes) FROM transfers WHERE function LIKE 'add%' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
    assert_eq!(answer(path, parts), answer(path, reduced));
    let timed = "SELECT count(*), sum(calls = later), sum(abs(time_s - calls / 3 * (time_min_s + time_max_s) * 1.5) < 1e-2 * time_s), \
                 sum(abs(time_max_s - 3 * time_min_s) < 1e-2 * time_s), group_concat(DISTINCT function) FROM transfers WHERE later > 0";
    let rows = 2 * ranks;
    assert_eq!(answer(path, timed), [format!("{rows}|{rows}|{rows}|{rows}|add \"quoted\" line")]);

    let outside = "SELECT comm, op, layer, function, protocol, transport, device, kind, src, dst, remote, calls, bytes, time_s \
                   FROM transfers WHERE op = '-' ORDER BY src";
    let one = |rank| format!("-|-|made-up|put|eager|pigeon|loft0|network|{rank}|-|0|5|385|-");
    assert_eq!(answer(path, outside), (0..ranks).map(one).collect::<Vec<_>>());
    assert_eq!(answer(path, "SELECT * FROM notes"), [format!("made-up|made-up 1.0: all of it|{ranks}")]);
}

fn warns_of_the_missing_one(run: &Run) {
    let warning = "COMMSEE_HOOKS names ucx-to-be, but no such module is loaded";
    assert_eq!(run.stderr.matches(warning).count(), 1, "{}", run.stderr);
}

#[test]
fn what_a_module_tells_is_charged_to_the_call() {
    for (mpi, ranks) in Mpi::ALL.into_iter().flat_map(|mpi| [2, 5].map(|ranks| (mpi, ranks))) {
        let run = hooked(mpi, ranks).run().succeeded();
        run.profile();
        check(&run.profile_path(), ranks);
        warns_of_the_missing_one(&run);
        let devices = answer(&run.profile_path(), "SELECT * FROM devices");
        let [device] = &devices[..] else { panic!("{devices:?}") };
        assert!(device.starts_with(&format!("made-up|pigeon|loft0|network|{ranks}|")), "{device}");
    }
}

#[test]
fn sums_keep_what_a_module_told() {
    let sums = "SELECT comm, op, layer, function, bucket_lo, sum(calls), sum(bytes), sum(later) FROM transfers \
                GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5";
    for mpi in Mpi::ALL {
        let by = |detail| {
            let run = hooked(mpi, 4).variable("COMMSEE_DETAIL", detail).run().succeeded();
            let places = answer(&run.profile_path(), "SELECT DISTINCT src, dst FROM transfers ORDER BY 1, 2");
            (answer(&run.profile_path(), sums), places)
        };
        let (whole, places) = by("rank");
        assert!(places.len() > 8, "{places:?}");
        assert_eq!(by("comm"), (whole.clone(), vec!["-|-".to_owned()]), "{mpi}");
        // All ranks are on one node, which stands under its lowest rank.
        let (sums, places) = by("node");
        assert_eq!((sums, places), (whole, vec!["0|-".to_owned(), "0|0".to_owned()]), "{mpi}");
    }
}

#[test]
fn a_module_that_is_not_wanted_stays_away() {
    for mpi in Mpi::ALL {
        for (name, value) in [("COMMSEE_HOOKS", "nccl"), ("COMMSEE_DISABLE", "1"), ("COMMSEE_HOOKS", "")] {
            let run = hooked(mpi, 2).variable(name, value).run().succeeded();
            assert_eq!(run.stderr.matches("made up: not wanted").count() % 2, 0, "{}", run.stderr);
            assert!(run.stderr.contains("made up: not wanted"), "{mpi} {name}={value}: {}", run.stderr);
            if name == "COMMSEE_HOOKS" {
                assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM transfer"), ["0"]);
            }
        }
        let run = hooked(mpi, 2).variable("MADE_UP_VERSION", "2").run().succeeded();
        assert!(run.stderr.contains("made up: -1\n"), "{}", run.stderr);
        check(&run.profile_path(), 2);
    }
}

/// Without the core a module only passes calls on.
#[test]
fn a_module_alone_does_no_harm() {
    for mpi in Mpi::ALL {
        let run = hooked(mpi, 2).plain().preload(mpi_shared_library(mpi, "made_up")).run().succeeded();
        assert_eq!(run.stderr, "", "{mpi}");
        assert!(!run.profile_path().exists());
    }
}

/// What a killed job leaves has ways, peers and notes as well.
#[test]
fn a_shard_keeps_what_a_module_told() {
    for mpi in Mpi::ALL {
        let run = hooked(mpi, 3).variable("COMMSEE_OUT", "/dev/null/nowhere").variable("HOOKED_DIES", "1").run();
        assert!(!run.status.success());
        let left = run.left_over();
        let path = run.folder().join("recovered.db");
        recover::recover(&left, &path).expect("a profile of the shards");
        check(&path, 3);
    }
}

#[test]
fn the_header_and_the_vocabulary_agree() {
    assert_eq!(shard::NO_OPERATION, commsee_hook::NO_OPERATION);
    assert_eq!(shard::ARRIVES, commsee_hook::ARRIVES);
}
