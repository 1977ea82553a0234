//! Begin and end of MPI, and the program's control over profiling.

use std::cell::Cell;
use std::ffi::c_int;

use super::forward::{real_function, timed};
use super::shell::jump;
use crate::fortran;
use crate::guest::caller::{Address, Caller};
use crate::guest::guard::{uncancelled, with_room};
use crate::guest::{clock, state};
use crate::hooks;
use crate::mpi::abi::Word;
use crate::mpi::presence::where_present;
use crate::record::tally;
use crate::run::{control, lifecycle, loaded, parting, sessions, without_mpi};
use vocabulary::loaded::Stage;

where_present! {
    #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), unsafe(naked))]
    pub unsafe extern "C-unwind" fn MPI_Init(argc: Word, argv: Word) -> c_int {
        jump!(init, (argc, argv))
    }
}

unsafe extern "C-unwind" fn init(argc: Word, argv: Word, caller: Caller) -> c_int {
    let real = real_function!(MPI_Init, fn(Word, Word));
    started(caller, || timed!(MPI_Init, real(argc, argv)))
}

where_present! {
    #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), unsafe(naked))]
    pub unsafe extern "C-unwind" fn MPI_Init_thread(argc: Word, argv: Word, required: c_int, provided: Word) -> c_int {
        jump!(init_thread, (argc, argv, required, provided))
    }
}

unsafe extern "C-unwind" fn init_thread(
    argc: Word,
    argv: Word,
    required: c_int,
    provided: Word,
    caller: Caller,
) -> c_int {
    let real = real_function!(MPI_Init_thread, fn(Word, Word, c_int, Word));
    started(caller, || timed!(MPI_Init_thread, real(argc, argv, required, provided)))
}

fn started(caller: Caller, forward: impl FnOnce() -> tally::Done) -> c_int {
    without_mpi::leave_to_mpi();
    loaded::tell(Stage::Entered);
    uncancelled(parting::expect);
    let chosen = clock::choose();
    let entered = clock::moment();
    let done = forward();
    if done.code == 0 {
        with_room(|| lifecycle::start(chosen, entered, done, caller));
    }
    loaded::tell(Stage::Returned);
    done.code
}

where_present! {
    #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), unsafe(naked))]
    pub unsafe extern "C-unwind" fn MPI_Finalize() -> c_int {
        jump!(finalize, ())
    }
}

unsafe extern "C-unwind" fn finalize(caller: Caller) -> c_int {
    finish(caller);
    let real = real_function!(MPI_Finalize, fn());
    // SAFETY: it takes nothing.
    unsafe { real() }
}

/// Apart: what it takes of the stack is the library's again.
#[inline(never)]
fn finish(caller: Caller) {
    hooks::drain();
    with_room(|| lifecycle::finish(caller));
    state::stop();
}

where_present! {
    late #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), unsafe(naked))]
    pub unsafe extern "C-unwind" fn MPI_Session_init(info: Word, errhandler: Word, session: Word) -> c_int {
        jump!(session_init, (info, errhandler, session))
    }
}

unsafe extern "C-unwind" fn session_init(info: Word, errhandler: Word, session: Word, caller: Caller) -> c_int {
    let real = real_function!(MPI_Session_init, fn(Word, Word, Word));
    opened(session, caller, || timed!(MPI_Session_init, real(info, errhandler, session)))
}

/// `session` is where its handle will be, or 0 where that cannot be read.
fn opened(session: Word, caller: Caller, forward: impl FnOnce() -> tally::Done) -> c_int {
    without_mpi::leave_to_mpi();
    loaded::tell(Stage::Entered);
    let chosen = clock::choose();
    let entered = clock::moment();
    let done = forward();
    if done.code == 0 {
        with_room(|| sessions::opened(chosen, entered, session, done, caller));
    }
    loaded::tell(Stage::Returned);
    done.code
}

where_present! {
    late #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), unsafe(naked))]
    pub unsafe extern "C-unwind" fn MPI_Session_finalize(session: Word) -> c_int {
        jump!(session_finalize, (session))
    }
}

unsafe extern "C-unwind" fn session_finalize(session: Word, caller: Caller) -> c_int {
    let real = real_function!(MPI_Session_finalize, fn(Word));
    closed(caller, || timed!(MPI_Session_finalize, real(session)))
}

fn closed(caller: Caller, forward: impl FnOnce() -> tally::Done) -> c_int {
    hooks::drain();
    let closing = with_room(sessions::closing).flatten();
    let done = forward();
    if let Some(closing) = closing {
        uncancelled(|| sessions::closed(closing, done, caller));
    }
    done.code
}

// A program may pass more than the level: the standard declares it with `...`. The first of it arrives in the register of a
// second argument, which holds anything where nothing was passed.
where_present! {
    #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), unsafe(naked))]
    pub unsafe extern "C-unwind" fn MPI_Pcontrol(level: c_int, name: Word) -> c_int {
        jump!(pcontrol, (level, name))
    }
}

unsafe extern "C-unwind" fn pcontrol(level: c_int, name: Word, caller: Caller) -> c_int {
    controlled(level, Some(name), caller);
    let real = real_function!(MPI_Pcontrol, fn(c_int, Word));
    // SAFETY: as it was called. Outside of MPI some libraries end the program.
    unsafe { real(level, name) }
}

fn controlled(level: c_int, name: Option<Word>, caller: Caller) {
    // What a snapshot shall hold.
    if level == control::SNAPSHOT {
        hooks::drain();
    }
    uncancelled(|| control::control(level, name, caller));
}

