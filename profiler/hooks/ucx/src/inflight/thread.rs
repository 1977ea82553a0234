//! What a thread is in the middle of: frames, one in the other. They lie in memory that is never freed and not on the stack, so that what is
//! left of one behind a `longjmp` is a frame too much, and never an address of nothing.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use commsee_runtime::thread_state::State;
use commsee_runtime::{guard, memory};

use super::answers::Answer;
use super::operation::{Link, Operation};
use super::pool::Pool;
use super::transfer::Transfer;
use crate::module::protocol::Protocol;
use crate::module::routes::Carrier;
use crate::module::{self, Module};

mod tls {
    commsee_runtime::thread_pointer!(super::Thread, "commsee_ucx_thread");
}

/// Kept by the core as this thread's word; threads that end leave theirs to others. It begins as zeros: no frames, and empty pools.
pub struct Thread {
    /// What the core tells of it without a call.
    state: State,
    /// How many of `frames` stand in each other.
    depth: usize,
    frames: [MaybeUninit<Frame>; MOST_FRAMES],
    pub operations: Pool<Operation>,
    pub transfers: Pool<Transfer>,
    /// The packed size that a generic datatype told last.
    pub packed_bytes: u64,
}

/// UCX hands over one message inside of another, and completes one operation inside of another, only a few times over. What would
/// be deeper is passed on.
const MOST_FRAMES: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call of UCP.
    Post(*mut Operation),
    /// One that progresses what others posted until it is done.
    Blocking(*mut Operation),
    /// A message handed to libucp: its number, and the interface that it came by.
    Arrival(u8, Carrier),
    /// The completion of a UCT operation.
    Completion,
    /// A callback of the program.
    Program,
}

#[derive(Clone, Copy)]
pub struct Frame {
    pub kind: Kind,
    /// To what it belongs, as far as that showed.
    pub link: Option<Link>,
    /// How the message is sent to which this belongs, as far as what arrived or was completed shows it.
    pub shows: Protocol,
    /// Answers that were sent before it showed to what this belongs, so many.
    answers: [Answer; MOST_ANSWERS],
    answer_count: usize,
    /// How far the stack went in the function that entered it.
    stack: usize,
}

const MOST_ANSWERS: usize = 2;

/// None while nothing is recorded. `stack` is how far that of the function goes which the program or UCX has called.
#[inline(always)]
pub fn current(module: &Module, stack: usize) -> Option<*mut Thread> {
    let thread = tls::get();
    // SAFETY: null, or this thread's own, whose state was told.
    unsafe {
        if !thread.is_null() {
            if innermost(thread).is_some_and(|frame| frame.is_left(stack)) {
                drop_left(thread, stack);
            }
            // What is inside of something recorded is recorded, too.
            if (*thread).depth != 0 || (*thread).state.is_own() {
                return Some(thread);
            }
        }
    }
    first(module)
}

/// Frames that a `longjmp` left: the stack has become shorter than it was where they were entered.
#[cold]
#[inline(never)]
unsafe fn drop_left(thread: *mut Thread, stack: usize) {
    // SAFETY: the thread is this one's.
    unsafe {
        while innermost(thread).is_some_and(|frame| frame.is_left(stack)) {
            (*thread).depth -= 1;
        }
    }
}

/// This thread's, which is recorded.
#[inline(always)]
pub fn own() -> *mut Thread {
    tls::get()
}

/// The first time in a thread, or in a while: or nothing is recorded.
#[cold]
#[inline(never)]
fn first(module: &Module) -> Option<*mut Thread> {
    // SAFETY: null while nothing is recorded, or this thread's word.
    let word = unsafe { module.word().as_mut()? };
    if *word == 0 {
        let new = guard::guarded(|| memory::zeroed::<Thread>(1)).unwrap_or(null_mut());
        if new.is_null() {
            module::say_what_is_lost();
            return None;
        }
        *word = new as u64;
    }
    let thread = *word as *mut Thread;
    let state = module.thread_state()?;
    // SAFETY: whoever left it ended, maybe in the middle of something.
    unsafe {
        (&raw mut (*thread).state).write(state);
        (*thread).depth = 0;
    }
    tls::set(thread);
    Some(thread)
}

