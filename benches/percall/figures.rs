//! What was measured.

use super::cases::{Case, Length, Program};

/// What one iteration of a case costs.
#[derive(Clone, Copy)]
pub struct Figures {
    pub ns: f64,
    pub grown_bytes: f64,
    pub instructions: Option<f64>,
}

#[derive(Clone)]
pub struct Row {
    pub case: &'static Case,
    pub alone: Figures,
    /// With the library that only reads the clock.
    pub floor: Option<Figures>,
    /// By library; none where it failed.
    pub with: Vec<Option<Figures>>,
}

/// The floor of a single call, in a loop of nothing else.
#[derive(Clone, Copy)]
pub struct Floor {
    pub ns: f64,
    /// Of the time-stamp counter.
    pub ticks: f64,
}

/// The figures of one machine.
#[derive(Clone)]
pub struct Measured {
    pub processor: String,
    /// As the MPI library says it, such as `Open MPI v4.1.4`.
    pub version: String,
    pub rounds: usize,
    /// The share of the processors' time that went to other work on the machine.
    pub others: f64,
    pub floor: Floor,
    pub threads_floor_ns: Option<f64>,
    /// As the threads say it.
    pub pinned: Option<String>,
    pub libraries: Vec<String>,
    pub rows: Vec<Row>,
}

impl Measured {
    /// What a library adds, as a ratio to the floor of a single call, times the calls. Communicators are made rarely, and
    /// what a wrapper does then is no matter of clocks.
    pub fn per_call(&self, row: &Row, with: &Figures) -> Option<f64> {
        let floor = if row.case.program == Program::Threads { self.threads_floor_ns? } else { self.floor.ns };
        (!row.is_rare()).then(|| (with.ns - row.alone.ns) / (floor * f64::from(row.case.calls)))
    }
}

impl Row {
    /// The same as a ratio to what the case costs more with the library that only reads the clock.
    pub fn per_case(&self, with: &Figures) -> Option<f64> {
        let floor_ns = self.floor_ns().filter(|floor_ns| *floor_ns > self.noise_ns())?;
        (!self.is_rare()).then(|| (with.ns - self.alone.ns) / floor_ns)
    }

    pub fn floor_ns(&self) -> Option<f64> {
        Some(self.floor?.ns - self.alone.ns)
    }

    /// Where threads or ranks wait for one another, so much is within what two runs differ by.
    fn noise_ns(&self) -> f64 {
        if matches!(self.case.program, Program::Threads | Program::Pair) { self.alone.ns / 10.0 } else { 0.0 }
    }

    /// What a library adds.
    pub fn instructions(&self, with: &Figures) -> Option<f64> {
        Some(with.instructions? - self.alone.instructions?)
    }

    fn is_rare(&self) -> bool {
        matches!(self.case.length, Length::Fixed(..))
    }
}