pub unsafe extern "C-unwind" fn fortran_MPI_Init(ierror: Word, caller: Caller, entry: Address) -> Word {
    // SAFETY: its own entry point passes it.
    let entry: &fortran::Entry = unsafe { entry.as_ref() };
    // SAFETY: the type is that of the function in Fortran.
    let real: unsafe extern "C-unwind" fn(Word) -> Word = unsafe { std::mem::transmute(entry.real()) };
    if !entry.is_mpi() {
        // SAFETY: the program's own arguments, unchanged.
        return unsafe { real(ierror) };
    }
    let own_error = Cell::new(0);
    let ierror = fortran::given(ierror, &own_error);
    started(caller, || timed!(MPI_Init, fortran::code(ierror, || _ = real(ierror))));
    0
}

pub unsafe extern "C-unwind" fn fortran_MPI_Init_thread(
    required: Word,
    provided: Word,
    ierror: Word,
    caller: Caller,
    entry: Address,
) -> Word {
    // SAFETY: its own entry point passes it.
    let entry: &fortran::Entry = unsafe { entry.as_ref() };
    // SAFETY: as above.
    let real: unsafe extern "C-unwind" fn(Word, Word, Word) -> Word = unsafe { std::mem::transmute(entry.real()) };
    if !entry.is_mpi() {
        // SAFETY: as above.
        return unsafe { real(required, provided, ierror) };
    }
    let own_error = Cell::new(0);
    let ierror = fortran::given(ierror, &own_error);
    started(caller, || timed!(MPI_Init_thread, fortran::code(ierror, || _ = real(required, provided, ierror))));
    0
}

pub unsafe extern "C-unwind" fn fortran_MPI_Finalize(ierror: Word, caller: Caller, entry: Address) -> Word {
    // SAFETY: its own entry point passes it.
    let entry: &fortran::Entry = unsafe { entry.as_ref() };
    // SAFETY: as above.
    let real: unsafe extern "C-unwind" fn(Word) -> Word = unsafe { std::mem::transmute(entry.real()) };
    if !entry.is_mpi() {
        // SAFETY: as above.
        return unsafe { real(ierror) };
    }
    finish(caller);
    // SAFETY: as above.
    unsafe { real(ierror) }
}

pub unsafe extern "C-unwind" fn fortran_MPI_Session_init(
    info: Word,
    errhandler: Word,
    session: Word,
    ierror: Word,
    caller: Caller,
    entry: Address,
) -> Word {
    // SAFETY: its own entry point passes it.
    let entry: &fortran::Entry = unsafe { entry.as_ref() };
    // SAFETY: as above.
    let real: unsafe extern "C-unwind" fn(Word, Word, Word, Word) -> Word =
        unsafe { std::mem::transmute(entry.real()) };
    if !entry.is_mpi() {
        // SAFETY: as above.
        return unsafe { real(info, errhandler, session, ierror) };
    }
    let own_error = Cell::new(0);
    let ierror = fortran::given(ierror, &own_error);
    without_mpi::leave_to_mpi();
    let before = sessions::opened_so_far();
    opened_in_fortran(before, caller, || {
        timed!(MPI_Session_init, fortran::code(ierror, || _ = real(info, errhandler, session, ierror)))
    });
    0
}

/// The C wrapper has seen it where the library's Fortran layer went through that.
fn opened_in_fortran(before: u64, caller: Caller, forward: impl FnOnce() -> tally::Done) {
    let (chosen, entered) = (clock::choose(), clock::moment());
    let done = forward();
    if done.code == 0 && sessions::opened_so_far() == before {
        with_room(|| sessions::opened(chosen, entered, 0, done, caller));
    }
}

pub unsafe extern "C-unwind" fn fortran_MPI_Session_finalize(
    session: Word,
    ierror: Word,
    caller: Caller,
    entry: Address,
) -> Word {
    // SAFETY: its own entry point passes it.
    let entry: &fortran::Entry = unsafe { entry.as_ref() };
    // SAFETY: as above.
    let real: unsafe extern "C-unwind" fn(Word, Word) -> Word = unsafe { std::mem::transmute(entry.real()) };
    if !entry.is_mpi() {
        // SAFETY: as above.
        return unsafe { real(session, ierror) };
    }
    let own_error = Cell::new(0);
    let ierror = fortran::given(ierror, &own_error);
    closed(caller, || {
        // The C wrapper may be on the way. Dropped also where the program leaves the call by an exception.
        let _seen = Seen::begin();
        timed!(MPI_Session_finalize, fortran::code(ierror, || _ = real(session, ierror)))
    });
    0
}

struct Seen;

impl Seen {
    fn begin() -> Seen {
        sessions::closing_is_seen(true);
        Seen
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        sessions::closing_is_seen(false);
    }
}

/// `unused`: the register of a second argument, where MPICH takes the place of an error code from, which the standard does not have.
pub unsafe extern "C-unwind" fn fortran_MPI_Pcontrol(
    level: Word,
    unused: Word,
    caller: Caller,
    entry: Address,
) -> Word {
    // SAFETY: its own entry point passes it.
    let entry: &fortran::Entry = unsafe { entry.as_ref() };
    // SAFETY: as above.
    let real: unsafe extern "C-unwind" fn(Word, Word) -> Word = unsafe { std::mem::transmute(entry.real()) };
    if !fortran::understood(entry) {
        // SAFETY: as above.
        return unsafe { real(level, unused) };
    }
    // SAFETY: the program passes the place of an INTEGER.
    controlled(unsafe { fortran::int(level) }, None, caller);
    0
}
