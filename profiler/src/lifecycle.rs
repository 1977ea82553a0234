//! The begin of recording in `MPI_Init` and its end in `MPI_Finalize`. Programs without `MPI_Init`: `sessions.rs`.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::{Pod, Zeroable};
use parking_lot::Mutex;
use vocabulary::buckets::MAX_EDGES;
use vocabulary::calls::op;
use vocabulary::shard::{FINISHED, Moment, RUNNING, Sync};

use crate::abi::abi;
use crate::setup::{self, Facts};
use crate::tally::{self, Done};
use crate::tree::Tree;
use crate::{
    clock, communicators, gather, pmpi, say, sessions, shard, snapshots, standing, state, thread, trace, world,
};

/// Whether this process took part in the broadcast of the start. Then it takes part in the gathering of the end, whatever
/// happens to its recording: the others wait for it.
static JOINED: AtomicBool = AtomicBool::new(false);

static STARTED: AtomicBool = AtomicBool::new(false);

/// Whether the clocks were compared at the start: then they are at the end.
static TRACED: AtomicBool = AtomicBool::new(false);

/// Where the profile will be written: settled at the start, since a program may change its directory.
static OUTPUT: Mutex<Option<PathBuf>> = parking_lot::const_mutex(None);

/// What rank 0 decides for all.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Common {
    run: [u64; 2],
    edge_count: u64,
    edges: [u64; MAX_EDGES],
    /// Bytes that each process may use for the timeline; 0 is no timeline.
    trace_bytes: u64,
    /// Where it begins, on the clock of rank 0.
    trace_begin_ns: u64,
}

/// `MPI_Init` has succeeded: sets everything up and switches recording on.
pub fn start(clock: u32, entered: Moment, init: Done) {
    // A Fortran MPI_Init may call the C one.
    if STARTED.swap(true, Ordering::AcqRel) || !setup::is_wanted() {
        return;
    }
    if let Err(trouble) = begin(clock, entered, init) {
        state::stop();
        say::warn(&format!("{trouble}: nothing is recorded, the program runs as without commsee"));
    }
}

fn begin(clock: u32, entered: Moment, init: Done) -> Result<(), String> {
    let world = abi().world;
    // SAFETY: `MPI_Init` has succeeded; each call passes places of the right type.
    let (rank, size, level, common, sync) = unsafe {
        let rank = pmpi::comm_rank(world).ok_or("MPI_Comm_rank fails")? as u32;
        let size = pmpi::comm_size(world).ok_or("MPI_Comm_size fails")? as u32;
        let level = pmpi::query_thread().unwrap_or(0);
        say::set_rank(rank);
        let mut common = if rank == 0 { decide() } else { Common::zeroed() };
        // The only message of the start. Nothing else can be under way over MPI_COMM_WORLD now.
        let bytes = bytemuck::bytes_of_mut(&mut common);
        pmpi::bcast(bytes.as_mut_ptr().cast(), bytes.len() as c_int, abi().byte, 0, world).ok_or("MPI_Bcast fails")?;
        JOINED.store(true, Ordering::Release);
        // All processes take part, whatever becomes of their recording.
        TRACED.store(common.trace_bytes > 0, Ordering::Release);
        let sync = compare_clocks(&Tree { comm: world as u64, rank, ranks: size });
        (rank, size, level, common, sync)
    };
    world::of_communicator(world).ok_or("MPI_Comm_group fails")?;
    sessions::hand_over();
    let edges_bytes = common.edges.get(..common.edge_count as usize).unwrap_or_default();
    let thread_level = abi().family.thread_levels.iter().position(|known| *known == level).unwrap_or(0) as u32;
    match shard::header() {
        // Sessions were there first.
        Some(header) => {
            header.set_run(common.run);
            header.set_state(RUNNING);
            header.seal();
        }
        None => {
            settle_output();
            setup::set_up(&Facts { rank, size, run: common.run, edges_bytes, thread_level, clock, entered })?;
        }
    }
    if let Some(header) = shard::header() {
        header.set_trace_begin_ns(if common.trace_bytes > 0 { common.trace_begin_ns } else { 0 });
        header.set_sync(0, sync);
        header.seal();
    }
    communicators::add_world(rank, size);
    trace::start(common.trace_bytes);
    state::start(thread_level == 3);
    if let Some(thread) = thread::recording(op::MPI_Init) {
        tally::plain(thread, communicators::world(), init);
    }
    Ok(())
}

/// A child made by `fork` shares the shard's memory, and must not count into it.
pub unsafe extern "C" fn forget_in_child() {
    JOINED.store(false, Ordering::Release);
    sessions::forget();
    state::stop();
    shard::forget();
}

/// Whether `MPI_Finalize` will gather what this process counts.
pub fn will_gather() -> bool {
    JOINED.load(Ordering::Acquire)
}

/// `MPI_Finalize` was called: gathers, and lets rank 0 write the profile. Collective for all processes that joined.
pub fn finish() {
    if !JOINED.swap(false, Ordering::AcqRel) {
        return;
    }
    let thread = thread::following(op::MPI_Finalize);
    state::stop();
    let begin = clock::moment();
    if let Some(thread) = &thread {
        standing::stay(thread, communicators::world(), op::MPI_Finalize, begin.ticks);
    }
    // SAFETY: MPI is still there, and this call is collective over MPI_COMM_WORLD.
    let Some(gathering) = (unsafe { gather::open() }) else {
        say::warn("MPI fails in MPI_Finalize: the profile can be made by `through recover`");
        return;
    };
    // Time in MPI_Finalize is the time until all ranks have got there; what commsee does after that is its own.
    if let Some(thread) = thread {
        let ticks = clock::now().wrapping_sub(begin.ticks);
        tally::plain(thread, communicators::world(), Done { operation: op::MPI_Finalize, code: 0, ticks });
    }
    // SAFETY: as above.
    let sync = unsafe { compare_clocks(gathering.tree()) };
    if let Some(header) = shard::header() {
        header.set_latest(begin);
        header.set_sync(1, sync);
        header.set_state(FINISHED);
    }
    // SAFETY: as above. A process without a shard passes on what others send.
    if unsafe { gathering.run(&wanted(), snapshots::left()) } {
        shard::remove();
    }
    snapshots::remove();
    world::forget();
}

/// Remembers where the profile is wanted.
pub fn settle_output() {
    *OUTPUT.lock() = Some(setup::output());
}

pub fn wanted() -> PathBuf {
    OUTPUT.lock().clone().unwrap_or_else(|| PathBuf::from("commsee.db"))
}

/// Compares the clocks of all processes, where there is a timeline.
unsafe fn compare_clocks(tree: &Tree) -> Sync {
    if !TRACED.load(Ordering::Acquire) {
        return Sync::default();
    }
    unsafe { tree.compare_clocks() }.unwrap_or_else(|| {
        say::warn("the clocks of the ranks could not be compared: times of the timeline are each rank's own");
        Sync::default()
    })
}

fn decide() -> Common {
    let mut common = Common::zeroed();
    // SAFETY: fills the words it is given. Where it fails the clock still tells runs apart.
    unsafe { libc::getrandom((&raw mut common.run).cast(), size_of_val(&common.run), 0) };
    common.run[0] ^= clock::realtime_ns();
    let buckets = setup::buckets_wanted();
    common.edge_count = buckets.edges().len() as u64;
    common.edges[..buckets.edges().len()].copy_from_slice(buckets.edges());
    (common.trace_bytes, common.trace_begin_ns) = (setup::trace_bytes(), clock::monotonic_ns());
    common
}
