//! Arrays of handles, and those that hold null alone: programs pass such where a rank has no neighbor.

use crate::guest::alike::are_all;
use crate::guest::short_path::Path;
use crate::mpi::abi::{Word, abi};

/// A handle as it stands in an array.
pub trait Handle: Copy + Eq + Into<u64> {
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

/// How many null handles there are, one after the other, in an array that begins with one and has so many handles.
///
/// # Safety
/// There are so many handles.
#[inline(never)]
pub unsafe fn nulls<H: Handle>(array: *const H, length: usize) -> usize {
    // SAFETY: as demanded of this one.
    unsafe {
        let null = array.read_unaligned();
        // Most often it has no others.
        if are_all::<H>(array, length, null) {
            return length;
        }
        (1..length).find(|index| array.add(*index).read_unaligned() != null).unwrap_or(length)
    }
}

/// Whether an array of so many holds nothing but null.
///
/// # Safety
/// There are so many handles.
#[inline(always)]
pub unsafe fn are_null<P: Path>(array: Word, length: usize) -> bool {
    // SAFETY: as demanded of this one.
    unsafe {
        match abi().handle_bytes_on::<P>() {
            4 => are_all(array as *const u32, length, abi().request_null as u32),
            _ => are_all(array as *const u64, length, abi().request_null as u64),
        }
    }
}
