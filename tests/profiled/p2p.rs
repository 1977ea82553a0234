//! Point-to-point communication: every mode, every way to receive, persistent requests.

use common::{Mpi, holds};

#[test]
fn every_mode_is_counted() {
    for mpi in Mpi::ALL {
        [2, 4, 8].into_iter().for_each(|ranks| holds(mpi, "p2p", ranks));
    }
}

#[test]
fn persistent_requests_count_at_every_start() {
    for mpi in Mpi::ALL {
        [2, 4, 8].into_iter().for_each(|ranks| holds(mpi, "persistent", ranks));
    }
}
