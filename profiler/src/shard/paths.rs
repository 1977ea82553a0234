//! Where shards lie, and where the profile is wanted.

use std::env;
use std::path::PathBuf;

use parking_lot::Mutex;
use vocabulary::settings;

/// Where the profile will be written: decided at the start, since a program may change its directory.
static PROFILE: Mutex<Option<PathBuf>> = parking_lot::const_mutex(None);

/// The directory of the process at the start.
static STARTED_IN: Mutex<Option<PathBuf>> = parking_lot::const_mutex(None);

/// Where shards live, in order of preference.
pub fn of_shards() -> Vec<String> {
    settings::shard_directories(env::var(settings::DIR).ok(), env::var("TMPDIR").ok())
}

/// Decides where the profile is wanted.
pub fn choose() {
    *PROFILE.lock() = Some(asked_for());
    *STARTED_IN.lock() = Some(env::current_dir().unwrap_or_default());
}

/// Where the profile is wanted.
pub fn profile() -> PathBuf {
    PROFILE.lock().clone().unwrap_or_else(|| PathBuf::from("commsee.db"))
}

/// The directories that the profile may go to instead, in order of preference.
pub fn instead() -> Vec<PathBuf> {
    let started_in = STARTED_IN.lock().clone().unwrap_or_default();
    settings::profile_directories(&started_in, |name| env::var(name).ok())
}

fn asked_for() -> PathBuf {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let pattern = set(settings::OUT).or_else(|| set(settings::OUT_COMPATIBLE));
    vocabulary::profile::expand_in(&launched_in(), &pattern.unwrap_or_else(|| settings::DEFAULT_OUT.to_owned()))
}

/// Where the user is who started the job. A launcher whose host lacks that directory starts the program in another one: Slurm in
/// `/tmp`.
fn launched_in() -> PathBuf {
    let told = env::var_os("PWD").map(PathBuf::from).filter(|told| told.is_absolute() && !told.exists());
    told.unwrap_or_else(|| env::current_dir().unwrap_or_default())
}
