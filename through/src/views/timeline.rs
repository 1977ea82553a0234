//! What happened when.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;

use super::{Context, Flag, Question, View, nothing};
use crate::document::{Document, Drawing, Format, Found};
use crate::error::Error;
use crate::query::timeline::{Clock, Messages, clocks};
use crate::render::chrome::Timeline;
use crate::text::units;

pub const VIEW: View = View {
    name: "timeline",
    command: "export perfetto",
    flag: Flag::Default,
    help: "Timeline of calls",
    meaning: "the timeline, for Perfetto and Chrome",
    note: "",
    formats: &[Format::Trace],
    sorts: &[],
    entries: "events",
    lacks: &[],
    empty: "the profile has no events",
    parts: &[],
    ask,
};

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Context::of(question)?;
    let profile = &context.profile;
    let clocks = clocks(profile)?;
    if clocks.is_empty() {
        let how = "has no timeline: run the program with `through run --trace`";
        return Ok(Document {
            found: Found::NotRecorded,
            reasons: vec![format!("{}: {how}", profile.path.display())],
            ..Document::new(context.head(), VIEW.entries)
        });
    }
    let messages = Messages::read(profile, &context.catalog)?;
    let accuracy = accuracy(error(&clocks), clocks.iter().all(|clock| clock.is_compared_twice));
    let sum = |of: fn(&Clock) -> i64| clocks.iter().fold(0i64, |sum, clock| sum.saturating_add(of(clock)));
    let lost = sum(|clock| clock.lost_events);
    let notes = json!({
        "profile": profile.path.display().to_string(),
        "command": context.catalog.meta.get("command"),
        "clocks": accuracy,
        "events": sum(|clock| clock.events),
        "lost_events": lost,
        "messages_matched": messages.matched,
        "messages_not_matched": messages.unmatched,
    });
    let mut beside = Vec::new();
    if lost > 0 {
        let events = units::count(lost as u64, "event");
        beside.push(format!("{events} were overwritten (ring buffer full): through run --trace=64M keeps more"));
    }
    if messages.unmatched > 0 {
        let messages = units::count(messages.unmatched, "message");
        beside.push(format!("{messages} without an arrow: the other end is not on the timeline"));
    }
    let any = Rc::new(Cell::new(false));
    let reasons = nothing::no_match(&context, VIEW.empty).into_iter().chain(beside.clone()).collect();
    let remarks = nothing::absent(&context.filter).into_iter().chain(beside).collect();
    let timeline = Timeline {
        profile: Rc::clone(profile),
        catalog: Rc::clone(&context.catalog),
        filter: Rc::clone(&context.filter),
        messages,
        notes,
        any: Rc::clone(&any),
    };
    Ok(Document {
        words: vec![("clocks", accuracy)],
        drawings: vec![(Format::Trace, Box::new(timeline) as Box<dyn Drawing>)],
        found: Found::Later(any),
        remarks,
        reasons,
        ..Document::new(context.head(), VIEW.entries)
    })
}

/// By how much the times of two ranks may be wrong against each other at most; none where a clock was never compared.
fn error(clocks: &[Clock]) -> Option<i64> {
    clocks.iter().map(|clock| clock.error_ns).try_fold(0, |most, error_ns| Some(error_ns?.max(most)))
}

/// What is known of the clocks, in words. Where a job was killed nobody knows how they drifted.
fn accuracy(error_ns: Option<i64>, are_compared_twice: bool) -> String {
    let when = if are_compared_twice { "" } else { " at the start" };
    match error_ns {
        Some(error_ns) => format!("within {} of the clock of rank 0{when}", units::time(error_ns)),
        None => "each rank's own clock".to_owned(),
    }
}
