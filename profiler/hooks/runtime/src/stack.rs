//! How far a thread's stack goes, by which a library finds out that the program has jumped out of a call (`longjmp`): nobody is told,
//! but the stack has become shorter than it was there. And another one for what needs much of it: a program may call from a thread with
//! the smallest that the system allows.

use std::{mem, ptr};

use crate::signals::AllHeld;

/// Where the stack ends that this is called on; 0 where that cannot be had.
#[inline(always)]
pub fn pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only reads a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        pointer = 0;
    }
    pointer
}

/// Whether there is what [`thread_pointer`] reads.
pub const HAS_THREAD_POINTER: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// What tells this thread from all others that are alive, read without a call; 0 where that cannot be had.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the first word of a thread's own data is its address (System V ABI).
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nomem, nostack, preserves_flags, pure));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: only reads a register.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags, pure));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        pointer = 0;
    }
    pointer
}

/// Where the thread's own stack lies; empty where that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub low: usize,
    pub high: usize,
}

impl Bounds {
    pub const NONE: Bounds = Bounds { low: 0, high: 0 };

    /// Of the calling thread. The C library may ask for memory, and reads a file for the first thread.
    pub fn own() -> Bounds {
        // SAFETY: the attributes are filled by the first call, and destroyed if it succeeded.
        unsafe {
            let mut attributes: libc::pthread_attr_t = mem::zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
                return Bounds::NONE;
            }
            let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
            let is_known = libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes) == 0;
            libc::pthread_attr_destroy(&mut attributes);
            let low = low as usize;
            if is_known { Bounds { low, high: low.saturating_add(bytes) } } else { Bounds::NONE }
        }
    }

    fn of(stack: &libc::stack_t) -> Bounds {
        let low = stack.ss_sp as usize;
        Bounds { low, high: low.saturating_add(stack.ss_size) }
    }

    #[inline(always)]
    pub fn hold(self, stack_pointer: usize) -> bool {
        stack_pointer >= self.low && stack_pointer < self.high
    }
}

/// What the rarest of ours may take, with what it calls of the MPI library, SQLite and the loader.
const ROOM_BYTES: usize = 512 << 10;
/// Of a stack of ours, which is touched as far as it is used.
const OWN_BYTES: usize = 4 << 20;

/// Runs work that may need much of a stack: on another one where this one has little left, or is none that the system knows, such as that of a
/// coroutine. The work must not panic. It remains this thread's.
#[inline(never)]
pub fn with_room<R>(work: impl FnOnce() -> R) -> R {
    let here = pointer();
    let of_signals = of_signals();
    let is_handler = of_signals.ss_flags & libc::SS_ONSTACK != 0;
    let bounds = if is_handler { Bounds::of(&of_signals) } else { Bounds::own() };
    if here == 0 || (bounds.hold(here) && here - bounds.low >= ROOM_BYTES) {
        return work();
    }
    if !is_handler {
        return elsewhere(work);
    }
    // From before this stack is left until it is taken away, and from before it is given back until it is stood on again: a signal in between
    // would be handled at its top, over the frames of the handler that stands there.
    let held = AllHeld::begin();
    elsewhere(|| kept(&held, work))
}

/// The stack that the program has set up for handlers of signals.
fn of_signals() -> libc::stack_t {
    // SAFETY: fills what it is given; zeros are no stack.
    unsafe {
        let mut stack = mem::zeroed();
        libc::sigaltstack(ptr::null(), &mut stack);
        stack
    }
}

/// Runs work while a handler's stack is in use that the system takes for free, since the stack pointer is elsewhere: it is taken away
/// meanwhile, so that no other handler begins there. Without `held` signals no moment of it is left.
fn kept<R>(held: &AllHeld, work: impl FnOnce() -> R) -> R {
    // SAFETY: a stack that is not used now, and what the system has told of the one before.
    unsafe {
        let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        let mut before = mem::zeroed();
        if libc::sigaltstack(&none, &mut before) != 0 {
            return work();
        }
        let result = held.but_during(work);
        libc::sigaltstack(&before, ptr::null_mut());
        result
    }
}

/// What lies behind a stack of ours.
#[repr(align(64))]
struct Elsewhere<F, R> {
    caller: libc::ucontext_t,
    own: libc::ucontext_t,
    work: Option<F>,
    result: Option<R>,
}

fn elsewhere<R, F: FnOnce() -> R>(work: F) -> R {
    extern "C" fn run<R, F: FnOnce() -> R>(high: u32, low: u32) {
        let place = (u64::from(high) << 32 | u64::from(low)) as *mut Elsewhere<F, R>;
        // SAFETY: it is filled below, and stays until this has returned.
        let place = unsafe { &mut *place };
        place.result = place.work.take().map(|work| work());
    }
    // SAFETY: a new mapping, which nobody knows, and contexts that the system fills before it uses them.
    unsafe {
        let Some(stack) = map() else { return work() };
        let bytes = OWN_BYTES - size_of::<Elsewhere<F, R>>();
        let place = stack.add(bytes).cast::<Elsewhere<F, R>>();
        place.write(Elsewhere { caller: mem::zeroed(), own: mem::zeroed(), work: Some(work), result: None });
        let (caller, own) = (&raw mut (*place).caller, &raw mut (*place).own);
        if libc::getcontext(own) == 0 {
            (*own).uc_stack.ss_sp = stack.cast();
            (*own).uc_stack.ss_size = bytes;
            (*own).uc_link = caller;
            let run = mem::transmute::<extern "C" fn(u32, u32), extern "C" fn()>(run::<R, F>);
            let address = place as u64;
            libc::makecontext(own, run, 2, (address >> 32) as u32, address as u32);
            libc::swapcontext(caller, own);
        }
        let Elsewhere { work, result, .. } = place.read();
        unmap(stack);
        match (result, work) {
            (Some(result), _) => result,
            // It has not come there.
            (None, Some(work)) => work(),
            (None, None) => std::process::abort(),
        }
    }
}

const GUARD_BYTES: usize = 64 << 10;

/// None where there is no memory.
unsafe fn map() -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: a new mapping, and what becomes accessible is a part of it.
    unsafe {
        let base = libc::mmap(ptr::null_mut(), GUARD_BYTES + OWN_BYTES, libc::PROT_NONE, flags, -1, 0);
        if base == libc::MAP_FAILED {
            return None;
        }
        let stack = base.cast::<u8>().add(GUARD_BYTES);
        if libc::mprotect(stack.cast(), OWN_BYTES, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            unmap(stack);
            return None;
        }
        Some(stack)
    }
}

unsafe fn unmap(stack: *mut u8) {
    // SAFETY: what `map` has mapped, and nobody uses any more.
    unsafe { libc::munmap(stack.sub(GUARD_BYTES).cast(), GUARD_BYTES + OWN_BYTES) };
}
