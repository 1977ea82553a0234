//! Which process of which job this is where no MPI library says so: what launchers tell their processes. torchrun, and those who start processes
//! for PyTorch by themselves, tell ranks by variables that PyTorch reads; launchers of MPI and Slurm tell theirs whatever the program is.

use std::env;

use vocabulary::profile::recover::{host_name, process_start};
use vocabulary::settings;
use xxhash_rust::xxh3::xxh3_128;

use super::job::{self, Job};
use super::launcher::{name_and_parent, variable, words};

pub struct Told {
    pub rank: u32,
    pub ranks: u32,
    pub job: Job,
}

const RANK: (&str, &str) = ("RANK", "WORLD_SIZE");
/// Slurm tells the number of tasks of a step to these alone: a batch script is no rank.
const BY_LAUNCHER: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PALS_RANKID", "PALS_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

/// A process that nobody told anything is alone.
pub fn find() -> Told {
    if let Some((rank, ranks)) = pair(RANK) {
        return Told { rank, ranks, job: of_variables(ranks) };
    }
    let (rank, ranks) = BY_LAUNCHER.into_iter().find_map(pair).unwrap_or((0, 1));
    Told { rank, ranks, job: job::find(ranks) }
}

/// One that shares its rank with a process that is there already, such as the one that started it.
pub fn alone() -> Told {
    Told { rank: 0, ranks: 1, job: job::find(1) }
}

fn number(name: &str) -> Option<u32> {
    variable(name)?.trim().parse().ok()
}

fn pair((rank, ranks): (&str, &str)) -> Option<(u32, u32)> {
    let (rank, ranks) = (number(rank)?, number(ranks)?);
    (rank < ranks).then_some((rank, ranks))
}

fn of_variables(ranks: u32) -> Job {
    if ranks == 1 {
        return job::find(1);
    }
    let is_here = |address: String| matches!(address.as_str(), "localhost" | "127.0.0.1" | "::1");
    let local_ranks = number("LOCAL_WORLD_SIZE").filter(|local| (1..=ranks).contains(local));
    let local_ranks = local_ranks.or_else(|| variable("MASTER_ADDR").is_none_or(is_here).then_some(ranks));
    let said = [
        settings::LAUNCH,
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RUN_ID",
        "TORCHELASTIC_RESTART_COUNT",
        "SLURM_JOB_ID",
    ];
    let mut facts: Vec<u8> = ranks.to_ne_bytes().to_vec();
    facts.extend(
        said.iter().flat_map(|name| [variable(name).unwrap_or_default(), "\n".to_owned()].concat().into_bytes()),
    );
    let is_one_host = local_ranks == Some(ranks);
    if is_one_host {
        let starter = starter();
        facts.extend_from_slice(host_name().as_bytes());
        facts.extend_from_slice(&starter.to_ne_bytes());
        facts.extend_from_slice(&process_start(starter).unwrap_or(0).to_ne_bytes());
    }
    let hash = xxh3_128(&facts);
    Job { run: [hash as u64, (hash >> 64) as u64], spans_hosts: !is_one_host, local_ranks }
}

/// Who started all ranks of this host: the nearest process that was not told this rank itself. In between there may be scripts.
fn starter() -> u32 {
    let told = |name: &str| Some(format!("{name}={}", env::var(name).ok()?));
    let own: Vec<String> = [RANK.0, RANK.1, "LOCAL_RANK"].into_iter().filter_map(told).collect();
    let is_told = |pid| words(pid, "environ").is_some_and(|words| own.iter().all(|word| words.contains(word)));
    let mut pid = std::os::unix::process::parent_id();
    while pid > 1 && is_told(pid) {
        match name_and_parent(pid) {
            Some((_, parent)) => pid = parent,
            None => break,
        }
    }
    pid
}
