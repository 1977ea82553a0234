//! Indices into an array of requests, which Fortran counts from 1.

use std::cell::Cell;
use std::ffi::c_int;

use super::arguments::cells;
use super::entry::Entry;
use super::trial;
use crate::mpi::abi::{Word, abi};

/// The places of one or several indices.
pub struct Indices {
    fortran: Word,
    first: c_int,
    one: Cell<c_int>,
    /// Empty, too, where there is no memory for them.
    several: Vec<Cell<c_int>>,
    length: usize,
}

impl Indices {
    pub fn new(fortran: Word, length: c_int, entry: &Entry) -> Indices {
        let length = usize::try_from(length).unwrap_or(0);
        let several = if length > 1 { cells(length) } else { Vec::new() };
        let first = if entry.is_f08() && trial::result().counts_from_zero { 0 } else { 1 };
        Indices { fortran, first, one: Cell::new(0), several, length }
    }

    /// 0 where there are none to be seen.
    pub fn place(&self) -> Word {
        match self.several.is_empty() {
            true if self.length > 1 => 0,
            true => self.one.as_ptr() as Word,
            false => self.several.as_ptr() as Word,
        }
    }

    pub unsafe fn refresh(&self) {
        let cells = if self.several.is_empty() { std::slice::from_ref(&self.one) } else { &*self.several };
        for (place, cell) in cells.iter().enumerate() {
            // SAFETY: the program passes room for so many.
            let index = unsafe { *(self.fortran as *const c_int).add(place) };
            cell.set(if index == abi().family.undefined { index } else { index.wrapping_sub(self.first) });
        }
    }
}
