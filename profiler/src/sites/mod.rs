//! Where in the code: the call sites of calls, and the birthplaces of what they make, as numbers of the shard's sites; 0 is none. How they
//! are found is in the package `commsee-sites`.

mod rows;

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};

use commsee_sites::{python, registry};
use vocabulary::passed_over;
use vocabulary::settings;

use rows::InShard;

use crate::guest::{say, state};

pub use commsee_sites::sites::{of_caller, of_stack};

/// Before recording starts, and once the shard exists. It searches for symbols, which takes the loader's lock: `MPI_Init` opens libraries
/// itself, so a program that calls it where that lock is not to be had hangs without us.
pub fn start() {
    let wanted = env::var(settings::SITES).ok();
    let frames = settings::site_frames(wanted.as_deref()).unwrap_or_else(|| {
        let (wanted, most) = (wanted.unwrap_or_default(), settings::MOST_FRAMES);
        say::warn_for_all(&format!("COMMSEE_SITES={wanted} is not a number up to {most}: using 1"));
        1
    });
    FRAMES.store(frames, Ordering::Relaxed);
    if frames > 0 {
        state::want_more();
    }
    let own = settings::patterns(env::var(settings::PASS_OVER).ok().as_deref());
    let mut patterns: Vec<&str> = passed_over::patterns().collect();
    patterns.extend(own.iter().map(String::as_str));
    registry::start(Box::new(InShard::new()), &patterns);
    python::start();
}

/// How many frames of each call are told apart; 0: calls are not counted by call site.
static FRAMES: AtomicUsize = AtomicUsize::new(0);

/// Whether calls are counted by call site, too.
#[inline(always)]
pub fn are_counted() -> bool {
    FRAMES.load(Ordering::Relaxed) != 0
}

/// The site of a call that returns there, from within its wrapper. Apart from what calls cost that are not counted so.
#[cold]
#[inline(never)]
pub fn of_call(return_address: usize) -> u32 {
    match FRAMES.load(Ordering::Relaxed) {
        0 => 0,
        1 => of_caller(return_address),
        frames => of_stack(return_address, frames),
    }
}

/// Where something is made by the call that returns there.
#[inline(always)]
pub fn birthplace(return_address: usize) -> u32 {
    of_caller(return_address)
}
