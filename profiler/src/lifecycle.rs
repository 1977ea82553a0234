//! The begin of recording in `MPI_Init` and its end in `MPI_Finalize`.

use std::env;
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::{Pod, Zeroable};
use parking_lot::Mutex;
use vocabulary::buckets::{Buckets, MAX_EDGES};
use vocabulary::calls::{TABLE_HASH, op};
use vocabulary::profile::recover::{host_name, process_start, shard_name};
use vocabulary::settings::{self, Log};
use vocabulary::shard::{FINISHED, FORMAT, Header, MAGIC, Moment, RUNNING, set_text};

use crate::abi::{self, abi};
use crate::pmpi;
use crate::tally::{self, Done};
use crate::{clock, communicators, datatypes, fortran, gather, guard, say, shard, state, thread};

/// Whether this process took part in the broadcast of the start. Then it takes part in the gathering of the end, whatever
/// happens to its recording: the others wait for it.
static JOINED: AtomicBool = AtomicBool::new(false);

static STARTED: AtomicBool = AtomicBool::new(false);

/// Where rank 0 will write the profile: settled at the start, since a program may change its directory.
static OUTPUT: Mutex<Option<PathBuf>> = parking_lot::const_mutex(None);

/// What rank 0 decides for all.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Common {
    run: [u64; 2],
    edge_count: u64,
    edges: [u64; MAX_EDGES],
}

/// `MPI_Init` has succeeded: sets everything up and switches recording on.
pub fn start(clock: u32, entered: Moment, init: Done) {
    // A Fortran MPI_Init may call the C one.
    if STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    guard::install();
    let variable = |name: &str| env::var(name).ok();
    if settings::is_on(variable(settings::DISABLE).as_deref()) || !state::is_off() || shard::header().is_some() {
        return;
    }
    let log = variable(settings::LOG).unwrap_or_default();
    say::set_level(Log::parse(&log).unwrap_or(Log::Info));
    if let Err(found) = abi::detect() {
        if is_first_by_environment() {
            say::warn(&format!("{found}: nothing is recorded, the program runs as without commsee"));
        }
        return;
    }
    if let Err(trouble) = begin(clock, entered, init) {
        say::warn(&format!("{trouble}: nothing is recorded, the program runs as without commsee"));
    }
}

fn begin(clock: u32, entered: Moment, init: Done) -> Result<(), String> {
    let world = abi().world;
    // SAFETY: `MPI_Init` has succeeded; each call passes places of the right type.
    let (rank, size, level, common) = unsafe {
        let rank = pmpi::comm_rank(world).ok_or("MPI_Comm_rank fails")? as u32;
        let size = pmpi::comm_size(world).ok_or("MPI_Comm_size fails")? as u32;
        let level = pmpi::query_thread().unwrap_or(0);
        say::set_rank(rank);
        let mut common = if rank == 0 { decide() } else { Common::zeroed() };
        // The only message of the start. Nothing else can be under way over MPI_COMM_WORLD now.
        let bytes = bytemuck::bytes_of_mut(&mut common);
        pmpi::bcast(bytes.as_mut_ptr().cast(), bytes.len() as c_int, abi().byte, 0, world).ok_or("MPI_Bcast fails")?;
        JOINED.store(true, Ordering::Release);
        (rank, size, level, common)
    };
    if rank == 0 {
        *OUTPUT.lock() = Some(output());
    }
    let edges = common.edges.get(..common.edge_count as usize).unwrap_or_default();
    let buckets = Buckets::new(edges)?;
    let thread_level = abi().family.thread_levels.iter().position(|known| *known == level).unwrap_or(0) as u32;

    let mut header = Header::zeroed();
    header.magic = MAGIC;
    (header.format, header.state, header.table_hash) = (FORMAT, RUNNING, TABLE_HASH);
    header.run = common.run;
    header.launch = launch_token(env::var(settings::LAUNCH).ok().as_deref());
    (header.world_rank, header.world_size) = (rank, size);
    header.pid = std::process::id();
    header.process_start = process_start(header.pid).unwrap_or(0);
    header.clock = clock;
    header.family = abi().family.id;
    header.thread_level = thread_level;
    let (mut version, mut subversion) = (0, 0);
    // SAFETY: as above.
    unsafe { pmpi::get_version(&mut version, &mut subversion) };
    header.mpi_version = [version as u32, subversion as u32];
    header.edge_count = edges.len() as u32;
    header.edges_bytes[..edges.len()].copy_from_slice(edges);
    set_text(&mut header.host, &host_name());
    let library = abi::library_version();
    let words: Vec<&str> = library.lines().next().unwrap_or("").split_whitespace().collect();
    set_text(&mut header.library, &words.join(" "));
    set_text(&mut header.options, &options_in_force());
    let keep_arguments = !settings::is_on(env::var(settings::NO_ARGS).ok().as_deref());
    set_text(&mut header.command, &command_line(keep_arguments));
    header.entered = entered;
    header.start_realtime_ns = clock::realtime_ns();
    header.started = clock::moment();
    header.latest = header.started;

    let directories = settings::shard_directories(env::var(settings::DIR).ok(), env::var("TMPDIR").ok());
    shard::create(&directories, &shard_name(common.run, rank), &header)?;
    if rank == 0 && env::var(settings::HOOKS).is_ok_and(|hooks| !hooks.trim().is_empty()) {
        say::warn("COMMSEE_HOOKS is set, but this version has no hook modules: MPI calls are recorded without them");
    }
    // SAFETY: recording is off until `state::start`.
    unsafe { tally::prepare(buckets) };
    datatypes::prepare();
    fortran::prepare();
    communicators::prepare(rank, size);
    // SAFETY: the handler only stores a number.
    unsafe { libc::pthread_atfork(None, None, Some(forget_in_child)) };
    state::start(thread_level == 3);
    if let Some(thread) = thread::recording(op::MPI_Init) {
        tally::plain(thread, communicators::world(), init);
    }
    if let (Some(path), true) = (shard::path(), rank == 0) {
        say::debug(&format!("counters in {}", path.display()));
    }
    Ok(())
}

