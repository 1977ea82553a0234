//! Files: charged to the communicator that a file was opened over; what a read brought is what its status says.

use common::{Mpi, holds};

#[test]
fn openmpi_files_are_their_communicators() {
    [2, 3, 4].into_iter().for_each(|ranks| holds(Mpi::OpenMpi, "io", ranks));
}

#[test]
fn mpich_files_are_their_communicators() {
    [2, 3, 4].into_iter().for_each(|ranks| holds(Mpi::Mpich, "io", ranks));
}

#[test]
fn files_of_the_standard_abi_are_their_communicators() {
    if Mpi::Standard.is_there() {
        [2, 4].into_iter().for_each(|ranks| holds(Mpi::Standard, "io", ranks));
    }
}
