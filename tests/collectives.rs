//! Collective and neighbourhood collective communication.

mod common;

use common::{Mpi, holds};

#[test]
fn collectives_count_what_each_rank_gives_and_takes() {
    for mpi in Mpi::ALL {
        [2, 4, 8].into_iter().for_each(|ranks| holds(mpi, "collectives", ranks));
    }
}

#[test]
fn neighbors_beyond_a_border_carry_nothing() {
    for mpi in Mpi::ALL {
        [2, 4, 8].into_iter().for_each(|ranks| holds(mpi, "neighbors", ranks));
    }
}
