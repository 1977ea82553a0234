//! The module for NCCL, on real libraries of its kind: oneCCL, which runs on processors, against what the program knows of itself, and NCCL
//! without a GPU, which answers with errors. Nothing here was done by a GPU; tests/gpu.sh is for where one is.

#[allow(dead_code)]
#[path = "../../profiler/hooks/nccl/src/functions.rs"]
mod functions;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use commsee::ccl;
use functions::Kind;

use common::{Launch, Mpi, Program, Run, answer, hook, shared_library, side_by_side, skip};

/// A library that ./test has fetched.
fn fetched(name: &str) -> Option<PathBuf> {
    let folder = common::fetched("COMMSEE_GPU_LIBRARIES")?.join(name);
    folder.is_dir().then_some(folder)
}

/// A program of `tests/programs/`, linked to a library in a folder.
fn linked(mpi: Mpi, program: &str, folder: &Path, library: &str) -> Launch {
    let path = folder.join(library).display().to_string();
    let link = vec!["-Wl,--no-as-needed".to_owned(), path, format!("-Wl,-rpath,{}", folder.display())];
    let launch = Launch::of(mpi, Program { name: program, link }.compiled(mpi));
    launch.variable("LD_LIBRARY_PATH", &folder.display().to_string())
}

pub fn counted(launch: Launch) -> Launch {
    launch.preload(common::library()).preload(hook("nccl")).variable("COMMSEE_HOOKS", "nccl")
}

pub fn over_oneccl(mpi: Mpi, ranks: usize) -> Option<Launch> {
    let Some(folder) = fetched("oneccl") else {
        skip("oneCCL (its wheel cannot be had here)");
        return None;
    };
    let launch = linked(mpi, "oneccl", &folder, "libccl.so.2").ranks(ranks);
    // Threads that wait leave the processor to others.
    let launch = launch.variable("CCL_PLUGIN", "ONECCL_LEGACY_CPU").variable("CCL_YIELD", "sched_yield");
    Some(launch.variable("CCL_LOG_LEVEL", "error"))
}

/// What a rank of `oneccl.c` does, as rows: communicator, layer, function, role, from, to, scope, bucket, calls, bytes.
fn told(rank: usize, ranks: usize) -> Vec<String> {
    const ALL: &str = "oneccl:i0.0";
    const SECOND: &str = "oneccl:i0.1";
    const EVEN: &str = "oneccl:s0.2";
    let pair = format!("oneccl:s{}.3", rank / 2 * 2);
    let (next, previous, last) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks, ranks - 1);
    let mut rows = Vec::new();
    let mut row = |comm: &str, function: &str, to: Option<usize>, bucket: u64, calls: u64, bytes: usize| {
        let to = to.map_or("-".to_owned(), |to| to.to_string());
        rows.push(format!("{comm}|oneccl|oneccl{function}|message|{rank}|{to}||{bucket}|{calls}|{bytes}"));
    };
    row(ALL, "AllReduce", None, 128, 3, 2400);
    row(ALL, "AllReduce", None, 0, 1, 0);
    row(ALL, "AllReduce", None, 1024, 1, 1200);
    row(ALL, "Broadcast", Some(1), 128, 1, if rank == 1 { 800 } else { 0 });
    row(ALL, "Reduce", Some(last), 0, 1, 80);
    row(ALL, "AllGather", None, 128, 1, 400);
    row(ALL, "ReduceScatter", None, 0, 1, 80 * ranks);
    row(ALL, "AllToAll", None, 0, 1, 72 * ranks);
    row(ALL, "AllToAllV", None, 0, 1, 4 * ranks * (ranks + 1) / 2);
    row(ALL, "Scatter", Some(0), 0, 1, if rank == 0 { 24 * ranks } else { 0 });
    row(ALL, "Send", Some(next), 128, 1, 800);
    row(SECOND, "AllReduce", None, 1024, 2, 8000);
    row(&pair, "AllReduce", None, 128, 1, 280);
    if rank.is_multiple_of(2) {
        row(EVEN, "AllReduce", None, 0, 1, 5);
    }
    rows.push(format!("{ALL}|oneccl-rx|onecclRecv|message|{previous}|{rank}||128|1|800"));
    let mut control = |comm: &str, function: &str, scope: &str, calls: u64| {
        rows.push(format!("{comm}|oneccl|oneccl{function}||{rank}|-|{scope}|0|{calls}|0"));
    };
    if rank == 0 {
        control("-", "GetUniqueId", "", 2);
    }
    control(ALL, "CommInitRank", "", 1);
    control(SECOND, "CommInitRank", "", 1);
    control(ALL, "CommSplit", "", 2);
    control(ALL, "GroupEnd", "", 1);
    control("-", "GroupEnd", "*", 1);
    control(&pair, "CommFinalize", "", 1);
    control(&pair, "CommDestroy", "", 1);
    control(SECOND, "CommDestroy", "", 1);
    if rank.is_multiple_of(2) {
        control(EVEN, "CommDestroy", "", 1);
    }
    rows
}

