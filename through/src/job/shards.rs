//! Shards of jobs that did not reach `MPI_Finalize`: the one place that knows how the library finds and joins them.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use commsee::profile::Claim;
use commsee::profile::debris::{self, Debris, State};
use commsee::profile::hosts::{Folder, Told};
use commsee::profile::locks;
use commsee::profile::recover::{self, Absence, Recovered, Run, host_name};
use commsee::ranks::Ranks;
use commsee::settings;

use crate::error::Error;
use crate::job::carry;
use crate::text::escape::{command_line, visible};
use crate::text::{progress, units};

/// Where shards lie unless somebody says otherwise.
pub fn directories(named: &[PathBuf]) -> Vec<PathBuf> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let set = |name: &str| env::var(name).ok();
    let places = settings::shard_directories(set(settings::DIR), set("TMPDIR"));
    places.into_iter().map(PathBuf::from).collect()
}

/// That whatever is named is there.
pub fn must_exist(named: &[PathBuf]) -> Result<(), Error> {
    match named.iter().find(|path| matches!(path.try_exists(), Ok(false))) {
        Some(path) => Err(Error::Argument(format!("{}: there is no such file or directory", path.display()))),
        None => Ok(()),
    }
}

/// Folders in which hosts told of their shards, beside where this is or in the directories that are named.
pub fn folders(named: &[PathBuf]) -> Vec<Folder> {
    Folder::find(&if named.is_empty() { carry::places(None) } else { named.to_vec() })
}

pub fn find(directories: &[PathBuf]) -> Vec<Run> {
    recover::find(directories)
}

/// How long another process may take to make a profile.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The right to make the profile of a run and to remove its shards, as long as the claims are kept: several tasks of a node may be told to
/// recover at the same time. The run as it is by then; `None`: another process has made its profile, or does so.
pub fn take(run: Run, directories: &[PathBuf]) -> Option<(Run, Vec<Claim>)> {
    let paths = claim_paths(&run);
    if paths.is_empty() {
        return Some((run, Vec::new()));
    }
    let begun = Instant::now();
    let claims = loop {
        let claims: Vec<Claim> = paths.iter().map_while(|path| Claim::take(path)).collect();
        // Where no file can be made nothing can be removed either.
        let missing = paths.get(claims.len());
        if missing.is_none_or(|path| locks::is_held(path) != Some(true)) {
            break claims;
        }
        drop(claims);
        if begun.elapsed() > PATIENCE {
            return None;
        }
        sleep(PAUSE);
    };
    let found = recover::find_except(directories, &paths).into_iter().find(|found| found.id == run.id)?;
    Some((Run { parts: run.parts, ..found }, claims))
}

/// Whether another process makes its profile now.
pub fn is_claimed(run: &Run) -> bool {
    claim_paths(run).iter().any(|path| locks::is_held(path) == Some(true))
}

fn claim_paths(run: &Run) -> Vec<PathBuf> {
    let beside = |shard: &PathBuf| shard.with_file_name(format!("commsee-{}.claim", run.id));
    let of_shard =
        |shard: &PathBuf| Folder::of_shard(shard).map_or_else(|| beside(shard), |folder| folder.claim_path());
    let paths: BTreeSet<PathBuf> = run.shards.iter().map(of_shard).collect();
    paths.into_iter().collect()
}

/// What is left of runs without a shard in these directories, and whether they have ended. Their shards may lie where shards lie
/// by default.
pub fn debris(directories: &[PathBuf]) -> Vec<Debris> {
    let usual = self::directories(&[]);
    let more: Vec<PathBuf> = usual.into_iter().filter(|directory| !directories.contains(directory)).collect();
    let mut runs = find(directories);
    runs.extend(find(&more));
    debris::debris(directories, &runs)
}

/// Hosts that a line names.
const MOST_HOSTS: usize = 3;

/// Why a run must be left alone.
pub fn obstacle(run: &Run, is_forced: bool) -> Option<String> {
    let names: Vec<String> = run.hosts().into_iter().map(|host| visible(host).into_owned()).collect();
    let hosts = match names.len() {
        0 => "another host".to_owned(),
        1..=MOST_HOSTS => names.join(", "),
        _ => format!("{} and {} more hosts", names[..MOST_HOSTS].join(", "), names.len() - MOST_HOSTS),
    };
    match run.state {
        State::Alive if names.iter().all(|name| *name == host_name()) => Some("it still runs".to_owned()),
        State::Alive => Some(format!("it still runs (on {hosts})")),
        _ if is_forced => None,
        State::Elsewhere => Some(format!("it ran on {hosts} and may still run there (--force)")),
        State::Unknown => Some(
            "it ran in another container, or on another host of this name, and may still run there (--force)"
                .to_owned(),
        ),
        State::Dead => None,
    }
}

