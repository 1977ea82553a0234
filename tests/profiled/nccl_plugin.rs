//! The profiler plugin of the module for NCCL, against event sequences that `tests/programs/replay.c` replays. They are written from
//! NCCL's headers and sources, versions 2.27 to 2.31: they show that what NCCL says is counted as it is, and not that NCCL says it
//! (`nccl_recorded.rs` has what it said on a GPU). The program has no wrapped function of NCCL's, so the plugin counts by itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use commsee::buckets::Buckets;

use common::{Launch, Mpi, Program, Run, answer, hook, library, shared_library};

const VERSIONS: [usize; 3] = [4, 5, 6];

fn replay(mpi: Mpi, version: usize, what: &str) -> Launch {
    let launch = Launch::new(mpi, "replay").preload(hook("nccl")).ranks(3);
    launch.variable("COMMSEE_HOOKS", "nccl").arguments(&[&version.to_string(), what])
}

/// What the profile must have of one operation.
#[derive(Clone, Copy)]
struct Row<'a> {
    comm: &'a str,
    layer: &'a str,
    function: &'a str,
    protocol: &'a str,
    src: usize,
    dst: Option<usize>,
    size: u64,
    bytes: u64,
    time_ns: Option<u64>,
}

const MESSAGE: Row = Row {
    comm: "nccl:i0.0",
    layer: "nccl",
    function: "ncclAllReduce",
    protocol: "",
    src: 0,
    dst: None,
    size: 0,
    bytes: 0,
    time_ns: None,
};

#[derive(Default)]
struct Rows(BTreeMap<String, [u64; 4]>);

impl Rows {
    fn add(&mut self, times: u64, row: Row) {
        let Row { comm, layer, function, protocol, src, dst, size, bytes, time_ns } = row;
        let role = match layer {
            "nccl-kernel" => "device",
            "nccl-proxy" => "wire",
            _ => "message",
        };
        let dst = dst.map_or("-".to_owned(), |dst| dst.to_string());
        let buckets = Buckets::default();
        let bucket = buckets.bounds(buckets.of(size)).0;
        let layer_comm = comm;
        let key = format!("{comm}|-|{layer}|{function}|{protocol}|{role}|{src}|{dst}|{layer_comm}|-|{bucket}");
        let sums = self.0.entry(key).or_default();
        let told = [1, bytes, u64::from(time_ns.is_some()), time_ns.unwrap_or(0)];
        sums.iter_mut().zip(told).for_each(|(sum, told)| *sum += times * told);
    }

    fn check(&self, run: &Run) {
        run.profile();
        self.check_rows(run);
    }

    fn check_rows(&self, run: &Run) {
        const COLUMNS: &str = "comm, op, layer, function, protocol, role, src, dst, layer_comm, within, bucket_lo, calls, bytes, \
                               later, CAST(round(coalesce(time_s, 0) * 1e9) AS INTEGER)";
        let line =
            |(key, [calls, bytes, later, time]): (&String, &[u64; 4])| format!("{key}|{calls}|{bytes}|{later}|{time}");
        let mut wanted: Vec<String> = self.0.iter().map(line).collect();
        let mut found = answer(&run.profile_path(), &format!("SELECT {COLUMNS} FROM transfers"));
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{}", run.mpi);
    }
}

fn communicators(path: &Path) -> Vec<String> {
    let columns = "comm, creator, layer, size, root_rank, label, freed, ranks";
    answer(path, &format!("SELECT {columns} FROM communicators WHERE layer <> 'mpi' ORDER BY 1"))
}

fn every(test: impl Fn(Mpi, usize)) {
    for mpi in Mpi::ALL {
        VERSIONS.into_iter().for_each(|version| test(mpi, version));
    }
}

/// A send and a receive of 64 numbers of 8 bytes.
fn add_point_to_point(rows: &mut Rows, base: Row, next: usize, previous: usize, version: usize) {
    let protocol = if version == 4 { "" } else { "x2" };
    let own = base.src;
    let base = Row { protocol, size: 512, bytes: 512, ..base };
    rows.add(1, Row { function: "ncclSend", dst: Some(next), ..base });
    rows.add(1, Row { layer: "nccl-rx", function: "ncclRecv", src: previous, dst: Some(own), ..base });
}

