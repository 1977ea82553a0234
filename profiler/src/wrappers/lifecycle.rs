//! Begin and end of MPI, and the program's control over profiling.

use std::ffi::c_int;

use super::{real_function, timed};
use crate::abi::Word;
use crate::guard::guarded;
use crate::{clock, lifecycle, phases, state, tally};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init(argc: Word, argv: Word) -> c_int {
    let real = real_function!(MPI_Init, fn(Word, Word));
    started(|| timed!(MPI_Init, real(argc, argv)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init_thread(argc: Word, argv: Word, required: c_int, provided: Word) -> c_int {
    let real = real_function!(MPI_Init_thread, fn(Word, Word, c_int, Word));
    started(|| timed!(MPI_Init_thread, real(argc, argv, required, provided)))
}

fn started(forward: impl FnOnce() -> tally::Done) -> c_int {
    let chosen = clock::choose();
    let entered = clock::moment();
    let done = forward();
    if done.code == 0 {
        guarded(|| lifecycle::start(chosen, entered, done));
    }
    done.code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    let real = real_function!(MPI_Finalize, fn());
    guarded(lifecycle::finish);
    state::stop();
    unsafe { real() }
}

/// A program may pass more than the level: the standard declares it with `...`. The first of it arrives in the register of a
/// second argument, which holds anything where nothing was passed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Pcontrol(level: c_int, name: Word) -> c_int {
    guarded(|| phases::control(level, Some(name)));
    0
}
