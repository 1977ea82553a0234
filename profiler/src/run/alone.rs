//! A process that meets no other one before it exits: of a program with sessions only, or without MPI. It leaves its shard, and the last one to do
//! so finds all others' and makes the profile (`join.rs`).

use parking_lot::Mutex;
use vocabulary::profile::recover::shard_name;
use vocabulary::shard::{FINISHED, Header, LEFT, Moment};

use crate::guest::{clock, guard, say, state};
use crate::hooks;
use crate::rollcall::{self, Job, RollCall};
use crate::run::setup::{self, Process};
use crate::run::{ending, join, output, scheduled};
use crate::shard::paths;
use crate::{shard, trace};

/// Of a job over several hosts, whose processes bring their shards to where all see them.
static HOSTS: Mutex<Option<RollCall>> = parking_lot::const_mutex(None);

/// Of a timeline without MPI.
static TRACERS: Mutex<Option<RollCall>> = parking_lot::const_mutex(None);

pub struct Start {
    pub thread_level: u32,
    /// One of `CLOCK_…`.
    pub clock: u32,
    pub entered: Moment,
    pub has_mpi: bool,
}

/// Makes the shard. Recording is still off.
pub fn begin(rank: u32, ranks: u32, job: &Job, start: Start) -> Result<(), String> {
    say::set_rank(rank);
    let buckets = setup::buckets_wanted();
    let process = Process {
        rank,
        size: ranks,
        run: job.run,
        local_ranks: job.local_ranks,
        edges_bytes: buckets.edges(),
        thread_level: start.thread_level,
        clock: start.clock,
        entered: start.entered,
        has_mpi: start.has_mpi,
    };
    setup::set_up(&process)?;
    if !start.has_mpi {
        keep_timeline(job, rank, ranks);
    }
    if job.spans_hosts && job.local_ranks != Some(ranks) {
        let roll_call = ending::roll_call(job, rollcall::SESSIONS, rank, ranks);
        roll_call.announce(|roll| setup::note(roll, job, &paths::profile()));
        *HOSTS.lock() = Some(roll_call);
    }
    ending::set_alone(true);
    // SAFETY: the handler takes no argument and does not unwind.
    unsafe { libc::atexit(leave) };
    Ok(())
}

/// Without MPI no clocks are compared: that of a host is one, and others are each their own.
fn keep_timeline(job: &Job, rank: u32, ranks: u32) {
    let bytes = setup::trace_bytes();
    let Some(header) = shard::header().filter(|_| bytes > 0) else { return };
    // A roll of its own, which no MPI_Init takes for that of its ranks, and which no other host hears of.
    let of_host = Job { spans_hosts: false, ..*job };
    let tracers = ending::roll_call(&of_host, rollcall::TRACED_ALONE, rank, ranks);
    header.set_trace_begin_ns(tracers.origin_ns(clock::monotonic_ns()));
    header.seal();
    trace::start(bytes);
    *TRACERS.lock() = Some(tracers);
}

/// `MPI_Init` takes over: other hosts hear from there what becomes of this process.
pub fn take_back() {
    if let Some(tracers) = TRACERS.lock().take() {
        tracers.clear_here();
    }
    if let Some(roll_call) = HOSTS.lock().take() {
        roll_call.clear_here();
        roll_call.forget();
    }
}

/// Nothing more is counted: the run time ends.
pub fn finish() {
    state::stop();
    if let Some(header) = shard::header() {
        header.set_latest(clock::moment());
        header.set_scheduled(scheduled::so_far());
        header.set_state(FINISHED);
    }
}

/// The process exits. Whoever finds that all others have, too, makes the profile.
extern "C" fn leave() {
    if ending::is_without_mpi() {
        hooks::drain();
        guard::guarded(finish);
    }
    guard::with_room(|| {
        let Some(header) = shard::header() else { return };
        if !ending::is_alone() || header.state() != FINISHED || header.pid() != std::process::id() {
            return;
        }
        // Others read it as soon as it says so.
        let Some(own) = output::keep_or_say(LEFT) else { return };
        let (run, size) = (header.run(), header.world_size());
        let names: Vec<String> = (0..size).map(|rank| shard_name(run, rank)).collect();
        let hosts = HOSTS.try_lock().and_then(|mut hosts| hosts.take());
        let tracers = TRACERS.try_lock().and_then(|mut tracers| tracers.take());
        let folder = hosts.as_ref().and_then(|hosts| hosts.bring(&own));
        let claim =
            folder.map_or_else(|| own.with_file_name(format!("{}.claim", names[0])), |folder| folder.claim_path());
        let is_left = |header: &Header| header.state == LEFT;
        // One that starts when others have left already still finds when they began.
        tracers.iter().for_each(|tracers| tracers.take_leave(true));
        if join::when_complete(&claim, &names, is_left, &paths::profile(), output::say_lost) {
            hosts.iter().chain(&tracers).for_each(RollCall::clear);
        }
    });
}
