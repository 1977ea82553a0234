//! What a process records of itself before it counts anything: its shard's header, and the tables of the modules that count.

use std::env;
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use commsee_runtime::launcher;
use vocabulary::buckets::Buckets;
use vocabulary::calls::TABLE_HASH;
use vocabulary::job::Job;
use vocabulary::profile::hosts::Note;
use vocabulary::profile::recover::{host_name, process_start, run_name, shard_name};
use vocabulary::profile::{boot, namespaces};
use vocabulary::settings::{self, Log};
use vocabulary::shard::{FORMAT, Header, MAGIC, Moment, RUNNING, WITHOUT_MPI, set_text};

use crate::guest::{clock, guard, say};
use crate::mpi::abi::{self, abi};
use crate::mpi::pmpi;
use crate::objects::{communicators, datatypes, file_names};
use crate::record::{buckets, enter};
use crate::run::{ending, scheduled, surroundings, unseen};
use crate::shard::paths;
use crate::{fortran, hooks, rollcall, shard, sites, thread};

/// What must be known before recording can start.
pub struct Process<'a> {
    /// Of the process among all processes that were started together.
    pub rank: u32,
    pub size: u32,
    /// Tells the shards of this run from those of others.
    pub run: [u64; 2],
    /// Ranks on this host, where the launcher says so.
    pub local_ranks: Option<u32>,
    pub edges_bytes: &'a [u64],
    /// 0 (single) to 3 (multiple).
    pub thread_level: u32,
    /// One of `CLOCK_…`.
    pub clock: u32,
    /// Before MPI was initialized.
    pub entered: Moment,
    /// False in a program without MPI, of which layers alone are counted.
    pub has_mpi: bool,
}

/// Whether the program is to be profiled and its MPI library is known.
pub fn is_wanted() -> bool {
    guard::install();
    let variable = |name: &str| env::var(name).ok();
    if settings::is_on(variable(settings::DISABLE).as_deref()) {
        return false;
    }
    let log = variable(settings::LOG).unwrap_or_default();
    say::set_log(Log::parse(&log).unwrap_or(Log::Info));
    // A process that records already has found the family.
    match if ending::header_of_mpi().is_some() { Ok(()) } else { abi::detect() } {
        Ok(()) => true,
        Err(found) => {
            if launcher::is_first() {
                say::warn(&format!("{found}: nothing is recorded; the program runs as it would without commsee"));
            }
            false
        }
    }
}

/// Makes the shard, or takes over one that was made without MPI, and fills all tables. MPI is not recorded yet.
pub fn set_up(process: &Process) -> Result<(), String> {
    let edges = Buckets::new(process.edges_bytes)?;
    let header = header(process);
    let name = shard_name(process.run, process.rank);
    if shard::header().is_some() {
        shard::renew(&header, &name);
    } else {
        shard::create(&paths::of_shards(), &name, &header)?;
        surroundings::tell();
        // SAFETY: recording is off until `state::start`, and layers are until `state::start_layers`.
        unsafe {
            thread::prepare(enter::end_all);
            buckets::prepare(edges);
        }
        sites::start();
        // SAFETY: the handler only stores numbers.
        unsafe { libc::pthread_atfork(None, None, Some(ending::forget_in_child)) };
        hooks::start();
    }
    if process.rank == 0 {
        hooks::say_missing();
    }
    if process.has_mpi {
        datatypes::prepare();
        file_names::prepare();
        fortran::prepare();
        communicators::prepare();
        ending::set_without_mpi(false);
    }
    if let (Some(path), true) = (shard::path(), process.rank == 0) {
        say::debug(&format!("counters in {}", path.display()));
    }
    Ok(())
}

