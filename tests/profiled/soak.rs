//! Long runs: what the profiler needs grows with the communicators that a program makes, and with nothing else.

use common::{Launch, Mpi};

/// Of tests/programs/soak.c, behind its first tenth.
const COMMUNICATORS: i64 = 18_000;

fn stays_flat(millions: u64) {
    for mpi in Mpi::ALL {
        let launch = Launch::new(mpi, "soak").ranks(1).arguments(&[&millions.to_string()]).limit(600);
        let run = launch.run().succeeded();
        println!("{mpi}, {millions} million calls: {}", run.stdout.trim());
        let words: Vec<&str> = run.stdout.split_whitespace().collect();
        let ["calls", calls_kib, "communicators", communicators_kib] = words[..] else { panic!("{}", run.output()) };
        let kib = |word: &str| word.parse::<i64>().expect("a number");
        assert!(kib(calls_kib) < 1024, "calls need memory: {}", run.stdout);
        // A record, and the cells of what was called over it.
        assert!(kib(communicators_kib) < COMMUNICATORS, "over 1 KiB for each communicator: {}", run.stdout);
        let profile = run.profile();
        let rounds = millions * 1_000_000 / 8 + 20_000 / 4;
        for (op, calls) in
            [("MPI_Isend", rounds), ("MPI_Irecv", 2 * rounds), ("MPI_Waitall", rounds), ("MPI_Comm_free", 20_000)]
        {
            assert_eq!(profile.total(op), calls, "{op} under {mpi}");
        }
    }
}

#[test]
fn memory_stays_flat() {
    stays_flat(4);
}

#[test]
#[ignore = "heavy: a hundred million calls"]
fn memory_stays_flat_over_a_hundred_million_calls() {
    stays_flat(100);
}
