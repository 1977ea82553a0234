//! The message-size buckets in force.

use vocabulary::buckets::{Buckets, MAX_EDGES};
use vocabulary::calls;
use vocabulary::shard::OWN_SIZE;

use crate::guest::set_once::SetOnce;

struct InForce {
    buckets: Buckets,
    /// The least and the most bytes of each.
    bounds: [(u64, u64); MAX_EDGES + 1],
}

static BUCKETS: SetOnce<InForce> = SetOnce::new();

/// SAFETY: called in `MPI_Init`, before recording starts.
pub unsafe fn prepare(buckets: Buckets) {
    let bounds = std::array::from_fn(|bucket| {
        let (below, most) = buckets.bounds(bucket as u8);
        // What is more is a negative count.
        (if bucket == 0 { 0 } else { below.saturating_add(1) }, most.unwrap_or(i64::MAX as u64))
    });
    // SAFETY: the caller sees to it.
    unsafe { BUCKETS.set(InForce { buckets, bounds }) };
}

#[inline(always)]
pub fn of(message_bytes: u64) -> u8 {
    // SAFETY: wrappers get here only while recording is on.
    unsafe { BUCKETS.get() }.buckets.of(message_bytes)
}

/// What is added to the buckets of an operation's calls.
pub fn mark_of(operation: u16) -> u8 {
    if calls::has_own_size(operation) { OWN_SIZE } else { 0 }
}

/// The least and the most bytes of a message in a bucket.
#[inline(always)]
pub fn bounds(bucket: u8) -> (u64, u64) {
    // SAFETY: as above.
    unsafe { BUCKETS.get() }.bounds.get(usize::from(bucket)).copied().unwrap_or((0, 0))
}
