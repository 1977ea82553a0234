//! Brings together what the hosts of a job hold, by asking each in the way in which the launcher reached it.

mod reach;

use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use commsee::profile::hosts::{Folder, Note, Told};
use commsee::profile::recover::{Recovered, Run, host_name};
use commsee::profile::{State, life, locks};

use crate::job::carry::{self, Carried};
use crate::job::shards;
pub use reach::Reach;

/// How long another process may take to make the profile.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// What became of a job's hosts.
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
    /// Ranks live there.
    Living,
    /// Its shards cannot be moved.
    Stuck,
    /// It does not see them.
    Elsewhere,
    /// It could not be asked.
    Unreached(String),
}

/// Collects what the hosts of a folder hold, and makes the profile.
pub fn collect(folder: &Folder, reach: &Reach) -> Collected {
    folder.look_again();
    let mut collected = Collected { joined: None, absent: ask(folder, reach) };
    let begun = Instant::now();
    while !collected.is_alive() {
        collected.joined = carry::join(folder);
        let is_at_work = || locks::is_held(&folder.claim_path()) == Some(true);
        if collected.joined.is_some() || !is_at_work() || begun.elapsed() > PATIENCE {
            break;
        }
        sleep(PAUSE);
    }
    collected
}

/// Asks all hosts that still have shards, at the same time.
fn ask(folder: &Folder, reach: &Reach) -> Vec<Absent> {
    let hosts = folder.waiting();
    let answers: Vec<Result<Carried, String>> = thread::scope(|scope| {
        let asked: Vec<_> = hosts.iter().map(|told| scope.spawn(|| ask_one(folder, told, reach))).collect();
        asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| Err("it cannot be asked".to_owned()))).collect()
    });
    folder.look_again();
    let absent = |(told, answer): (Told, Result<Carried, String>)| {
        // Its ranks may have carried their shards themselves by now.
        let why = match answer {
            _ if !told.path.exists() => return None,
            Ok(Carried::All) => return None,
            Ok(Carried::Living) => Why::Living,
            Ok(Carried::Stuck) => Why::Stuck,
            Ok(Carried::Elsewhere) => Why::Elsewhere,
            Err(why) => Why::Unreached(why),
        };
        Some(Absent { ranks: ranks_of(folder, &told.note), note: told.note, why })
    };
    hosts.into_iter().zip(answers).filter_map(absent).collect()
}

/// The ranks of a host in words.
pub fn ranks_of(folder: &Folder, note: &Note) -> String {
    folder.ranks_of(note).map_or_else(|| format!("the ranks of {}", note.host), |ranks| shards::ranks(&ranks))
}

fn ask_one(folder: &Folder, told: &Told, reach: &Reach) -> Result<Carried, String> {
    // All of them may lie in a directory that this host sees, too.
    let seen = carry::shards_of(&told.note);
    let are_all_seen = told.note.local_ranks.is_some_and(|ranks| seen.len() >= ranks as usize);
    let is_known = || seen.iter().all(|(path, header)| matches!(life(path, header), State::Alive | State::Dead));
    if told.note.host == host_name() || are_all_seen && is_known() {
        return Ok(carry::host(told, folder));
    }
    reach.carry(told)
}

impl Collected {
    /// Ranks of the job live.
    pub fn is_alive(&self) -> bool {
        self.absent.iter().any(|absent| matches!(absent.why, Why::Living))
    }

    /// What is not in the profile, where it is, and what to do about it: `command`.
    pub fn absent(&self, folder: &Folder, command: &str) -> Vec<String> {
        let describe = |Absent { note, ranks, why }: &Absent| {
            let host = &note.host;
            let place = note.directories.first().map(|place| place.display().to_string()).unwrap_or_default();
            match why {
                Why::Living => format!("{host} still runs {ranks}; when they have ended, run: {command}"),
                Why::Stuck => format!(
                    "{host} cannot move the shards of {ranks} from {place} to {}; when it can, run: {command}",
                    folder.path().display()
                ),
                Why::Elsewhere => format!(
                    "{host} has no shards of {ranks} in {place}: they were removed, or another host has its name; to try again: {command}"
                ),
                Why::Unreached(why) => format!(
                    "{host} cannot be reached ({why}); it has the shards of {ranks} in {place}; when it answers, run: {command}"
                ),
            }
        };
        self.absent.iter().map(describe).collect()
    }
}

/// What `through recover` has to say of jobs whose shards are on other hosts: a line for each.
pub fn elsewhere<'a>(folders: impl Iterator<Item = &'a Folder>, is_running_wanted: bool) -> Vec<String> {
    let line = |folder: &Folder| {
        let told = folder.waiting();
        let run = told.first()?.note.run.get(..8)?.to_owned();
        let hosts: Vec<String> =
            told.iter().map(|told| format!("{} on {}", ranks_of(folder, &told.note), told.note.host)).collect();
        let hosts = hosts.join(", ");
        let next = match is_running_wanted {
            true => "if it still runs, look at it on each of these hosts: through recover --running".to_owned(),
            false => format!("when it has ended, fetch them: {}", Reach::asked(None).command(folder)),
        };
        Some(format!("run {run}: there are shards of {hosts}; {next}"))
    };
    folders.filter_map(line).collect()
}
