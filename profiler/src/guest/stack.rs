//! The stack of the thread: where it is, and which functions are being executed on it.

use std::ops::ControlFlow;

use commsee_runtime::stack;

pub use commsee_runtime::stack::pointer;

/// Whether one of the functions that are being executed has this stack pointer, or a few arguments of a call below it: of those behind the one
/// that has called a wrapper, which returns to `caller`, or, where that is 0, of those whose stack pointers lie above `frame`. True
/// where the stack cannot be read so far.
pub fn is_executing(stack_pointer: usize, frame: usize, caller: usize) -> bool {
    const MOST_ARGUMENTS_BYTES: usize = 128;

    let (mut is_behind_caller, mut is_found, mut is_passed) = (caller == 0, false, false);
    stack::each_executed(|executed| {
        is_passed |= executed.frame > stack_pointer;
        let is_near = !is_passed && stack_pointer - executed.frame <= MOST_ARGUMENTS_BYTES;
        is_found |= is_near && executed.frame > frame && is_behind_caller;
        // The wrapper's own functions come before it.
        is_behind_caller |= executed.next == caller;
        if is_passed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    is_found || !is_passed
}
