//! `through compare`: what changed between two programs, or what goes together with the run time over many runs.

use std::path::PathBuf;

use through_core::Error;
use through_core::commands::{said, shown};
use through_core::query::open::Profile;
use through_core::render::output;
use through_core::text::message::say;
use through_core::text::units;
use through_core::views::Question;

use crate::cli::{Compare, Rise};
use crate::named::{once, tell_shared};
use crate::query::compare::changes::Comparison;
use crate::query::compare::entry::{Change, Verdict};
use crate::views::{correlate, diff};

/// The exit status: 1 where something rose by more than it may, or nothing is shown.
pub fn compare(arguments: &Compare) -> Result<u8, Error> {
    match (arguments.runs.as_slice(), arguments.against.as_slice()) {
        ([a, b], []) if arguments.by.is_empty() && arguments.table.is_none() => {
            changes(arguments, vec![a.clone()], vec![b.clone()])
        }
        (_, []) if arguments.fail_above.is_some() => {
            Err(Error::Argument("--fail-above needs two sides: A.db... -- B.db...".to_owned()))
        }
        ([_], []) => Err(Error::Argument("name two profiles or more".to_owned())),
        (_, []) => many(arguments),
        (a, b) => changes(arguments, once(a), once(b)),
    }
}

/// Many runs.
fn many(arguments: &Compare) -> Result<u8, Error> {
    let runs = once(&arguments.runs);
    let question = Question {
        top: arguments.entries.top(),
        format: arguments.written.format(),
        ..Question::new(Profile::open(&arguments.runs[0])?)
    };
    let ask = || correlate::document(&question, &runs, &arguments.by, arguments.table.as_deref());
    Ok(u8::from(!shown(&question, arguments.written.output.as_deref(), ask)?.is_found()))
}

/// Two programs.
fn changes(arguments: &Compare, a: Vec<PathBuf>, b: Vec<PathBuf>) -> Result<u8, Error> {
    // One run against itself is asked for on purpose.
    if a.len() + b.len() > 2 {
        tell_shared(&a, &b);
    }
    let question = Question {
        top: arguments.entries.top(),
        format: arguments.written.format(),
        ..Question::new(Profile::open(&a[0])?)
    };
    let (document, comparison) = diff::document(&question, &a, &b)?;
    output::print(&document, question.format, arguments.written.output.as_deref())?;
    said(&document).iter().for_each(say);
    let rises = arguments.fail_above.map(|rise| rises(&comparison, rise)).unwrap_or_default();
    rises.iter().for_each(say);
    Ok(u8::from(!rises.is_empty()))
}

/// What rose by more. Of few runs the numbers as they are; of four a side or more what is more than chance.
fn rises(comparison: &Comparison, rise: Rise) -> Vec<String> {
    let allowed_s = rise.seconds(comparison.run_time_ns[0] as f64 / 1e9);
    let shift_s = |change: &Change| change.shift.map_or(0.0, |shift| shift.shift);
    let is_above = |change: &Change| {
        let is_certain = change.verdict.is_none_or(|verdict| verdict == Verdict::Slower);
        shift_s(change) > allowed_s && is_certain
    };
    let sentence = |what: &str, change: &Change| {
        let [by, allowed] = [shift_s(change), allowed_s].map(|seconds| units::time((seconds * 1e9) as i64));
        format!("{what} rose by {by}, more than {allowed}")
    };
    let mut rises = Vec::new();
    if is_above(&comparison.run_time) {
        rises.push(sentence("the run time", &comparison.run_time));
    }
    for entry in comparison.entries.iter().filter(|entry| entry.time.verdict == Some(Verdict::Slower)) {
        if is_above(&entry.time) {
            let what = match (entry.what.op(), entry.comm.name()) {
                (Some(op), Some(comm)) => format!("{op} on {comm}"),
                _ => format!("the time {}", entry.what.words()),
            };
            rises.push(sentence(&what, &entry.time));
        }
    }
    rises
}