#[test]
fn operations_are_counted_once_with_all_that_is_known() {
    every(|mpi, version| {
        let run = replay(mpi, version, "all").run().succeeded();
        let mut rows = Rows::default();
        for rank in 0..3 {
            let base = Row { src: rank, protocol: "RING/LL128 x4", ..MESSAGE };
            rows.add(1, Row { size: 4000, bytes: 4000, ..base });
            rows.add(1, Row { function: "ncclAllGather", size: 2000, bytes: 2000, ..base });
            let scattered = Row { function: "ncclReduceScatter", protocol: "TREE/LL128 x1", ..base };
            rows.add(1, Row { size: 800, bytes: 3 * 800, ..scattered });
            let reduced = Row { function: "ncclReduce", protocol: "RING/LL128 x1", dst: Some(1), ..base };
            rows.add(1, Row { size: 20, bytes: 20, ..reduced });
            let protocol = if version < 6 { "RING/LL128 x2" } else { "" };
            let bytes = if rank == 1 { 300 } else { 0 };
            rows.add(1, Row { function: "ncclBroadcast", protocol, dst: Some(1), size: 300, bytes, ..base });
            rows.add(1, Row { protocol: "TREE/LL x1", size: 8, bytes: 8, ..base });
            rows.add(1, Row { protocol: "NVLS/SIMPLE x16", size: 4 << 20, bytes: 4 << 20, ..base });
            add_point_to_point(&mut rows, base, (rank + 1) % 3, (rank + 2) % 3, version);
        }
        rows.check(&run);
        assert_eq!(communicators(&run.profile_path()), ["nccl:i0.0|i|nccl|3|0|all of them|1|0-2"]);
        let notes = answer(&run.profile_path(), "SELECT text, ranks FROM notes WHERE module = 'nccl'");
        let note =
            format!("NCCL reports algorithms and protocols through version {version} of its profiler interface|3");
        assert_eq!(notes, [note]);
    });
}

#[test]
fn what_a_graph_launches_again_is_counted_once() {
    every(|mpi, version| {
        let run = replay(mpi, version, "graph").run().succeeded();
        let mut rows = Rows::default();
        for rank in 0..3 {
            let base = Row { src: rank, ..MESSAGE };
            rows.add(1, Row { protocol: "RING/LL x1", size: 400, bytes: 400, ..base });
            rows.add(3, Row { protocol: "RING/LL128 x4", size: 4000, bytes: 4000, ..base });
            let dst = (version == 4).then_some(0);
            rows.add(1, Row { function: "ncclSend", dst, size: 7, bytes: 7, ..base });
        }
        rows.check(&run);
        assert_eq!(communicators(&run.profile_path()), ["nccl:i0.0|i|nccl|3|0|-|0|0-2"]);
    });
}

#[test]
fn a_group_of_more_calls_than_are_kept_is_counted_whole() {
    every(|mpi, version| {
        let run = replay(mpi, version, "many").run().succeeded();
        let mut rows = Rows::default();
        for rank in 0..3 {
            let base = Row { src: rank, function: "ncclSend", size: 8, bytes: 8, ..MESSAGE };
            let (blank, full) = match version {
                4 => (0, 20_001),
                // 16384 are kept.
                5 => (20_000 - 16_384, 16_385),
                // The snapshot has all that there were.
                _ => (20_000, 1),
            };
            if blank > 0 {
                rows.add(blank, base);
            }
            let protocol = if version == 4 { "" } else { "x1" };
            rows.add(full, Row { protocol, dst: Some(1), ..base });
        }
        rows.check(&run);
        if version == 6 {
            let snapshot = run.folder().join("profile-snapshot-1.db");
            let sums = "SELECT src, sum(calls), sum(bytes) FROM transfers GROUP BY 1 ORDER BY 1";
            assert_eq!(answer(&snapshot, sums), ["0|20000|160000", "1|20000|160000", "2|20000|160000"]);
        }
    });
}

