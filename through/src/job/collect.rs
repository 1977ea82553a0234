//! Brings together what the hosts of a job hold. Watchers do so by themselves; a host without one is asked in the way in which the
//! launcher reached it.

mod reach;

use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use commsee::profile::hosts::{Folder, Note, Told};
use commsee::profile::recover::{Recovered, Run, host_name};

use crate::job::carry::{self, Carried};
use crate::job::shards;
pub use reach::Reach;

/// How long watchers are waited for.
const PATIENCE: Duration = Duration::from_secs(15);
/// A watcher that ends has renamed its note by then.
const UNHELD: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// What became of a job's hosts.
#[derive(Default)]
pub struct Collected {
    /// `None`: somebody else made the profile, or nobody.
    pub joined: Option<(Run, Recovered)>,
    /// Hosts whose shards are not here.
    absent: Vec<Absent>,
}

/// A host whose shards are not here.
struct Absent {
    note: Note,
    /// Its ranks, in words.
    ranks: String,
    why: Why,
}

enum Why {
    /// Ranks live there. Whether somebody will carry what they leave.
    Living { is_watched: bool },
    /// Its shards cannot be moved.
    Stuck,
    /// It does not see them.
    Elsewhere,
    /// It could not be asked.
    Unreached(String),
}

/// Collects what the hosts of a folder hold, and makes the profile.
pub fn collect(folder: &Folder, reach: &Reach) -> Collected {
    let begun = Instant::now();
    let mut collected = Collected::default();
    let mut is_asked = false;
    while folder.exists() {
        folder.look_again();
        let waiting = folder.waiting();
        if waiting.is_empty() {
            // Somebody may be at it.
            collected.joined = carry::join(folder);
            if collected.joined.is_some() || begun.elapsed() > 2 * PATIENCE {
                break;
            }
        } else if !is_asked && begun.elapsed() > patience(&waiting) {
            is_asked = true;
            ask(folder, waiting, reach, &mut collected);
        } else if is_asked {
            if !collected.is_alive() {
                collected.joined = carry::join(folder);
            }
            break;
        }
        sleep(PAUSE);
    }
    collected
}

fn patience(waiting: &[Told]) -> Duration {
    let is_anybody_there = waiting.iter().any(|told| told.is_held() != Some(false));
    if is_anybody_there { PATIENCE } else { UNHELD }
}

/// Asks all of these hosts, at the same time.
fn ask(folder: &Folder, hosts: Vec<Told>, reach: &Reach, collected: &mut Collected) {
    let answers: Vec<Result<Carried, String>> = thread::scope(|scope| {
        let asked: Vec<_> = hosts.iter().map(|told| scope.spawn(|| ask_one(folder, told, reach))).collect();
        asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| Err("it cannot be asked".to_owned()))).collect()
    });
    for (told, answer) in hosts.into_iter().zip(answers) {
        let why = match answer {
            Ok(Carried::All) => continue,
            Ok(Carried::Living) => Why::Living { is_watched: told.is_held() == Some(true) },
            Ok(Carried::Stuck) => Why::Stuck,
            Ok(Carried::Elsewhere) => Why::Elsewhere,
            Err(why) => Why::Unreached(why),
        };
        collected.absent.push(Absent { ranks: ranks_of(folder, &told.note), note: told.note, why });
    }
}

/// The ranks of a host in words.
pub fn ranks_of(folder: &Folder, note: &Note) -> String {
    folder.ranks_of(note).map_or_else(|| format!("the ranks of {}", note.host), |ranks| shards::ranks(&ranks))
}

fn ask_one(folder: &Folder, told: &Told, reach: &Reach) -> Result<Carried, String> {
    if told.is_held() == Some(true) {
        return Ok(Carried::Living);
    }
    // All of them may lie in a directory that this host sees, too.
    let seen = carry::shards_of(&told.note).len();
    if told.note.host == host_name() || told.note.local_ranks.is_some_and(|ranks| seen >= ranks as usize) {
        return Ok(carry::host(told, folder));
    }
    reach.carry(told)
}

impl Collected {
    /// Ranks of the job live.
    pub fn is_alive(&self) -> bool {
        self.absent.iter().any(|absent| matches!(absent.why, Why::Living { .. }))
    }

    /// What is not in the profile, where it is, and what to do about it: `command`.
    pub fn absent(&self, folder: &Folder, command: &str) -> Vec<String> {
        let describe = |Absent { note, ranks, why }: &Absent| {
            let host = &note.host;
            let place = note.directories.first().map(|place| place.display().to_string()).unwrap_or_default();
            match why {
                Why::Living { is_watched: true } => {
                    let profile = folder.wanted().unwrap_or_default();
                    format!("{host} still runs {ranks}; its watcher then makes the profile: {}", profile.display())
                }
                Why::Living { is_watched: false } => {
                    format!("{host} still runs {ranks}; when they have ended, run: {command}")
                }
                Why::Stuck => format!(
                    "{host} cannot move the shards of {ranks} from {place} to {}; when it can, run: {command}",
                    folder.path().display()
                ),
                Why::Elsewhere => format!(
                    "{host} has no shards of {ranks} in {place}: another host may have its name, or they are gone; to try again: {command}"
                ),
                Why::Unreached(why) => format!(
                    "{host} cannot be reached ({why}) and has the shards of {ranks} in {place}; when it answers, run: {command}"
                ),
            }
        };
        self.absent.iter().map(describe).collect()
    }
}

/// What `through recover` has to say of jobs whose shards are on other hosts: a line for each.
pub fn elsewhere(folders: &[Folder], is_running_wanted: bool) -> Vec<String> {
    let line = |folder: &Folder| {
        let told = folder.waiting();
        let run = told.first()?.note.run.get(..8)?.to_owned();
        let hosts: Vec<String> =
            told.iter().map(|told| format!("{} on {}", ranks_of(folder, &told.note), told.note.host)).collect();
        let hosts = hosts.join(", ");
        let is_held = told.iter().any(|told| told.is_held() == Some(true));
        Some(match (is_held, is_running_wanted) {
            (true, true) => format!(
                "run {run} still runs ({hosts}); to look at it, run on each of these hosts: through recover --running"
            ),
            (true, false) => format!("run {run} still runs ({hosts}); when it ends, its watchers make the profile"),
            (false, _) => {
                format!("run {run}: there are shards of {hosts}; to fetch them: {}", Reach::asked(None).command(folder))
            }
        })
    };
    folders.iter().filter_map(line).collect()
}
