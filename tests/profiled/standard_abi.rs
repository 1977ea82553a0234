//! The same library file under an MPI library with the standard ABI of MPI 5.0. `./test` unpacks one where it can be had
//! and says so where it cannot; without it there is nothing to run.

use common::{Mpi, holds};

#[test]
fn programs_of_the_standard_abi_are_counted_exactly() {
    if Mpi::Standard.is_there() {
        for program in ["p2p", "persistent", "completion", "collectives", "neighbors", "creators", "phases", "requests"]
        {
            holds(Mpi::Standard, program, 4);
        }
    }
}