#[test]
fn the_gpus_time_is_from_the_first_channel_to_the_last() {
    every(|mpi, version| {
        let run = replay(mpi, version, "kernels").variable("COMMSEE_NCCL", "kernels").run().succeeded();
        let mut rows = Rows::default();
        for rank in 0..3 {
            let message = Row { src: rank, protocol: "RING/LL128 x4", ..MESSAGE };
            let kernel = Row { layer: "nccl-kernel", ..message };
            let all = |row: Row<'static>| Row { size: 4000, bytes: 4000, ..row };
            rows.add(1, Row { time_ns: Some(9000), ..all(kernel) });
            rows.add(1, Row { time_ns: Some(1000), ..all(kernel) });
            // Launched again, it takes time again.
            rows.add(1, Row { time_ns: Some(500), ..all(kernel) });
            rows.add(if version == 4 { 3 } else { 2 }, all(message));
            let protocol = if version == 4 { "" } else { "x2" };
            let send = Row { function: "ncclSend", protocol, dst: Some((rank + 1) % 3), ..message };
            for (bytes, time_ns) in [(512, 2000), (128, 500)] {
                let send = Row { size: bytes, bytes, ..send };
                rows.add(1, send);
                rows.add(1, Row { layer: "nccl-kernel", time_ns: Some(time_ns), ..send });
            }
            let scattered = Row { function: "ncclReduceScatter", size: 800, bytes: 2400, ..message };
            rows.add(1, Row { protocol: "TREE/LL x2", ..scattered });
            if version == 4 {
                rows.add(1, Row { protocol: "TREE/LL x1", ..scattered });
            }
            rows.add(1, Row { function: "ncclAllGather", size: 2000, bytes: 2000, ..message });
            let under_way = Row { protocol: "RING/LL128 x1", size: 8000, bytes: 8000, ..message };
            rows.add(1, under_way);
            rows.add(1, Row { layer: "nccl-kernel", time_ns: Some(40_000), ..under_way });
            let open =
                Row { function: "ncclReduce", protocol: "RING/LL128 x3", dst: Some(1), size: 20, bytes: 20, ..message };
            rows.add(1, open);
        }
        rows.check(&run);
    });
}

#[test]
fn proxies_count_what_the_network_took() {
    every(|mpi, version| {
        let run = replay(mpi, version, "proxies").variable("COMMSEE_NCCL", " proxies, ").run().succeeded();
        assert!(!run.stderr.contains("COMMSEE_NCCL"), "{}", run.stderr);
        let mut rows = Rows::default();
        for rank in 0..3 {
            let message = Row { src: rank, protocol: "RING/LL128 x4", ..MESSAGE };
            rows.add(1, Row { size: 4000, bytes: 4000, ..message });
            let sent = Row { layer: "nccl-proxy", dst: Some((rank + 1) % 3), ..message };
            rows.add(3, Row { size: 2000, bytes: 2000, ..sent });
            let blank = Row { function: "", protocol: "", ..sent };
            rows.add(1, Row { size: 100, bytes: 100, ..blank });
            rows.add(3, Row { comm: "-", dst: None, size: 500, bytes: 500, ..blank });
        }
        rows.check(&run);
    });
}

#[test]
fn communicators_of_one_hash_are_one_where_they_have_as_many_ranks() {
    every(|mpi, version| {
        let run = replay(mpi, version, "shrink").run().succeeded();
        let mut rows = Rows::default();
        for rank in 0..3 {
            let base = Row { src: rank, protocol: "RING/LL128 x1", ..MESSAGE };
            rows.add(2, Row { size: 100, bytes: 100, ..base });
            if rank < 2 {
                rows.add(1, Row { comm: "nccl:i0.1", size: 10, bytes: 10, ..base });
            }
        }
        rows.check(&run);
        let wanted = ["nccl:i0.0|i|nccl|3|0|first|0|0-2", "nccl:i0.1|i|nccl|2|0|smaller|1|0-1"];
        assert_eq!(communicators(&run.profile_path()), wanted);
    });
}

/// Who their ranks are is not known: then it is not said.
#[test]
fn communicators_that_only_seem_the_same_have_no_peers() {
    every(|mpi, version| {
        let run = replay(mpi, version, "shrinks").run().succeeded();
        let mut rows = Rows::default();
        for rank in 0..3 {
            let base = Row { src: rank, protocol: "RING/LL128 x1", ..MESSAGE };
            rows.add(if rank == 0 { 2 } else { 1 }, Row { size: 100, bytes: 100, ..base });
        }
        let protocol = if version == 4 { "" } else { "x1" };
        let send = Row { function: "ncclSend", protocol, size: 10, bytes: 10, ..MESSAGE };
        rows.add(1, send);
        rows.check_rows(&run);
    });
}

