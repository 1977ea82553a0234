//! Requests that end in other ways than usual, and by other threads.

use common::{Launch, Mpi, check};

/// The program tells what the library returns: the same without the profiler.
fn holds_and_changes_nothing(program: &str, ranks: usize) {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, program).ranks(ranks).run().succeeded();
        check(&run);
        let plain = Launch::new(mpi, program).ranks(ranks).plain().run().succeeded();
        assert_eq!(plain.stdout, run.stdout, "{mpi}");
    }
}

#[test]
fn errors_cancellation_and_generalized_requests_are_charged_as_what_they_are() {
    [2, 4].into_iter().for_each(|ranks| holds_and_changes_nothing("requests", ranks));
}

#[test]
fn requests_go_from_thread_to_thread() {
    [2, 4].into_iter().for_each(|ranks| holds_and_changes_nothing("thread_requests", ranks));
}
