//! What a job left: the profiles that it wrote, and those made of its shards.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use commsee::profile::debris::State;
use commsee::profile::recover::Run;

use crate::leftovers;
use crate::message::say;
use crate::open::Profile;

/// How long processes may outlive their launcher before they count as still running.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clocks of file servers go wrong; the launch token decides, and this only saves looking at old files.
const CLOCK_SLACK: Duration = Duration::from_secs(600);

#[derive(Default)]
pub struct Harvest {
    /// The newest first.
    pub profiles: Vec<PathBuf>,
    /// What had to be recovered, or could not be.
    pub remarks: Vec<String>,
    /// Processes of the job are still there.
    pub is_alive: bool,
}

/// Finds the profiles of one launch, and makes them where only shards are left.
pub fn gather(pattern: &Path, launch: &str, started: SystemTime) -> Harvest {
    let mut harvest = Harvest::default();
    let shards = leftovers::directories(&[]);
    let wanted = expanded(pattern);
    // Something of the run may lie beside the profile, too.
    let beside = wanted.parent().map(Path::to_owned).filter(|place| !shards.contains(place));
    let searched: Vec<PathBuf> = shards.iter().cloned().chain(beside).collect();
    for run in ended(&searched, launch, &mut harvest.is_alive) {
        recover(&run, pattern, &mut harvest);
    }
    let mut places = vec![wanted.parent().map(Path::to_owned).unwrap_or_default()];
    // Where the profiler goes when it cannot write there.
    places.extend(shards.into_iter().filter(|place| *place != wanted.parent().unwrap_or(Path::new(""))));
    for place in places {
        for path in written_since(&place, &wanted, started) {
            let is_known = harvest.profiles.contains(&path);
            if !is_known && Profile::open(&path).and_then(|profile| profile.launch()).is_ok_and(|token| token == launch)
            {
                harvest.profiles.push(path);
            }
        }
    }
    harvest
}

/// The runs of this launch whose processes have ended.
fn ended(directories: &[PathBuf], launch: &str, is_alive: &mut bool) -> Vec<Run> {
    let find = || {
        let runs = leftovers::find(directories).into_iter().filter(|run| run.launch == launch);
        runs.partition::<Vec<Run>, _>(|run| run.alive)
    };
    let patient_until = SystemTime::now() + PATIENCE;
    loop {
        let (alive, ended) = find();
        *is_alive = !alive.is_empty();
        if alive.is_empty() || SystemTime::now() > patient_until {
            return ended;
        }
        sleep(Duration::from_millis(100));
    }
}

fn recover(run: &Run, pattern: &Path, harvest: &mut Harvest) {
    let recovered = match leftovers::recover(run, &expanded(pattern)) {
        Ok(recovered) => recovered,
        Err(error) => return harvest.remarks.push(format!("{error}; its shards are kept: through recover")),
    };
    let missing = leftovers::missing(run, &recovered).map(|missing| format!("; {missing}")).unwrap_or_default();
    harvest.remarks.push(format!("the job did not reach MPI_Finalize; its profile was recovered{missing}"));
    let is_part = recovered.is_part();
    harvest.remarks.extend(recovered.notes.into_iter().take(3));
    harvest.profiles.push(recovered.path);
    if is_part {
        let next = "its shards are kept; `through recover` on the other hosts makes profiles to join: through recover A.db B.db";
        return harvest.remarks.push(next.to_owned());
    }
    if run.state() != State::Dead {
        let whole = "processes on other hosts may still run: the shards are kept; when they have ended: through recover --force";
        return harvest.remarks.push(whole.to_owned());
    }
    if let Err(error) = leftovers::remove(run) {
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
