//! `through recover`: makes profiles of what jobs left that did not reach `MPI_Finalize`.

use std::path::PathBuf;

use commsee::profile::debris::State;
use commsee::profile::hosts::Folder;
use commsee::profile::recover::{self, Run};
use commsee::shard::read_header;

use super::lines::Lines;
use super::{clean, collect};
use crate::cli::Recover;
use crate::error::Error;
use crate::job::collect::{self as hosts, Reach};
use crate::job::parts::parts;
use crate::job::shards;
use crate::text::escape::path;
use crate::text::message::say;

/// Whether there was anything to recover.
pub fn recover(arguments: &Recover) -> Result<bool, Error> {
    match arguments {
        Recover { clean: true, .. } => clean::clean(arguments),
        Recover { all_hosts: true, .. } => collect::collected(arguments),
        _ => recovered(arguments),
    }
}

/// Of this host, or of profiles that are parts of one.
fn recovered(arguments: &Recover) -> Result<bool, Error> {
    shards::must_exist(&arguments.sources)?;
    let (profiles, named): (Vec<&PathBuf>, Vec<&PathBuf>) =
        arguments.sources.iter().partition(|source| !source.is_dir() && source.exists());
    let named: Vec<PathBuf> = named.into_iter().cloned().collect();
    // Who names profiles alone wants nothing else.
    let mut directories = if profiles.is_empty() { shards::directories(&named) } else { named.clone() };
    // What hosts carried for a job whose profile nobody made.
    let folders = if profiles.is_empty() { shards::folders(&arguments.sources) } else { Vec::new() };
    directories.extend(folders.iter().map(|folder| folder.path().to_owned()));
    let mut runs = shards::find(&directories);
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
    let mut lines = Lines::new();
    for run in runs {
        if arguments.running {
            if run.state != State::Dead {
                if !run.is_alive() {
                    say(format_args!("{}: this host cannot see whether it still runs", shards::describe(&run)));
                }
                match one(&Run { state: State::Alive, ..run }, arguments, &folders, &mut lines) {
                    Ok(()) => any = true,
                    Err(error) => trouble = trouble.or(Some(error)),
                }
            }
            continue;
        }
        let (description, is_claimed) = (shards::describe(&run), shards::is_claimed(&run));
        let is_going = !(is_claimed || run.going.is_empty());
        if let (true, Some(obstacle)) = (is_going, shards::obstacle(&run, arguments.force)) {
            say(format_args!("{description}: skipped, {obstacle}"));
            continue;
        }
        let Some((run, _claims)) = shards::take(run, &directories) else {
            any = true;
            say(format_args!("{description}: another process makes or has made its profile"));
            continue;
        };
        match shards::obstacle(&run, arguments.force) {
            Some(obstacle) => say(format_args!("{description}: skipped, {obstacle}")),
            None => match one(&run, arguments, &folders, &mut lines) {
                Ok(()) => any = true,
                // The others are worth having.
                Err(error) => trouble = trouble.or(Some(error)),
            },
        }
    }
    let mut elsewhere = Vec::new();
    if profiles.is_empty() {
        let is_seen = |folder: &&Folder| folder.told().iter().any(|told| seen.contains(&told.note.run));
        elsewhere = hosts::elsewhere(folders.iter().filter(|folder| !is_seen(folder)), arguments.running);
        elsewhere.iter().for_each(say);
    }
    if !(arguments.running || arguments.keep) {
        // Of runs whose shards are gone: whoever joined them was killed before all was removed.
        for debris in shards::debris(&directories).iter().filter(|debris| debris.is_worthless()) {
            shards::remove_debris(debris)?;
            say(format_args!("removed {}", shards::describe_debris(debris)));
        }
    }
    match trouble.or(lines.end().err()) {
        Some(error) => Err(error),
        None if !any && elsewhere.is_empty() => {
            let what = if arguments.running { "no running job with commsee" } else { "nothing to recover" };
            // A hidden folder says nothing to the user.
            directories.retain(|directory| !folders.iter().any(|folder| folder.path() == directory));
            say(format_args!("{what} in {}", shards::names(&directories)));
            Ok(false)
        }
        None => Ok(any),
    }
}

fn one(run: &Run, arguments: &Recover, folders: &[Folder], lines: &mut Lines) -> Result<(), Error> {
    let kind = if run.is_alive() { "running" } else { "recovered" };
    let wanted = match &arguments.output {
        Some(output) => PathBuf::from(run.origin.expand(&output.to_string_lossy())),
        None => PathBuf::from(format!("commsee-{kind}-{}.db", shards::title(run))),
    };
    let recovered = shards::recover(run, &wanted)?;
    lines.add(format_args!("{}: {}", path(&recovered.path), shards::describe(run)));
    if let Some(missing) = shards::missing(run, &recovered) {
        lines.add(format_args!("  {missing}"));
    }
    recovered.notes.iter().for_each(say);
    if run.is_alive() {
        return Ok(());
    }
    if recovered.is_part() {
        let kept = if run.shards.is_empty() { "" } else { "the shards here are kept; " };
        let next = match shards::elsewhere(run).first() {
            Some((folder, _)) => format!("to fetch the others: {}", Reach::asked(None).command(folder)),
            None => format!("recover on the other hosts, and join: through recover {} OTHER.db", path(&recovered.path)),
        };
        lines.add(format_args!("  {kept}{next}"));
        return Ok(());
    }
    if arguments.keep {
        return Ok(());
    }
    shards::remove(run)?;
    // What hosts told of the run is over, wherever it lies.
    let is_of_run = |folder: &&Folder| folder.told().iter().any(|told| told.note.run == run.id);
    let others = shards::folders(&[]);
    folders.iter().chain(&others).filter(is_of_run).for_each(Folder::remove);
    if run.shards.is_empty() {
        lines.add("  nothing is missing; to remove the shards, run on each host: through recover --clean");
    }
    Ok(())
}
