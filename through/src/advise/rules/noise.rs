//! What a fault must exceed not to be the scheduler's.

use crate::advise::finding::{Ceiling, Level};
use crate::advise::run::Run;

/// Schedulers give time slices of 3 to 4 ms. A rank that shares its core waits for as many as there are others, and makes its communicator
/// wait: waiting that is shorter is told from a fault only if it is steady.
pub const SLICES_NS: i64 = 30_000_000;
/// Of the longest call. Of ranks that sleep, work and wait on shared cores the mean is 0.2 to 0.45 of it, of a fault in each call nearly all.
const STEADY: f64 = 0.6;
/// Of fewer calls any mean is close to the longest.
const CALLS: i64 = 8;

const WHY: &str = "such short and irregular waits may come from a busy machine";

/// What is said at most of calls of which each waits so long, if it waits.
pub fn ceiling(run: &Run, comm: i64, op: i64, calls: i64, each_ns: i64) -> Option<Ceiling> {
    let longest_ns = run.sums.get(&(comm, op)).and_then(|sum| sum.time_max_ns).unwrap_or(i64::MAX);
    let is_steady = calls >= CALLS && each_ns as f64 >= STEADY * longest_ns as f64;
    (each_ns < SLICES_NS && !is_steady).then_some(Ceiling { level: Level::Info, why: WHY })
}
