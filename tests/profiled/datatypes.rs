//! Which datatypes were used: `COMMSEE_DATATYPES=1`.

use std::collections::BTreeMap;

use common::{Facts, Launch, Mpi, Profile, check};
use commsee::calls::CALLS;

const WANTED: (&str, &str) = ("COMMSEE_DATATYPES", "1");

fn compare(mpi: Mpi, ranks: usize) {
    let run = Launch::new(mpi, "datatypes").ranks(ranks).variable(WANTED.0, WANTED.1).run().succeeded();
    let profile = run.profile();
    let (said, found) = (Facts::said(&run, &profile).uses, Facts::found(&profile).uses);
    assert!(said.len() > 100, "the program states what it does");
    let missing: Vec<_> = said.iter().filter(|(key, value)| found.get(key) != Some(value)).collect();
    let surplus: Vec<_> = found.iter().filter(|(key, value)| said.get(key) != Some(value)).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "{mpi}: stated {missing:#?}\nfound {surplus:#?}");
}

#[test]
fn every_use_is_counted() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there()) {
        [2, 4].into_iter().for_each(|ranks| compare(mpi, ranks));
    }
}

#[test]
fn nothing_is_recorded_unless_it_is_wanted() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "datatypes").ranks(2).run().succeeded();
        assert!(run.profile().datatypes.is_empty());
    }
}

/// Recording changes nothing else, and agrees with it where both count the same bytes.
#[test]
fn calls_and_bytes_are_the_same_with_it() {
    for mpi in Mpi::ALL {
        let mut rows = 0;
        for program in ["p2p", "persistent", "collectives", "neighbors", "completion", "threads", "control"] {
            let run = Launch::new(mpi, program).ranks(4).variable(WANTED.0, WANTED.1).run().succeeded();
            check(&run);
            rows += agrees(&run.profile());
        }
        assert!(rows > 50, "{rows} rows were compared");
    }
}

type Sums = BTreeMap<(String, String, u32), u64>;

/// What a rank sends in calls with one datatype argument is what that argument describes. Returns how many rows say so.
fn agrees(profile: &Profile) -> usize {
    let is_one = |op: &str| {
        let call = CALLS.iter().find(|call| call.name == op).expect("an operation");
        ["send", "allreduce", "scan", "reduce_scatter_block", "reduce_scatter"].contains(&call.rule)
    };
    let (mut sent, mut described) = (Sums::new(), Sums::new());
    for call in profile.calls.iter().filter(|call| is_one(&call.op) && call.bytes_sent > 0) {
        *sent.entry((call.comm.clone(), call.op.clone(), call.rank)).or_default() += call.bytes_sent;
    }
    for used in profile.datatypes.iter().filter(|used| is_one(&used.op) && used.bytes > 0) {
        *described.entry((used.comm.clone(), used.op.clone(), used.rank)).or_default() += used.bytes;
    }
    assert_eq!(sent, described);
    sent.len()
}
