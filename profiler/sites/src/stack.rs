//! The calling thread's stack, read without ever touching what is not there.
//!
//! A thread's own stack lies between bounds that the system knows, and all between the stack pointer and the upper one is mapped as long as
//! the thread runs: it is read as it is. Where the stack pointer is elsewhere (a coroutine, a handler of signals with a stack of its own),
//! nobody can say how far that goes, and what was true at one call need not be at the next: then the system copies it, which refuses what is
//! not there.

use commsee_runtime::probe;

pub use commsee_runtime::stack::Bounds;

/// Words of a stack.
pub trait Words {
    /// The word at an address. None where there is none, or where it cannot be one of this stack.
    fn word(&mut self, address: usize) -> Option<usize>;
}

/// The thread's own stack, from its stack pointer on.
pub struct Own {
    low: usize,
    last: usize,
}

impl Own {
    /// None where the stack pointer is elsewhere.
    ///
    /// # Safety
    /// Both are the calling thread's, and it does not return from the frame of that stack pointer before this is gone.
    #[inline(always)]
    pub unsafe fn new(bounds: Bounds, stack_pointer: usize) -> Option<Own> {
        let is_own = bounds.hold(stack_pointer);
        is_own.then_some(Own { low: stack_pointer, last: bounds.high.wrapping_sub(8) })
    }
}

impl Words for Own {
    #[inline(always)]
    fn word(&mut self, address: usize) -> Option<usize> {
        if address < self.low || address > self.last || address & 7 != 0 {
            return None;
        }
        // SAFETY: it is on the part of the stack that is in use, as `new` asks for.
        Some(unsafe { (address as *const usize).read_volatile() })
    }
}

const CHUNK_BYTES: usize = 1024;

/// Any other stack, by copies of it.
pub struct Copied {
    from: usize,
    bytes: usize,
    chunk: [u8; CHUNK_BYTES],
}

impl Copied {
    pub const fn new() -> Copied {
        Copied { from: 0, bytes: 0, chunk: [0; CHUNK_BYTES] }
    }
}

impl Default for Copied {
    fn default() -> Copied {
        Copied::new()
    }
}

impl Words for Copied {
    fn word(&mut self, address: usize) -> Option<usize> {
        if address & 7 != 0 {
            return None;
        }
        let is_copied = address >= self.from && address.saturating_add(8) <= self.from + self.bytes;
        if !is_copied {
            self.from = address;
            self.bytes = probe::read(address, &mut self.chunk);
        }
        let at = address - self.from;
        let word = self.chunk[..self.bytes].get(at..at + 8)?;
        Some(usize::from_ne_bytes(word.try_into().ok()?))
    }
}
