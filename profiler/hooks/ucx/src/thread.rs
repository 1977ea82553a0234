//! What a thread is in the middle of: frames, one in the other, on the stacks and in the records of what they stand for.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use commsee_hook::Call;

use crate::module::Module;
use crate::operation::{Operation, Pool};
use crate::uct::completion;
use crate::{guard, tls};

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
    let here = tls::get();
    // What is inside of something recorded is recorded, too: no need to ask.
    // SAFETY: this thread's own.
    if unsafe { here.as_ref() }.is_some_and(|thread| !thread.frame.is_null()) {
        return Some(here);
    }
    // SAFETY: null, or this thread's own.
    let word = unsafe { module.word().as_ref()? };
    if *word == here as u64 && !here.is_null() { Some(here) } else { enter(module) }
}

/// The first time in a thread.
#[cold]
fn enter(module: &Module) -> Option<*mut Thread> {
    // SAFETY: as above.
    let word = unsafe { module.word().as_mut()? };
    if *word == 0 {
        *word = guard::cold(|| Box::into_raw(Box::new(Thread::new())) as u64)?;
    }
    let thread = *word as *mut Thread;
    // SAFETY: whoever left it ended, maybe in the middle of something.
    unsafe { (*thread).frame = null_mut() };
    tls::set(thread);
    Some(thread)
}

impl Thread {
    fn new() -> Thread {
        Thread { frame: null_mut(), operations: Pool::new(), completions: Pool::new(), packed_bytes: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
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
    /// Of the operation when it was found; records are used again.
    pub generation: u32,
    /// Null where only its call is known.
    pub operation: *mut Operation,
}

pub struct Frame {
    pub outer: *mut Frame,
    /// Of a post.
    pub operation: *mut Operation,
    pub kind: Kind,
    /// Number of the message that arrived.
    pub message: u8,
    /// The interface that it came by, as a carrier.
    pub carrier: u8,
    has_link: bool,
    /// Answers that were sent before it showed to what the arrival belongs, so many.
    answers: u8,
    link: MaybeUninit<Link>,
    answer: [MaybeUninit<Answer>; MOST_ANSWERS],
}

/// A message that a handler sent.
#[derive(Clone, Copy)]
pub struct Answer {
    pub place: u8,
    pub carrier: u8,
    pub peer: u32,
    pub bytes: u64,
    /// Under which its own answer will come, or 0.
    pub number: u64,
}

const MOST_ANSWERS: usize = 2;

impl Link {
    pub const NONE: Link = Link { call: Call::NONE, peer: 0, generation: 0, operation: null_mut() };
}

impl Frame {
    #[inline(always)]
    pub fn new(kind: Kind) -> Frame {
        Frame {
            outer: null_mut(),
            operation: null_mut(),
            kind,
            message: 0,
            carrier: 0,
            has_link: false,
            answers: 0,
            link: MaybeUninit::uninit(),
            answer: [MaybeUninit::uninit(); MOST_ANSWERS],
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

    /// To what it belongs, as far as that showed.
    #[inline(always)]
    pub fn link(&self) -> Option<&Link> {
        // SAFETY: written where the flag is set.
        self.has_link.then(|| unsafe { self.link.assume_init_ref() })
    }

    #[inline(always)]
    pub fn set_link(&mut self, link: Link) {
        self.link.write(link);
        self.has_link = true;
    }

    /// Keeps an answer until the handler is through. False if there is no room.
    pub fn keep(&mut self, answer: Answer) -> bool {
        match self.answer.get_mut(usize::from(self.answers)) {
            Some(place) => {
                place.write(answer);
                self.answers += 1;
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    pub fn answers(&self) -> impl Iterator<Item = Answer> {
        // SAFETY: so many were written.
        self.answer.iter().take(usize::from(self.answers)).map(|answer| unsafe { answer.assume_init() })
    }
}

/// Whether this thread is inside of a call of UCP, with nothing of the program's in between.
#[inline(always)]
pub unsafe fn is_posting(thread: *mut Thread) -> bool {
    // SAFETY: frames live as long as they are linked.
    unsafe { (*thread).frame.as_ref() }.is_some_and(|frame| matches!(frame.kind, Kind::Post | Kind::Blocking))
}
