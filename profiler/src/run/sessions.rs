//! Programs that use sessions and never call `MPI_Init`. Nothing here is collective: a process that opens a session need not
//! meet any other one, so every process sets itself up alone (`alone.rs`). Beside `MPI_Init` sessions are part of what `MPI_Finalize` gathers.

use std::cell::Cell;
use std::ffi::{CString, c_int};

use parking_lot::Mutex;
use vocabulary::shard::{Moment, RUNNING};

use crate::guest::caller::Caller;
use crate::guest::{say, state};
use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi::{self, Group};
use crate::mpi::world;
use crate::objects::communicators;
use crate::record::enter;
use crate::record::tally::Done;
use crate::rollcall;
use crate::run::alone::{self, Start};
use crate::run::{ending, setup};
use crate::shard::paths;
use crate::thread::Thread;
use crate::{shard, thread};

struct Sessions {
    /// The program's, open now.
    open: u32,
    /// Ours, while any of the program's is open: it keeps the group of all processes alive.
    own: u64,
    opened: u64,
}

/// `MPI_THREAD_MULTIPLE`, as shards count levels.
const HIGHEST: u32 = 3;

static SESSIONS: Mutex<Sessions> = parking_lot::const_mutex(Sessions { open: 0, own: 0, opened: 0 });

thread_local! {
    /// This thread is closing a session from Fortran, and `closing` has been called.
    static SEEN: Cell<bool> = const { Cell::new(false) };
}

/// `MPI_Session_init` has succeeded. `session` is where its handle is, or 0 where that cannot be read.
pub fn opened(clock: u32, entered: Moment, session: Word, done: Done, caller: Caller) {
    let mut sessions = SESSIONS.lock();
    sessions.open += 1;
    sessions.opened += 1;
    if !ending::ends_in_finalize() && sessions.open == 1 {
        let is_handed_over = ending::is_without_mpi();
        let trouble = match ending::header_of_mpi() {
            None if ending::is_alone() && !is_handed_over || !setup::is_wanted() => return,
            None => begin(&mut sessions, clock, entered, thread_level(session)),
            Some(header) if ending::is_alone() => {
                header.set_state(RUNNING);
                enter_world(&mut sessions).map(|_| state::start(header.thread_level() == 3))
            }
            // MPI_Finalize has written the profile.
            Some(_) => return,
        };
        if let Err(trouble) = trouble {
            say::warn(&format!("{trouble}: nothing is recorded; the program runs as it would without commsee"));
        }
    }
    drop(sessions);
    if thread_level(session) == HIGHEST {
        state::several_threads();
    }
    if let Some(thread) = thread::here().filter(|_| state::is_on()) {
        enter::apart(thread, communicators::none(), done, caller);
    }
}

/// A session that is being closed.
pub struct Closing {
    thread: Option<&'static Thread>,
    /// No other one is open.
    is_last: bool,
}

/// `MPI_Session_finalize` is about to be called: of the last session ours go first, since MPI ends with it.
pub fn closing() -> Option<Closing> {
    if SEEN.get() {
        return None;
    }
    let mut sessions = SESSIONS.lock();
    let thread = thread::here().filter(|_| state::is_on());
    sessions.open = sessions.open.saturating_sub(1);
    let is_last = sessions.open == 0 && !ending::ends_in_finalize() && ending::is_alone();
    if is_last {
        alone::finish();
        leave_world(&mut sessions);
    }
    Some(Closing { thread, is_last })
}

/// `MPI_Session_finalize` has returned. A session that could not be closed is still open.
pub fn closed(closing: Closing, done: Done, caller: Caller) {
    if let Some(thread) = closing.thread {
        enter::apart(thread, communicators::none(), done, caller);
    }
    if done.code == 0 {
        return;
    }
    let mut sessions = SESSIONS.lock();
    sessions.open += 1;
    if let (true, Some(header)) = (closing.is_last, shard::header()) {
        header.set_state(RUNNING);
        if enter_world(&mut sessions).is_ok() {
            state::start(header.thread_level() == 3);
        }
    }
}

/// How many sessions the program has opened so far.
pub fn opened_so_far() -> u64 {
    SESSIONS.lock().opened
}

pub fn closing_is_seen(seen: bool) {
    SEEN.set(seen);
}

fn begin(sessions: &mut Sessions, clock: u32, entered: Moment, thread_level: u32) -> Result<(), String> {
    let done = record_alone(sessions, clock, entered, thread_level);
    if done.is_err() {
        leave_world(sessions);
    }
    done
}

fn record_alone(sessions: &mut Sessions, clock: u32, entered: Moment, thread_level: u32) -> Result<(), String> {
    let (rank, size) = enter_world(sessions)?;
    paths::choose();
    alone::begin(rank, size, &rollcall::find(size), Start { thread_level, clock, entered, has_mpi: true })?;
    state::start(thread_level == 3);
    Ok(())
}

/// Finds out which process of which this is, without a message.
fn enter_world(sessions: &mut Sessions) -> Result<(u32, u32), String> {
    // SAFETY: the program has just opened a session, so MPI is there; the places are of the right types.
    unsafe {
        pmpi::session_init(abi().info_null, abi().errors_return, &mut sessions.own).ok_or("MPI_Session_init fails")?;
        let group = Group::of_process_set(sessions.own as Word, c"mpi://WORLD").ok_or("there is no set mpi://WORLD")?;
        let rank = pmpi::group_rank(group.handle()).ok_or("MPI_Group_rank fails")? as u32;
        let size = pmpi::group_size(group.handle()).ok_or("MPI_Group_size fails")? as u32;
        world::keep(group);
        Ok((rank, size))
    }
}

fn leave_world(sessions: &mut Sessions) {
    world::forget();
    if sessions.own != 0 {
        // SAFETY: our own session, from which nothing is left.
        unsafe { pmpi::session_finalize(&mut sessions.own) };
        sessions.own = 0;
    }
}

/// The level of thread support that a session has (MPI-4.1, 11.3.1); the highest where it does not say.
fn thread_level(session: Word) -> u32 {
    if session == 0 || shard::header().is_none() && world::group().is_none() {
        return HIGHEST;
    }
    let (mut info, mut value, mut found): (u64, [u8; 64], c_int) = (0, [0; 64], 0);
    let key = CString::from(c"thread_level");
    // SAFETY: the session was just opened; the places are of the right types and sizes.
    unsafe {
        if pmpi::session_get_info(abi().load(session), &mut info).is_none() {
            return HIGHEST;
        }
        let longest = value.len() as c_int - 1;
        pmpi::info_get(info as Word, key.as_ptr(), longest, value.as_mut_ptr().cast(), &mut found);
        pmpi::info_free(&mut info);
    }
    let text = vocabulary::shard::text(&value);
    let names = ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"];
    let level = names.iter().position(|name| text.eq_ignore_ascii_case(name));
    if found == 0 { HIGHEST } else { level.map_or(HIGHEST, |level| level as u32) }
}

/// `MPI_Init` takes over: its group of all processes is in force now, and `MPI_Finalize` will gather.
pub fn hand_over() {
    ending::set_alone(false);
    alone::take_back();
    let mut sessions = SESSIONS.lock();
    if sessions.own != 0 {
        // SAFETY: our own session, from which nothing is left.
        unsafe { pmpi::session_finalize(&mut sessions.own) };
        sessions.own = 0;
    }
}
