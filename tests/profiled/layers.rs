//! Two made-up hook modules at once, against the header alone: communicators of a layer, calls of a layer that others see, roles, what is
//! collected before counting ends. `tests/programs/ring.c`, `dma.c` and `layered.c` say what they do; every row must say so, too.

use std::path::Path;
use std::process::Command;

use commsee::profile::recover;

use common::{Launch, Mpi, answer, library, mpi_shared_library, root, target_folder};

fn layered(mpi: Mpi, ranks: usize) -> Launch {
    let launch = Launch::new(mpi, "layered").ranks(ranks);
    let launch = launch.preload(mpi_shared_library(mpi, "ring")).preload(mpi_shared_library(mpi, "dma"));
    launch.variable("COMMSEE_HOOKS", "ring,dma")
}

const COLUMNS: &str = "comm, op, layer, function, role, src, dst, layer_comm, within, bucket_lo, calls, bytes, later, \
                       CAST(round(time_s * 1e9) AS INTEGER)";

/// What one rank's modules tell. `posted`: how many messages were collected.
fn told(rank: usize, ranks: usize, posted: u64) -> Vec<String> {
    let (all, part) = ("ring:i0.0", format!("ring:s{}.1", rank % 2));
    let (of_barrier, half) = (format!("ring:b{}.2", rank % 2), format!("s{}.1", rank % 2));
    let next = (rank + 1) % ranks;
    let mut rows = vec![
        format!("{all}|-|ring|reduce|message|{rank}|-|{all}|-|128|3|3000|0|-"),
        format!("{all}|-|ring|packet|wire|{rank}|{next}|{all}|reduce|128|3|3000|3|3000"),
        format!("{all}|-|dma|copy|device|{rank}|-|{all}|reduce|128|6|3000|0|-"),
        format!("{part}|-|ring|reduce|message|{rank}|-|{part}|-|0|3|192|0|-"),
        format!("{part}|-|ring|packet|wire|{rank}|{next}|{part}|reduce|0|3|192|3|3000"),
        format!("{part}|-|dma|copy|device|{rank}|-|{part}|reduce|0|6|192|0|-"),
        // In calls that were left by a jump and by the end of a thread, and behind them.
        format!("{all}|-|dma|copy|device|{rank}|-|{all}|reduce|0|2|60|0|-"),
        format!("-|-|dma|copy||{rank}|-|-|-|0|1|31|0|-"),
        format!("-|-|dma|copy|device|{rank}|-|-|-|0|1|70|0|-"),
        // Beside an MPI call, whose communicator is MPI's.
        format!("{half}|MPI_Barrier|ring|sync|message|{rank}|-|{of_barrier}|-|0|3|24|0|-"),
        format!("{half}|MPI_Barrier|dma|copy|device|{rank}|-|{of_barrier}|sync|0|3|24|0|-"),
    ];
    if posted > 0 {
        let (bytes, time_ns) = (4096 * posted, 5000 * posted);
        rows.push(format!("{all}|-|ring|reduce|message|{rank}|-|{all}|-|1024|{posted}|{bytes}|{posted}|{time_ns}"));
    }
    rows
}

fn check(path: &Path, ranks: usize, posted: u64, freed: bool) {
    let mut wanted: Vec<String> = (0..ranks).flat_map(|rank| told(rank, ranks, posted)).collect();
    let mut found = answer(path, &format!("SELECT {COLUMNS} FROM transfers"));
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted);

    let members = |first: usize| {
        let all: Vec<String> = (first..ranks).step_by(2).map(|rank| rank.to_string()).collect();
        (all.len(), all.join(","))
    };
    let everybody = if ranks == 1 { "0".to_owned() } else { format!("0-{}", ranks - 1) };
    let mut wanted = vec![format!("ring:i0.0|i|ring|{ranks}|-|0|all of them|0|{everybody}")];
    for first in 0..2 {
        let (size, members) = members(first);
        let is_freed = i32::from(freed);
        wanted.push(format!("ring:s{first}.1|s|ring|{size}|ring:i0.0|{first}|-|{is_freed}|{members}"));
        wanted.push(format!("ring:b{first}.2|b|ring|{size}|s{first}.1|{first}|-|0|{members}"));
    }
    wanted.sort();
    let columns = "comm, creator, layer, size, parent, root_rank, label, freed, ranks";
    let of_layers = format!("SELECT {columns} FROM communicators WHERE layer <> 'mpi' ORDER BY 1");
    assert_eq!(answer(path, &of_layers), wanted);
}

const OF_MPI: &str =
    "SELECT comm, creator, size, parent, root_rank, label, ranks FROM communicators WHERE layer = 'mpi' ORDER BY 1";

