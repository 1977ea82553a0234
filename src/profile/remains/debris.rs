//! What runs leave beside their shards when they are killed: snapshots, claims, files and folders that were in the making. All of it
//! carries the run in its name, as shards do: `commsee-RUN…`, or `.commsee-RUN…` beside a profile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use super::life::State;
use super::life::life;
use super::locks::is_held;
use super::run::Run;
use crate::shard::read_header;

/// What one run left, of which no shard is there.
pub struct Debris {
    /// 32 hexadecimal digits.
    pub run: String,
    pub paths: Vec<PathBuf>,
    pub state: State,
}

/// What is left in these directories of runs without a shard there. `runs` are those with shards, here or in other directories.
pub fn debris(directories: &[PathBuf], runs: &[Run]) -> Vec<Debris> {
    let known: HashSet<&PathBuf> = runs.iter().flat_map(|run| run.shards.iter().chain(&run.others)).collect();
    let mut paths: Vec<PathBuf> = directories.iter().flat_map(|directory| entries(directory)).collect();
    paths.retain(|path| !known.contains(path));
    let mut states: HashMap<&str, State> = HashMap::new();
    for run in runs {
        let known = states.entry(&run.id).or_insert(State::Dead);
        *known = run.state.max(*known);
    }
    let made = by_run(&paths).into_iter().map(|(run, paths)| {
        let state = states.get(run.as_str()).map_or_else(|| alone(&paths), |known| state(&paths).max(*known));
        Debris { run, paths, state }
    });
    made.collect()
}

impl Debris {
    /// Whether nothing can be lost with it: there are no counters in it.
    pub fn is_worthless(&self) -> bool {
        self.state == State::Dead && self.paths.iter().all(|path| is_claim(path) || has_end(path, "part"))
    }

    pub fn remove(&self) -> io::Result<()> {
        self.paths.iter().try_for_each(|path| remove(path))
    }
}

/// Removes a file, a symbolic link but not what it leads to, or a folder with what is in it.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = if is_folder(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What belongs to each run by its name, but for shards: those say themselves whose they are.
pub fn others(paths: &[PathBuf]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut by_run = by_run(paths);
    by_run.values_mut().for_each(|paths| paths.retain(|path| !has_end(path, "shard")));
    by_run
}

fn by_run(paths: &[PathBuf]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut by_run: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    // A directory may have been named twice.
    let distinct: BTreeSet<&PathBuf> = paths.iter().collect();
    for (run, path) in distinct.into_iter().filter_map(|path| Some((run_in_name(path)?, path))) {
        by_run.entry(run).or_default().push(path.clone());
    }
    by_run
}

/// What the files themselves say of their run: a claim is held, a snapshot's process lives.
pub fn state(paths: &[PathBuf]) -> State {
    paths.iter().map(|path| of_file(path)).max().unwrap_or(State::Dead)
}

/// The same of files without any shard, of which some say nothing.
fn alone(paths: &[PathBuf]) -> State {
    let says_nothing = |path: &PathBuf| {
        let is_passing = has_end(path, "part") || is_claim(path) && is_held(path).is_some();
        !is_passing && read_header(path).is_none()
    };
    if paths.iter().any(says_nothing) { state(paths).max(State::Unknown) } else { state(paths) }
}

fn of_file(path: &Path) -> State {
    if is_claim(path) && is_held(path) == Some(true) {
        return State::Alive;
    }
    read_header(path).map_or(State::Dead, |header| life(path, &header))
}

/// The paths in a directory, sorted. Directories of shards are everybody's: what other users left is theirs.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    let is_ours = |path: &PathBuf| user == 0 || fs::symlink_metadata(path).is_ok_and(|facts| facts.uid() == user);
    let all = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = all.filter(is_ours).collect();
    paths.sort();
    paths
}

/// The run that a name tells. Profiles may be called anything, and stay.
fn run_in_name(path: &Path) -> Option<String> {
    const DIGITS: usize = 32;
    let name = path.file_name()?.to_str()?;
    let rest = name.strip_prefix('.').unwrap_or(name).strip_prefix("commsee-")?;
    let (digits, end) = rest.split_at_checked(DIGITS)?;
    let is_run = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let is_name = end.is_empty() || end.starts_with(['-', '.']);
    (is_run && is_name && !has_end(path, "db")).then(|| digits.to_owned())
}

fn has_end(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|found| found == end)
}

fn is_claim(path: &Path) -> bool {
    has_end(path, "claim")
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_run() {
        let run = |name: &str| run_in_name(Path::new(name));
        let digits = "0123456789abcdef0123456789abcdef";
        for end in
            ["-0.shard", "-0.snapshot-1", "-0.snapshot-1.claim", "-0.part", "-3.joined", ".node", ".decision", ""]
        {
            assert_eq!(run(&format!("/dev/shm/commsee-{digits}{end}")).as_deref(), Some(digits), "{end}");
        }
        assert_eq!(run(&format!("out/.commsee-{digits}")).as_deref(), Some(digits));
        for name in
            ["commsee-20261121T071500Z.db", "commsee-0123.node", "other", "commsee-", "commsee-recovered-01234567.db"]
        {
            assert_eq!(run(name), None, "{name}");
        }
        for name in
            [format!("commsee-{digits}.db"), format!("commsee-{digits}0"), format!("commsee-{}", digits.to_uppercase())]
        {
            assert_eq!(run(&name), None, "{name}");
        }
    }
}