const ROWS: &str = "SELECT layer_comm, layer, function, role, src, dst, scope, bucket_lo, calls, bytes FROM transfers \
                    WHERE layer LIKE 'oneccl%'";
const OF_MPI: &str =
    "SELECT comm, creator, size, parent, root_rank, label, ranks FROM communicators WHERE layer = 'mpi' ORDER BY 1";

fn ranks_of(ranks: impl Iterator<Item = usize>) -> String {
    let all: Vec<usize> = ranks.collect();
    let is_row = all.len() > 1 && all.windows(2).all(|pair| pair[1] == pair[0] + 1);
    if is_row {
        return format!("{}-{}", all[0], all[all.len() - 1]);
    }
    all.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

pub fn check_oneccl(run: &Run, ranks: usize) {
    let path = run.profile_path();
    let (mut wanted, mut found): (Vec<_>, _) =
        ((0..ranks).flat_map(|rank| told(rank, ranks)).collect(), answer(&path, ROWS));
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted, "{} ranks", ranks);

    let everybody = ranks_of(0..ranks);
    let even = ranks_of((0..ranks).step_by(2));
    let mut wanted = vec![
        format!("oneccl:i0.0|i|{ranks}|-|0|-|0|{everybody}"),
        format!("oneccl:i0.1|i|{ranks}|-|0|-|1|{everybody}"),
        format!("oneccl:s0.2|s|{}|oneccl:i0.0|0|color 7|1|{even}", ranks.div_ceil(2)),
    ];
    for first in (0..ranks).step_by(2) {
        let (size, members) = (2.min(ranks - first), ranks_of(first..ranks.min(first + 2)));
        wanted.push(format!("oneccl:s{first}.3|s|{size}|oneccl:i0.0|{first}|color {}|1|{members}", first / 2));
    }
    wanted.sort();
    let columns =
        "SELECT comm, creator, size, parent, root_rank, label, freed, ranks FROM communicators WHERE layer = 'oneccl'";
    let mut found = answer(&path, columns);
    found.sort();
    assert_eq!(found, wanted, "{} ranks", ranks);
    let notes = answer(&path, "SELECT DISTINCT text FROM notes WHERE module = 'nccl'");
    assert!(notes.iter().any(|note| note.starts_with("oneCCL 2022.")), "{notes:?}");
}

#[test]
fn what_oneccl_is_asked_is_counted_on_communicators_with_names() {
    for mpi in Mpi::ALL {
        side_by_side([2, 3, 4], |ranks| {
            let Some(launch) = over_oneccl(mpi, ranks) else { return };
            let run = counted(launch).waiting().run().succeeded();
            check_oneccl(&run, ranks);
            let plain = over_oneccl(mpi, ranks).expect("as above").preload(common::library());
            let plain = plain.waiting().run().succeeded();
            let names = answer(&plain.profile_path(), OF_MPI);
            assert_eq!(names.len(), 1 + ranks.div_ceil(2), "{names:?}");
            assert_eq!(answer(&run.profile_path(), OF_MPI), names, "{mpi}: MPI's names are the same with the module");
            assert_eq!(answer(&plain.profile_path(), "SELECT count(*) FROM transfers"), ["0"], "{mpi}");
        });
    }
}

