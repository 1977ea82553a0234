//! Who waited for whom: bounds from the counters of every profile, and exact times where there is a timeline.

mod counted;
mod state;
mod timed;

use std::collections::{BTreeMap, BTreeSet};

pub use self::counted::{Group, Member, Pattern, Refused, fences, groups};
pub use self::state::State;
pub use self::timed::{Timed, Waited, timed};

use super::catalog::Catalog;

/// Operations in which each rank has something of each, so that none leaves before the last one has come (Scalasca's Wait at N×N).
/// Nonblocking forms hold nobody; scans hold some.
pub const EXCHANGES: [&str; 8] = [
    "MPI_Allreduce",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
];

/// Which operations hold a rank until all others have come, by their number: barriers and exchanges.
pub fn all_to_all(catalog: &Catalog) -> BTreeMap<i64, State> {
    let of = |name: &str| match name {
        "MPI_Barrier" => Some(State::Barrier),
        name => EXCHANGES.contains(&name).then_some(State::NxN),
    };
    catalog.operations.iter().filter_map(|(number, operation)| Some((*number, of(&operation.name)?))).collect()
}

/// The operations with one of these names.
fn named(catalog: &Catalog, names: &[&str]) -> BTreeSet<i64> {
    let is_named = |name: &str| names.contains(&name);
    catalog.operations.iter().filter(|(_, op)| is_named(&op.name)).map(|(number, _)| *number).collect()
}
