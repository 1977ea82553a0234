//! Several threads that communicate at the same time.

mod common;

use common::{Mpi, holds};

#[test]
fn no_thread_loses_a_count() {
    for mpi in Mpi::ALL {
        [2, 4].into_iter().for_each(|ranks| holds(mpi, "threads", ranks));
    }
}