/// The frame that stands in all others.
///
/// # Safety
/// The thread is this one's.
#[inline(always)]
pub unsafe fn innermost<'a>(thread: *mut Thread) -> Option<&'a mut Frame> {
    // SAFETY: as demanded; so many frames stand in each other.
    unsafe {
        let place = (*thread).depth.checked_sub(1)?;
        Some(&mut *(&raw mut (*thread).frames).cast::<Frame>().add(place))
    }
}

/// Whether this thread is inside of a call of UCP, with nothing of the program's in between.
///
/// # Safety
/// The thread is this one's.
#[inline(always)]
pub unsafe fn is_posting(thread: *mut Thread) -> bool {
    // SAFETY: as demanded.
    unsafe { innermost(thread) }.is_some_and(|frame| matches!(frame.kind, Kind::Post(_) | Kind::Blocking(_)))
}

/// Puts a frame innermost, and tells its place. None if too many stand in each other. `stack` is how far that of the function goes in which
/// it stands.
///
/// # Safety
/// The thread is this one's.
#[inline(always)]
pub unsafe fn enter(thread: *mut Thread, kind: Kind, stack: usize) -> Option<usize> {
    // SAFETY: as demanded; nothing stands at `place`, which is inside of the thread's frames.
    unsafe {
        let place = (*thread).depth;
        if place >= MOST_FRAMES {
            return None;
        }
        let frame = (&raw mut (*thread).frames).cast::<Frame>().add(place);
        (*frame).kind = kind;
        (*frame).link = None;
        (*frame).shows = Protocol::None;
        (*frame).answer_count = 0;
        (*frame).stack = stack;
        (*thread).depth = place + 1;
        Some(place)
    }
}

/// The frame of this thread at that place is gone, and so is what stood in it.
///
/// # Safety
/// The thread has entered it.
#[inline(always)]
pub unsafe fn leave(place: usize) {
    // SAFETY: as demanded.
    unsafe { (*own()).depth = place };
}

/// A frame that is innermost as long as this is there. An exception that leaves through it takes it away, too.
pub struct Standing {
    thread: *mut Thread,
    place: usize,
}

impl Standing {
    /// As [`enter`].
    ///
    /// # Safety
    /// The thread is this one's.
    #[inline(always)]
    pub unsafe fn enter(thread: *mut Thread, kind: Kind, stack: usize) -> Option<Standing> {
        // SAFETY: as demanded.
        Some(Standing { thread, place: unsafe { enter(thread, kind, stack) }? })
    }

    #[inline(always)]
    pub fn frame(&mut self) -> &mut Frame {
        // SAFETY: it is this one's own until it is dropped, at one of the places that there are.
        unsafe { &mut *(&raw mut (*self.thread).frames).cast::<Frame>().add(self.place) }
    }
}

impl Drop for Standing {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: what stood in it stands no more.
        unsafe { (*self.thread).depth = self.place };
    }
}

impl Frame {
    /// Whether UCX is in it by itself, and not because something was asked of it.
    #[inline(always)]
    pub fn is_progress(&self) -> bool {
        matches!(self.kind, Kind::Arrival(..) | Kind::Completion)
    }

    #[inline(always)]
    fn is_left(&self, stack: usize) -> bool {
        self.stack <= stack && stack != 0
    }

    /// Keeps an answer until the handler is through. False if there is no room.
    pub fn keep(&mut self, answer: Answer) -> bool {
        let place = self.answers.get_mut(self.answer_count);
        let has_room = place.is_some();
        if let Some(place) = place {
            *place = answer;
            self.answer_count += 1;
        }
        has_room
    }

    pub fn answers(&self) -> &[Answer] {
        self.answers.get(..self.answer_count).unwrap_or_default()
    }
}
