//! What Fortran handles of communicators are in C, where that is another number: asking the library takes some 40 instructions.

use std::cell::Cell;
use std::ffi::c_int;

use crate::mpi::abi::{Word, abi};
use crate::objects::{communicators, handles};

const PLACES: usize = 16;

/// The communicators that a thread's Fortran calls were given, each with the [`handles::generation`] in which it was.
pub struct Translated([Cell<(c_int, u64, Word)>; PLACES]);

impl Translated {
    /// 0 is no generation.
    pub const fn none() -> Translated {
        Translated([const { Cell::new((0, 0, 0)) }; PLACES])
    }

    fn place(&self, fortran: c_int) -> &Cell<(c_int, u64, Word)> {
        &self.0[fortran as usize % PLACES]
    }

    #[inline(always)]
    pub fn comm(&self, fortran: c_int) -> Option<Word> {
        let (known, generation, c) = self.place(fortran).get();
        if known == fortran && generation == handles::generation() { Some(c) } else { None }
    }

    /// Asks, and keeps the answer where it holds until the generation ends.
    #[inline(never)]
    pub fn asked(&self, fortran: c_int, ask: impl FnOnce(c_int) -> Word) -> Word {
        let generation = handles::generation();
        let c = ask(fortran);
        if let Some(record) = communicators::HANDLES.find(c & abi().mask) {
            communicators::remember(record);
            self.place(fortran).set((fortran, generation, c));
        }
        c
    }
}
