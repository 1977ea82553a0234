//! What a job left: the profiles that it wrote, and those made of its shards, on this host and on others.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};
use std::{env, fs};

use commsee::profile::debris::State;
use commsee::profile::hosts::Folder;
use commsee::profile::recover::Run;
use commsee::settings;

use crate::job::carry;
use crate::job::collect::{self, Reach};
use crate::job::shards;
use crate::query::catalog::Catalog;
use crate::query::open::Profile;
use crate::text::message::say;

/// How long processes may outlive their launcher before they count as still running.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clocks of file servers go wrong; the launch token decides, and this only saves looking at old files.
const CLOCK_SLACK: Duration = Duration::from_secs(600);

#[derive(Default)]
pub struct Results {
    /// Those of spawned processes last, and otherwise the newest first.
    pub profiles: Vec<PathBuf>,
    /// What had to be recovered, or could not be.
    pub remarks: Vec<String>,
    /// Processes of the job are still there.
    pub is_alive: bool,
    /// Where the profile was to go.
    pub wanted: PathBuf,
}

/// Finds the profiles of one launch, and makes them where only shards are left. `reach`: how its hosts are reached.
pub fn gather(pattern: &Path, launch: &str, started: SystemTime, reach: &Reach) -> Results {
    let shards = shards::directories(&[]);
    let wanted = expanded(pattern);
    let mut results = Results { wanted: wanted.clone(), ..Results::default() };
    let of_hosts = carry::places(Some(&wanted));
    for folder in folders(&of_hosts, launch) {
        recover_hosts(&folder, reach, &mut results);
    }
    // Something of the run may lie beside the profile, too.
    let beside = wanted.parent().map(Path::to_owned).filter(|place| !shards.contains(place));
    let searched: Vec<PathBuf> = shards.iter().cloned().chain(beside).collect();
    // Of a job whose other hosts still have shards none is joined alone.
    let left: Vec<String> = folders(&of_hosts, launch).iter().filter_map(run_of).collect();
    for run in ended(&searched, launch, &mut results.is_alive) {
        if left.contains(&run.id) {
            continue;
        }
        if let Some((run, _claims)) = shards::take(run, &searched) {
            recover(&run, pattern, &mut results);
        }
    }
    let mut places = vec![wanted.parent().map(Path::to_owned).unwrap_or_default()];
    // Where the profiler goes when it cannot write there.
    let others = settings::profile_directories(&env::current_dir().unwrap_or_default(), |name| env::var(name).ok());
    for place in of_hosts.into_iter().chain(others) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        for path in written_since(&place, &wanted, started) {
            let is_known = results.profiles.contains(&path);
            if !is_known && Profile::open(&path).and_then(|profile| profile.launch()).is_ok_and(|token| token == launch)
            {
                results.profiles.push(path);
            }
        }
    }
    if results.profiles.len() > 1 {
        results.profiles.sort_by_cached_key(|path| are_spawned(path));
    }
    results
}

/// Whether the processes of a profile were spawned by others.
pub fn are_spawned(profile: &Path) -> bool {
    Profile::open(profile).and_then(|profile| Catalog::read(&profile)).is_ok_and(|catalog| catalog.are_spawned())
}

/// What the hosts of this launch told.
fn folders(places: &[PathBuf], launch: &str) -> Vec<Folder> {
    let is_of_launch = |folder: &Folder| folder.told().iter().any(|told| told.note.launch == launch);
    Folder::find(places).into_iter().filter(is_of_launch).collect()
}

fn run_of(folder: &Folder) -> Option<String> {
    folder.told().first().map(|told| told.note.run.clone())
}

/// A job over several hosts ended without a profile: the hosts are asked for what they have.
fn recover_hosts(folder: &Folder, reach: &Reach, results: &mut Results) {
    let collected = collect::collect(folder, reach);
    results.is_alive |= collected.is_alive();
    let absent = collected.absent(folder, &reach.command(folder));
    if let Some((_, recovered)) = &collected.joined {
        // That it was recovered, and without whom, is in the summary; here is why.
        let missing = &recovered.missing_ranks;
        if missing.count() > 0 && absent.is_empty() {
            results.remarks.push(shards::no_shard(missing));
        }
        results.remarks.extend(recovered.notes.iter().take(3).cloned());
        results.profiles.push(recovered.path.clone());
    }
    results.remarks.extend(absent);
}

/// The runs of this launch whose processes have ended.
fn ended(directories: &[PathBuf], launch: &str, is_alive: &mut bool) -> Vec<Run> {
    let find = || {
        let runs = shards::find(directories).into_iter().filter(|run| run.launch == launch);
        runs.partition::<Vec<Run>, _>(|run| run.is_alive())
    };
    let patient_until = SystemTime::now() + PATIENCE;
    loop {
        let (alive, ended) = find();
        if alive.is_empty() || SystemTime::now() > patient_until {
            *is_alive |= !alive.is_empty();
            return ended;
        }
        sleep(Duration::from_millis(100));
    }
}

fn recover(run: &Run, pattern: &Path, results: &mut Results) {
    let recovered = match shards::recover(run, Path::new(&run.origin.expand(&pattern.to_string_lossy()))) {
        Ok(recovered) => recovered,
        Err(error) => {
            let next = "its shards are kept; once that is fixed, run: through recover";
            return results.remarks.push(format!("the profile cannot be recovered: {error}; {next}"));
        }
    };
    // That it was recovered, and without whom, is in the summary.
    results.remarks.extend(shards::missing(run, &recovered));
    let is_part = recovered.is_part();
    results.remarks.extend(recovered.notes.into_iter().take(3));
    results.profiles.push(recovered.path);
    if is_part {
        let next = "its shards are kept; run `through recover` on each host, then join the partial profiles";
        return results.remarks.push(next.to_owned());
    }
    if run.state != State::Dead {
        let hosts = run.hosts().join(", ");
        let whole = format!(
            "ranks on {hosts} may still run; their shards are kept; when they have ended, run: through recover --force"
        );
        return results.remarks.push(whole);
    }
    if let Err(error) = shards::remove(run) {
        say(error);
    }
}

/// The pattern with what this process knows of it.
fn expanded(pattern: &Path) -> PathBuf {
    PathBuf::from(commsee::profile::expand(&pattern.to_string_lossy()))
}

/// Files of a directory that may be the profile, the newest first.
fn written_since(directory: &Path, wanted: &Path, started: SystemTime) -> Vec<PathBuf> {
    let extension = wanted.extension();
    let mut found: Vec<(SystemTime, PathBuf)> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension() == extension)
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .filter(|(modified, _)| *modified + CLOCK_SLACK >= started)
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}
