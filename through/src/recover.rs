//! `through recover`: makes profiles of what jobs left that did not reach `MPI_Finalize`.

use std::io::{self, Write};
use std::path::PathBuf;

use commsee::profile::debris::State;
use commsee::profile::hosts::Folder;
use commsee::profile::recover::{self, Run, host_name};
use commsee::shard::read_header;

use crate::cli::Recover;
use crate::collect::{self, Reach};
use crate::error::Error;
use crate::escape::{path, visible};
use crate::message::say;
use crate::parts::parts;
use crate::{carry, leftovers};

/// Hosts that a line names.
const MOST_HOSTS: usize = 3;

/// Whether there was anything to recover.
pub fn recover(arguments: &Recover) -> Result<bool, Error> {
    let (profiles, named): (Vec<&PathBuf>, Vec<&PathBuf>) =
        arguments.sources.iter().partition(|source| !source.is_dir() && source.exists());
    let named: Vec<PathBuf> = named.into_iter().cloned().collect();
    // Who names profiles alone wants nothing else.
    let mut directories = if profiles.is_empty() { leftovers::directories(&named) } else { named.clone() };
    // What hosts carried for a job whose profile nobody made.
    let folders = if profiles.is_empty() { leftovers::folders(&arguments.sources) } else { Vec::new() };
    directories.extend(folders.iter().map(|folder| folder.path().to_owned()));
    let mut runs = leftovers::find(&directories);
    for profile in &profiles {
        if read_header(profile).is_some() {
            return Err(Error::Recover(format!("{}: is a shard: name its directory", profile.display())));
        }
        let joined = recover::add_parts(&mut runs, parts(profile)?);
        joined.map_err(|error| Error::Recover(format!("{}: {error}", profile.display())))?;
    }
    let seen: Vec<String> = runs.iter().map(|run| run.id.clone()).collect();
    let mut any = false;
    let mut trouble = None;
    for run in runs {
        if arguments.running {
            if run.state() != State::Dead {
                if !run.alive {
                    say(format_args!(
                        "{}: whether it still runs cannot be seen on this host",
                        leftovers::describe(&run)
                    ));
                }
                match one(&Run { alive: true, ..run }, arguments, &folders) {
                    Ok(()) => any = true,
                    Err(error) => trouble = trouble.or(Some(error)),
                }
            }
            continue;
        }
        let (description, is_claimed) = (leftovers::describe(&run), leftovers::is_claimed(&run));
        if let (false, Some(obstacle)) = (is_claimed, obstacle(&run, arguments.force)) {
            say(format_args!("{description}: left alone, {obstacle}"));
            continue;
        }
        let Some((run, _claims)) = leftovers::take(run, &directories) else {
            any = true;
            say(format_args!("{description}: another process has made its profile, or does so"));
            continue;
        };
        match obstacle(&run, arguments.force) {
            Some(obstacle) => say(format_args!("{description}: left alone, {obstacle}")),
            None => match one(&run, arguments, &folders) {
                Ok(()) => any = true,
                // The others are worth having.
                Err(error) => trouble = trouble.or(Some(error)),
            },
        }
    }
    let mut elsewhere = Vec::new();
    if profiles.is_empty() {
        let places = if named.is_empty() { carry::places(None) } else { named };
        let mut away = Folder::find(&places);
        away.retain(|folder| !folder.told().iter().any(|told| seen.contains(&told.note.run)));
        elsewhere = collect::elsewhere(&away, arguments.running);
        elsewhere.iter().for_each(say);
    }
    if !(arguments.running || arguments.keep) {
        // Of runs whose shards are gone: whoever joined them was killed before all was removed.
        for debris in leftovers::debris(&directories).iter().filter(|debris| debris.is_worthless()) {
            leftovers::remove_debris(debris)?;
            say(format_args!("removed {}", leftovers::describe_debris(debris)));
        }
    }
    match trouble {
        Some(error) => Err(error),
        None if !any && elsewhere.is_empty() => {
            let what = if arguments.running { "no run goes on with shards" } else { "nothing to recover" };
            // A hidden folder says nothing to the user.
            directories.retain(|directory| !folders.iter().any(|folder| folder.path() == directory));
            say(format_args!("{what} in {}", leftovers::names(&directories)));
            Ok(false)
        }
        None => Ok(any),
    }
}

/// Why a run must be left alone.
pub fn obstacle(run: &Run, is_forced: bool) -> Option<String> {
    let names: Vec<String> = run.hosts().into_iter().map(|host| visible(host).into_owned()).collect();
    let hosts = match names.len() {
        0 => "another host".to_owned(),
        1..=MOST_HOSTS => names.join(", "),
        _ => format!("{} and {} more hosts", names[..MOST_HOSTS].join(", "), names.len() - MOST_HOSTS),
    };
    match run.state() {
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

fn one(run: &Run, arguments: &Recover, folders: &[Folder]) -> Result<(), Error> {
    let kind = if run.alive { "running" } else { "recovered" };
    let wanted = match &arguments.output {
        Some(output) => PathBuf::from(run.origin.expand(&output.to_string_lossy())),
        None => PathBuf::from(format!("commsee-{kind}-{}.db", leftovers::title(run))),
    };
    let recovered = leftovers::recover(run, &wanted)?;
    let mut out = io::stdout();
    let _ = writeln!(out, "{}: {}", path(&recovered.path), leftovers::describe(run));
    if let Some(missing) = leftovers::missing(run, &recovered) {
        let _ = writeln!(out, "  {missing}");
    }
    recovered.notes.iter().for_each(say);
    if run.alive {
        return Ok(());
    }
    if recovered.is_part() {
        let kept = if run.shards.is_empty() { "" } else { "the shards here are kept; " };
        let next = match leftovers::elsewhere(run).first() {
            Some((folder, _)) => format!("to fetch the others: {}", Reach::asked(None).command(folder)),
            None => format!("recover on the other hosts, and join: through recover {} OTHER.db", path(&recovered.path)),
        };
        let _ = writeln!(out, "  {kept}{next}");
        return Ok(());
    }
    if arguments.keep {
        return Ok(());
    }
    leftovers::remove(run)?;
    // What hosts told of the run is over, wherever it lies.
    let is_of_run = |folder: &&Folder| folder.told().iter().any(|told| told.note.run == run.id);
    let others = leftovers::folders(&[]);
    folders.iter().chain(&others).filter(is_of_run).for_each(Folder::remove);
    if run.shards.is_empty() {
        let _ = writeln!(out, "  nothing is missing; to remove the shards, on each of the hosts: through clean");
    }
    Ok(())
}
