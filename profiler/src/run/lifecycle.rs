//! The begin of recording in `MPI_Init` and its end in `MPI_Finalize`. Programs without `MPI_Init`: `sessions.rs`, `without_mpi.rs`.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use vocabulary::calls::op;
use vocabulary::shard::{FINISHED, Moment, RUNNING, Sync};

use crate::guest::caller::Caller;
use crate::guest::{clock, say, state};
use crate::mpi::abi::abi;
use crate::mpi::{pmpi, world};
use crate::objects::communicators;
use crate::record::enter;
use crate::record::tally::{self, Done};
use crate::rollcall::{self, RollCall};
use crate::run::setup::{self, Process};
use crate::run::tree::Tree;
use crate::run::{ending, gather, output, partial, parting, scheduled, sessions, snapshots};
use crate::shard::paths;
use crate::{shard, thread, trace};

/// Whether the clocks were compared at the start: then they are at the end.
static TRACED: AtomicBool = AtomicBool::new(false);

/// Of the ranks that keep a timeline, whose clocks must be compared. Kept until the end, since it lies in files.
static TRACERS: Mutex<Option<RollCall>> = parking_lot::const_mutex(None);

/// How long `MPI_Init` waits for others that keep a timeline, too: all come out of the library's at the same time.
const TRACERS_COME: Duration = Duration::from_secs(10);

/// `MPI_Init` has succeeded: sets everything up and switches recording on.
pub fn start(clock: u32, entered: Moment, init: Done, caller: Caller) {
    // A Fortran MPI_Init may call the C one.
    if ending::starts() || !setup::is_wanted() {
        return;
    }
    if let Err(trouble) = begin(clock, entered, init, caller) {
        state::stop();
        say::warn(&format!("{trouble}: nothing is recorded; the program runs as it would without commsee"));
    }
}

fn begin(clock: u32, entered: Moment, init: Done, caller: Caller) -> Result<(), String> {
    let world = abi().world;
    // SAFETY: `MPI_Init` has succeeded; each call passes places of the right type.
    let (rank, size, level) = unsafe {
        let rank = pmpi::comm_rank(world).ok_or("MPI_Comm_rank fails")? as u32;
        let size = pmpi::comm_size(world).ok_or("MPI_Comm_size fails")? as u32;
        (rank, size, pmpi::query_thread().unwrap_or(0))
    };
    say::set_rank(rank);
    world::of_communicator(world).ok_or("MPI_Comm_group fails")?;
    sessions::hand_over();
    let job = rollcall::find(size);
    let buckets = setup::buckets_wanted();
    let thread_level = abi().family.thread_levels.iter().position(|known| *known == level).unwrap_or(0) as u32;
    match ending::header_of_mpi() {
        // Sessions were there first.
        Some(header) => {
            header.set_run(job.run);
            header.set_state(RUNNING);
            header.seal();
        }
        None => {
            if !ending::is_without_mpi() {
                paths::choose();
            }
            let (run, local_ranks, edges_bytes) = (job.run, job.local_ranks, buckets.edges());
            let has_mpi = true;
            setup::set_up(&Process {
                rank,
                size,
                run,
                local_ranks,
                edges_bytes,
                thread_level,
                clock,
                entered,
                has_mpi,
            })?;
        }
    }
    let trace_bytes = setup::trace_bytes();
    // Ranks with a timeline stand on both rolls once they stand on the second one.
    let tracers = (trace_bytes > 0).then(|| ending::roll_call(&job, rollcall::TRACED, rank, size));
    let recorders = Arc::new(ending::roll_call(&job, rollcall::JOINED, rank, size));
    // Whatever happens from here on: others may count on this rank in MPI_Finalize.
    ending::in_finalize(recorders.clone());
    recorders.announce(|roll| setup::note(roll, &job, &paths::profile()));
    if let (Some(tracers), Some(header)) = (&tracers, shard::header()) {
        let (begin_ns, sync) = agree_on_time(tracers, &recorders, rank, size);
        header.set_trace_begin_ns(begin_ns);
        header.set_sync(0, sync);
        header.seal();
    }
    *TRACERS.lock() = tracers;
    communicators::add_world(rank, size);
    trace::start(trace_bytes);
    state::start(thread_level == 3);
    if let Some(thread) = thread::here() {
        enter::apart(thread, communicators::world(), init, caller);
    }
    Ok(())
}

/// When the timeline begins, on the clock of rank 0, and this process's clock against that one. Where all ranks keep a timeline
/// they compare their clocks; else those of one host share a clock, and others are each their own.
fn agree_on_time(tracers: &RollCall, recorders: &RollCall, rank: u32, size: u32) -> (u64, Sync) {
    let origin_ns = tracers.origin_ns(clock::monotonic_ns());
    // All have joined, and some of them keep no timeline: nobody is to be waited for.
    let may_come = || recorders.joined() < size || tracers.joined() >= size;
    let goes_on = || {
        make_progress(rank);
        may_come()
    };
    if !tracers.all_joined(Some(TRACERS_COME), goes_on) {
        if recorders.joined() < size {
            say::warn("only some ranks have a timeline: clocks are not compared");
        }
        return (origin_ns, Sync::default());
    }
    TRACED.store(true, Ordering::Release);
    let tree = Tree { comm: abi().world as u64, rank, ranks: size, roll_call: recorders };
    // SAFETY: all ranks have joined and come here, in their MPI_Init: the program cannot have sent anything.
    unsafe {
        let sync = compare_clocks(&tree);
        let origin = tree.spread([origin_ns, 0, 0]);
        (origin.map_or(origin_ns, |words| words[0]), sync)
    }
}

