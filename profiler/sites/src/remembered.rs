//! Stacks that a thread had before.
//!
//! What a walk finds follows from the registers that it begins with, from the rules of the code that it meets, and from the words of the
//! stack that it reads. So it need not be walked again where all these are the same: to compare the words that were read takes a fraction of
//! the time, since none of them has to be waited for to know where the next one is. This is exact, not a guess.

use std::mem::MaybeUninit;
use std::ptr;

use commsee_runtime::{memory, table};

use crate::step::Registers;

/// Most words of a stack that is remembered.
pub const MOST_WORDS: usize = 160;
/// Places of a stack: those with one stack pointer and one call share them, such as all that come through one function of the program.
const WAYS: usize = 4;
const STACKS: usize = 256;

/// A word of the stack, and where it lies.
type Word = (usize, usize);

/// The words that a walk has read. They are written as they come, and more than there is room for are counted only.
pub type Noted = [MaybeUninit<Word>; MOST_WORDS];

/// What a walk began with, how many words it read, and what it found.
#[derive(Clone, Copy)]
pub struct Walked {
    pub start: Registers,
    pub return_address: usize,
    /// How many frames were asked for.
    pub depth: usize,
    pub site: u32,
    /// None of its code may be unmapped.
    pub is_permanent: bool,
    /// An interpreter's frames take the place of what was found.
    pub is_interpreted: bool,
    length: usize,
}

impl Walked {
    pub const fn new(start: Registers, return_address: usize, depth: usize) -> Walked {
        Walked { start, return_address, depth, site: 0, is_permanent: true, is_interpreted: false, length: 0 }
    }

    /// A word that was read.
    #[inline(always)]
    pub fn note(&mut self, noted: &mut Noted, address: usize, word: usize) {
        if let Some(place) = noted.get_mut(self.length) {
            place.write((address, word));
        }
        self.length += 1;
    }

    fn is_whole(&self) -> bool {
        self.length <= MOST_WORDS
    }
}

struct Kept {
    walked: Walked,
    words: Noted,
}

/// Asked for where the first stack is walked.
pub struct Stacks {
    stacks: *mut Kept,
    /// Which of the places is taken next.
    next: usize,
}

impl Stacks {
    pub const fn none() -> Stacks {
        Stacks { stacks: ptr::null_mut(), next: 0 }
    }

    /// The first place of those that a stack may be in.
    #[inline(always)]
    fn first(start: Registers, return_address: usize, depth: usize) -> usize {
        let key = [start.stack as u64, (return_address + depth) as u64];
        (table::hash_pair(key) >> 32) as usize & (STACKS - WAYS)
    }

    /// The same stack as it was walked.
    ///
    /// # Safety
    /// The stack pointer is on the thread's own stack, as it was whenever one was kept.
    #[inline(always)]
    pub unsafe fn find(&self, start: Registers, return_address: usize, depth: usize) -> Option<&Walked> {
        if self.stacks.is_null() {
            return None;
        }
        let first = Stacks::first(start, return_address, depth);
        (first..first + WAYS).find_map(|at| {
            // SAFETY: there are so many.
            let Kept { walked, words } = unsafe { &*self.stacks.add(at) };
            if walked.start != start || walked.return_address != return_address || walked.depth != depth {
                return None;
            }
            let words = words.get(..walked.length)?;
            // The outermost words differ where the innermost do not: all come through the same functions.
            // SAFETY: it was noted. It is above the stack pointer and was on this stack, which is mapped up to its upper end as long as
            // the thread runs.
            let is_same = |noted: &MaybeUninit<Word>| unsafe {
                let (address, word) = noted.assume_init();
                (address as *const usize).read_volatile() == word
            };
            words.iter().rev().all(is_same).then_some(walked)
        })
    }

    /// Keeps a stack in the place of another one.
    ///
    /// # Safety
    /// The words are those that were noted of it.
    #[inline(never)]
    pub unsafe fn keep(&mut self, walked: &Walked, noted: &Noted) {
        if !walked.is_whole() {
            return;
        }
        if self.stacks.is_null() {
            self.stacks = memory::zeroed(STACKS);
            if self.stacks.is_null() {
                return;
            }
        }
        self.next = (self.next + 1) % WAYS;
        let at = Stacks::first(walked.start, walked.return_address, walked.depth) + self.next;
        // SAFETY: there are so many, plain data, and the words behind the length are not looked at.
        unsafe {
            let place = self.stacks.add(at);
            let words = (&raw mut (*place).words).cast::<MaybeUninit<Word>>();
            words.copy_from_nonoverlapping(noted.as_ptr(), walked.length);
            (*place).walked = *walked;
        }
    }

    /// None of them holds any more.
    pub fn forget(&mut self) {
        if !self.stacks.is_null() {
            for at in 0..STACKS {
                // SAFETY: there are so many. No stack pointer is 0.
                unsafe { (*self.stacks.add(at)).walked.start.stack = 0 };
            }
        }
    }
}
