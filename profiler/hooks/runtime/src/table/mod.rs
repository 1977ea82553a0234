//! Open addressing, twice, since two kinds of readers ask for different things:
//!
//! - [`Owned`]: one thread's own, or under a lock. A slot is any plain value that bears its key. Removing closes the gap, so that a table
//!   in which entries come and go stays as short as what is in it; and a table that got too small is freed. Neither may happen under a
//!   reader.
//! - [`Shared`]: read by any thread at any time, without a lock; written by one at a time. From a word to a word. What is removed leaves a
//!   mark behind, and a table that got too small stays for those who still look at it.
//!
//! Both find a key's first slot by the leading digits of its hash, pass on to the next slot, keep half of the slots empty (large tables a
//! quarter), and go on in what they have where there is no memory for a larger table.

mod owned;
mod shared;

pub use owned::{Finder, Owned, Slot};
pub use shared::{Shared, Writer};

/// Where a table no longer fits into a processor's first cache, to fetch fewer lines saves more than a shorter way past other keys.
const LARGE_SLOTS: usize = 2048;

/// How many slots may be taken before a table should be larger.
const fn filled(slots: usize) -> usize {
    if slots < LARGE_SLOTS { slots / 2 } else { slots / 4 * 3 }
}

/// The hash of a word: what is left after the multiplication is spread over the leading digits.
#[inline(always)]
pub const fn hash(word: u64) -> u64 {
    word.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The hash of two words.
#[inline(always)]
pub const fn hash_pair([first, second]: [u64; 2]) -> u64 {
    hash(first.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ second)
}
