//! The name that a profile is wanted under: the pattern of `COMMSEE_OUT` with what this process knows filled in.

use std::env;
use std::time::SystemTime;

use super::recover::host_name;
use super::utc;
use crate::settings;

/// Where batch systems tell a job its id: Slurm, PBS, LSF, Flux, Cobalt, Grid Engine.
const JOB_IDS: [&str; 6] = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID"];

/// Fills in `%j`, `%h`, `%p` and `%t`. The time is UTC, without the separators that some file systems and shells mind.
pub fn expand(pattern: &str) -> String {
    let is_set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let job = JOB_IDS.into_iter().find_map(is_set).unwrap_or_else(|| "0".to_owned());
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = utc(since_1970.as_nanos() as u64);
    let time: String = time.chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    settings::file_name(pattern, &job, &host_name(), std::process::id(), &time)
}
