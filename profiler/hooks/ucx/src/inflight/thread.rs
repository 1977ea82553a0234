//! What a thread is in the middle of: frames, one in the other, on the stacks and in the records of what they stand for.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use commsee_hook::Call;
use commsee_runtime::{guard, memory};

use super::operation::{self, Operation, Pool};
use super::{completion, tls};
use crate::module::{self, Module};

/// Kept by the core as this thread's word; threads that end leave theirs to others.
pub struct Thread {
    /// The innermost frame.
    pub frame: *mut Frame,
    /// How many of `frames` stand in each other.
    depth: usize,
    /// Those that are part of no operation. They lie here and not on the stack, so that what is left of one behind an exception or
    /// a `longjmp` is a frame too much, and never an address of nothing.
    frames: [MaybeUninit<Frame>; MOST_FRAMES],
    pub operations: Pool<Operation>,
    pub completions: Pool<completion::Pending>,
    /// The packed size that a generic datatype told last.
    pub packed_bytes: u64,
}

/// UCX hands over one message inside of another, and completes one operation inside of another, only a few times over. What would
/// be deeper is passed on.
const MOST_FRAMES: usize = 32;

/// None while nothing is recorded.
#[inline(always)]
pub fn current(module: &Module) -> Option<*mut Thread> {
    let here = tls::get();
    // What is inside of something recorded is recorded, too: no need to ask.
    // SAFETY: this thread's own; frames lie in records that are never freed.
    unsafe {
        if !here.is_null() && !(*here).frame.is_null() && ((*(*here).frame).stack >= stack() || is_still_inside(here)) {
            return Some(here);
        }
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
        let Some(new) = guard::guarded(|| memory::boxed(Thread::new())).flatten() else {
            module::say_what_is_lost();
            return None;
        };
        *word = Box::into_raw(new) as u64;
    }
    let thread = *word as *mut Thread;
    // SAFETY: whoever left it ended, maybe in the middle of something.
    unsafe {
        (*thread).frame = null_mut();
        (*thread).depth = 0;
    }
    tls::set(thread);
    Some(thread)
}

/// A `longjmp` left frames by no way that could be seen. The stack has become shorter than it was where they were entered, so they are
/// no more; whether one is left that is.
#[cold]
#[inline(never)]
unsafe fn is_still_inside(thread: *mut Thread) -> bool {
    // SAFETY: frames lie in records that are never freed.
    unsafe {
        while let Some(frame) = (*thread).frame.as_mut() {
            if frame.stack >= stack() {
                return true;
            }
            (*thread).frame = frame.outer;
            if frame.operation.is_null() {
                (*thread).depth = (*thread).depth.saturating_sub(1);
            } else {
                operation::abandon(frame.operation, thread);
            }
        }
        (*thread).depth = 0;
        false
    }
}

/// Where the stack ends that this is called on.
#[inline(always)]
fn stack() -> usize {
    let end: usize;
    // SAFETY: reads a register.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) end, options(nomem, nostack, preserves_flags, pure));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) end, options(nomem, nostack, preserves_flags, pure));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let here = 0u8;
        end = std::hint::black_box(&raw const here) as usize;
    }
    end
}

impl Thread {
    fn new() -> Thread {
        Thread {
            frame: null_mut(),
            depth: 0,
            frames: [const { MaybeUninit::uninit() }; MOST_FRAMES],
            operations: Pool::new(),
            completions: Pool::new(),
            packed_bytes: 0,
        }
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
    /// Whether the operation reads or writes another process's memory.
    pub is_one_sided: bool,
    /// Null where only its call is known.
    pub operation: *mut Operation,
}

pub struct Frame {
    pub outer: *mut Frame,
    /// How far the stack went where it was entered.
    stack: usize,
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
    /// What a UCT operation that belongs to it is counted for.
    ///
    /// # Safety
    /// The operation is in use.
    #[inline(always)]
    pub unsafe fn to(operation: *mut Operation) -> Link {
        // SAFETY: records are never freed.
        unsafe {
            Link {
                call: (*operation).call,
                peer: (*operation).peer.get(),
                operation,
                generation: (*operation).generation.get(),
                is_one_sided: (*operation).is_one_sided,
            }
        }
    }

    pub const NONE: Link =
        Link { call: Call::NONE, peer: 0, generation: 0, is_one_sided: false, operation: null_mut() };
}

/// A frame that is part of no operation, innermost as long as this is there. An exception that leaves through it takes it away, too.
pub struct Standing {
    frame: *mut Frame,
    thread: *mut Thread,
    /// Among its thread's.
    place: usize,
}

impl Standing {
    /// None if too many stand in each other.
    ///
    /// # Safety
    /// The thread is this one's.
    #[inline(always)]
    pub unsafe fn enter(thread: *mut Thread, kind: Kind) -> Option<Standing> {
        // SAFETY: as demanded; nothing stands at `place`, which is inside of the thread's frames.
        unsafe {
            let place = (*thread).depth;
            if place >= MOST_FRAMES {
                return None;
            }
            (*thread).depth = place + 1;
            let frame = (&raw mut (*thread).frames).cast::<Frame>().add(place);
            (*frame).operation = null_mut();
            (*frame).kind = kind;
            // Nobody asks a callback of the program to what it belongs; message and carrier are those of an arrival, which sets them.
            if kind != Kind::Program {
                (*frame).has_link = false;
                (*frame).answers = 0;
            }
            Frame::enter(frame, thread);
            Some(Standing { frame, thread, place })
        }
    }

    #[inline(always)]
    pub fn frame(&mut self) -> &mut Frame {
        // SAFETY: it is this one's own until it is dropped.
        unsafe { &mut *self.frame }
    }
}

impl Drop for Standing {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: what stood in it stands no more.
        unsafe {
            (*self.thread).depth = self.place;
            Frame::leave(self.frame, self.thread);
        }
    }
}

impl Frame {
    /// Puts it innermost.
    ///
    /// # Safety
    /// It stays where it is, whatever becomes of what stands in it.
    #[inline(always)]
    pub unsafe fn enter(this: *mut Frame, thread: *mut Thread) {
        // SAFETY: as demanded; the thread is this one's.
        unsafe {
            (*this).outer = (*thread).frame;
            (*this).stack = stack();
            (*thread).frame = this;
        }
    }

    #[inline(always)]
    pub unsafe fn leave(this: *mut Frame, thread: *mut Thread) {
        // SAFETY: as above.
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