/// How often: a library that sends a long message in pieces may send one each time.
const PROGRESS_AT_ONCE: u32 = 100;

/// A rank that waits for others without calling MPI would hold up messages that these wait for: it asks for a message of this process to
/// itself. Over `MPI_COMM_SELF` that makes MPICH look at nothing else; over `MPI_COMM_WORLD`, which programs that outlive their dead revoke,
/// it would be an error in Open MPI.
fn make_progress(rank: u32) {
    let (from, comm) = if abi().is_openmpi() { (0, abi().comm_self) } else { (rank as c_int, abi().world) };
    let mut is_there = 0;
    for _ in 0..PROGRESS_AT_ONCE {
        // SAFETY: MPI is there; it asks, and takes nothing.
        unsafe { pmpi::iprobe(from, 0, comm, &mut is_there, abi().status_ignore) };
    }
}

/// `MPI_Finalize` was called. Where all ranks record they gather now, and rank 0 writes the profile. Else no message may be sent:
/// the last rank joins what all have left. Before the library's `MPI_Finalize`, since launchers end a job as soon as one of its
/// processes exits with a status other than 0.
pub fn finish(caller: Caller) {
    let Some(roll_call) = ending::take_roll_call() else { return };
    communicators::meet_parents();
    // What the thread still seems to be in, the program has jumped out of: it would not finalize MPI from within.
    thread::known().into_iter().for_each(enter::end_all);
    let inside = if state::is_off() { None } else { enter::enter(op::MPI_Finalize, caller) };
    state::stop();
    let begin = clock::moment();
    let thread = inside.map(|inside| enter::stay(inside, communicators::world(), op::MPI_Finalize, begin.ticks));
    if let Some(header) = shard::header() {
        header.set_latest(begin);
        header.set_scheduled(scheduled::so_far());
    }
    let goes_on = || {
        make_progress(roll_call.rank());
        true
    };
    let all_come = roll_call.all_joined(None, goes_on) && {
        roll_call.clear_here();
        roll_call.arrive(|| make_progress(roll_call.rank()))
    };
    if all_come {
        gather_all(&roll_call, thread, begin);
        return;
    }
    world::forget();
    // Until when this rank would have waited for others in the library's is not known yet.
    if let Some(thread) = thread {
        tally::plain(thread, communicators::world(), Done::well(op::MPI_Finalize, 0));
    }
    partial::finish(&roll_call);
    if let Some(tracers) = TRACERS.lock().take() {
        tracers.clear_here();
    }
}

/// Collective: all ranks record.
fn gather_all(roll_call: &RollCall, thread: Option<&'static thread::Thread>, begin: Moment) {
    let mut gathering = None;
    // SAFETY: MPI is still there, and all ranks come here.
    let arrived = unsafe {
        if parting::is_delicate() {
            gathering = gather::open(roll_call);
            gathering.as_ref().map(|gathering| _ = gathering.tree().meet(|| 0))
        } else {
            pmpi::barrier(abi().world)
        }
    };
    // Time in MPI_Finalize is the time until all ranks have got there; what commsee does after that is its own.
    let ticks = clock::now().wrapping_sub(begin.ticks);
    roll_call.settle_between();
    // SAFETY: as above.
    let Some(gathering) = arrived.and_then(|()| gathering.or_else(|| unsafe { gather::open(roll_call) })) else {
        say::warn("MPI fails in MPI_Finalize: make the profile with `through recover`");
        output::keep_or_say(FINISHED);
        return;
    };
    if let Some(thread) = thread {
        tally::plain(thread, communicators::world(), Done::well(op::MPI_Finalize, ticks));
    }
    // SAFETY: as above.
    let sync = unsafe { compare_clocks(gathering.tree()) };
    if let Some(header) = shard::header() {
        header.set_sync(1, sync);
        header.set_state(FINISHED);
    }
    if let Some(tracers) = TRACERS.lock().take() {
        tracers.clear_here();
        tracers.settle_between();
    }
    // SAFETY: as above. A process without a shard passes on what others send.
    if unsafe { gathering.run(&paths::profile(), snapshots::left()) } {
        shard::remove();
        // Of shards that stay the notes still tell.
        roll_call.forget();
    } else {
        output::keep_or_say(FINISHED);
    }
    snapshots::remove();
    world::forget();
    // SAFETY: as above.
    unsafe { gathering.close() };
}

/// Compares the clocks of all processes, where there is a timeline.
unsafe fn compare_clocks(tree: &Tree<'_>) -> Sync {
    if !TRACED.load(Ordering::Acquire) {
        return Sync::default();
    }
    // SAFETY: the caller sees to it that all ranks come here.
    unsafe { tree.compare_clocks() }.unwrap_or_else(|| {
        say::warn("the clocks of the ranks could not be compared: each rank's times are on its own clock");
        Sync::default()
    })
}
