//! The MPI functions that a benchmark times, as they are: Rust's bindings have no persistent, one-sided or partitioned operations of their own. `unsafe`
//! of the crate lives here, in `library`, in `memory` and in `c`.

mod count;
mod shim;
mod world;

pub use count::Count;
pub use shim::{has_partitioned, in_place, pready, precv_init, psend_init};
pub use world::{Comm, World, free_all, null_request, start_all, wait_all};

/// The tag of a step.
pub fn tag(step: usize) -> i32 {
    // MPI_TAG_UB is at least 32767 (MPI 4.1, 9.1.2).
    (step % 32000) as i32
}
