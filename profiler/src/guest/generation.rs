//! How long what was looked up holds: nobody trusts what he found in an earlier generation.

use std::sync::atomic::{AtomicU64, Ordering};

/// Raised whenever a handle of any table loses a meaning that somebody remembers, and when calls begin to be counted in another phase or in
/// another way. 0 is no generation.
static GENERATION: AtomicU64 = AtomicU64::new(1);

#[inline(always)]
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// What was found out so far is looked up again.
pub fn end() {
    GENERATION.fetch_add(1, Ordering::Release);
}

/// The same where calls come one after the other: only they end a generation.
#[inline(always)]
pub fn end_alone() {
    GENERATION.store(generation() + 1, Ordering::Release);
}