/// Each operation has a time, and the timeline has it as an event.
#[test]
fn operations_have_times_and_events() {
    let Some(launch) = over_oneccl(Mpi::Mpich, 2) else { return };
    let run = counted(launch).variable("COMMSEE_TRACE", "1").run().succeeded();
    let untimed =
        "SELECT count(*) FROM transfers WHERE layer LIKE 'oneccl%' AND (time_s IS NULL OR time_s < 0 OR time_s > 60)";
    assert_eq!(answer(&run.profile_path(), untimed), ["0"]);
    let events = "SELECT rank, layer_comm, count(*), sum(bytes), min(end_s >= begin_s) FROM events \
                  WHERE function = 'onecclAllReduce' GROUP BY 1, 2 ORDER BY 1, 2";
    let wanted = [
        "0|oneccl:i0.0|5|3600|1",
        "0|oneccl:i0.1|2|8000|1",
        "0|oneccl:s0.2|1|5|1",
        "0|oneccl:s0.3|1|280|1",
        "1|oneccl:i0.0|5|3600|1",
        "1|oneccl:i0.1|2|8000|1",
        "1|oneccl:s0.3|1|280|1",
    ];
    assert_eq!(answer(&run.profile_path(), events), wanted);
}

/// What a rank of `nccl_paths.c` does, of two: communicator, function, protocol, bucket, to, calls, bytes.
fn told_of_paths(rank: usize) -> Vec<String> {
    const ALL: &str = "nccl:i0.0";
    const NAMED: &str = "nccl:i0.1";
    const SMALL: &str = "TREE/LL x1";
    const LARGE: &str = "RING/SIMPLE x4";
    let (next, clique) = (1 - rank, format!("nccl:a{rank}.3"));
    let mut rows = Vec::new();
    let mut row = |comm: &str, function: &str, how: &str, bucket: u64, to: Option<usize>, calls: u64, bytes: u64| {
        let to = to.map_or("-".to_owned(), |to| to.to_string());
        rows.push(format!("{comm}|nccl{function}|{how}|{bucket}|{rank}|{to}|{calls}|{bytes}"));
    };
    row(ALL, "AllReduce", SMALL, 128, None, 1, 400);
    row(ALL, "AllReduce", LARGE, 1024, None, 1, 4000);
    row(ALL, "AllReduce", LARGE, 8192, None, 1, 12000);
    row(ALL, "AllReduce", "", 0, None, 1, 0);
    row(ALL, "Broadcast", LARGE, 1024, Some(0), 1, if rank == 0 { 2000 } else { 0 });
    row(ALL, "Broadcast", SMALL, 128, Some(1), 1, if rank == 1 { 400 } else { 0 });
    row(ALL, "AllGather", SMALL, 0, None, 1, 40);
    row(ALL, "AlltoAll", "", 128, None, 1, 800);
    row(ALL, "PutSignal", "", 128, Some(next), 1, 256);
    for comm in ["nccl:i0.2", "nccl:s0.4", "nccl:s0.5", "nccl:s0.6", "nccl:g0.9"] {
        row(comm, "AllReduce", SMALL, 128, None, 1, 400);
    }
    row(NAMED, "AllReduce", SMALL, 128, None, 3, 1200);
    row(NAMED, "AllReduce", LARGE, 1024, None, 1, 8000);
    row(NAMED, "Send", "x2", 1024, Some(next), 1, 1200);
    row(&clique, "AllReduce", SMALL, 0, None, 2, 80);
    // Past the wrappers, by the plugin; and through one.
    row("nccl:i0.10", "AllReduce", SMALL, 128, None, 1, 400);
    row("nccl:i0.10", "AllReduce", "", 1024, None, 1, 4000);
    rows.push(format!("{NAMED}|ncclRecv|x2|1024|{next}|{rank}|1|1200"));
    rows
}

