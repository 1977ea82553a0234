//! `through trace [PROFILE] -o run.json`: what happened when.

use std::io;

use serde_json::json;

use crate::cli::Trace;
use crate::error::Error;
use crate::filter::Filter;
use crate::message::say;
use crate::output;
use crate::query::catalog::Catalog;
use crate::query::timeline::{Clock, Messages, clocks, each};
use crate::render::chrome::{Chrome, accuracy};
use crate::show::{absent, no_match, opened};
use crate::units;

/// Whether there was any event.
pub fn trace(trace: &Trace) -> Result<bool, Error> {
    let profile = opened(&trace.input)?;
    let catalog = Catalog::read(&profile)?;
    let filter = Filter::of_transfers(&trace.calls, &trace.ways, &catalog)?;
    let clocks = clocks(&profile)?;
    if clocks.is_empty() {
        say(format_args!("{}: has no timeline: run the program with COMMSEE_TRACE=1", profile.path.display()));
        return Ok(false);
    }
    let messages = Messages::read(&profile, &catalog, &clocks)?;
    let accuracy = accuracy(error(&clocks), clocks.iter().all(|clock| clock.is_compared_twice));
    let sum = |of: fn(&Clock) -> i64| clocks.iter().fold(0i64, |sum, clock| sum.saturating_add(of(clock)));
    let lost = sum(|clock| clock.lost_events);
    let facts = json!({
        "profile": profile.path.display().to_string(),
        "command": catalog.meta.get("command"),
        "clocks": accuracy,
        "events": sum(|clock| clock.events),
        "lost_events": lost,
        "messages_matched": messages.matched,
        "messages_not_matched": messages.unmatched,
    });
    let (mut any, mut read) = (false, Ok(()));
    output::write(trace.output.as_deref(), |_, out| {
        let mut chrome = Chrome::begin(&catalog, &facts, out)?;
        let mut written: io::Result<()> = Ok(());
        read = each(&profile, &filter, &catalog, &messages, |event| {
            any = true;
            written = chrome.event(&event);
            written.is_ok()
        });
        written?;
        chrome.end()
    })?;
    read?;
    match any {
        false => no_match(&profile.path, &filter, &catalog, "events"),
        true => absent(&filter),
    }
    if let Some(file) = trace.output.as_ref().filter(|_| any) {
        say(format_args!(
            "{}: times {accuracy}; open it in https://ui.perfetto.dev or chrome://tracing",
            file.display()
        ));
    }
    if lost > 0 {
        let events = units::count(lost as u64, "event");
        say(format_args!("{events} had to make room for later ones: COMMSEE_TRACE=64M keeps more"));
    }
    if messages.unmatched > 0 {
        say(format_args!(
            "{} without an arrow: the other end is not on the timeline",
            units::count(messages.unmatched, "message")
        ));
    }
    Ok(any)
}

/// By how much the times of two ranks may be wrong against each other at most; none where a clock was never compared.
fn error(clocks: &[Clock]) -> Option<i64> {
    clocks.iter().map(|clock| clock.error_ns).try_fold(0, |most, error_ns| Some(error_ns?.max(most)))
}
