//! One thing that was found, with what shows it.

use std::borrow::Cow;

use commsee::ranks::Ranks;

use super::run::Run;
use super::topics::{Topic, topic};

/// How much it costs of the run time of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    High,
    Warn,
    Info,
}

/// Parts of ranks times run time. A tenth is what Periscope and Intel APS call a problem; below a hundredth nobody looks.
const HIGH: f64 = 0.10;
const WARN: f64 = 0.03;
const INFO: f64 = 0.01;

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::High => "high",
            Level::Warn => "warn",
            Level::Info => "info",
        }
    }
}

/// What a finding rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// Counts and sums of the profile.
    Exact,
    /// A bound that follows from them.
    Bound,
    Timeline,
    Datatypes,
}

impl Confidence {
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Exact => "exact",
            Confidence::Bound => "bound",
            Confidence::Timeline => "timeline",
            Confidence::Datatypes => "datatypes",
        }
    }
}

/// A number of the profile, what it was compared with, and the query that gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub what: &'static str,
    pub value: f64,
    pub threshold: f64,
    pub sql: String,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub topic: &'static Topic,
    pub comm: Option<i64>,
    pub op: Option<i64>,
    /// Who causes it, where that is somebody.
    pub ranks: Ranks,
    pub confidence: Confidence,
    /// Over all ranks.
    pub severity_ns: i128,
    /// By how much the run can get shorter at most, if it is mended.
    pub gain_bound_ns: i64,
    /// At least this, whatever it costs: it is wrong by its nature.
    pub floor: Option<Level>,
    /// At most this, whatever it costs: it may be the machine's, or harmless.
    pub ceiling: Option<Level>,
    pub evidence: Vec<Evidence>,
    /// The arguments of `through` that show it, behind the profile.
    pub command: String,
    /// What the texts of the topic leave open, by name.
    pub words: Vec<(&'static str, String)>,
    /// Other communicators made alike of which the same holds.
    pub alike: usize,
}

impl Finding {
    pub fn new(name: &'static str) -> Finding {
        Finding {
            topic: topic(name),
            comm: None,
            op: None,
            ranks: Ranks::default(),
            confidence: Confidence::Exact,
            severity_ns: 0,
            gain_bound_ns: 0,
            floor: None,
            ceiling: None,
            evidence: Vec::new(),
            command: String::new(),
            words: Vec::new(),
            alike: 0,
        }
    }

    pub fn on(mut self, comm: i64, op: Option<i64>) -> Finding {
        (self.comm, self.op) = (Some(comm), op);
        self
    }

    /// With a query over the views of the profile that gives the value.
    pub fn with(mut self, what: &'static str, value: f64, threshold: f64, sql: impl Into<String>) -> Finding {
        self.evidence.push(Evidence { what, value, threshold, sql: sql.into() });
        self
    }

    pub fn word(mut self, name: &'static str, word: impl Into<String>) -> Finding {
        self.words.push((name, word.into()));
        self
    }

    /// Nothing: it is not worth a line.
    pub fn level(&self, run: &Run) -> Option<Level> {
        let share = self.severity_ns as f64 / (run.ledger.whole_ns() as f64).max(1.0);
        let of_share = match share {
            share if share >= HIGH => Some(Level::High),
            share if share >= WARN => Some(Level::Warn),
            share if share >= INFO => Some(Level::Info),
            _ => None,
        };
        let level = of_share.into_iter().chain(self.floor).min()?;
        Some(self.ceiling.map_or(level, |ceiling| level.max(ceiling)))
    }

    /// The same on a communicator that was made alike, whose ranks are named as well.
    pub fn absorb(&mut self, other: Finding, is_named: bool) {
        self.severity_ns += other.severity_ns;
        self.gain_bound_ns = self.gain_bound_ns.max(other.gain_bound_ns);
        if is_named {
            self.ranks = self.ranks.with(&other.ranks);
        }
        self.alike += 1 + other.alike;
    }

    pub fn title(&self, run: &Run) -> String {
        self.filled(run, self.topic.title)
    }

    pub fn text(&self, run: &Run) -> String {
        format!("{} {}", self.filled(run, self.topic.text), self.filled(run, self.topic.advice))
    }

    /// A text with words in place of their names in braces.
    pub fn filled(&self, run: &Run, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, word) in self.own_words(run).iter().chain(&self.words) {
            filled = filled.replace(&format!("{{{name}}}"), word);
        }
        filled
    }

    fn own_words(&self, run: &Run) -> Vec<(&'static str, String)> {
        let comm = self.comm.map(|comm| run.title(comm)).unwrap_or_default();
        let comm = match self.alike {
            0 => comm,
            alike => format!("{comm} and {alike} more"),
        };
        let op: Cow<str> = self.op.map(|op| Cow::Borrowed(run.op(op))).unwrap_or_default();
        let ranks = match self.ranks.count() {
            1 => format!("rank {}", self.ranks),
            _ => format!("ranks {}", self.ranks),
        };
        vec![("comm", comm), ("op", op.into_owned()), ("ranks", ranks)]
    }
}
