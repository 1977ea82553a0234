//! What the launcher says of the job: which processes belong together, and how many of them are on this host. All processes of
//! an `MPI_COMM_WORLD` find the same run without a message; two jobs never do, not even one inside the other, nor two worlds of one job.

use vocabulary::profile::recover::{host_name, process_start};
use vocabulary::settings;
use xxhash_rust::xxh3::xxh3_128;

use super::launcher::{Kind, Launcher, launcher, variable, words};
use super::spawned::{self, World};

pub struct Job {
    /// Tells the processes of this job from all others.
    pub run: [u64; 2],
    /// The processes on other hosts find the same run.
    pub spans_hosts: bool,
    /// Ranks on this host, where the launcher says so.
    pub local_ranks: Option<u32>,
}

/// Ranks of the job on this host, as launchers say it.
const LOCAL_RANKS: [(&str, Option<Kind>); 5] = [
    ("OMPI_COMM_WORLD_LOCAL_SIZE", Some(Kind::OpenMpi)),
    ("MPI_LOCALNRANKS", Some(Kind::Hydra)),
    ("MV2_COMM_WORLD_LOCAL_SIZE", None),
    ("PALS_LOCAL_SIZE", None),
    ("PMI_LOCAL_SIZE", None),
];

/// The job of this process, which is one of `ranks`.
pub fn find(ranks: u32) -> Job {
    if ranks == 1 {
        // Anybody may have started it, several at the same time.
        return Job { run: drawn(), spans_hosts: true, local_ranks: Some(1) };
    }
    let launcher = launcher();
    let local_ranks = local_ranks(&launcher, ranks);
    let world = if said_by_intel(launcher.pid).is_some() { None } else { spawned::world(&launcher) };
    // A spawned world that nothing names: nobody may be taken for one of it.
    if world == Some(World::Unknown) {
        return Job { run: drawn(), spans_hosts: false, local_ranks };
    }
    let said = if world.is_none() { said_by(&launcher) } else { None };
    let mut facts: Vec<u8> = ranks.to_ne_bytes().to_vec();
    facts.extend_from_slice(variable(settings::LAUNCH).unwrap_or_default().as_bytes());
    let is_one_host = local_ranks == Some(ranks);
    if let Some(said) = &said {
        facts.extend_from_slice(said.as_bytes());
    }
    if let Some(shared) = launcher.shared() {
        facts.extend_from_slice(shared.as_bytes());
        // Containers on one machine may have names of their own, and are hosts then.
        return Job { run: hashed(&facts), spans_hosts: is_one_host, local_ranks: None };
    }
    // What launchers say comes again some day, their processes do not. Other hosts have other ones.
    if said.is_none() || is_one_host {
        facts.extend_from_slice(host_name().as_bytes());
        facts.extend_from_slice(&launcher.pid.to_ne_bytes());
        facts.extend_from_slice(&process_start(launcher.pid).unwrap_or(0).to_ne_bytes());
    }
    if let Some(World::OfFirst(first)) = world {
        facts.extend_from_slice(&first.start.to_ne_bytes());
        facts.extend_from_slice(&first.pid.to_ne_bytes());
    }
    Job { run: hashed(&facts), spans_hosts: said.is_some(), local_ranks }
}

fn hashed(facts: &[u8]) -> [u64; 2] {
    let hash = xxh3_128(facts);
    [hash as u64, (hash >> 64) as u64]
}

/// 128 bits that nobody else has.
fn drawn() -> [u64; 2] {
    let mut run = [0u64; 2];
    // By its number: C libraries before 2.25 have no function for it.
    // SAFETY: fills the words it is given. Where it fails the clock and the process still tell runs apart.
    unsafe { libc::syscall(libc::SYS_getrandom, (&raw mut run).cast::<u8>(), size_of_val(&run), 0) };
    [run[0] ^ crate::guest::clock::realtime_ns(), run[1] ^ u64::from(std::process::id())]
}

