//! Programs without MPI: what hook modules see of NCCL and of GPUs is counted from the first of it on, for those who train with torchrun, or drive
//! several GPUs by one process. If the program initializes MPI later, that takes over what was counted.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use vocabulary::profile::recover::shard_name;
use vocabulary::settings::{self, Log};

use crate::guest::{clock, guard, say, state};
use crate::rollcall::told;
use crate::run::alone::{self, Start};
use crate::run::ending;
use crate::shard::paths;

/// Whether that was decided. Both are set under the lock.
static IS_DECIDED: AtomicBool = AtomicBool::new(false);
static DECIDING: Mutex<()> = parking_lot::const_mutex(());

/// As long as another thread may take to make the shard. A child made by `fork` may find the lock taken for good.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A layer begins that an MPI library does not use by itself. Returns whether layers are counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_begin(_module: i32) -> i32 {
    if !IS_DECIDED.load(Ordering::Acquire) {
        guard::with_room(decide);
    }
    i32::from(state::layers_are_on())
}

fn decide() {
    let Some(_deciding) = DECIDING.try_lock_for(LONGEST_WAIT) else { return };
    if IS_DECIDED.load(Ordering::Acquire) {
        return;
    }
    if let Err(trouble) = begin() {
        state::stop();
        say::warn(&format!("{trouble}: nothing is recorded; the program runs as it would without commsee"));
    }
    IS_DECIDED.store(true, Ordering::Release);
}

fn begin() -> Result<(), String> {
    let clock = clock::choose();
    let entered = clock::moment();
    guard::install();
    let log = env::var(settings::LOG).unwrap_or_default();
    say::set_log(Log::parse(&log).unwrap_or(Log::Info));
    paths::choose();
    let is_taken = |told: &told::Told| {
        let name = shard_name(told.job.run, told.rank);
        paths::of_shards().iter().any(|directory| std::path::Path::new(directory).join(&name).exists())
    };
    let told = Some(told::find()).filter(|told| !is_taken(told)).unwrap_or_else(told::alone);
    ending::set_without_mpi(true);
    // Any thread may call NCCL and copy.
    alone::begin(told.rank, told.ranks, &told.job, Start { thread_level: 0, clock, entered, has_mpi: false })?;
    state::start_layers();
    Ok(())
}

/// The program enters `MPI_Init`, or opens a session: from now on that decides.
pub fn leave_to_mpi() {
    if !IS_DECIDED.load(Ordering::Acquire) {
        let _deciding = DECIDING.try_lock_for(LONGEST_WAIT);
        IS_DECIDED.store(true, Ordering::Release);
    }
}
