//! Partitioned communication: partitions that are ready are messages. Open MPI 4.1 does not have it.

use common::{Mpi, holds};

#[test]
fn partitions_are_messages_when_they_are_ready() {
    [2, 4].into_iter().for_each(|ranks| holds(Mpi::Mpich, "partitioned", ranks));
}

#[test]
fn partitions_of_the_standard_abi_are_messages_when_they_are_ready() {
    if Mpi::Standard.is_there() {
        [2, 4].into_iter().for_each(|ranks| holds(Mpi::Standard, "partitioned", ranks));
    }
}
