//! One JSON document: the run, and all results with their samples.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::record::{Outcome, Run};

pub struct Json {
    run: Value,
    results: Vec<Value>,
}

impl Json {
    pub fn new(run: &Run) -> serde_json::Result<Json> {
        Ok(Json { run: serde_json::to_value(run)?, results: Vec::new() })
    }

    /// `is_whole`: with its samples.
    pub fn add(&mut self, outcome: &Outcome, is_whole: bool) {
        let summary = outcome.summary();
        let measured = &outcome.measured;
        let mut result = json!({
            "key": outcome.key,
            "size": outcome.size,
            "launch": outcome.launch,
            "buffers": outcome.buffers(),
            "reps": measured.samples.len(),
            "executions": measured.executions,
            "stopped": measured.stopped.name(),
            "oversubscribed": outcome.oversubscribed,
            "wrong": measured.wrong,
            "half_trip_s": measured.half_trip_s,
            "flag": measured.flag(),
            "rank_medians_s": measured.rank_medians_s.iter().map(|median| Some(*median).filter(|one| one.is_finite())).collect::<Vec<_>>(),
            "span_s": outcome.median_of(|sample| sample.span_s),
            "skew_s": outcome.median_of(|sample| sample.skew_s),
        });
        if let (Some(summary), Some(fields)) = (summary, result.as_object_mut()) {
            let numbers = json!({
                "min_s": summary.min, "median_s": summary.median, "mean_s": summary.mean, "p95_s": summary.p95,
                "p99_s": summary.p99, "max_s": summary.max,
                "ci_lo_s": summary.interval.map(|interval| interval.low),
                "ci_hi_s": summary.interval.map(|interval| interval.high),
                "bandwidth": outcome.bandwidth(summary.median),
            });
            fields.extend(numbers.as_object().cloned().unwrap_or_default());
            if is_whole {
                let samples = measured.samples.iter().map(|sample| {
                    json!({ "time_s": sample.time_s, "span_s": sample.span_s, "skew_s": sample.skew_s, "slowest": sample.slowest })
                });
                fields.insert("samples".to_owned(), samples.collect());
            }
        }
        self.results.push(result);
    }

    pub fn write(self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &json!({ "run": self.run, "results": self.results }))?;
        writeln!(out)
    }
}
