//! Which world of a job a process is of, where `MPI_Comm_spawn` has made several: they must not take each other's ranks for their own.
//! Open MPI, PMIx, Slurm and Intel MPI name each world. MPICH's Hydra tells a world's name to its library alone, and since 4.2 one proxy
//! starts the processes of all worlds on its host. It starts those of one world in the order of their local ranks, and one world after the
//! other: so the process of local rank 0 that it started last before this one is of the same world, and names it on this host.

use std::fs;

use vocabulary::profile::recover::process_start;

use super::launcher::{Kind, Launcher, name_and_parent, variable, words};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// That of this process, the first of it on this host.
    OfFirst(Process),
    /// The first one cannot be found.
    Unknown,
}

/// In the order in which they were started: numbers of processes begin again some day, but not within a clock tick.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pub start: u64,
    pub pid: u32,
}

impl Process {
    fn of(pid: u32) -> Option<Process> {
        Some(Process { start: process_start(pid)?, pid })
    }
}

/// MPICH's launchers set it for processes that were spawned.
const SPAWNED: &str = "PMI_SPAWNED";
/// Where a process stands among those of its world on this host.
const LOCAL_RANK: &str = "MPI_LOCALRANKID";

/// `None`: it was not spawned, or its launcher names worlds, as those of Intel MPI do by themselves. To be asked behind the library's `MPI_Init`, which all of a world leave
/// together: then each of its processes runs the program, and has what the proxy told it in its environment.
pub fn world(launcher: &Launcher) -> Option<World> {
    variable(SPAWNED)?;
    if launcher.is_hidden && launcher.kind == Kind::Hydra {
        return Some(World::Unknown);
    }
    let is_inherited = || of_process(launcher.pid, SPAWNED).is_some();
    if launcher.kind != Kind::Hydra || is_inherited() {
        return None;
    }
    Some(first(launcher).map_or(World::Unknown, World::OfFirst))
}

/// Between the first process and this one stand those of the local ranks between. It is not so where the first one has died.
fn first(launcher: &Launcher) -> Option<Process> {
    let own = Process::of(launcher.child)?;
    let own_place: usize = variable(LOCAL_RANK)?.parse().ok()?;
    let mut before: Vec<Process> = children(launcher.pid).into_iter().filter_map(Process::of).collect();
    before.retain(|process| *process <= own);
    before.sort_unstable_by(|one, other| other.cmp(one));
    let of_world = before.get(..=own_place)?;
    let stands_at = |(process, place): (&Process, usize)| {
        let said = of_process(process.pid, LOCAL_RANK).filter(|_| of_process(process.pid, SPAWNED).is_some());
        said.is_some_and(|said| said == place.to_string())
    };
    of_world.iter().zip((0..=own_place).rev()).all(stands_at).then(|| of_world[own_place])
}

/// A variable of the environment that a process was started with.
fn of_process(pid: u32, name: &str) -> Option<String> {
    let value = |word: String| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned());
    words(pid, "environ")?.into_iter().find_map(value).filter(|value| !value.is_empty())
}

/// All processes whose parent a process is.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| name_and_parent(*pid).is_some_and(|(_, of)| of == parent)).collect()
}