/// A stand-in for NCCL: each way to make a communicator, and what the profiler plugin says of calls. It proves nothing about NCCL.
#[test]
fn a_stand_in_takes_every_path() {
    let standin = shared_library("standin_nccl");
    let link = vec![standin.display().to_string()];
    for mpi in Mpi::ALL {
        let launch = Launch::of(mpi, Program { name: "nccl_paths", link: link.clone() }.compiled(mpi)).ranks(2);
        let run = counted(launch).variable("STANDIN", &standin.display().to_string()).run().succeeded();
        let path = run.profile_path();
        let rows = "SELECT layer_comm, function, protocol, bucket_lo, src, dst, calls, bytes FROM transfers WHERE role = 'message'";
        let (mut wanted, mut found): (Vec<_>, _) = ((0..2).flat_map(told_of_paths).collect(), answer(&path, rows));
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{mpi}");

        let control = "SELECT layer_comm, function, scope, sum(calls) FROM transfers WHERE role = '' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
        let wanted = [
            "-|ncclCommInitAll||2",
            "-|ncclGroupEnd|*|4",
            "nccl:a0.3|ncclGroupEnd||1",
            "nccl:a1.3|ncclGroupEnd||1",
            "nccl:g0.9|ncclCommGrow||1",
            "nccl:i0.0|ncclCommGrow||1",
            "nccl:i0.0|ncclCommInitRank||2",
            "nccl:i0.0|ncclCommShrink||2",
            "nccl:i0.0|ncclCommSplit||4",
            "nccl:i0.1|ncclCommInitRankConfig||2",
            "nccl:i0.1|ncclCommSplit||2",
            "nccl:i0.1|ncclGroupEnd||2",
            "nccl:i0.2|ncclCommInitRankScalable||2",
            "nccl:s0.5|ncclCommDestroy||2",
            "nccl:s0.6|ncclCommAbort||2",
        ];
        assert_eq!(answer(&path, control), wanted, "{mpi}");

        let communicators =
            "SELECT comm, size, parent, label, freed, ranks FROM communicators WHERE layer = 'nccl' ORDER BY 1";
        let wanted = [
            "nccl:a0.3|2|-|-|0|0",
            "nccl:a1.3|2|-|-|0|1",
            "nccl:g0.9|2|nccl:i0.0|-|0|0-1",
            "nccl:h0.7|1|nccl:i0.0|-|0|0",
            "nccl:h0.8|1|nccl:i0.0|-|0|0",
            "nccl:i0.0|2|-|-|0|0-1",
            "nccl:i0.1|2|-|data parallel|0|0-1",
            "nccl:i0.10|2|-|-|0|0-1",
            "nccl:i0.2|2|-|row|0|0-1",
            "nccl:s0.4|2|nccl:i0.0|row|0|0-1",
            "nccl:s0.5|2|nccl:i0.0|color 0|1|0-1",
            "nccl:s0.6|2|nccl:i0.1|color 0|1|0-1",
        ];
        assert_eq!(answer(&path, communicators), wanted, "{mpi}");
        let born = "SELECT c.name, m.path LIKE '%/nccl_paths-%' FROM communicator c LEFT JOIN site s ON s.id = c.site \
                    LEFT JOIN frame f ON f.id = s.frame LEFT JOIN module m ON m.id = f.module \
                    WHERE c.layer = 'nccl' AND c.name <> 'nccl:i0.10' AND m.path LIKE '%/nccl_paths-%' IS NOT 1";
        assert_eq!(answer(&path, born), Vec::<String>::new(), "{mpi}: made in the program, not in a library");
        let devices = answer(&path, "SELECT DISTINCT device, kind FROM transfers WHERE function = 'ncclAlltoAll'");
        assert_eq!(devices, ["gpu3|gpu"], "{mpi}");
    }
}

/// What once led it astray. NCCL would have warned the program's user of each question that came too early.
#[test]
fn communicators_are_asked_for_nothing_before_they_are_complete() {
    let standin = shared_library("standin_nccl");
    for mpi in Mpi::ALL {
        let link = vec![standin.display().to_string()];
        let launch = Launch::of(mpi, Program { name: "nccl_traps", link }.compiled(mpi)).ranks(2);
        let run = counted(launch).run().succeeded();
        let rows = "SELECT layer_comm, function, protocol, device, sum(calls), sum(bytes), count(*) FROM transfers \
                    WHERE role = 'message' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2";
        let wanted = [
            "nccl:i0.5|ncclAllReduce|TREE/LL x1|gpu3|2|800|2",
            "nccl:i0.6|ncclAllReduce|TREE/LL x1|gpu3|2|800|2",
            "nccl:i0.8|ncclAllReduce|RING/SIMPLE x4|gpu3|2|8000|2",
            "nccl:s0.1|ncclAllReduce|TREE/LL x1|gpu3|2|800|2",
            "nccl:s0.3|ncclAlltoAll||gpu3|2|1600|2",
            "nccl:s0.4|ncclAllReduce|RING/SIMPLE x4|gpu3|2|16000|2",
            "nccl:s0.4|ncclAlltoAll||gpu3|2|1600|2",
        ];
        assert_eq!(answer(&run.profile_path(), rows), wanted, "{mpi}");
        let members = "SELECT comm, size, ranks FROM communicators WHERE layer = 'nccl' ORDER BY 1";
        assert!(answer(&run.profile_path(), members).iter().all(|row| row.ends_with("|2|0-1")), "{mpi}");
    }
}

