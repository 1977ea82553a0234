//! What holds of every profile of a job that ended well, whatever the program did.

use std::collections::{BTreeMap, HashSet};

use commsee::buckets::Buckets;
use commsee::calls::{self, CALLS};
use commsee::creators;
use commsee::profile::SCHEMA_VERSION;

use super::profile::{Call, Communicator, Profile};

pub fn check(profile: &Profile, ranks: usize) {
    assert_eq!(profile.integrity, "ok");
    assert_eq!(profile.schema_version, SCHEMA_VERSION);
    check_ranks(profile, ranks);
    profile.communicators.iter().for_each(|communicator| check_communicator(profile, communicator, ranks));
    let names: HashSet<&str> = profile.communicators.iter().map(|communicator| communicator.comm.as_str()).collect();
    assert_eq!(names.len(), profile.communicators.len(), "every name is unique");

    let buckets = Buckets::parse(&profile.meta["bucket_edges"]).expect("edges as COMMSEE_BUCKETS takes them");
    let mut keys = HashSet::new();
    for call in &profile.calls {
        assert!(keys.insert((&call.comm, &call.op, call.bucket_lo, call.rank, &call.phase)), "stands twice: {call:?}");
        check_call(profile, call, &buckets);
    }
    for edge in &profile.matrix {
        let communicator = profile.communicator(&edge.comm).unwrap_or_else(|| panic!("over nothing: {edge:?}"));
        assert!(communicator.ranks.contains(&edge.src), "{edge:?}");
        // Where both sides have a communicator of their own, messages go to ranks of the other one.
        let is_known = edge.dst.is_none_or(|rank| communicator.ranks.contains(&rank));
        assert!(is_known || communicator.remote_size > 0, "{edge:?}");
        assert!(edge.calls > 0, "{edge:?}");
    }
    for involved in &profile.involved {
        assert!(profile.communicator(&involved.comm).is_some(), "{involved:?}");
        let charged = profile
            .calls
            .iter()
            .filter(|call| (&*call.comm, &call.op, call.rank) == ("*", &involved.op, involved.rank));
        let charged: u64 = charged.map(|call| call.calls).sum();
        assert!(involved.calls <= charged, "more often than it was called: {involved:?}");
    }
    check_files(profile);
    assert_eq!(profile.unbalanced, 0, "times of calls and of what they completed");
    assert!(!profile.meta.contains_key("lost_calls") && !profile.meta.contains_key("damaged_entries"));
}

/// Calls on files are those of the class, whichever file they are on.
pub fn check_files(profile: &Profile) {
    let key = |comm: &str, op: &str, bucket_lo, rank, phase: &str| {
        (comm.to_owned(), op.to_owned(), bucket_lo, rank, phase.to_owned())
    };
    let mut sums: BTreeMap<_, ([u64; 4], f64, u32)> = BTreeMap::new();
    for on_file in &profile.files {
        let known = calls::find(&on_file.op).expect("an operation");
        let number = CALLS.iter().position(|call| call.name == known.name).expect("its place");
        assert_eq!(on_file.is_collective, calls::is_collective_on_files(number as u16), "{on_file:?}");
        let key = key(&on_file.comm, &on_file.op, on_file.bucket_lo, on_file.rank, &on_file.phase);
        let (sum, time_s, files) = sums.entry(key).or_default();
        let counts = [on_file.calls, on_file.failed, on_file.bytes_written, on_file.bytes_read];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        (*time_s, *files) = (*time_s + on_file.time_s, *files + 1);
    }
    for call in profile.calls.iter().filter(|call| call.class == "io") {
        let key = key(&call.comm, &call.op, call.bucket_lo, Some(call.rank), &call.phase);
        let (sum, time_s, files) = sums.remove(&key).unwrap_or_else(|| panic!("on no file: {call:?}"));
        assert_eq!(sum, [call.calls, call.failed, call.bytes_sent, call.bytes_recv], "{call:?}");
        // Each is rounded to whole nanoseconds.
        assert!((time_s - call.time_s).abs() <= f64::from(files + 1) * 1e-9, "{time_s} in files: {call:?}");
    }
    assert!(sums.is_empty(), "calls of nobody: {sums:?}");
}

