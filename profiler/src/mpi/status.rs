//! What arrived, read off a status. Where the program ignores statuses, one of ours takes the place.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use crate::mpi::abi::{Count, Word, abi};
use crate::mpi::pmpi;

/// Room for one status of any family. It is not read before a library has filled it, as it fills the program's.
#[repr(C, align(8))]
pub struct Own(MaybeUninit<[u8; 40]>);

impl Own {
    #[inline(always)]
    pub fn new() -> Own {
        Own(MaybeUninit::uninit())
    }

    /// The status to pass on: the program's, or ours where it passes `MPI_STATUS_IGNORE`.
    #[inline(always)]
    pub fn stand_in(&mut self, status: Word) -> Word {
        if status == abi().status_ignore { self.0.as_mut_ptr() as Word } else { status }
    }
}

// A status may be none at all: see `Abi::load_made`.

/// Bytes that arrived with a completed receive; 0 if it was cancelled.
#[inline(always)]
pub unsafe fn bytes(status: Word) -> u64 {
    // SAFETY: the caller passes the address of a status that the library has filled.
    unsafe { usual_bytes(status).unwrap_or_else(|| unusual_bytes(status)) }
}

/// The same, if they lie where they do in most statuses.
#[inline(always)]
pub unsafe fn usual_bytes(status: Word) -> Option<u64> {
    // SAFETY: as above.
    unsafe { if may_be_usual(status) { bytes_where_usual(status) } else { None } }
}

/// Whether there is such a place, and a status (or an array of them), by one comparison: behind null lies an address below a page, and without a
/// place one below zero.
#[inline(always)]
pub fn may_be_usual(status: Word) -> bool {
    const PAGE_BYTES: isize = 4096;
    status.wrapping_add(abi().status.unusual) as isize >= PAGE_BYTES
}

/// What lies there, if this is such a status.
#[inline(always)]
pub unsafe fn bytes_where_usual(status: Word) -> Option<u64> {
    let places = abi().status;
    // SAFETY: as above; the places are there.
    unsafe {
        match *((status + places.unusual) as *const c_int) {
            0 => Some(((status + places.usual_count) as *const u64).read_unaligned()),
            _ => None,
        }
    }
}

/// Apart, since messages are seldom cancelled, and seldom so large.
#[cold]
#[inline(never)]
unsafe fn unusual_bytes(status: Word) -> u64 {
    if status == 0 {
        return 0;
    }
    // SAFETY: the caller passes the address of a status that the library has filled.
    unsafe {
        match abi().status.count {
            Count::Size { count, cancelled } => match *((status + cancelled) as *const c_int) {
                0 => *((status + count) as *const u64),
                _ => 0,
            },
            Count::Halves { low, high } => {
                let (low, high) = (*((status + low) as *const u32), *((status + high) as *const u32));
                if high & 1 == 0 { (u64::from(high) >> 1) << 32 | u64::from(low) } else { 0 }
            }
            Count::Opaque => asked(status),
        }
    }
}

/// Bytes that a read of a file brought. Reads are never cancelled, and not every library sets the flag: Open MPI's ompio
/// leaves in it what the program's memory held before.
pub unsafe fn bytes_read(status: Word) -> u64 {
    if status == 0 {
        return 0;
    }
    // SAFETY: as above.
    unsafe {
        match abi().status.count {
            Count::Size { count, .. } => *((status + count) as *const u64),
            Count::Halves { low, high } => {
                let (low, high) = (*((status + low) as *const u32), *((status + high) as *const u32));
                (u64::from(high) >> 1) << 32 | u64::from(low)
            }
            Count::Opaque => elements(status),
        }
    }
}

/// One status out of an array; 0 where there is none.
#[inline(always)]
pub fn at(statuses: Word, index: usize) -> Word {
    Array::of(statuses).at(index)
}

/// An array of statuses. Where the program ignores them, or passed none, each is 0.
#[derive(Clone, Copy)]
pub struct Array {
    first: Word,
    bytes: usize,
}

impl Array {
    #[inline(always)]
    pub fn of(statuses: Word) -> Array {
        let is_none = statuses == abi().status_ignore || statuses == 0;
        if is_none { Array { first: 0, bytes: 0 } } else { Array { first: statuses, bytes: abi().status.bytes } }
    }

    #[inline(always)]
    pub fn at(self, index: usize) -> Word {
        self.first + index * self.bytes
    }
}

/// Where a message came from, and its tag.
pub unsafe fn source_and_tag(status: Word) -> (c_int, c_int) {
    if status == 0 {
        return (-1, -1);
    }
    // SAFETY: the caller passes the address of a status that the library has filled.
    unsafe { (*source_in(status), *source_in(status).add(1)) }
}

/// In every family the source stands before the tag, and that before the error.
fn source_in(status: Word) -> *mut c_int {
    ((status + abi().status.error) as *mut c_int).wrapping_sub(2)
}

/// No rank, and nothing that libraries put in its place.
const UNFILLED: c_int = c_int::MIN + 1;

/// Marks a status that a call may leave as it is where it should fill it, as MPICH 4.0 does of partitioned requests. Returns what it held.
pub unsafe fn mark(status: Word) -> c_int {
    // SAFETY: the caller passes the address of a status.
    unsafe { source_in(status).replace(UNFILLED) }
}

/// Whether the call has filled it. If not, it is as it was.
pub unsafe fn is_filled(status: Word, held: c_int) -> bool {
    // SAFETY: as above.
    unsafe {
        let is_filled = *source_in(status) != UNFILLED;
        if !is_filled {
            *source_in(status) = held;
        }
        is_filled
    }
}

/// The error code of one status out of an array.
#[inline(always)]
pub unsafe fn error(status: Word) -> c_int {
    // SAFETY: as above.
    unsafe { *((status + abi().status.error) as *const c_int) }
}

/// Sets it in a status of ours.
pub unsafe fn set_error(status: Word, error: c_int) {
    // SAFETY: as above.
    unsafe { *((status + abi().status.error) as *mut c_int) = error };
}

/// Whether the receive was cancelled: then no message came, and the rest of the status is whatever it was.
pub unsafe fn is_cancelled(status: Word) -> bool {
    if status == 0 {
        return true;
    }
    // SAFETY: as above.
    unsafe {
        match abi().status.count {
            Count::Size { cancelled, .. } => *((status + cancelled) as *const c_int) != 0,
            Count::Halves { high, .. } => *((status + high) as *const u32) & 1 != 0,
            Count::Opaque => is_cancelled_asked(status),
        }
    }
}

unsafe fn is_cancelled_asked(status: Word) -> bool {
    let mut cancelled = 0;
    // SAFETY: as above.
    let known = unsafe { pmpi::test_cancelled(status, &mut cancelled) };
    known.is_none() || cancelled != 0
}

#[cold]
unsafe fn asked(status: Word) -> u64 {
    // SAFETY: as above.
    unsafe { if is_cancelled_asked(status) { 0 } else { elements(status) } }
}

unsafe fn elements(status: Word) -> u64 {
    let mut count = 0;
    // SAFETY: as above.
    unsafe { pmpi::get_elements_x(status, abi().byte, &mut count) };
    u64::try_from(count).unwrap_or(0)
}
