//! The Python functions that the calling thread runs.
//!
//! A thread that called MPI through mpi4py does not hold the interpreter's lock, and must not ask for it: whoever holds it may wait for
//! what this call is to send. So nothing of the interpreter is called but what tells the thread's state from the thread's own data, no
//! reference is counted, and all is read as it lies in memory. That is sound because a thread's frames change only while that thread runs
//! them, which it does not while it is in our call; a frame keeps its code, and the code its names and its table of lines. What could
//! still be wrong (an interpreter that is being ended, one that was built otherwise) costs no more than the names: each piece of memory is
//! copied by the system, which refuses what is not there, and code objects are known by their type.

mod frames;
mod layout;
mod lines;

use std::sync::OnceLock;

use commsee_runtime::{errno, table};

use crate::registry;
use frames::{Frames, Running, Transcript};
use layout::Interpreter;

static INTERPRETER: OnceLock<Interpreter> = OnceLock::new();

/// Looks for an interpreter. Searching takes the loader's lock, so this is for a moment at which MPI itself opens libraries.
pub fn start() {
    if let Some(found) = layout::find() {
        let interpreter = INTERPRETER.get_or_init(|| found);
        registry::set_interpreter(interpreter.state as usize);
    }
}

/// What a thread was last seen to run.
pub struct Remembered {
    /// By the innermost frame.
    seen: [Seen; SEEN],
    latest: usize,
    working: Transcript,
    room: Vec<u8>,
}

const SEEN: usize = 16;

struct Seen {
    state: usize,
    depth: usize,
    transcript: Transcript,
    site: u32,
}

impl Remembered {
    /// Nothing, where it lies: it is large for a stack.
    ///
    /// # Safety
    /// There is room for it.
    pub unsafe fn fill(place: *mut Remembered) {
        const NEVER: Seen = Seen { state: 0, depth: 0, transcript: Transcript::nothing(), site: 0 };
        // SAFETY: as demanded.
        unsafe {
            let seen = (&raw mut (*place).seen).cast::<Seen>();
            (0..SEEN).for_each(|at| seen.add(at).write(NEVER));
            (&raw mut (*place).latest).write(0);
            (&raw mut (*place).working).write(Transcript::nothing());
            (&raw mut (*place).room).write(Vec::new());
        }
    }

    fn is_still_so(&mut self, at: usize, state: usize, depth: usize) -> Option<u32> {
        let seen = self.seen.get(at)?;
        let is_it = seen.state == state && seen.depth == depth && seen.transcript.is_still_so(&mut self.room);
        is_it.then_some(seen.site)
    }
}

/// The site of the innermost Python functions of this thread. 0 where it runs none that can be read.
pub fn site(remembered: &mut Remembered, depth: usize) -> u32 {
    let Some(interpreter) = INTERPRETER.get() else { return 0 };
    // SAFETY: it reads the thread's own data.
    let state = unsafe { (interpreter.state)() } as usize;
    if state == 0 {
        return 0;
    }
    errno::kept(|| site_in(interpreter, remembered, state, depth)).unwrap_or(0)
}

fn site_in(interpreter: &Interpreter, remembered: &mut Remembered, state: usize, depth: usize) -> Option<u32> {
    if let Some(site) = remembered.is_still_so(remembered.latest, state, depth) {
        return Some(site);
    }
    let mut transcript = std::mem::take(&mut remembered.working);
    transcript.clear();
    let mut frames = Frames::new(interpreter, state, &mut transcript)?;
    let innermost = frames.running()?;
    let at = place(innermost);
    if at != remembered.latest
        && let Some(site) = remembered.is_still_so(at, state, depth)
    {
        (remembered.latest, remembered.working) = (at, transcript);
        return Some(site);
    }
    let site = walk(frames, innermost, depth).unwrap_or(0);
    let seen = &mut remembered.seen[at];
    // What was read is kept, and the room of what was there is used for the next one.
    remembered.working = std::mem::replace(&mut seen.transcript, transcript);
    (seen.state, seen.depth, seen.site) = (state, depth, site);
    remembered.latest = at;
    Some(site)
}

fn place(innermost: Running) -> usize {
    (table::hash_pair([innermost.code as u64, innermost.instruction as u64]) >> 60) as usize & (SEEN - 1)
}

fn walk(mut frames: Frames, innermost: Running, depth: usize) -> Option<u32> {
    let mut numbers = [0; registry::MOST_FRAMES];
    let (mut length, mut next) = (0, Some(innermost));
    while let (Some(running), Some(place)) = (next, numbers[..depth].get_mut(length)) {
        let Some(position) = frames.position(running) else { break };
        *place = registry::interpreter_frame(position.function, position.file, position.line);
        if *place == 0 {
            return None;
        }
        length += 1;
        next = if length < depth { frames.running() } else { None };
    }
    numbers[..length].iter().rev().try_fold(0, |outer, frame| match registry::site(*frame, outer) {
        0 => None,
        site => Some(site),
    })
}
