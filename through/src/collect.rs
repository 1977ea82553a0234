//! Brings together what the hosts of a job hold. Watchers do so by themselves; a host without one is asked in the way in which the
//! launcher reached it.

mod reach;

use std::io::{self, Write};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use commsee::profile::hosts::{Folder, Note, Told};
use commsee::profile::recover::{Recovered, Run, host_name};

use crate::carry::{self, Carried};
use crate::cli::Collect;
use crate::error::Error;
use crate::escape::path;
use crate::leftovers;
use crate::message::say;
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
    /// Hosts on which ranks live.
    pub living: Vec<Absent>,
    /// Hosts whose shards could not be had.
    pub lost: Vec<Absent>,
}

/// A host whose shards are not here.
pub struct Absent {
    note: Note,
    /// Its ranks, in words.
    ranks: String,
    why: String,
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
            if collected.living.is_empty() {
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
        let all = || format!("the ranks of {}", told.note.host);
        let ranks = folder.ranks_of(&told.note).map_or_else(all, |ranks| leftovers::ranks(&ranks));
        let absent = |why: String| Absent { note: told.note.clone(), ranks, why };
        match answer {
            Ok(Carried::All) => {}
            Ok(Carried::Living) => collected.living.push(absent(String::new())),
            Ok(Carried::Stuck) => collected.lost.push(absent("they cannot be moved".to_owned())),
            Ok(Carried::Elsewhere) => collected.lost.push(absent("none of them is to be seen there".to_owned())),
            Err(why) => collected.lost.push(absent(format!("it was not reached ({why})"))),
        }
    }
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
    /// What is not in the profile, where it is, and what to do about it.
    pub fn absent(&self) -> Vec<String> {
        let living = self.living.iter().map(|Absent { note, ranks, .. }| {
            format!("{ranks} still run on {}: their profile is made when they end", note.host)
        });
        let lost = self.lost.iter().map(|Absent { note, ranks, why }| {
            let places: Vec<String> = note.directories.iter().map(|place| place.display().to_string()).collect();
            format!(
                "{ranks} left shards on {} (in {}), but {why}; when that has changed: through collect",
                note.host,
                places.join(" or ")
            )
        });
        living.chain(lost).collect()
    }
}

/// `through collect`: whether there was anything to make a profile of.
pub fn command(arguments: &Collect) -> Result<bool, Error> {
    let places = match arguments.directories.as_slice() {
        [] => carry::places(None),
        named => named.to_vec(),
    };
    let reach = Reach::asked(arguments.rsh.as_deref());
    let folders = Folder::find(&places);
    let mut any = false;
    for folder in &folders {
        let collected = collect(folder, &reach);
        collected.absent().iter().for_each(say);
        if let Some((run, recovered)) = &collected.joined {
            any = true;
            let _ = writeln!(io::stdout(), "{}: {}", path(&recovered.path), leftovers::describe(run));
            if let Some(missing) = leftovers::missing(run, recovered).filter(|_| collected.lost.is_empty()) {
                say(missing);
            }
            recovered.notes.iter().for_each(say);
        }
    }
    if folders.is_empty() {
        say(format_args!("no job has left anything on other hosts, as far as {} tell", leftovers::names(&places)));
    }
    Ok(any)
}
