//! What a run leaves: rows that every output is made of.

use std::collections::BTreeMap;

use commsee::bench::Summary;
use serde::Serialize;

use crate::measure::{Measured, Sample};
use crate::pattern::Shape;

#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub launch: u64,
    pub started: String,
    pub command: String,
    pub fingerprint: String,
    pub seed: u64,
    pub ranks: usize,
    pub hosts: usize,
    pub group_by: String,
    pub sync: &'static str,
    pub clock_error_s: f64,
    pub oversubscribed: bool,
    pub environment: BTreeMap<String, String>,
    pub rank: Vec<RankOf>,
}

/// Where a rank is.
#[derive(Clone, Debug, Serialize)]
pub struct RankOf {
    pub host: String,
    pub cpus: String,
    /// Group and index in it.
    pub place: Option<(usize, usize)>,
}

/// What was asked for: what tells a result from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    pub family: String,
    pub direction: String,
    pub n: usize,
    pub g: usize,
    pub k: usize,
    pub library: String,
    pub bytes: u64,
    /// Of its steps the one that was measured alone, from 1; 0: the whole pattern.
    pub step: usize,
}

impl Key {
    pub fn shape(&self) -> Shape {
        Shape { n: self.n, g: self.g }
    }

    /// Of the pattern that it is a step of.
    pub fn whole(&self) -> Key {
        Key { step: 0, ..self.clone() }
    }
}

/// What a pattern is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Size {
    pub steps: usize,
    pub messages: usize,
    pub message_bytes: u64,
    pub total_bytes: u64,
    pub group_bytes: u64,
    pub rank_bytes: u64,
    pub crosses_hosts: bool,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub key: Key,
    pub size: Size,
    pub is_cold: bool,
    pub oversubscribed: bool,
    pub launch: u64,
    pub measured: Measured,
}

impl Outcome {
    /// `None` if it was interrupted before its first execution that counts.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.measured.times_s())
    }

    /// Bytes per second that leave or enter the busiest group; of the busiest rank where none leave a group.
    pub fn bandwidth(&self, seconds: f64) -> f64 {
        let bytes = if self.size.group_bytes > 0 { self.size.group_bytes } else { self.size.rank_bytes };
        bytes as f64 / seconds
    }

    pub fn median_of(&self, value: impl Fn(&Sample) -> f64) -> f64 {
        let values: Vec<f64> = self.measured.samples.iter().map(value).collect();
        Summary::of(&values).map_or(f64::NAN, |summary| summary.median)
    }

    pub fn buffers(&self) -> &'static str {
        if self.is_cold { "cold" } else { "warm" }
    }
}