fn check_ranks(profile: &Profile, ranks: usize) {
    let mut seen: Vec<u32> = profile.ranks.iter().map(|rank| rank.rank).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..ranks as u32).collect::<Vec<_>>());
    let pids: HashSet<(&str, u32)> = profile.ranks.iter().map(|rank| (rank.host.as_str(), rank.pid)).collect();
    assert_eq!(pids.len(), ranks, "every rank is a process of its own");
    // Programs with sessions need no MPI_Init.
    let has_world = profile.communicators.iter().any(|communicator| communicator.creator == "MPI_COMM_WORLD");
    let threaded = profile.meta["thread_level"] == "MPI_THREAD_MULTIPLE";
    for rank in &profile.ranks {
        assert_eq!(rank.state, "finished");
        assert!(!rank.host.is_empty() && rank.wall_s > 0.0 && rank.mpi_s >= 0.0, "{rank:?}");
        // A process with one thread cannot spend more time in MPI than it runs; clocks are calibrated, not equal.
        assert!(threaded || rank.mpi_s <= rank.wall_s * 1.001, "{rank:?}");
        let init = |op: &str| {
            let calls = profile.calls.iter().filter(|call| call.rank == rank.rank && call.op == op);
            calls.map(|call| call.calls).sum::<u64>()
        };
        let with_init = init("MPI_Init") + init("MPI_Init_thread");
        assert_eq!((with_init, init("MPI_Finalize")), if has_world { (1, 1) } else { (0, 0) });
        assert!(has_world || init("MPI_Session_init") == init("MPI_Session_finalize"), "{rank:?}");
    }
}

fn check_communicator(profile: &Profile, communicator: &Communicator, ranks: usize) {
    // A layer's name stands before a communicator of its own, whose letter is the layer's.
    let (layer, name) = communicator.comm.split_once(':').unwrap_or(("", &communicator.comm));
    let letter = name.chars().next().expect("a name");
    let creator = if layer.is_empty() { creators::origin(letter) } else { name.get(..1) };
    assert_eq!(creator, Some(communicator.creator.as_str()), "{communicator:?}");
    // Ranks of another MPI_COMM_WORLD are counted in the size and have no number here.
    let remote = reaches_another_world(profile, communicator);
    assert!(communicator.ranks.len() <= communicator.size as usize, "{communicator:?}");
    assert!(remote || communicator.ranks.len() == communicator.size as usize, "{communicator:?}");
    assert!(communicator.ranks.iter().all(|rank| (*rank as usize) < ranks), "{communicator:?}");
    assert!(communicator.ranks.is_sorted_by(|one, next| one < next), "{communicator:?}");
    match communicator.root_rank {
        Some(root) => {
            assert!(communicator.ranks.contains(&root), "{communicator:?}");
            assert!(name[1..].starts_with(&format!("{root}.")), "{communicator:?}");
        }
        None => assert!(remote, "{communicator:?}"),
    }
    if let Some(parent) = &communicator.parent {
        assert!(profile.communicator(parent).is_some(), "no such parent: {communicator:?}");
    }
}

/// Whether it was made, or stems from one that was made, between two worlds.
fn reaches_another_world(profile: &Profile, communicator: &Communicator) -> bool {
    let makers = [
        "MPI_Comm_spawn",
        "MPI_Comm_spawn_multiple",
        "MPI_Comm_get_parent",
        "MPI_Comm_accept",
        "MPI_Comm_connect",
        "MPI_Comm_join",
    ];
    let parent = communicator.parent.as_ref().and_then(|name| profile.communicator(name));
    makers.contains(&communicator.creator.as_str())
        || parent.is_some_and(|parent| reaches_another_world(profile, parent))
}

fn check_call(profile: &Profile, call: &Call, buckets: &Buckets) {
    let known = CALLS.iter().find(|known| known.name == call.op).unwrap_or_else(|| panic!("unknown: {call:?}"));
    assert_eq!(call.class, known.class.name());
    match profile.communicator(&call.comm) {
        Some(communicator) => {
            assert!(communicator.ranks.contains(&call.rank), "not a member: {call:?}");
            assert_eq!(call.comm_size, Some(communicator.size), "{call:?}");
            assert_eq!(call.creator.as_ref(), Some(&communicator.creator), "{call:?}");
        }
        None => assert!(["-", "*"].contains(&call.comm.as_str()), "over nothing: {call:?}"),
    }
    let bucket = buckets.of(call.bucket_lo + u64::from(call.bucket_lo > 0));
    assert_eq!(buckets.bounds(bucket), (call.bucket_lo, call.bucket_hi), "{call:?}");
    assert!(call.failed <= call.calls, "{call:?}");
    if let (Some(least), Some(most)) = (call.time_min_s, call.time_max_s) {
        assert!(call.calls > 0, "{call:?}");
        // Each is rounded to whole nanoseconds.
        let (mean, slack) = (call.time_s / call.calls as f64, 2e-9);
        assert!(0.0 <= least && least <= mean + slack && mean <= most + slack, "{call:?}");
    } else {
        assert_eq!(call.calls, 0, "{call:?}");
        assert!(call.bytes_sent > 0 || call.bytes_recv > 0, "an empty row: {call:?}");
    }
}
