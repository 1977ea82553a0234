//! The message-size buckets in force.

use vocabulary::buckets::Buckets;
use vocabulary::calls;
use vocabulary::shard::OWN_SIZE;

use crate::guest::set_once::SetOnce;

static BUCKETS: SetOnce<Buckets> = SetOnce::new();

/// SAFETY: called in `MPI_Init`, before recording starts.
pub unsafe fn prepare(buckets: Buckets) {
    // SAFETY: the caller sees to it.
    unsafe { BUCKETS.set(buckets) };
}

#[inline(always)]
pub fn of(message_bytes: u64) -> u8 {
    // SAFETY: wrappers get here only while recording is on.
    unsafe { BUCKETS.get() }.of(message_bytes)
}

/// What is added to the buckets of an operation's calls.
pub fn mark_of(operation: u16) -> u8 {
    if calls::has_own_size(operation) { OWN_SIZE } else { 0 }
}

/// The least and the most bytes of a message in a bucket. What is more is a negative count.
pub fn bounds(bucket: u8) -> (u64, u64) {
    // SAFETY: as above.
    let (below, most) = unsafe { BUCKETS.get() }.bounds(bucket);
    (if bucket == 0 { 0 } else { below + 1 }, most.unwrap_or(i64::MAX as u64))
}