#[test]
fn a_process_alone_sends_to_itself() {
    every(|mpi, version| {
        let run = replay(mpi, version, "alone").run().succeeded();
        let names: Vec<String> = (0..3).map(|rank| format!("nccl:i{rank}.0")).collect();
        let mut rows = Rows::default();
        for (rank, comm) in names.iter().enumerate() {
            add_point_to_point(&mut rows, Row { comm, src: rank, ..MESSAGE }, rank, rank, version);
        }
        rows.check(&run);
        let row = |rank| format!("nccl:i{rank}.0|i|nccl|1|{rank}|alone|1|{rank}");
        assert_eq!(communicators(&run.profile_path()), [row(0), row(1), row(2)]);
    });
}

#[test]
fn a_process_may_have_ranks_of_several_communicators() {
    every(|mpi, version| {
        let run = replay(mpi, version, "ranks").run().succeeded();
        let mut rows = Rows::default();
        for own in 0..6 {
            let base = Row { src: own / 2, ..MESSAGE };
            add_point_to_point(&mut rows, base, (own + 1) % 6 / 2, (own + 5) % 6 / 2, version);
            let bytes = if own == 1 { 300 } else { 0 };
            let broadcast = Row { comm: "nccl:i0.1", function: "ncclBroadcast", protocol: "RING/LL128 x1", ..base };
            rows.add(1, Row { dst: Some(0), size: 300, bytes, ..broadcast });
        }
        // A communicator of MPI has as many processes as ranks; one of NCCL's need not.
        rows.check_rows(&run);
        let wanted = ["nccl:i0.0|i|nccl|6|0|odd|1|0-2", "nccl:i0.1|i|nccl|6|0|even|1|0-2"];
        assert_eq!(communicators(&run.profile_path()), wanted);
    });
}

#[test]
fn threads_are_counted_alike() {
    every(|mpi, version| {
        let run =
            replay(mpi, version, "threads").ranks(2).variable("COMMSEE_NCCL", "kernels,proxies").run().succeeded();
        run.profile();
        let sums = "SELECT src, layer, dst, count(DISTINCT layer_comm), sum(calls), sum(bytes), CAST(round(sum(time_s) * 1e9) AS INTEGER) \
                    FROM transfers GROUP BY 1, 2, 3 ORDER BY 1, 2";
        let rows = |rank| {
            [
                format!("{rank}|nccl|-|16|16000|1600000|-"),
                format!("{rank}|nccl-kernel|-|16|16000|1600000|160000"),
                format!("{rank}|nccl-proxy|0|16|32000|1600000|-"),
            ]
        };
        assert_eq!(answer(&run.profile_path(), sums), [rows(0), rows(1)].concat(), "{mpi}");
    });
}

/// The timeline has calls from where the program made them to where NCCL began to do them.
#[test]
fn calls_are_on_the_timeline() {
    every(|mpi, version| {
        let run = replay(mpi, version, "graph").variable("COMMSEE_TRACE", "1").run().succeeded();
        let events = "SELECT rank, comm, layer_comm, count(*), sum(bytes), min(end_s >= begin_s), max(end_s - begin_s < 60) FROM events \
                      WHERE function = 'ncclAllReduce' GROUP BY 1 ORDER BY 1";
        let row = |rank| format!("{rank}|nccl:i0.0|nccl:i0.0|4|12400|1|1");
        assert_eq!(answer(&run.profile_path(), events), [row(0), row(1), row(2)], "{mpi}");
    });
}

#[test]
fn the_child_of_a_fork_is_left_alone() {
    every(|mpi, version| {
        let run = replay(mpi, version, "forks").run().succeeded();
        let mut rows = Rows::default();
        for rank in 0..3 {
            rows.add(1, Row { src: rank, protocol: "RING/LL128 x1", size: 100, bytes: 100, ..MESSAGE });
        }
        rows.check(&run);
    });
}

#[test]
fn nonsense_is_passed_over() {
    every(|mpi, version| {
        let run = replay(mpi, version, "nonsense").variable("COMMSEE_NCCL", "kernels,proxies").run().succeeded();
        Rows::default().check(&run);
    });
}

