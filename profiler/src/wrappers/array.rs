//! Arrays of handles that hold null alone: programs pass such where a rank has no neighbor.

use std::slice;

use crate::mpi::abi::{Word, abi};

/// A handle as it stands in an array.
pub trait Handle: Copy {
    fn word(self) -> Word;
}

impl Handle for u32 {
    #[inline(always)]
    fn word(self) -> Word {
        self as Word
    }
}

impl Handle for u64 {
    #[inline(always)]
    fn word(self) -> Word {
        self as Word
    }
}

/// Whether an array of so many holds nothing but null.
///
/// # Safety
/// There are so many handles, one at least.
#[inline(always)]
pub unsafe fn are_null(array: Word, length: usize) -> bool {
    let handle_bytes = abi().handle_bytes;
    // Each is like the one behind it: the C library compares them in vectors.
    let handles = |first: usize| {
        let bytes = (length - 1) * handle_bytes;
        // SAFETY: as demanded.
        unsafe { slice::from_raw_parts((array + first * handle_bytes) as *const u8, bytes) }
    };
    // SAFETY: as demanded.
    unsafe { abi().load_at(array, 0) == abi().request_null && handles(0) == handles(1) }
}