/// AMD's library has NCCL's functions under NCCL's names.
#[test]
fn rccl_is_told_by_its_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("librccl.so.1");
    std::fs::copy(shared_library("standin_nccl"), &library).expect("a copy");
    for mpi in Mpi::ALL {
        let link = vec![library.display().to_string()];
        let run =
            counted(Launch::of(mpi, Program { name: "nccl_traps", link }.compiled(mpi)).ranks(2)).run().succeeded();
        let notes = answer(&run.profile_path(), "SELECT text FROM notes WHERE module = 'nccl' AND text LIKE '%2.28.9'");
        assert_eq!(notes, ["RCCL, as NCCL 2.28.9"], "{mpi}");
    }
}

/// The library's own calls come by the wrappers then, which know none of its communicators: it is the plugin that counts.
#[test]
fn programs_that_find_the_library_by_themselves_are_counted_by_the_plugin_alone() {
    let standin = shared_library("standin_nccl");
    for mpi in Mpi::ALL {
        let launch =
            Launch::of(mpi, Program { name: "nccl_past", link: vec!["-ldl".to_owned()] }.compiled(mpi)).ranks(2);
        let run = counted(launch).variable("STANDIN", &standin.display().to_string()).run().succeeded();
        let rows = "SELECT layer_comm, function, protocol, src, dst, sum(calls), sum(bytes) FROM transfers WHERE layer = 'nccl' \
                    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5";
        let wanted: Vec<String> = ["nccl:i0.0", "nccl:i0.1"]
            .iter()
            .zip(0..)
            .flat_map(|(comm, root)| {
                let each = move |what: &str, bytes: usize| format!("{comm}|{what}|1|{bytes}");
                let of = |rank: usize| if rank == root { 2000 } else { 0 };
                [
                    each("ncclAllReduce|TREE/LL x1|0|-", 400),
                    each("ncclAllReduce|TREE/LL x1|1|-", 400),
                    each(&format!("ncclBroadcast|RING/SIMPLE x4|0|{root}"), of(0)),
                    each(&format!("ncclBroadcast|RING/SIMPLE x4|1|{root}"), of(1)),
                    each("ncclSend|x2|0|0", 40),
                    each("ncclSend|x2|0|1", 40),
                    each("ncclSend|x2|1|0", 40),
                    each("ncclSend|x2|1|1", 40),
                ]
            })
            .collect();
        assert_eq!(answer(&run.profile_path(), rows), wanted, "{mpi}");
        let communicators = "SELECT comm, freed FROM communicators WHERE layer = 'nccl' ORDER BY 1";
        assert_eq!(answer(&run.profile_path(), communicators), ["nccl:i0.0|1", "nccl:i0.1|0"], "{mpi}");
    }
}

/// The real NCCL answers the same with the module and without, and nothing that it refused is counted.
#[test]
fn nccl_answers_as_it_does_without() {
    for version in ["2.28.9", "2.32.3"] {
        let Some(folder) = fetched(&format!("nccl-{version}")) else {
            skip(&format!("NCCL {version} (its wheel cannot be had here, or was not asked for: ./test --heavy)"));
            continue;
        };
        for mpi in Mpi::ALL {
            let launch = || linked(mpi, "nccl_errors", &folder, "libnccl.so.2").ranks(1);
            let plain = launch().run().succeeded();
            let run = counted(launch()).run().succeeded();
            assert!(plain.stdout.contains("NULL, NULL) 4"), "{}", plain.stdout);
            assert_eq!(run.stdout, plain.stdout, "{mpi}, NCCL {version}");
            let rows = "SELECT function, sum(calls) FROM transfers GROUP BY 1 ORDER BY 1";
            // NCCL frees nothing with success.
            let taken = ["ncclCommDestroy|1", "ncclCommFinalize|1", "ncclGetUniqueId|1", "ncclGroupEnd|1"];
            assert_eq!(answer(&run.profile_path(), rows), taken, "{mpi}, NCCL {version}");
        }
    }
}