/// A child made by `fork` shares the shard's memory, and must not count into it.
unsafe extern "C" fn forget_in_child() {
    JOINED.store(false, Ordering::Release);
    state::stop();
    shard::forget();
}

/// `MPI_Finalize` was called: gathers, and lets rank 0 write the profile. Collective for all processes that joined.
pub fn finish() {
    if !JOINED.swap(false, Ordering::AcqRel) {
        return;
    }
    let thread = thread::following(op::MPI_Finalize);
    state::stop();
    let begin = clock::moment();
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
    if let Some(header) = shard::header() {
        header.latest = begin;
        header.state = FINISHED;
    }
    let output = OUTPUT.lock().take();
    // SAFETY: as above. A process without a shard sends an empty image.
    if unsafe { gathering.run(output) } {
        shard::remove();
    }
}

fn decide() -> Common {
    let mut common = Common::zeroed();
    // SAFETY: fills the words it is given. Where it fails the clock still tells runs apart.
    unsafe { libc::getrandom((&raw mut common.run).cast(), size_of_val(&common.run), 0) };
    common.run[0] ^= clock::realtime_ns();
    let wanted = env::var(settings::BUCKETS).ok().filter(|edges| !edges.trim().is_empty());
    let buckets = match wanted.map(|edges| Buckets::parse(&edges)) {
        None => Buckets::default(),
        Some(Ok(buckets)) => buckets,
        Some(Err(error)) => {
            let default = Buckets::default();
            say::warn(&format!("COMMSEE_BUCKETS: {error}; the default {default} is used"));
            default
        }
    };
    common.edge_count = buckets.edges().len() as u64;
    common.edges[..buckets.edges().len()].copy_from_slice(buckets.edges());
    common
}

fn output() -> PathBuf {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let pattern = set(settings::OUT).or_else(|| set(settings::OUT_COMPATIBLE));
    let name = vocabulary::profile::expand(&pattern.unwrap_or_else(|| settings::DEFAULT_OUT.to_owned()));
    env::current_dir().unwrap_or_default().join(name)
}

fn options_in_force() -> String {
    let set = |variable: &settings::Variable| {
        let value = env::var(variable.name).ok().filter(|_| variable.name != settings::LAUNCH)?;
        Some(format!("{}={value}", variable.name))
    };
    settings::VARIABLES.iter().filter_map(set).collect::<Vec<_>>().join(" ")
}

/// The command line as a shell would read it, or the program alone.
fn command_line(keep_arguments: bool) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    let quote = |word: &str| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let bytes = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = bytes.strip_suffix(&[0]).unwrap_or(&bytes).split(|byte| *byte == 0);
    let words = words.take(if keep_arguments { usize::MAX } else { 1 });
    words.map(|word| quote(&String::from_utf8_lossy(word))).collect::<Vec<_>>().join(" ")
}

fn launch_token(text: Option<&str>) -> [u64; 2] {
    let Some(text) = text.filter(|text| text.len() == 32 && text.is_ascii()) else { return [0; 2] };
    let word = |half: &str| u64::from_str_radix(half, 16).unwrap_or(0);
    [word(&text[..16]), word(&text[16..])]
}

/// Whether the launcher calls this process the first one: for messages where MPI cannot be asked.
fn is_first_by_environment() -> bool {
    let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    names.into_iter().find_map(|name| env::var(name).ok()).is_none_or(|rank| rank == "0")
}
