//! The sites of calls.

use commsee_runtime::{errno, guard};

use crate::local::{self, Local};
use crate::registry::MOST_FRAMES;
use crate::remembered::Walked;
use crate::stack::{Copied, Own, Words};
use crate::step::{self, Registers};
use crate::{python, registry};

/// More frames than this are passed through for none.
const MOST_STEPS: usize = 1024;

/// The site of one frame: the caller, or the innermost one that is not passed over. 0 where it is not known.
#[inline(always)]
pub fn of_caller(return_address: usize) -> u32 {
    if let Some(local) = local::known() {
        let (address, site) = *local.caller(return_address);
        if address == return_address {
            return site;
        }
    }
    of_other_caller(return_address)
}

#[inline(never)]
fn of_other_caller(return_address: usize) -> u32 {
    let Some(local) = local::own() else { return 0 };
    loop {
        let code = local.code(return_address.wrapping_sub(1));
        if code.is_passed_over() || code.is_interpreter() {
            return of_stack(return_address, 1);
        }
        let is_permanent = code.is_permanent();
        if code.site == 0 {
            code.site = registry::site(code.frame, 0);
        }
        let site = code.site;
        if is_permanent {
            *local.caller(return_address) = (return_address, site);
            return site;
        }
        if local.is_current() {
            return site;
        }
    }
}

/// The site of this thread's stack: of the frame that a call returns to and those outside of it, at most so many, without those that are
/// passed over. 0 where nothing is known.
#[inline(never)]
pub fn of_stack(return_address: usize, depth: usize) -> u32 {
    // SAFETY: these are the registers of this function.
    unsafe { of_registers(here(), return_address, depth) }
}

/// The same from other registers than those of this call.
///
/// # Safety
/// Where the stack pointer is on the thread's own stack, all from there on is.
#[inline(always)]
pub unsafe fn of_registers(start: Registers, return_address: usize, depth: usize) -> u32 {
    guard::caught(|| local::own().map_or(0, |local| within(local, start, return_address, depth.clamp(1, MOST_FRAMES))))
        .unwrap_or(0)
}

/// The registers of the function that this becomes part of.
#[inline(always)]
fn here() -> Registers {
    let (address, stack, frame): (usize, usize, usize);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only reads registers.
    unsafe {
        std::arch::asm!(
            "lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
            out(reg) address, out(reg) stack, out(reg) frame, options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "adr {}, .", "mov {}, sp", "mov {}, x29",
            out(reg) address, out(reg) stack, out(reg) frame, options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        (address, stack, frame) = (0, 0, 0);
    }
    Registers { address, stack, frame }
}

fn within(local: &mut Local, start: Registers, return_address: usize, depth: usize) -> u32 {
    let bounds = local.bounds();
    if bounds.hold(start.stack) {
        // SAFETY: the stack pointer is on the thread's own stack.
        let walked = unsafe { local.stacks.find(start, return_address, depth) };
        if let Some(&Walked { site, is_permanent, is_interpreted, .. }) = walked
            && (is_permanent || local.is_current())
        {
            return if is_interpreted { python::site(&mut local.interpreter, depth) } else { site };
        }
    }
    walk(local, start, return_address, depth)
}

/// What a walk has found.
struct Stack {
    walked: Walked,
    /// The innermost first; none is 0.
    frames: [u32; MOST_FRAMES],
    length: usize,
    /// There was no room for some frame.
    is_lost: bool,
}

#[inline(never)]
fn walk(local: &mut Local, start: Registers, return_address: usize, depth: usize) -> u32 {
    let mut stack = Stack {
        walked: Walked::new(start, return_address, depth),
        frames: [0; MOST_FRAMES],
        length: 0,
        is_lost: false,
    };
    let bounds = local.bounds();
    // SAFETY: this is a call of the function with that stack pointer.
    let is_own = match unsafe { Own::new(bounds, start.stack) } {
        Some(own) => {
            climb(local, &mut stack, own);
            true
        }
        None => {
            climb_copied(local, &mut stack);
            false
        }
    };
    // Of what was mapped when some code was looked at, something may have gone since.
    if !stack.walked.is_permanent && !local.is_current() {
        (stack.walked, stack.length, stack.is_lost) = (Walked::new(start, return_address, depth), 0, false);
        // SAFETY: as above.
        match unsafe { Own::new(bounds, start.stack) } {
            Some(own) => climb(local, &mut stack, own),
            None => climb_copied(local, &mut stack),
        }
    }
    if stack.is_lost {
        return 0;
    }
    let Stack { mut walked, frames, length, .. } = stack;
    let outer = match walked.is_interpreted {
        true => python::site(&mut local.interpreter, depth - length),
        false => 0,
    };
    let mut site = outer;
    for frame in frames[..length].iter().rev() {
        site = registry::site(*frame, site);
        if site == 0 {
            return 0;
        }
    }
    walked.site = site;
    if is_own && !(walked.is_interpreted && length > 0) {
        local.stacks.keep(&walked);
    }
    site
}

#[cold]
#[inline(never)]
fn climb_copied(local: &mut Local, stack: &mut Stack) {
    errno::kept(|| climb(local, stack, Copied::new()));
}

/// Notes what is read.
struct Noted<'a, W> {
    words: W,
    walked: &'a mut Walked,
}

impl<W: Words> Words for Noted<'_, W> {
    #[inline(always)]
    fn word(&mut self, address: usize) -> Option<usize> {
        let word = self.words.word(address)?;
        self.walked.note(address, word);
        Some(word)
    }
}

/// From frame to frame, the innermost first.
#[inline(always)]
fn climb(local: &mut Local, stack: &mut Stack, words: impl Words) {
    let Stack { walked, frames, length, is_lost } = stack;
    let Walked { start, return_address, depth, .. } = *walked;
    let mut words = Noted { words, walked };
    // The first ones are our own, until the call returns.
    let (mut at, mut is_interrupted, mut is_ours, mut is_program) = (start, true, true, false);
    for _ in 0..MOST_STEPS {
        let code = local.code(at.address.wrapping_sub(usize::from(!is_interrupted)));
        words.walked.is_permanent &= code.is_permanent();
        is_ours &= at.address != return_address;
        if !is_ours {
            if code.is_nowhere() {
                break;
            }
            if code.is_interpreter() && is_program {
                words.walked.is_interpreted = true;
                break;
            }
            // What is called from the program itself is the program's, also where that has an interpreter in it.
            is_program = true;
            if !code.is_passed_over() {
                *is_lost |= code.frame == 0;
                frames[*length] = code.frame;
                *length += 1;
                if *length == depth || *is_lost {
                    break;
                }
            }
        }
        let rule = code.rule;
        let Some(caller) = step::caller_of(at, &rule, &mut words) else { break };
        (at, is_interrupted) = (caller, rule.is_signal);
    }
    if is_ours {
        // Our own frames cannot be left, but where the call returns to is known.
        let code = local.code(return_address.wrapping_sub(1));
        words.walked.is_permanent &= code.is_permanent();
        if !code.is_passed_over() && !code.is_nowhere() {
            *is_lost |= code.frame == 0;
            (frames[0], *length) = (code.frame, 1);
        }
    }
}
