//! What a thread is in the middle of: frames, one in the other, on the stacks and in the records of what they stand for.

use std::mem::{MaybeUninit, offset_of};
use std::ptr::null_mut;

use commsee_hook::Call;
use commsee_runtime::thread_state::State;
use commsee_runtime::{guard, memory};

use super::alike::{self, Alike, Arrival};
use super::operation::{self, Operation, Pool};
use super::{completion, tls};
use crate::module::{self, Module};

/// Kept by the core as this thread's word; threads that end leave theirs to others.
#[repr(C)]
pub struct Thread {
    /// The innermost frame.
    pub frame: *mut Frame,
    /// What the core tells of it without a call.
    pub state: State,
    /// What is known of operations that are alike.
    pub alike: *mut Alike,
    /// That of a message inside of nothing.
    outermost: Frame,
    /// Those inside of others that are part of no operation. They lie here and not on the stack, so that what is left of one behind an
    /// exception or a `longjmp` is a frame too much, and never an address of nothing.
    frames: [Frame; MOST_FRAMES],
    /// How many of `frames` stand in each other.
    depth: usize,
    noted_stack: usize,
    pub operations: Pool<Operation>,
    pub completions: Pool<completion::Pending>,
    /// The packed size that a generic datatype told last.
    pub packed_bytes: u64,
    /// Of its entries so far.
    pub stamps: u32,
    /// The counters of messages that complete nothing, by their numbers.
    pub unlinked: [Arrival; UNLINKED],
}

/// A power of two: most messages have one of few numbers.
pub const UNLINKED: usize = 8;

/// UCX hands over one message inside of another, and completes one operation inside of another, only a few times over. What would
/// be deeper is passed on.
const MOST_FRAMES: usize = 32;

/// None while nothing is recorded.
#[inline(always)]
pub fn current(module: &Module) -> Option<*mut Thread> {
    current_at(module, stack())
}

/// The same for a function of ours whose caller's stack ends there: this one's own may be deeper than that of a frame that was left.
#[inline(always)]
pub fn current_at(module: &Module, stack: usize) -> Option<*mut Thread> {
    let here = tls::get();
    // What is inside of something recorded is recorded, too: no need to ask.
    // SAFETY: this thread's own; frames lie in records that are never freed.
    unsafe {
        if !here.is_null()
            && !(*here).frame.is_null()
            && ((*(*here).frame).stack >= stack || is_still_inside(here, stack))
        {
            return Some(here);
        }
    }
    // SAFETY: null, or a thread, which is never freed; its state is told.
    if !here.is_null() && unsafe { (*here).state.is_own() } { Some(here) } else { enter(module) }
}

