//! Nothing that was counted is lost, however a process ends: a program keeps a log of its own of every call that returned, is ended
//! at any moment, and the profile that can be made afterwards is compared with the log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{Launch, Mpi, Profile, Run, side_by_side};
use commsee::profile::recover;

const HOWS: [&str; 10] =
    ["SIGKILL", "watched", "SIGTERM", "finalizing", "watched", "SIGSEGV", "_exit", "MPI_Abort", "exit", "SIGABRT"];
const STEPS: u64 = 600;

/// What one process logged (`struct log` of tests/programs/killed.c): calls by communicator and operation.
struct Log {
    returned: u64,
    in_flight: Option<(String, String)>,
    counts: BTreeMap<(String, String), i64>,
}

impl Log {
    fn parse(bytes: &[u8]) -> Log {
        const NAME_BYTES: usize = 32;
        const OPERATIONS: usize = 64;
        const COMMUNICATORS: usize = 256;
        let word = |place: usize| u64::from_ne_bytes(bytes[place..place + 8].try_into().unwrap());
        let name = |place: usize| {
            let text = &bytes[place..place + NAME_BYTES];
            String::from_utf8(text.split(|byte| *byte == 0).next().unwrap().to_vec()).expect("a name")
        };
        let (returned, in_flight, operations) = (word(0), word(8) as usize, word(16) as usize);
        let (names, comms) = (32, 32 + OPERATIONS * NAME_BYTES);
        let counts_at = comms + COMMUNICATORS * NAME_BYTES;
        let key = |place: usize| {
            let (comm, operation) = (place / operations, place % operations);
            (name(comms + comm * NAME_BYTES), name(names + operation * NAME_BYTES))
        };
        let mut counts = BTreeMap::new();
        for place in 0..COMMUNICATORS * operations {
            let count = word(counts_at + place * 8);
            if count > 0 {
                *counts.entry(key(place)).or_default() += count as i64;
            }
        }
        Log { returned, in_flight: in_flight.checked_sub(1).map(key), counts }
    }
}

/// Runs the program until it is ended, and compares. Returns how many calls had returned on all ranks together.
fn ended(mpi: Mpi, seed: u64, how: &str, call: u64) -> u64 {
    let ranks = 2 + (seed % 3) as usize;
    let victim = (seed / 3 % ranks as u64).to_string();
    let (seed, steps, call) = (seed.to_string(), STEPS.to_string(), call.to_string());
    let arguments = [seed.as_str(), &steps, &victim, &call, how];
    let run = Launch::new(mpi, "killed").ranks(ranks).arguments(&arguments).waiting().run();
    let logs: Vec<Log> = (0..ranks)
        .map(|rank| Log::parse(&fs::read(run.truth_folder().join(rank.to_string())).expect("the log")))
        .collect();
    // A process that is ended behind the gathering of MPI_Finalize leaves a profile.
    if !run.profile_path().exists() {
        let mut left = run.leftovers();
        // Where a launcher takes the job down early, a process may have gone before it had begun.
        if left.is_empty() && logs.iter().all(|log| log.returned == 0) {
            return 0;
        }
        assert_eq!(left.len(), 1, "{arguments:?} under {mpi}: shards of one run\n{}", run.output());
        let recovered = recover::recover(&left.remove(0), &run.profile_path()).expect("a profile of the shards");
        assert_eq!(recovered.notes, Vec::<String>::new(), "{arguments:?} under {mpi}");
        for (rank, log) in logs.iter().enumerate().filter(|(rank, _)| recovered.missing_ranks.contains(*rank as u32)) {
            assert_eq!(log.returned, 0, "{arguments:?} under {mpi}: no shard of rank {rank}");
        }
    }
    compare(&run, &logs, &format!("{arguments:?}, {ranks} ranks under {mpi}"));
    logs.iter().map(|log| log.returned).sum()
}

fn compare(run: &Run, logs: &[Log], what: &str) {
    let profile = Profile::read(&run.profile_path());
    assert_eq!(profile.integrity, "ok");
    let logged: BTreeSet<&str> = logs.iter().flat_map(|log| log.counts.keys()).map(|(comm, _)| comm.as_str()).collect();
    // The process that supplies the name may have been ended while it was given the communicator.
    let name = |comm: &str| match comm.split_once(".?") {
        None => comm.to_owned(),
        Some((start, _)) => {
            let is_it = |name: &&&str| name.starts_with(&format!("{start}.")) && profile.communicator(name).is_none();
            logged.iter().find(is_it).map_or(comm.to_owned(), |name| (*name).to_owned())
        }
    };
    let mut found: Vec<BTreeMap<(String, String), i64>> = vec![BTreeMap::new(); logs.len()];
    for call in &profile.calls {
        *found[call.rank as usize].entry((name(&call.comm), call.op.clone())).or_default() += call.calls as i64;
    }
    let none = BTreeMap::new();
    for (rank, log) in logs.iter().enumerate() {
        let found = found.get(rank).unwrap_or(&none);
        let keys: BTreeSet<_> = log.counts.keys().chain(found.keys()).collect();
        for key in keys {
            let count = |counts: &BTreeMap<_, i64>| counts.get(key).copied().unwrap_or(0);
            let difference = count(found) - count(&log.counts);
            let in_flight = log.in_flight.as_ref().is_some_and(|flight| flight == key);
            // A completing call moves a receive from the row of pending ones to its bucket.
            let moves =
                log.in_flight.as_ref().is_some_and(|(_, op)| op.starts_with("MPI_Wait")) && key.1 == "MPI_Irecv";
            let may_be = -i64::from(moves)..=i64::from(in_flight);
            assert!(
                may_be.contains(&difference),
                "{what}: rank {rank}, {key:?}: {} calls returned, {} are in the profile; in flight {:?}\n{}",
                count(&log.counts),
                count(found),
                log.in_flight,
                run.stderr
            );
        }
    }
}

/// xorshift64* (Vigna 2016): the same numbers everywhere.
fn draw(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
}

fn end_many(seeds: std::ops::Range<u64>) {
    for mpi in Mpi::ALL {
        let compared = AtomicU64::new(0);
        // Launchers wait a second for what they ask to end.
        side_by_side(seeds.clone(), |seed| {
            let mut state = seed * 2654435761 + 88172645463325252;
            // Some numbers are beyond the last call: then nothing ends the program, or it is ended in MPI_Finalize.
            let call = 1 + draw(&mut state) % (STEPS + STEPS / 4);
            compared.fetch_add(ended(mpi, seed, HOWS[seed as usize % HOWS.len()], call), Ordering::Relaxed);
        });
        let compared = compared.into_inner();
        assert!(
            compared > 100 * (seeds.end - seeds.start),
            "the runs were too short to tell anything: {compared} calls"
        );
    }
}

#[test]
fn no_call_is_lost_however_a_process_ends() {
    end_many(0..HOWS.len() as u64);
}

#[test]
#[ignore = "heavy: hundreds of jobs that are ended at random"]
fn no_call_is_lost_in_hundreds_of_jobs() {
    end_many(100..300);
}
