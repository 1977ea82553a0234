//! How what this process counts will become part of a profile: gathered in `MPI_Finalize`, or left in its shard by a program that has
//! sessions only, or no MPI.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::guest::state;
use crate::rollcall::{Job, RollCall};
use crate::shard::{self, paths};

/// Which ranks record; there from the start on for `MPI_Finalize`. It takes part in what all agree on there whatever happens to
/// recording meanwhile.
static ROLL_CALL: Mutex<Option<Arc<RollCall>>> = parking_lot::const_mutex(None);

/// `MPI_Init` was seen.
static STARTED: AtomicBool = AtomicBool::new(false);

/// The shard was made for a session or without MPI, not in `MPI_Init`.
static ALONE: AtomicBool = AtomicBool::new(false);

/// It was made without MPI, which is not there so far.
static WITHOUT_MPI: AtomicBool = AtomicBool::new(false);

/// Others may count on this rank in `MPI_Finalize` from now on.
pub fn in_finalize(roll_call: Arc<RollCall>) {
    *ROLL_CALL.lock() = Some(roll_call);
}

/// The roll of those that gather, for the one call of `MPI_Finalize`.
pub fn take_roll_call() -> Option<Arc<RollCall>> {
    ROLL_CALL.lock().take()
}

/// Whether `MPI_Finalize` will see to what this process counts.
pub fn ends_in_finalize() -> bool {
    ROLL_CALL.lock().is_some()
}

/// `MPI_Init` has returned. Whether that was seen before.
pub fn starts() -> bool {
    STARTED.swap(true, Ordering::AcqRel)
}

pub fn has_started() -> bool {
    STARTED.load(Ordering::Acquire)
}

/// Whether this process leaves its shard by itself.
pub fn is_alone() -> bool {
    ALONE.load(Ordering::Acquire)
}

pub fn set_alone(alone: bool) {
    ALONE.store(alone, Ordering::Release);
}

pub fn is_without_mpi() -> bool {
    WITHOUT_MPI.load(Ordering::Acquire)
}

/// The shard, unless it was made without MPI.
pub fn header_of_mpi() -> Option<shard::Live> {
    shard::header().filter(|_| !is_without_mpi())
}

pub fn set_without_mpi(without: bool) {
    WITHOUT_MPI.store(without, Ordering::Release);
}

pub fn roll_call(job: &Job, kind: &str, rank: u32, size: u32) -> RollCall {
    let wanted = paths::profile();
    let beside = wanted.parent().unwrap_or(std::path::Path::new("."));
    RollCall::join(job, kind, rank, size, &paths::of_shards(), beside)
}

/// A child made by `fork` shares the shard's memory, and must not count into it.
pub unsafe extern "C" fn forget_in_child() {
    if let Some(mut roll_call) = ROLL_CALL.try_lock() {
        *roll_call = None;
    }
    set_alone(false);
    set_without_mpi(false);
    state::stop();
    shard::forget();
}
