//! `through watch [RUN|DIR]`: a look at a job while it runs, again and again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::cli::Watch;
use crate::error::Error;
use crate::job::{shards, signals};
use crate::live::{Ending, Live, Stream, Wanted};
use crate::text::message::say;

/// Whether there was a job.
pub fn watch(arguments: &Watch) -> Result<bool, Error> {
    let (directories, wanted) = match arguments.what.clone() {
        Some(path) if path.is_dir() => (vec![path], Wanted::Newest),
        Some(name) => (shards::directories(&[]), Wanted::Named(name.to_string_lossy().into_owned())),
        None => (shards::directories(&[]), Wanted::Newest),
    };
    let live = Live { directories, wanted, interval: arguments.interval, top: arguments.top, stream: Stream::Out };
    let is_there = if arguments.once {
        live.once()?
    } else {
        let ending = Ending::default();
        signals::on_end(Arc::clone(&ending));
        let is_there = live.follow(&ending)?;
        if ending.load(Ordering::Relaxed) {
            return Ok(is_there);
        }
        is_there
    };
    if !is_there {
        let places = shards::names(&live.directories);
        match &live.wanted {
            Wanted::Named(name) => {
                say(format_args!("{name}: no such directory, and no running job of this name in {places}"));
            }
            _ => say(format_args!("no running job with commsee in {places}")),
        }
    }
    Ok(is_there)
}
