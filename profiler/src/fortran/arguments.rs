//! Fortran arguments as the bodies expect them: by value, counted from 0, handles of C. What the library writes is read
//! again after the call.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use super::entry::Entry;
use super::handles::{Object, handle, is_same};
use super::sentinels;
use crate::mpi::abi::{Word, abi};
use crate::shard::memory;

#[inline(always)]
pub unsafe fn int(place: Word) -> c_int {
    // SAFETY: Fortran passes INTEGERs by reference.
    unsafe { *(place as *const c_int) }
}

/// An INTEGER(KIND=MPI_COUNT_KIND).
#[inline(always)]
pub unsafe fn long(place: Word) -> i64 {
    // SAFETY: as above.
    unsafe { *(place as *const i64) }
}

#[inline(always)]
pub unsafe fn count(place: Word, entry: &Entry) -> i64 {
    // SAFETY: as above; large-count forms pass INTEGER(KIND=MPI_COUNT_KIND).
    unsafe { if entry.large { *(place as *const i64) } else { i64::from(*(place as *const c_int)) } }
}

/// The address of a buffer.
#[inline(always)]
pub unsafe fn address(buffer: Word, entry: &Entry) -> Word {
    // SAFETY: a descriptor begins with the address (`base_addr`, Fortran 2018, 18.5.3).
    if entry.descriptors && buffer != 0 { unsafe { *(buffer as *const Word) } } else { buffer }
}

/// One handle of the program, where the call finds it.
pub struct Handle {
    object: Object,
    fortran: Word,
    c: Cell<Word>,
}

impl Handle {
    /// For a handle that the call will make.
    #[inline(always)]
    pub fn new(object: Object, fortran: Word) -> Handle {
        Handle { object, fortran, c: Cell::new(0) }
    }

    /// For a handle that is there already.
    #[inline(always)]
    pub unsafe fn holding(object: Object, fortran: Word) -> Handle {
        let place = Handle::new(object, fortran);
        // SAFETY: the caller passes the place of a handle.
        unsafe { place.refresh() };
        place
    }

    #[inline(always)]
    pub fn place(&self) -> Word {
        if is_same(self.object) { self.fortran } else { self.c.as_ptr() as Word }
    }

    #[inline(always)]
    pub unsafe fn refresh(&self) {
        if !is_same(self.object) {
            // SAFETY: whoever made this passed the place of a handle.
            self.c.set(unsafe { handle(self.object, self.fortran) });
        }
    }
}

/// So many places, or none where there is no memory for them.
pub fn cells<T: Copy + Default>(length: usize) -> Vec<Cell<T>> {
    let mut cells = Vec::new();
    match cells.try_reserve_exact(length) {
        Ok(()) => cells.resize(length, Cell::new(T::default())),
        Err(_) => memory::lose_call(),
    }
    cells
}

static ARE_TRANSLATED: AtomicBool = AtomicBool::new(false);

/// Whether bodies may have been given arrays of requests that are not the program's, but copies.
pub fn are_requests_translated() -> bool {
    ARE_TRANSLATED.load(Ordering::Relaxed)
}

/// The places of several requests.
pub struct Requests {
    fortran: Word,
    c: Vec<Cell<Word>>,
}

impl Requests {
    pub unsafe fn new(fortran: Word, length: c_int) -> Requests {
        let length = if is_same(Object::Request) { 0 } else { usize::try_from(length).unwrap_or(0) };
        if length != 0 {
            ARE_TRANSLATED.store(true, Ordering::Relaxed);
        }
        let requests = Requests { fortran, c: cells(length) };
        // SAFETY: the caller passes an array of so many handles.
        unsafe { requests.refresh() };
        requests
    }

    /// 0 where there are none to be seen.
    pub fn place(&self) -> Word {
        match is_same(Object::Request) {
            true => self.fortran,
            false if self.c.is_empty() => 0,
            false => self.c.as_ptr() as Word,
        }
    }

    pub unsafe fn refresh(&self) {
        for (index, place) in self.c.iter().enumerate() {
            // SAFETY: whoever made this passed an array of so many handles.
            place.set(unsafe { handle(Object::Request, self.fortran + index * size_of::<c_int>()) });
        }
    }
}

/// One or several statuses, which look in Fortran as in C. Where the program ignores them, ours take the place.
pub struct Statuses {
    fortran: Word,
    one: UnsafeCell<[u64; 5]>,
    several: Vec<Cell<u64>>,
}

impl Statuses {
    #[inline(always)]
    pub fn new(fortran: Word, length: c_int) -> Statuses {
        let mut statuses = Statuses { fortran, one: UnsafeCell::new([0; 5]), several: Vec::new() };
        if sentinels::is_ignored_status(fortran) {
            statuses.fortran = 0;
            if length > 1 {
                let words = length as usize * abi().status.bytes / size_of::<u64>() + 1;
                statuses.several = cells(words);
                if statuses.several.is_empty() {
                    // The program's, which ignores them: nobody sees then what arrived.
                    statuses.fortran = fortran;
                }
            }
        }
        statuses
    }

    #[inline(always)]
    pub fn place(&self) -> Word {
        match self.fortran {
            0 if self.several.is_empty() => self.one.get() as Word,
            0 => self.several.as_ptr() as Word,
            given => given,
        }
    }
}

/// A text, which Fortran fills up with blanks.
pub struct Text(CString);

impl Text {
    pub unsafe fn new(place: Word, length: Word) -> Text {
        // SAFETY: the compiler passes the length behind all other arguments; 4 or 8 bytes wide, a text is shorter.
        let bytes = unsafe { std::slice::from_raw_parts(place as *const u8, length & 0x7fff_ffff) };
        let text = bytes.trim_ascii().split(|byte| *byte == 0).next().unwrap_or_default();
        let mut owned = Vec::new();
        match owned.try_reserve_exact(text.len() + 1) {
            Ok(()) => owned.extend_from_slice(text),
            Err(_) => memory::lose_call(),
        }
        // SAFETY: cut before its first zero byte.
        Text(unsafe { CString::from_vec_unchecked(owned) })
    }

    pub fn place(&self) -> Word {
        self.0.as_ptr() as Word
    }
}
