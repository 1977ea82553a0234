//! Fortran arguments as the bodies expect them: by value, counted from 0, handles of C. What the library writes is read
//! again after the call.

use std::cell::Cell;
use std::ffi::{CString, c_int};
use std::mem::MaybeUninit;
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

/// One handle of the program, where the call finds it. Its kind is told each time: then nobody has to keep it.
pub struct Handle {
    fortran: Word,
    c: Cell<Word>,
}

impl Handle {
    /// For a handle that the call will make.
    #[inline(always)]
    pub fn new(fortran: Word) -> Handle {
        Handle { fortran, c: Cell::new(0) }
    }

    /// For a handle that is there already.
    #[inline(always)]
    pub unsafe fn holding(object: Object, fortran: Word) -> Handle {
        let place = Handle::new(fortran);
        // SAFETY: the caller passes the place of a handle.
        unsafe { place.refresh(object) };
        place
    }

    #[inline(always)]
    pub fn place(&self, object: Object) -> Word {
        if is_same(object) { self.fortran } else { self.c.as_ptr() as Word }
    }

    #[inline(always)]
    pub unsafe fn refresh(&self, object: Object) {
        if !is_same(object) {
            // SAFETY: whoever made this passed the place of a handle.
            self.c.set(unsafe { handle(object, self.fortran) });
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
    length: usize,
    /// Of a few.
    few: [MaybeUninit<Cell<Word>>; FEW],
    /// Of more, where there is memory for them.
    many: Vec<Cell<Word>>,
}

/// Most programs exchange with no more than eight neighbors at once.
const FEW: usize = 16;

impl Requests {
    /// Nothing is there before it is refreshed.
    #[inline(always)]
    pub fn new(fortran: Word, length: c_int) -> Requests {
        let length = if is_same(Object::Request) { 0 } else { usize::try_from(length).unwrap_or(0) };
        if length != 0 {
            ARE_TRANSLATED.store(true, Ordering::Relaxed);
        }
        let many = if length > FEW { cells(length) } else { Vec::new() };
        let length = if length > FEW { many.len() } else { length };
        Requests { fortran, length, few: [const { MaybeUninit::uninit() }; FEW], many }
    }

    /// 0 where there are none to be seen.
    pub fn place(&self) -> Word {
        match is_same(Object::Request) {
            true => self.fortran,
            false if self.length == 0 => 0,
            false => self.first() as Word,
        }
    }

    #[inline(always)]
    fn first(&self) -> *const Cell<Word> {
        if self.length > FEW { self.many.as_ptr() } else { self.few.as_ptr().cast() }
    }

    /// # Safety
    /// There is an array of so many handles.
    #[inline(always)]
    pub unsafe fn refresh(&self) {
        let (fortran, first) = (self.fortran, self.first().cast_mut());
        for index in 0..self.length {
            // SAFETY: as demanded, and there is room for as many.
            unsafe {
                let handle = handle(Object::Request, fortran + index * size_of::<c_int>());
                first.add(index).write(Cell::new(handle));
            }
        }
    }
}

/// One or several statuses, which look in Fortran as in C, unless the program ignores them.
#[derive(Clone, Copy)]
pub struct Statuses {
    fortran: Word,
    are_ignored: bool,
}

impl Statuses {
    #[inline(always)]
    pub fn new(fortran: Word) -> Statuses {
        Statuses { fortran, are_ignored: sentinels::is_ignored_status(fortran) }
    }

    /// As a C function is given them.
    #[inline(always)]
    pub fn place(self) -> Word {
        if self.are_ignored { abi().status_ignore } else { self.fortran }
    }

    /// What to pass on where a body passes on these: they may be its own, if the program ignores them.
    #[inline(always)]
    pub fn passed(self, by_body: Word) -> Word {
        if self.are_ignored && by_body == abi().status_ignore { self.fortran } else { by_body }
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
