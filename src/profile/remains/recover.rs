//! Finds the shards that are left of runs that did not end in `MPI_Finalize`, and makes a profile of each run.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::debris::{self, entries, others, state};
use super::join::{From, join};
use super::life::{State, is_here, life};
pub use super::run::{Part, Run};
pub use crate::host::{host_name, process_start};
use crate::profile::error::Error;
use crate::profile::write::Writer;
use crate::ranks::Ranks;
use crate::shard::{self, FORMAT, Header, RUNNING, SNAPSHOT, Shard, read_header, run_in_name};
pub use crate::shard::{run_name, shard_name, snapshot_name};

/// A profile made of shards.
pub struct Recovered {
    /// The name that was free.
    pub path: PathBuf,
    pub missing_ranks: Ranks,
    pub absence: Absence,
    /// What could not be read, in one line for each kind of trouble.
    pub notes: Vec<String>,
}

/// Why ranks are missing, as far as those that are there tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// All ranks were on one host: they left no shard.
    NoShard,
    /// All ranks of the hosts that are here are here.
    OtherHosts,
    /// One or the other.
    Unknown,
}

/// All runs with shards in these directories. What cannot be read, or is no shard, is passed over.
pub fn find(directories: &[PathBuf]) -> Vec<Run> {
    find_except(directories, &[])
}

/// The same, but for these files: claims of the process that asks say nothing of others.
pub fn find_except(directories: &[PathBuf], own: &[PathBuf]) -> Vec<Run> {
    let mut runs: BTreeMap<[u64; 2], Run> = BTreeMap::new();
    let mut seen = std::collections::HashSet::new();
    let mut all = Vec::new();
    for directory in directories {
        let paths = entries(directory);
        let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut shards = Vec::new();
        for path in &paths {
            let name = name_of(path);
            if !name.starts_with("commsee-") || !name.ends_with(".shard") {
                continue;
            }
            let Some(header) = read_header(path) else { continue };
            // Nothing that a torn header says is taken for true: the name tells the run, and other shards the rest of it.
            let is_torn = header.format == FORMAT && !header.is_intact();
            let id = run_in_name(&name).filter(|_| is_torn).unwrap_or(header.run);
            shards.push((is_torn, id, path, header));
        }
        shards.sort_by_key(|(is_torn, _, _, header)| (*is_torn, header.world_rank));
        for (_, id, path, header) in shards {
            // A directory may have been named twice, or have two names.
            let inode = path.metadata().map(|facts| (facts.dev(), facts.ino())).unwrap_or_default();
            if !seen.insert(inode) {
                continue;
            }
            let run = runs.entry(id).or_insert_with(|| Run::new(id, &header));
            let state = life(path, &header);
            run.note(state);
            if state != State::Dead {
                run.going.insert((state, shard::text(&header.host)));
            }
            run.shards.push(path.clone());
        }
        all.extend(paths);
    }
    // By any of their names.
    let inode = |path: &PathBuf| path.symlink_metadata().ok().map(|facts| (facts.dev(), facts.ino()));
    let own: Vec<_> = own.iter().filter_map(inode).collect();
    all.retain(|path| own.is_empty() || !inode(path).is_some_and(|inode| own.contains(&inode)));
    let mut others = others(&all);
    let mut runs: Vec<Run> = runs.into_values().collect();
    for run in &mut runs {
        run.others = others.remove(&run.id).unwrap_or_default();
        let state = state(&run.others);
        run.note(state);
    }
    runs
}

/// Adds the shards that a profile carries to those of its run, which may be a new one.
pub fn add_parts(runs: &mut Vec<Run>, parts: Vec<Part>) -> Result<(), String> {
    let read = |part: &Part| Shard::parse(&(part.read)()?).map_err(|error| error.to_string());
    let Some(shard) = parts.iter().find_map(|part| read(part).ok()) else {
        return parts.first().map_or(Ok(()), |part| Err(read(part).err().unwrap_or_default()));
    };
    let id = shard.header.run;
    let known = runs.iter().position(|run| run.id == run_name(id));
    let at = known.unwrap_or_else(|| {
        runs.push(Run::new(id, &shard.header));
        runs.len() - 1
    });
    runs[at].parts.extend(parts);
    Ok(())
}

/// Makes a profile of what a run left, or has in its shards so far, under the wanted name or the next free one. A profile that lacks ranks
/// carries the shards.
pub fn recover(run: &Run, wanted: &Path) -> Result<Recovered, Error> {
    let mut hosts = Hosts::default();
    let joined = join(Writer::create(wanted)?, &run.id, run.sources(), |from, shard| {
        if may_live(from, &shard.header, run) {
            mark_alive(shard);
        }
        hosts.add(&shard.header);
    })?;
    let (missing_ranks, absence) = (joined.missing(), hosts.absence(joined.ranks));
    Ok(Recovered { path: joined.written.path, missing_ranks, absence, notes: joined.notes })
}

impl Recovered {
    /// Whether the ranks that are missing may have left shards somewhere else.
    pub fn is_part(&self) -> bool {
        self.missing_ranks.count() > 0 && self.absence != Absence::NoShard
    }
}

/// The hosts of the shards that are there: so many of them, and how many ranks the launcher said that there are.
#[derive(Default)]
struct Hosts(BTreeMap<(String, [u64; 2]), (u32, u32)>);

impl Hosts {
    fn add(&mut self, header: &Header) {
        let host = self.0.entry((shard::text(&header.host), header.boot)).or_default();
        *host = (host.0 + 1, host.1.max(header.local_ranks));
    }

    fn absence(&self, ranks: u32) -> Absence {
        let all_of_them = |(_, said): &(u32, u32)| *said == ranks;
        let as_many_as_said = |(there, said): &(u32, u32)| there >= said && *said > 0;
        if self.0.values().any(all_of_them) {
            Absence::NoShard
        } else if self.0.values().all(as_many_as_said) {
            Absence::OtherHosts
        } else {
            Absence::Unknown
        }
    }
}

/// The process of this shard goes on: what was read holds until now, as far as its clock can be asked here.
fn mark_alive(shard: &mut Shard) {
    let ns_per_tick = shard.ns_per_tick();
    let header = &mut shard.header;
    if header.state != RUNNING {
        return;
    }
    header.state = SNAPSHOT;
    shard.is_old = !is_here(header);
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    let passed_ns = now_ns.saturating_sub(header.latest.monotonic_ns);
    if ns_per_tick > 0.0 && is_here(header) {
        header.latest.ticks += (passed_ns as f64 / ns_per_tick) as u64;
        header.latest.monotonic_ns += passed_ns;
    }
}

fn may_live(from: From, header: &Header, run: &Run) -> bool {
    match from {
        From::File(path) => match life(path, header) {
            State::Alive => true,
            State::Dead => false,
            State::Elsewhere | State::Unknown => run.is_alive(),
        },
        From::Part(_) => false,
    }
}

impl Run {
    /// Files first.
    fn sources(&self) -> impl Iterator<Item = From<'_>> + Clone {
        let files = self.shards.iter().map(|path| From::File(path));
        files.chain(self.parts.iter().map(From::Part))
    }

    /// Removes the shards, and what else lies there of the run.
    pub fn remove(&self) -> io::Result<()> {
        self.shards.iter().chain(&self.others).try_for_each(|path| debris::remove(path))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn foreign_files_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("commsee-1-0.shard"), [7u8; 5000]).unwrap();
        fs::write(folder.path().join("commsee-2-0.shard"), b"short").unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("commsee-3-0.shard")).unwrap();
        assert!(find(&[folder.path().to_owned(), folder.path().join("missing")]).is_empty());
    }
}