fn header(process: &Process) -> Header {
    let mut header = Header::zeroed();
    header.magic = MAGIC;
    (header.format, header.state, header.table_hash) = (FORMAT, RUNNING, TABLE_HASH);
    header.run = process.run;
    header.launch = launch_token(env::var(settings::LAUNCH).ok().as_deref());
    (header.world_rank, header.world_size) = (process.rank, process.size);
    header.pid = std::process::id();
    header.process_start = process_start(header.pid).unwrap_or(0);
    (header.boot, header.namespaces) = (boot(), namespaces());
    header.local_ranks = process.local_ranks.unwrap_or(0);
    // SAFETY: no argument that could be wrong.
    header.processors = u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(0);
    header.clock = process.clock;
    header.thread_level = process.thread_level;
    match process.has_mpi {
        true => tell_mpi(&mut header),
        false => set_text(&mut header.library, WITHOUT_MPI),
    }
    header.edge_count = process.edges_bytes.len() as u32;
    header.edges_bytes[..process.edges_bytes.len()].copy_from_slice(process.edges_bytes);
    set_text(&mut header.host, &host_name());
    set_text(&mut header.options, &options_in_force());
    header.set_job(&Job::of_environment());
    let keep_arguments = !settings::is_on(env::var(settings::NO_ARGS).ok().as_deref());
    set_text(&mut header.command, &command_line(keep_arguments));
    header.entered = process.entered;
    header.start_realtime_ns = clock::realtime_ns();
    header.started = clock::moment();
    header.latest = header.started;
    header.scheduled[0] = scheduled::so_far();
    clock::scale(header.entered, header.started);
    header.seal();
    header
}

fn tell_mpi(header: &mut Header) {
    header.family = abi().family.id;
    header.handle_mask = abi().mask as u64;
    let (mut version, mut subversion) = (0, 0);
    // SAFETY: both places are of the right type; the function may be called at any time.
    unsafe { pmpi::get_version(&mut version, &mut subversion) };
    header.mpi_version = [version as u32, subversion as u32];
    let library = abi::library_version();
    let words: Vec<&str> = library.lines().next().unwrap_or("").split_whitespace().collect();
    set_text(&mut header.library, &words.join(" "));
    set_text(&mut header.hidden, &unseen::tell());
}

/// What this host tells those who come after a job over several hosts.
pub fn note(roll: &Path, job: &rollcall::Job, wanted: &Path) -> Note {
    let header = shard::header();
    let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let own_shard = shard::path().and_then(|path| path.parent().map(Path::to_owned));
    let mut directories: Vec<PathBuf> = own_shard.into_iter().collect();
    for directory in paths::of_shards().into_iter().map(PathBuf::from) {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    Note {
        run: run_name(job.run),
        launch: text(settings::LAUNCH).unwrap_or_default(),
        host: host_name(),
        rank: header.map_or(0, |header| header.world_rank()),
        world_size: header.map_or(0, |header| header.world_size()),
        local_ranks: job.local_ranks,
        directories,
        roll: Some(roll.to_owned()),
        wanted: wanted.to_owned(),
        command: command_line(!settings::is_on(text(settings::NO_ARGS).as_deref())),
        started_unix_ns: clock::realtime_ns(),
        slurm_job: text("SLURM_JOB_ID"),
    }
}

/// The edges that the environment asks for, else the default ones.
pub fn buckets_wanted() -> Buckets {
    let wanted = env::var(settings::BUCKETS).ok().filter(|edges| !edges.trim().is_empty());
    match wanted.map(|edges| Buckets::parse(&edges)) {
        None => Buckets::default(),
        Some(Ok(buckets)) => buckets,
        Some(Err(error)) => {
            let default = Buckets::default();
            say::warn_for_all(&format!("COMMSEE_BUCKETS: {error}; the default {default} is used"));
            default
        }
    }
}

/// Bytes of timeline that `COMMSEE_TRACE` asks each process to keep.
pub fn trace_bytes() -> u64 {
    let wanted = env::var(settings::TRACE).ok();
    settings::trace_bytes(wanted.as_deref()).unwrap_or_else(|| {
        let (wanted, default) = (wanted.unwrap_or_default(), settings::TRACE_BYTES >> 20);
        say::warn_for_all(&format!("COMMSEE_TRACE={wanted} is not 0, 1 or a size such as 64M: using {default} MiB"));
        settings::TRACE_BYTES
    })
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
