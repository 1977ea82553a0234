//! Completion calls are charged to the communicator of their requests, whatever form they have.

mod common;

use common::{Mpi, holds};

#[test]
fn openmpi_completions_find_their_communicator() {
    [2, 4, 8].into_iter().for_each(|ranks| holds(Mpi::OpenMpi, "completion", ranks));
}

#[test]
fn mpich_completions_find_their_communicator() {
    [2, 4, 8].into_iter().for_each(|ranks| holds(Mpi::Mpich, "completion", ranks));
}
