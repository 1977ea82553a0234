//! The stack of the thread: where it is, and which functions are being executed on it.

use std::ffi::{c_int, c_void};

pub use commsee_runtime::stack::pointer;

/// Whether one of the functions that are being executed, and whose stack pointers lie above `frame`, has this stack pointer, or a few
/// arguments of a call below it. True where the stack cannot be read so far.
pub fn is_executing(stack_pointer: usize, frame: usize) -> bool {
    const MOST_ARGUMENTS_BYTES: usize = 128;

    struct Search {
        wanted: usize,
        above: usize,
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
    }
    unsafe extern "C" fn step(context: *mut Context, search: *mut c_void) -> c_int {
        const CONTINUE: c_int = 0;
        const STOP: c_int = 4;
        // SAFETY: passed below; the context is valid during the call.
        let (search, pointer) = unsafe { (&mut *search.cast::<Search>(), _Unwind_GetCFA(context)) };
        search.is_passed |= pointer > search.wanted;
        let is_near = !search.is_passed && search.wanted - pointer <= MOST_ARGUMENTS_BYTES;
        search.is_found |= is_near && pointer > search.above;
        if search.is_passed { STOP } else { CONTINUE }
    }
    let mut search = Search { wanted: stack_pointer, above: frame, is_found: false, is_passed: false };
    // SAFETY: the search outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut search).cast()) };
    search.is_found || !search.is_passed
}
