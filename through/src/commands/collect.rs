//! `through recover --all-hosts`: the profile of a job from shards on all its hosts.

use commsee::profile::hosts::Folder;

use super::lines::Lines;
use crate::cli::Recover;
use crate::error::Error;
use crate::job::collect::{Reach, collect};
use crate::job::{carry, shards};
use crate::text::escape::path;
use crate::text::message::say;
use crate::text::path::relative;

/// Whether there was anything to make a profile of.
pub fn collected(arguments: &Recover) -> Result<bool, Error> {
    shards::must_exist(&arguments.sources)?;
    let places = match arguments.sources.as_slice() {
        [] => carry::places(None),
        named => named.to_vec(),
    };
    let reach = Reach::asked(arguments.rsh.as_deref());
    let folders = Folder::find(&places);
    let mut any = false;
    let mut lines = Lines::new();
    for folder in &folders {
        let run = folder.told().first().map(|told| told.note.run.clone());
        let collected = collect(folder, &reach);
        let absent = collected.absent(folder, &reach.command(folder));
        if let Some((run, recovered)) = &collected.joined {
            any = true;
            let shown = relative(&recovered.path);
            lines.add(format_args!("{}: {}", path(&shown), shards::describe(run)));
            if recovered.missing_ranks.count() > 0 && absent.is_empty() {
                say(shards::no_shard(&recovered.missing_ranks));
            }
            recovered.notes.iter().for_each(say);
        } else if absent.is_empty()
            && let Some(run) = run.as_deref().and_then(|run| run.get(..8))
        {
            say(format_args!("run {run}: its hosts have no shards left"));
        }
        absent.iter().for_each(say);
    }
    if folders.is_empty() {
        say(format_args!("nothing to fetch: no job started in {} has shards on other hosts", shards::names(&places)));
    }
    lines.end()?;
    Ok(any)
}
