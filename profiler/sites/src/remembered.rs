//! Stacks that a thread had before.
//!
//! What a walk finds follows from the registers that it begins with, from the rules of the code that it meets, and from the words of the
//! stack that it reads. So it need not be walked again where all these are the same: to compare the words that were read takes a fraction of
//! the time, since none of them has to be waited for to know where the next one is. This is exact, not a guess.

use std::ptr;

use commsee_runtime::{memory, table};

use crate::step::Registers;

/// Most words of a stack that is remembered.
pub const MOST_WORDS: usize = 64;
/// Places of a stack: those with one stack pointer and one call share them, such as all that come through one function of the program.
const WAYS: usize = 8;
const STACKS: usize = 32 * WAYS;

/// A word of the stack, and where it lies.
type Word = (usize, usize);

/// What a walk began with, read, and found.
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
    words: [Word; MOST_WORDS],
}

impl Walked {
    pub const fn new(start: Registers, return_address: usize, depth: usize) -> Walked {
        Walked {
            start,
            return_address,
            depth,
            site: 0,
            is_permanent: true,
            is_interpreted: false,
            length: 0,
            words: [(0, 0); MOST_WORDS],
        }
    }

    /// A word that was read.
    #[inline(always)]
    pub fn note(&mut self, address: usize, word: usize) {
        if let Some(place) = self.words.get_mut(self.length) {
            *place = (address, word);
        }
        self.length += 1;
    }

    fn is_whole(&self) -> bool {
        self.length <= MOST_WORDS
    }
}

/// Asked for where the first stack is walked.
pub struct Stacks {
    stacks: *mut Walked,
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
            let walked = unsafe { &*self.stacks.add(at) };
            if walked.start != start || walked.return_address != return_address || walked.depth != depth {
                return None;
            }
            let words = walked.words.get(..walked.length)?;
            // The outermost words differ where the innermost do not: all come through the same functions.
            // SAFETY: it is above the stack pointer and was on this stack, which is mapped up to its upper end as long as the thread runs.
            let is_same = |(address, word): &Word| unsafe { (*address as *const usize).read_volatile() } == *word;
            words.iter().rev().all(is_same).then_some(walked)
        })
    }

    /// Keeps a stack in the place of another one.
    #[inline(never)]
    pub fn keep(&mut self, walked: &Walked) {
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
            (*place).length = 0;
            let words = ptr::slice_from_raw_parts_mut((&raw mut (*place).words).cast::<Word>(), walked.length);
            (*words).copy_from_slice(&walked.words[..walked.length]);
            (*place).start = walked.start;
            (*place).return_address = walked.return_address;
            (*place).depth = walked.depth;
            (*place).site = walked.site;
            (*place).is_permanent = walked.is_permanent;
            (*place).is_interpreted = walked.is_interpreted;
            (*place).length = walked.length;
        }
    }

    /// None of them holds any more.
    pub fn forget(&mut self) {
        if !self.stacks.is_null() {
            for at in 0..STACKS {
                // SAFETY: there are so many. No stack pointer is 0.
                unsafe { (*self.stacks.add(at)).start.stack = 0 };
            }
        }
    }
}