/// Why debris must be left alone.
pub fn obstacle_of_debris(debris: &Debris, is_forced: bool) -> Option<&'static str> {
    match debris.state {
        State::Alive => Some("its job still runs"),
        State::Elsewhere if !is_forced => Some("its job was on another host and may still run there (--force)"),
        State::Unknown if !is_forced => Some("unknown whether its job has ended (--force)"),
        _ => None,
    }
}

/// `run 1a2b3c4d: commsee-1a2b3c4d….node and 2 more`.
pub fn describe_debris(debris: &Debris) -> String {
    let first = debris.paths.first().map(|path| visible(&path.display().to_string()).into_owned()).unwrap_or_default();
    let more = match debris.paths.len() {
        0 | 1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    format!("files of run {}: {first}{more}", &debris.run[..8])
}

pub fn remove_debris(debris: &Debris) -> Result<(), Error> {
    debris.remove().map_err(|source| Error::Output { path: debris.paths.first().cloned().unwrap_or_default(), source })
}

/// Directories in words.
pub fn names(directories: &[PathBuf]) -> String {
    directories.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Makes a profile, under the wanted name or the next free one.
pub fn recover(run: &Run, wanted: &Path) -> Result<Recovered, Error> {
    let what = format!("joining {}", units::count(run.shards.len() as u64, "shard"));
    progress::shown(&what, || recover::recover(run, wanted))
        .map_err(|error| Error::Recover(format!("run {}: {error}", short(run))))
}

pub fn remove(run: &Run) -> Result<(), Error> {
    run.remove().map_err(|source| Error::Output { path: run.shards.first().cloned().unwrap_or_default(), source })
}

/// The first digits of a run's id, which tell it from others.
pub fn short(run: &Run) -> &str {
    &run.id[..run.id.len().min(8)]
}

/// What tells a run from others: the batch job and its step, where there is one, as people know it.
pub fn title(run: &Run) -> String {
    run.origin.job.title().unwrap_or_else(|| short(run).to_owned())
}

/// `run 1a2b3c4d, started 2026-11-21T07:15:00Z, 3 shards of 4 ranks: ./heat -n 4`.
pub fn describe(run: &Run) -> String {
    let started = commsee::profile::utc(run.started_unix_ns);
    let shards = units::count((run.shards.len() + run.parts.len()) as u64, "shard");
    let of = units::count(u64::from(run.world_size), "rank");
    let command = command_line(&run.command, 60);
    let job = run.origin.job.title().map(|job| format!(" of job {}", visible(&job))).unwrap_or_default();
    format!("run {}{job}, started {started}, {shards} of {of}: {command}", short(run))
}

/// `rank 3`, `ranks 2-3`.
pub fn ranks(ranks: &Ranks) -> String {
    if ranks.count() == 1 { format!("rank {ranks}") } else { format!("ranks {ranks}") }
}

/// Which ranks are missing and why, in words; nothing if none are.
pub fn missing(run: &Run, recovered: &Recovered) -> Option<String> {
    let missing = &recovered.missing_ranks;
    if missing.count() == 0 {
        return None;
    }
    let of = ranks(missing);
    let known: Vec<String> = elsewhere(run).into_iter().map(|(_, place)| place).collect();
    Some(match recovered.absence {
        Absence::NoShard => no_shard(missing),
        _ if !known.is_empty() => format!("without {of}: there are shards on {}", known.join(" and ")),
        Absence::OtherHosts => format!("without {of}, which ran on other hosts"),
        Absence::Unknown => format!("without {of}: no shard on this host; other hosts may have some"),
    })
}

/// Why ranks are missing that are known to be nowhere else.
pub fn no_shard(missing: &Ranks) -> String {
    format!(
        "{} left no shard: they did not pass MPI_Init (without MPI: used neither NCCL nor a GPU), or ran without commsee",
        ranks(missing)
    )
}

/// The folder of a run whose hosts have told of shards that are not here, and in words where they are.
pub fn elsewhere(run: &Run) -> Vec<(Folder, String)> {
    let is_away = |told: &Told| told.note.run == run.id && told.note.host != host_name();
    let folders = Folder::find(&carry::places(None)).into_iter();
    let told = folders.flat_map(|folder| folder.waiting().into_iter().map(move |told| (folder.clone(), told)));
    let place = |(folder, told): (Folder, Told)| {
        let ranks = folder.ranks_of(&told.note).map(|known| format!("{}, ", ranks(&known))).unwrap_or_default();
        let directory = told.note.directories.first().map(|place| place.display().to_string()).unwrap_or_default();
        let place = format!("{} ({ranks}in {})", visible(&told.note.host), visible(&directory));
        (folder, place)
    };
    told.filter(|(_, told)| is_away(told)).map(place).collect()
}