/// The module and `through` know the same functions, and mean the same by their bytes and by their peer.
#[test]
fn functions_mean_the_same_to_who_writes_and_who_reads() {
    const RANKS: u32 = 4;
    let mut readers: BTreeSet<&str> = ccl::FUNCTIONS.iter().map(|function| function.name).collect();
    for function in functions::ALL {
        let name = function.name();
        let read = ccl::find(&function.full_name("nccl")).unwrap_or_else(|| panic!("{name} is not in src/ccl.rs"));
        assert_eq!(ccl::find(&function.full_name("oneccl")), Some(read), "{name}");
        readers.remove(read.name);
        let kind = match read.kind {
            ccl::Kind::Collective { has_root: false } => Kind::Collective,
            ccl::Kind::Collective { has_root: true } => Kind::Rooted,
            ccl::Kind::Send => Kind::Send,
            ccl::Kind::Receive => Kind::Receive,
            ccl::Kind::Control => Kind::Control,
        };
        assert_eq!(function.kind(), kind, "{name}");
        let blocks = [1, 2].map(|rank| function.blocks(RANKS, rank, 2));
        let all = u64::from(RANKS);
        match read.holds {
            ccl::Holds::Block => assert_eq!(blocks, [1, 1], "{name}"),
            ccl::Holds::Blocks => assert_eq!(blocks, [all, all], "{name}"),
            ccl::Holds::BlockOfRoot => assert_eq!(blocks, [0, 1], "{name}"),
            ccl::Holds::BlocksOfRoot => assert_eq!(blocks, [0, all], "{name}"),
            ccl::Holds::Own => {}
        }
    }
    // The module calls the first what it is, and does not count the second.
    assert_eq!(readers, BTreeSet::from(["Bcast", "GroupStart"]));
}

/// The functions of a library, or of the module, of a prefix.
fn exported(library: &Path, prefix: &str) -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().expect("nm");
    let text = String::from_utf8(output.stdout).expect("names");
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(2));
    let own = names.map(|name| name.split('@').next().unwrap_or(name));
    own.filter(|name| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_uppercase)))
        .map(str::to_owned)
        .collect()
}

/// Each function of the libraries is counted, or said to be no communication; nothing is both, and the list has nothing more.
#[test]
fn every_function_is_counted_or_listed() {
    let listed: BTreeSet<String> = include_str!("../uncounted.txt")
        .lines()
        .filter(|line| !line.starts_with(['#', '[']))
        .flat_map(|line| line.split_whitespace().map(str::to_owned))
        .collect();
    let (mut unseen, mut is_complete) = (listed.clone(), true);
    let libraries = [
        ("nccl-2.28.9", "libnccl.so.2", "nccl"),
        ("nccl-2.32.3", "libnccl.so.2", "nccl"),
        ("oneccl", "libccl.so.2", "oneccl"),
    ];
    for (name, file, prefix) in libraries {
        let counted = exported(&hook("nccl"), prefix);
        let Some(folder) = fetched(name) else {
            is_complete = false;
            skip(&format!(
                "the functions of {name} (its wheel cannot be had here, or was not asked for: ./test --heavy)"
            ));
            continue;
        };
        let all = exported(&folder.join(file), prefix);
        assert!(all.len() > 30, "{name}: {all:?}");
        let missing: Vec<_> = all.iter().filter(|name| !counted.contains(*name) && !listed.contains(*name)).collect();
        assert_eq!(missing, Vec::<&String>::new(), "{name}: neither counted nor listed in tests/uncounted.txt");
        let both: Vec<_> = all.iter().filter(|name| counted.contains(*name) && listed.contains(*name)).collect();
        assert_eq!(both, Vec::<&String>::new(), "{name}");
        unseen.retain(|name| !all.contains(name));
    }
    if is_complete {
        assert_eq!(unseen, BTreeSet::new(), "in tests/uncounted.txt, and in no library");
    }
}

/// Without NCCL the module does nothing.
#[test]
fn without_such_a_library_the_module_is_inert() {
    for mpi in Mpi::ALL {
        let run = counted(Launch::of(mpi, Program { name: "p2p", link: Vec::new() }.compiled(mpi)))
            .ranks(2)
            .run()
            .succeeded();
        assert_eq!(answer(&run.profile_path(), "SELECT count(*) FROM transfers"), ["0"], "{mpi}");
        // Where the profile lies is said, and nothing else.
        let mut said = run.stderr.lines().filter(|line| line.starts_with("commsee: "));
        assert!(said.all(|line| line.starts_with("commsee: profile in ")), "{}", run.stderr);
    }
}
