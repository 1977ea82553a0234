//! Comma-separated values: samples as they were measured, or a line a result.

use std::io::{self, Write};

use crate::pattern::Pattern;
use crate::record::Outcome;

const KEY: [&str; 8] = ["family", "direction", "n", "g", "k", "library", "bytes", "step"];

fn key(outcome: &Outcome) -> Vec<String> {
    let key = &outcome.key;
    let [n, g, k, step] = [key.n, key.g, key.k, key.step].map(|number| number.to_string());
    vec![key.family.clone(), key.direction.clone(), n, g, k, key.library.clone(), key.bytes.to_string(), step]
}

/// `step,src,dst,bytes`, a line a message.
pub fn pairs(pattern: &Pattern, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["step", "src", "dst", "bytes"])?;
    for (index, step) in pattern.steps.iter().enumerate() {
        for message in &step.messages {
            writer.serialize((index, message.source, message.destination, message.bytes))?;
        }
    }
    writer.flush()
}

/// Samples of a result; the names of the columns if it is the first one.
pub fn samples(outcome: &Outcome, is_first: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    if is_first {
        writer.write_record(KEY.iter().chain(&["launch", "rep", "time_s", "wrong"]))?;
    }
    let key = key(outcome);
    let (launch, wrong) = (outcome.launch.to_string(), outcome.measured.wrong.to_string());
    for (rep, sample) in outcome.measured.samples.iter().enumerate() {
        let rest = [launch.clone(), rep.to_string(), seconds(sample.time_s), wrong.clone()];
        writer.write_record(key.iter().chain(&rest))?;
    }
    writer.flush()
}

/// A result as one line.
pub fn summaries(outcome: &Outcome, is_first: bool, out: &mut dyn Write) -> io::Result<()> {
    const NUMBERS: [&str; 12] = [
        "min_s",
        "median_s",
        "ci_lo_s",
        "ci_hi_s",
        "mean_s",
        "p95_s",
        "p99_s",
        "max_s",
        "reps",
        "stopped",
        "oversubscribed",
        "wrong",
    ];
    let mut writer = csv::Writer::from_writer(out);
    if is_first {
        writer.write_record(KEY.iter().chain(&NUMBERS))?;
    }
    let Some(summary) = outcome.summary() else { return writer.flush() };
    let bound = |bound: Option<f64>| bound.map(seconds).unwrap_or_default();
    let numbers = [
        seconds(summary.min),
        seconds(summary.median),
        bound(summary.interval.map(|interval| interval.low)),
        bound(summary.interval.map(|interval| interval.high)),
        seconds(summary.mean),
        seconds(summary.p95),
        seconds(summary.p99),
        seconds(summary.max),
        summary.samples.to_string(),
        outcome.measured.stopped.name().to_owned(),
        u8::from(outcome.oversubscribed).to_string(),
        outcome.measured.wrong.to_string(),
    ];
    writer.write_record(key(outcome).iter().chain(&numbers))?;
    writer.flush()
}

/// To the nanosecond, below which no clock here sees.
fn seconds(seconds: f64) -> String {
    format!("{seconds:.9}")
}