#[test]
fn two_modules_are_told_apart_and_see_each_other() {
    for (mpi, ranks) in Mpi::ALL.into_iter().flat_map(|mpi| [2, 5].map(|ranks| (mpi, ranks))) {
        let run = layered(mpi, ranks).run().succeeded();
        assert_eq!(run.stderr.matches("COMMSEE_HOOKS").count(), 0, "{}", run.stderr);
        run.profile();
        check(&run.profile_path(), ranks, 2, true);
        let plain = Launch::new(mpi, "layered").ranks(ranks).run().succeeded();
        let names = answer(&plain.profile_path(), OF_MPI);
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(answer(&run.profile_path(), OF_MPI), names, "{mpi}: MPI's names are the same with modules");
    }
}

/// What is collected for a snapshot is not collected again.
#[test]
fn a_snapshot_has_what_is_complete_by_then() {
    for mpi in Mpi::ALL {
        let run = layered(mpi, 3).variable("LAYERED_SNAPSHOT", "1").run().succeeded();
        check(&run.folder().join("profile-snapshot-1.db"), 3, 1, false);
        check(&run.profile_path(), 3, 2, true);
    }
}

/// What a killed job leaves has the communicators and contexts as well; nothing is collected where the process dies.
#[test]
fn a_shard_keeps_communicators_and_contexts() {
    for mpi in Mpi::ALL {
        let run = layered(mpi, 3).variable("COMMSEE_OUT", "/dev/null/nowhere").variable("LAYERED_DIES", "1").run();
        assert!(!run.status.success());
        let path = run.folder().join("recovered.db");
        recover::recover(&run.left_over(), &path).expect("a profile of the shards");
        check(&path, 3, 0, true);
    }
}

/// Sums over the ranks keep communicators and contexts apart.
#[test]
fn sums_keep_contexts_apart() {
    let sums = "SELECT comm, op, layer, function, role, layer_comm, within, bucket_lo, sum(calls), sum(bytes) FROM transfers \
                GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8";
    for mpi in Mpi::ALL {
        let by = |detail| {
            let run = layered(mpi, 4).variable("COMMSEE_DETAIL", detail).run().succeeded();
            answer(&run.profile_path(), sums)
        };
        let whole = by("rank");
        assert_eq!((by("comm"), by("node")), (whole.clone(), whole), "{mpi}");
    }
}

/// The timeline has what a layer did in its call.
#[test]
fn events_know_their_context() {
    for mpi in Mpi::ALL {
        let run = layered(mpi, 2).variable("COMMSEE_TRACE", "1").run().succeeded();
        let packets = "SELECT rank, comm, op, layer_comm, within, count(*), sum(bytes), min(end_s >= begin_s), \
                       max(end_s - begin_s < 1) FROM events WHERE function = 'packet' GROUP BY 1, 2 ORDER BY 1, 2";
        let wanted = |rank| {
            let part = format!("ring:s{rank}.1");
            [
                format!("{rank}|ring:i0.0|-|ring:i0.0|reduce|3|3000|1|1"),
                format!("{rank}|{part}|-|{part}|reduce|3|192|1|1"),
            ]
        };
        assert_eq!(answer(&run.profile_path(), packets), [wanted(0), wanted(1)].concat(), "{mpi}");
    }
}

/// A module of another version is told apart from one that is not there.
#[test]
fn a_module_of_another_version_is_left_out() {
    for mpi in Mpi::ALL {
        let run = layered(mpi, 2).variable("RING_VERSION", "2").run().succeeded();
        assert_eq!(run.stderr.matches("the module ring is of another version of commsee").count(), 1, "{}", run.stderr);
        assert!(!run.stderr.contains("no such module"), "{}", run.stderr);
        let layers = answer(&run.profile_path(), "SELECT DISTINCT layer FROM transfers");
        assert_eq!(layers, ["dma"], "{mpi}");
    }
}

/// The module of docs/howto/write-a-module.md, as it stands there.
#[test]
fn the_smallest_module_counts() {
    let root = root();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let page = read("docs/howto/write-a-module.md");
    let shown = page.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```\n")).expect("the module").0;
    assert_eq!(shown, read("profiler/hooks/runtime/examples/posix.rs"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).env("CARGO_TARGET_DIR", target_folder());
    cargo.args(["build", "--offline", "--quiet", "-p", "commsee-runtime", "--example", "posix"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo").success());
    let module = library().with_file_name("examples").join("libposix.so");
    for mpi in Mpi::ALL {
        let launch = Launch::new(mpi, "writes").ranks(2).preload(module.clone());
        let run = launch.variable("COMMSEE_HOOKS", "posix").run().succeeded();
        let rows = "SELECT comm, op, layer, function, role, src, calls, bytes FROM transfers WHERE bucket_lo = 65536 ORDER BY src";
        let row = |rank| format!("-|-|posix|write|wire|{rank}|3|300000");
        assert_eq!(answer(&run.profile_path(), rows), [row(0), row(1)], "{mpi}");
    }
}
