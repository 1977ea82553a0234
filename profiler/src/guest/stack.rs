//! The stack of the thread: where it is, and which functions are being executed on it.

use std::ffi::{c_int, c_void};

pub use commsee_runtime::stack::pointer;

/// Whether one of the functions that are being executed has this stack pointer, or a few arguments of a call below it: of those behind the one
/// that has called a wrapper, which returns to `caller`, or, where that is 0, of those whose stack pointers lie above `frame`. True
/// where the stack cannot be read so far.
pub fn is_executing(stack_pointer: usize, frame: usize, caller: usize) -> bool {
    const MOST_ARGUMENTS_BYTES: usize = 128;

    struct Search {
        wanted: usize,
        above: usize,
        caller: usize,
        is_behind_caller: bool,
        is_found: bool,
        is_passed: bool,
    }

    type Context = c_void;
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            step: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int,
            search: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetCFA(context: *mut Context) -> usize;
        fn _Unwind_GetIP(context: *mut Context) -> usize;
    }
    unsafe extern "C" fn step(context: *mut Context, search: *mut c_void) -> c_int {
        const CONTINUE: c_int = 0;
        const STOP: c_int = 4;
        // SAFETY: passed below; the context is valid during the call.
        let search = unsafe { &mut *search.cast::<Search>() };
        // SAFETY: as above.
        let (pointer, returns_to) = unsafe { (_Unwind_GetCFA(context), _Unwind_GetIP(context)) };
        search.is_passed |= pointer > search.wanted;
        let is_near = !search.is_passed && search.wanted - pointer <= MOST_ARGUMENTS_BYTES;
        search.is_found |= is_near && pointer > search.above && search.is_behind_caller;
        // The wrapper's own functions come before it.
        search.is_behind_caller |= returns_to == search.caller;
        if search.is_passed { STOP } else { CONTINUE }
    }
    let mut search = Search {
        wanted: stack_pointer,
        above: frame,
        caller,
        is_behind_caller: caller == 0,
        is_found: false,
        is_passed: false,
    };
    // SAFETY: the search outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut search).cast()) };
    search.is_found || !search.is_passed
}
