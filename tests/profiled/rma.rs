//! One-sided communication: charged to the communicator that a window was made over, also when that one is gone.

use common::{Launch, Mpi, check};

fn windows_hold(mpi: Mpi, ranks: usize) {
    check(&Launch::new(mpi, "rma").ranks(ranks).with_windows().run().succeeded());
}

#[test]
fn openmpi_windows_are_their_communicators() {
    [2, 3, 4].into_iter().for_each(|ranks| windows_hold(Mpi::OpenMpi, ranks));
}

#[test]
fn mpich_windows_are_their_communicators() {
    [2, 3, 4].into_iter().for_each(|ranks| windows_hold(Mpi::Mpich, ranks));
}

#[test]
fn windows_of_the_standard_abi_are_their_communicators() {
    if Mpi::Standard.is_there() {
        [2, 4].into_iter().for_each(|ranks| windows_hold(Mpi::Standard, ranks));
    }
}

#[test]
fn a_window_is_its_communicators_until_it_is_gone() {
    // Open MPI 4.1.4 takes a window apart before it calls the delete functions of its attributes.
    for mpi in [Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there()) {
        check(&Launch::new(mpi, "dying_window").run().succeeded());
    }
}