/// The first time in a thread, or in a while: or nothing is recorded.
#[cold]
#[inline(never)]
fn enter(module: &Module) -> Option<*mut Thread> {
    // SAFETY: as above.
    let word = unsafe { module.word().as_mut()? };
    if *word == 0 {
        let Some(new) = guard::guarded(Thread::made).flatten() else {
            module::say_what_is_lost();
            return None;
        };
        *word = new as u64;
    }
    let thread = *word as *mut Thread;
    let state = module.thread_state()?;
    // SAFETY: whoever left it ended, maybe in the middle of something.
    unsafe {
        (*thread).state = state;
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
unsafe fn is_still_inside(thread: *mut Thread, stack: usize) -> bool {
    // SAFETY: frames lie in records that are never freed.
    unsafe {
        while let Some(frame) = (*thread).frame.as_mut() {
            if frame.stack >= stack {
                return true;
            }
            (*thread).frame = frame.outer;
            if std::ptr::eq(frame, &raw const (*thread).outermost) {
                continue;
            }
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

/// Keeps [`stack`] for a function that has no room for an argument more.
#[inline(always)]
pub fn note_stack() {
    // SAFETY: null, or this thread's own.
    if let Some(thread) = unsafe { tls::get().as_mut() } {
        thread.noted_stack = stack();
    }
}

/// What was kept just now. Without a thread there are no frames that it would be compared with.
pub fn noted_stack() -> usize {
    // SAFETY: as above.
    unsafe { tls::get().as_ref() }.map_or_else(stack, |thread| thread.noted_stack)
}

/// Where the stack ends that this is called on.
#[inline(always)]
pub fn stack() -> usize {
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
    /// Nothing yet, piece by piece: the stack of the thread may be small. SAFETY: there is room for it.
    unsafe fn fill(place: *mut Thread) {
        // SAFETY: as demanded.
        unsafe {
            (&raw mut (*place).frame).write(null_mut());
            (&raw mut (*place).outermost).write(Frame::NONE);
            let frames = (&raw mut (*place).frames).cast::<Frame>();
            (0..MOST_FRAMES).for_each(|at| frames.add(at).write(Frame::NONE));
            (&raw mut (*place).depth).write(0);
            (&raw mut (*place).noted_stack).write(0);
            (&raw mut (*place).operations).write(Pool::new());
            (&raw mut (*place).completions).write(Pool::new());
            (&raw mut (*place).packed_bytes).write(0);
            (&raw mut (*place).state).write(State::NONE);
            (&raw mut (*place).alike).write(null_mut());
            (&raw mut (*place).stamps).write(0);
            let unlinked = (&raw mut (*place).unlinked).cast::<Arrival>();
            (0..UNLINKED).for_each(|at| unlinked.add(at).write(Arrival::new()));
        }
    }

    /// None if there is no memory.
    #[inline(never)]
    fn made() -> Option<*mut Thread> {
        // SAFETY: it is filled.
        let thread = Box::into_raw(unsafe { memory::boxed_by(|place| Thread::fill(place)) }?);
        let entries = alike::entries(thread);
        // SAFETY: nobody else knows it yet.
        unsafe {
            if entries.is_null() {
                drop(Box::from_raw(thread));
                return None;
            }
            (*thread).alike = entries;
        }
        Some(thread)
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

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Frame {
    pub marks: Marks,
    /// Of an operation that was completed, and that the rest is counted for: in place of a link.
    alike: *mut Alike,
    /// How far the stack went where it was entered.
    stack: usize,
    pub outer: *mut Frame,
    /// Of a post; null for ever in those of a thread.
    pub operation: *mut Operation,
    /// Of a post whose peer is known, the entry by which is counted what is transmitted in it; else null.
    pub posted: *mut Alike,
    link: MaybeUninit<Link>,
    answer: [MaybeUninit<Answer>; MOST_ANSWERS],
}

/// What a frame is. Written, and compared, as one word.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Marks {
    pub kind: Kind,
    /// Number of the message that arrived.
    pub message: u8,
    /// The interface that it came by, as a carrier.
    pub carrier: u8,
    /// It tells no request, and nobody waits for an answer to it.
    pub is_plain: bool,
    has_link: bool,
    /// Answers that were sent before it showed to what the arrival belongs, so many.
    answers: u8,
    rest: [u8; 2],
}

impl Marks {
    pub const fn of(kind: Kind) -> Marks {
        Marks { kind, message: 0, carrier: 0, is_plain: false, has_link: false, answers: 0, rest: [0; 2] }
    }

    #[inline(always)]
    pub fn word(self) -> u64 {
        // SAFETY: eight bytes, all of which are set.
        unsafe { std::mem::transmute::<Marks, u64>(self) }
    }

    /// The carrier in such a word.
    pub fn carrier_of(word: u64) -> u8 {
        word.to_ne_bytes()[offset_of!(Marks, carrier)]
    }

    pub const fn of_arrival(message: u8, carrier: u8, is_plain: bool) -> Marks {
        Marks { message, carrier, is_plain, ..Marks::of(Kind::Arrival) }
    }
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
                peer: (*operation).now.peer.get(),
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
    pub unsafe fn enter(thread: *mut Thread, marks: Marks) -> Option<Standing> {
        // SAFETY: as demanded; nothing stands at `place`, which is inside of the thread's frames.
        unsafe {
            let place = (*thread).depth;
            if place >= MOST_FRAMES {
                return None;
            }
            (*thread).depth = place + 1;
            let frame = (&raw mut (*thread).frames).cast::<Frame>().add(place);
            (*frame).alike = null_mut();
            (*frame).marks = marks;
            Frame::enter(frame, thread, stack());
            Some(Standing { frame, thread, place })
        }
    }

    #[inline(always)]
    pub fn thread(&self) -> *mut Thread {
        self.thread
    }

    #[inline(always)]
    pub fn frame(&mut self) -> &mut Frame {
        // SAFETY: it is this one's own until it is dropped.
        unsafe { &mut *self.frame }
    }
}

/// The same where nothing stands around it.
pub struct Outermost {
    thread: *mut Thread,
}

impl Outermost {
    /// # Safety
    /// The thread is this one's, and is in the middle of nothing.
    #[inline(always)]
    pub unsafe fn enter(thread: *mut Thread, marks: Marks) -> Outermost {
        // SAFETY: as demanded: the frame is not in use. Nothing is ever around it.
        unsafe {
            let frame = &raw mut (*thread).outermost;
            (*frame).alike = null_mut();
            (*frame).marks = marks;
            (*frame).stack = stack();
            (*thread).frame = frame;
            Outermost { thread }
        }
    }

    #[inline(always)]
    pub fn frame(&mut self) -> &mut Frame {
        // SAFETY: it is this one's own until it is dropped.
        unsafe { &mut (*self.thread).outermost }
    }
}

impl Drop for Outermost {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: what stood in it stands no more.
        unsafe { (*self.thread).frame = null_mut() };
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
    const NONE: Frame = Frame {
        marks: Marks::of(Kind::Program),
        alike: null_mut(),
        stack: 0,
        outer: null_mut(),
        operation: null_mut(),
        posted: null_mut(),
        link: MaybeUninit::uninit(),
        answer: [MaybeUninit::uninit(); MOST_ANSWERS],
    };

    /// Puts it innermost.
    ///
    /// # Safety
    /// It stays where it is, whatever becomes of what stands in it.
    #[inline(always)]
    pub unsafe fn enter(this: *mut Frame, thread: *mut Thread, stack: usize) {
        // SAFETY: as demanded; the thread is this one's.
        unsafe {
            (*this).outer = (*thread).frame;
            (*this).stack = stack;
            (*thread).frame = this;
        }
    }

    #[inline(always)]
    pub unsafe fn leave(this: *mut Frame, thread: *mut Thread) {
        // SAFETY: as above.
        unsafe { (*thread).frame = (*this).outer };
    }

    /// Puts it outermost.
    ///
    /// # Safety
    /// As for [`Frame::enter`]; there is no other.
    #[inline(always)]
    pub unsafe fn enter_first(&mut self, thread: *mut Thread) {
        self.outer = null_mut();
        self.stack = stack();
        // SAFETY: as demanded.
        unsafe { (*thread).frame = self };
    }

    /// Whether the stack has not become shorter than it was where the frame was entered.
    #[inline(always)]
    pub fn is_around_here(&self) -> bool {
        self.stack >= stack()
    }

    /// To what it belongs, as far as that showed.
    pub fn link(&self) -> Option<Link> {
        if self.marks.has_link {
            // SAFETY: written where the flag is set.
            return Some(unsafe { self.link.assume_init() });
        }
        // SAFETY: entries are never freed, and none is filled in as long as there is a frame.
        unsafe { self.alike.as_ref() }.map(Alike::link)
    }

    /// Whether it has no link and no answers by now: an entry alone tells what it is counted for, or nothing does.
    #[inline(always)]
    pub fn is_as_entered(&self, marks: Marks) -> bool {
        self.marks.word() == marks.word()
    }

    #[inline(always)]
    pub fn alike(&self) -> *mut Alike {
        self.alike
    }

    /// It belongs to an operation that is complete, whose entry this is.
    #[inline(always)]
    pub fn set_alike(&mut self, alike: *mut Alike) {
        self.alike = alike;
        self.marks.has_link = false;
    }

    /// The same where it is as it was entered.
    #[inline(always)]
    pub fn set_first_alike(&mut self, alike: *mut Alike) {
        self.alike = alike;
    }

    #[inline(always)]
    pub fn set_link(&mut self, link: Link) {
        self.link.write(link);
        self.marks.has_link = true;
    }

    /// Keeps an answer until the handler is through. False if there is no room.
    pub fn keep(&mut self, answer: Answer) -> bool {
        match self.answer.get_mut(usize::from(self.marks.answers)) {
            Some(place) => {
                place.write(answer);
                self.marks.answers += 1;
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    pub fn answers(&self) -> impl Iterator<Item = Answer> {
        // SAFETY: so many were written.
        self.answer.iter().take(usize::from(self.marks.answers)).map(|answer| unsafe { answer.assume_init() })
    }
}

/// Whether this thread is inside of a call of UCP, with nothing of the program's in between.
#[inline(always)]
pub unsafe fn is_posting(thread: *mut Thread) -> bool {
    // SAFETY: frames live as long as they are linked.
    unsafe { (*thread).frame.as_ref() }.is_some_and(|frame| matches!(frame.marks.kind, Kind::Post | Kind::Blocking))
}
