//! The sites of calls.

use std::mem::MaybeUninit;

use commsee_runtime::{errno, guard};

use crate::local::{self, Local};
use crate::registry::MOST_FRAMES;
use crate::remembered::{Noted, Walked};
use crate::stack::{Copied, Own, Words};
use crate::step::{self, Registers};
use crate::{python, registry};

/// More frames than this are passed through for none.
const MOST_STEPS: usize = 1024;

/// On threads whose stack has less room than this, none is walked: it takes up to 11 KiB the first time.
const ROOM_BYTES: usize = 16 << 10;

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

/// The same, and whether it is that of every call that returns there: it is not where the stack behind it tells, or where the code may be
/// unmapped.
pub fn of_any_call_from(return_address: usize) -> (u32, bool) {
    let site = of_caller(return_address);
    (site, local::known().is_some_and(|local| local.caller(return_address).0 == return_address))
}

#[inline(never)]
fn of_other_caller(return_address: usize) -> u32 {
    if return_address == 0 {
        return of_stack(0, 1);
    }
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
/// passed over. 0 where nothing is known. Without a return address the innermost frames are our own, which are passed over.
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
        if start.stack - bounds.low < ROOM_BYTES {
            return 0;
        }
    }
    walk(local, start, return_address, depth)
}

/// What a walk has found.
struct Stack {
    walked: Walked,
    noted: Noted,
    /// The innermost first; none is 0.
    frames: [MaybeUninit<u32>; MOST_FRAMES],
    length: usize,
    /// There was no room for some frame.
    is_lost: bool,
}

impl Stack {
    fn frames(&self) -> &[u32] {
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts(self.frames.as_ptr().cast(), self.length.min(MOST_FRAMES)) }
    }
}

#[inline(never)]
fn walk(local: &mut Local, start: Registers, return_address: usize, depth: usize) -> u32 {
    let mut place = MaybeUninit::<Stack>::uninit();
    let stack = place.as_mut_ptr();
    // SAFETY: what is behind the lengths stays as it is, and may be anything.
    let stack = unsafe {
        (&raw mut (*stack).walked).write(Walked::new(start, return_address, depth));
        (&raw mut (*stack).length).write(0);
        (&raw mut (*stack).is_lost).write(false);
        &mut *stack
    };
    let mut is_own = climb_any(local, stack);
    // Of what was mapped when some code was looked at, something may have gone since.
    if !stack.walked.is_permanent && !local.is_current() {
        stack.walked = Walked::new(start, return_address, depth);
        (stack.length, stack.is_lost) = (0, false);
        is_own = climb_any(local, stack);
    }
    if stack.is_lost {
        return 0;
    }
    let outer = match stack.walked.is_interpreted {
        true => python::site(&mut local.interpreter, depth - stack.length),
        false => 0,
    };
    let site = local.path.site(stack.frames(), outer);
    stack.walked.site = site;
    if site != 0 && is_own && !(stack.walked.is_interpreted && stack.length > 0) {
        // SAFETY: they were noted while it was walked.
        unsafe { local.stacks.keep(&stack.walked, &stack.noted) };
    }
    site
}

/// Whether the stack is the thread's own.
fn climb_any(local: &mut Local, stack: &mut Stack) -> bool {
    let bounds = local.bounds();
    // SAFETY: this is called by the function with that stack pointer.
    match unsafe { Own::new(bounds, stack.walked.start.stack) } {
        Some(own) => {
            climb(local, stack, own);
            true
        }
        None => {
            climb_copied(local, stack);
            false
        }
    }
}

#[cold]
#[inline(never)]
fn climb_copied(local: &mut Local, stack: &mut Stack) {
    errno::kept(|| climb(local, stack, Copied::new()));
}

/// Notes what is read.
struct Noting<'a, W> {
    words: W,
    walked: &'a mut Walked,
    noted: &'a mut Noted,
}

impl<W: Words> Words for Noting<'_, W> {
    #[inline(always)]
    fn word(&mut self, address: usize) -> Option<usize> {
        let word = self.words.word(address)?;
        self.walked.note(self.noted, address, word);
        Some(word)
    }
}

/// From frame to frame, the innermost first.
#[inline(always)]
fn climb(local: &mut Local, stack: &mut Stack, words: impl Words) {
    let Stack { walked, noted, frames, length, is_lost } = stack;
    let Walked { start, return_address, depth, .. } = *walked;
    let mut words = Noting { words, walked, noted };
    // The first ones are our own, until the call returns.
    let (mut at, mut is_interrupted, mut is_ours, mut is_program) = (start, true, true, false);
    for _ in 0..MOST_STEPS {
        let code = local.code_with_rule(at.address.wrapping_sub(usize::from(!is_interrupted)));
        words.walked.is_permanent &= code.is_permanent();
        is_ours &= return_address != 0 && at.address != return_address;
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
                frames[*length].write(code.frame);
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
            frames[0].write(code.frame);
            *length = 1;
        }
    }
}