/// What is the same on all hosts of the job, and in no other job that lives.
fn said_by(launcher: &Launcher) -> Option<String> {
    let all =
        |names: &[&str]| names.iter().map(|name| variable(name).unwrap_or_default()).collect::<Vec<_>>().join("\n");
    match launcher.kind {
        Kind::Hydra => said_to_proxy(launcher.pid).or_else(|| said_by_intel(launcher.pid)),
        Kind::Slurm => {
            variable("SLURM_STEP_ID")?;
            // Numbers of jobs begin again some day, and clusters that share directories have the same ones.
            let step = [
                "SLURM_CLUSTER_NAME",
                "SLURM_JOB_ID",
                "SLURM_STEP_ID",
                "SLURM_RESTART_COUNT",
                "SLURM_JOB_START_TIME",
                "PMIX_NAMESPACE",
            ];
            Some(format!("slurm\n{}", all(&step)))
        }
        Kind::OpenMpi | Kind::Other => {
            let jobs = ["PMIX_NAMESPACE", "PALS_APID", "FLUX_KVS_NAMESPACE", "FLUX_JOB_ID", "OMPI_MCA_ess_base_jobid"];
            jobs.iter().find_map(|name| variable(name))?;
            Some(format!("{}\n{}", all(&jobs), variable("OMPI_MCA_orte_hnp_uri").unwrap_or_default()))
        }
    }
}

/// The proxies of one MPICH's mpiexec are told its port; each spawned world has a group of its own.
fn said_to_proxy(pid: u32) -> Option<String> {
    let line = words(pid, "cmdline")?;
    let option = |name: &str| {
        let at = line.iter().position(|word| word == name)?;
        line.get(at + 1).cloned()
    };
    Some(format!("hydra\n{}\n{}", option("--control-port")?, option("--pgid").unwrap_or_default()))
}

/// Intel MPI's proxies have nothing of that on their command line; since 2021.2 they tell their processes. What a job tells is inherited by one
/// that a process of it starts: then it is not what the proxy has in its own environment.
fn said_by_intel(proxy: u32) -> Option<String> {
    let job = variable("I_MPI_HYDRA_UUID")?;
    let group = "HYDRA_BSTRAP_PGID";
    let of_proxy = words(proxy, "environ")?;
    let proxy_has = |name: &str| of_proxy.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let is_told = |name: &str| proxy_has(name) == variable(name).as_deref();
    let by_this = ["HYDRA_BSTRAP_LOCALHOST", "HYDRA_BSTRAP_PROXY_ID", group].into_iter().all(is_told);
    let is_inherited = !by_this || proxy_has("I_MPI_HYDRA_UUID").is_some();
    (!is_inherited).then(|| format!("intel\n{job}\n{}", variable(group).unwrap_or_default()))
}

fn local_ranks(launcher: &Launcher, ranks: u32) -> Option<u32> {
    if launcher.kind == Kind::Slurm {
        return slurm_tasks(
            &variable("SLURM_STEP_TASKS_PER_NODE").or_else(|| variable("SLURM_TASKS_PER_NODE"))?,
            variable("SLURM_NODEID")?.parse().ok()?,
        );
    }
    // A job inside another one's process inherits what was said to that.
    let by_this = |(_, kind): &&(&str, Option<Kind>)| kind.is_none_or(|kind| kind == launcher.kind);
    let said = LOCAL_RANKS.iter().filter(by_this).find_map(|(name, _)| variable(name)?.parse().ok());
    said.filter(|local| (1..=ranks).contains(local))
}

/// Tasks on the node of this number, from a list such as `2(x3),1`.
fn slurm_tasks(list: &str, node: u32) -> Option<u32> {
    let mut first = 0u32;
    for part in list.split(',') {
        let (tasks, nodes) = match part.split_once("(x") {
            Some((tasks, nodes)) => (tasks, nodes.trim_end_matches(')').parse().ok()?),
            None => (part, 1u32),
        };
        first = first.checked_add(nodes)?;
        if node < first {
            return tasks.parse().ok();
        }
    }
    None
}