#[test]
fn there_is_no_plugin_where_nothing_is_counted() {
    for mpi in Mpi::ALL {
        let run = replay(mpi, 6, "none").variable("COMMSEE_HOOKS", "").run().succeeded();
        Rows::default().check(&run);
    }
}

#[test]
fn unknown_wishes_are_said_once() {
    for mpi in Mpi::ALL {
        let run = replay(mpi, 6, "all").variable("COMMSEE_NCCL", "kernel").run().succeeded();
        assert_eq!(
            run.stderr.matches("COMMSEE_NCCL names kernel, which is not known: use").count(),
            1,
            "{}",
            run.stderr
        );
    }
}

/// Whom an NCCL finds that knows versions up to `newest`: its name and version.
fn found(mpi: Mpi, newest: usize, variables: &[(&str, &str)]) -> String {
    let launch = replay(mpi, newest, "whose");
    let launch = variables.iter().fold(launch, |launch, (name, value)| launch.variable(name, value));
    launch.run().succeeded().stdout.trim().to_owned()
}

/// A plugin of the user's has versions 3 and 5: the latter is what is found, and never ours instead.
#[test]
fn a_plugin_of_the_users_own_goes_first() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let users = folder.path().join("libnccl-profiler.so");
    fs::copy(shared_library("users_plugin"), &users).expect("a copy");
    let folder = folder.path().to_str().expect("UTF-8");
    let path = format!("/nowhere:{folder}");
    let own = hook("nccl");
    for mpi in Mpi::ALL {
        assert_eq!(found(mpi, 6, &[("LD_LIBRARY_PATH", "/nowhere")]), "commsee 6");
        assert_eq!(found(mpi, 7, &[("LD_LIBRARY_PATH", &path)]), "the user's 5");
        assert_eq!(found(mpi, 4, &[("LD_LIBRARY_PATH", &path)]), "the user's 3");
        assert_eq!(found(mpi, 6, &[("LD_LIBRARY_PATH", &path), ("COMMSEE_HOOKS", "")]), "the user's 5");
        let by_name = ("NCCL_PROFILER_PLUGIN", own.to_str().expect("UTF-8"));
        assert_eq!(found(mpi, 6, &[("LD_LIBRARY_PATH", &path), by_name]), "commsee 6");
        let empty = ("NCCL_PROFILER_PLUGIN", "");
        assert_eq!(found(mpi, 6, &[("LD_LIBRARY_PATH", &path), empty]), "the user's 5");
        let run = replay(mpi, 6, "whose").variable("LD_LIBRARY_PATH", &path).run().succeeded();
        let notes = answer(&run.profile_path(), "SELECT text, ranks FROM notes WHERE module = 'nccl'");
        let note =
            format!("NCCL has another profiler plugin, {}: algorithms and protocols are unknown|3", users.display());
        assert_eq!(notes, [note]);
    }
}

/// A file of that name that is this very module is no other plugin.
#[test]
fn the_module_under_its_other_name_is_ours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::os::unix::fs::symlink(hook("nccl"), folder.path().join("libnccl-profiler.so")).expect("a link");
    let path = folder.path().to_str().expect("UTF-8");
    for mpi in Mpi::ALL {
        assert_eq!(found(mpi, 6, &[("LD_LIBRARY_PATH", path)]), "commsee 6");
    }
}

/// With `STATIC_PLUGIN` NCCL looks in the program, which may have an older version.
#[test]
fn a_plugin_in_the_program_goes_first() {
    for mpi in Mpi::ALL {
        let with = |link: &[&str]| {
            let link = link.iter().map(|flag| (*flag).to_owned()).collect();
            let program = Program { name: "replay", link }.compiled(mpi);
            let launch = Launch::of(mpi, program).preload(library()).preload(hook("nccl"));
            let launch = launch.variable("COMMSEE_HOOKS", "nccl").variable("NCCL_PROFILER_PLUGIN", "static_plugin");
            launch.arguments(&["6", "whose"]).run().succeeded().stdout.trim().to_owned()
        };
        assert_eq!(with(&["-DSTATIC_PLUGIN"]), "commsee 6");
        assert_eq!(with(&["-DSTATIC_PLUGIN", "-DHAS_PLUGIN", "-rdynamic"]), "the program's 4");
    }
}
