//! What a thread is in the middle of: frames, one in the other, on the stacks and in the records of what they stand for.

use std::mem::MaybeUninit;

use commsee_hook::Call;

use crate::guard;
use crate::module::Module;
use crate::operation::{Operation, Pool};
use crate::uct::completion;

/// Kept by the core as this thread's word; threads that end leave theirs to others.
pub struct Thread {
    /// The innermost frame.
    pub frame: *mut Frame,
    pub operations: Pool<Operation>,
    pub completions: Pool<completion::Pending>,
    /// The packed size that a generic datatype told last.
    pub packed_bytes: u64,
}

/// None while nothing is recorded.
#[inline(always)]
pub fn current(module: &Module) -> Option<*mut Thread> {
    // SAFETY: null, or this thread's own.
    let word = unsafe { module.word().as_mut()? };
    if *word == 0 {
        *word = guard::cold(|| Box::into_raw(Box::new(Thread::new())) as u64)?;
    }
    Some(*word as *mut Thread)
}

impl Thread {
    fn new() -> Thread {
        Thread { frame: std::ptr::null_mut(), operations: Pool::new(), completions: Pool::new(), packed_bytes: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call of UCP.
    Post,
    /// One that progresses what others posted until it is done.
    Blocking,
    /// A message handed to libucp.
    Arrival,
    /// The completion of a UCT operation.
    Completion,
    /// A callback of the program.
    Program,
}

/// The UCP operation to which something of UCT belongs.
#[derive(Clone, Copy)]
pub struct Link {
    pub call: Call,
    pub peer: u32,
    /// Null where only its call is known.
    pub operation: *mut Operation,
    /// Of the operation when it was found; records are used again.
    pub generation: u32,
}

pub struct Frame {
    pub kind: Kind,
    /// Number of the message that arrived.
    pub message: u8,
    /// The interface that it came by, as a carrier.
    pub carrier: u8,
    pub has_link: bool,
    pub link: Link,
    /// Answers that were sent before it showed to what the arrival belongs, so many.
    pub answers: u8,
    pub answer: [MaybeUninit<Answer>; MOST_ANSWERS],
    pub outer: *mut Frame,
}

/// A message that a handler sent.
#[derive(Clone, Copy)]
pub struct Answer {
    pub place: u8,
    pub carrier: u8,
    pub peer: u32,
    pub bytes: u64,
}

pub const MOST_ANSWERS: usize = 2;

impl Link {
    pub const NONE: Link = Link { call: Call::NONE, peer: 0, operation: std::ptr::null_mut(), generation: 0 };
}

impl Frame {
    pub const fn new(kind: Kind) -> Frame {
        Frame {
            kind,
            message: 0,
            carrier: 0,
            has_link: false,
            link: Link::NONE,
            answers: 0,
            answer: [MaybeUninit::uninit(); MOST_ANSWERS],
            outer: std::ptr::null_mut(),
        }
    }

    /// Puts it innermost.
    ///
    /// # Safety
    /// It stays where it is until [`Frame::leave`].
    #[inline(always)]
    pub unsafe fn enter(this: *mut Frame, thread: *mut Thread) {
        unsafe {
            (*this).outer = (*thread).frame;
            (*thread).frame = this;
        }
    }

    #[inline(always)]
    pub unsafe fn leave(this: *mut Frame, thread: *mut Thread) {
        unsafe { (*thread).frame = (*this).outer };
    }
}

/// Whether this thread is inside of a call of UCP, with nothing of the program's in between.
#[inline(always)]
pub unsafe fn is_posting(thread: *mut Thread) -> bool {
    // SAFETY: frames live as long as they are linked.
    unsafe { (*thread).frame.as_ref() }.is_some_and(|frame| matches!(frame.kind, Kind::Post | Kind::Blocking))
}
