//! One thing that was found, with what shows it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use commsee::ranks::Ranks;

use super::gain::Gain;
use super::run::Run;
use super::topics::{Topic, topic};

/// How much of its time the run gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    High,
    Warn,
    Info,
}

/// What of a text is the line that calls.
const AT: &str = "{at}";

/// Parts of the run time. A tenth is what Periscope and Intel APS call a problem; below a hundredth nobody looks.
const HIGH: f64 = 0.10;
const WARN: f64 = 0.03;
pub const INFO: f64 = 0.01;

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

/// What is said at most, whatever it costs, and why, as the end of a sentence; nothing where the text says so anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    pub level: Level,
    pub why: &'static str,
}

/// A number of the profile, what it was compared with, and the query that gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub what: &'static str,
    pub value: f64,
    pub threshold: f64,
    pub sql: String,
}

/// What is said in place of a topic's words, where the cause is known better.
#[derive(Debug)]
pub struct Known {
    pub title: &'static str,
    pub advice: &'static str,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub topic: &'static Topic,
    pub comm: Option<i64>,
    pub op: Option<i64>,
    /// Who causes it, where that is somebody.
    pub ranks: Ranks,
    pub confidence: Confidence,
    /// What the run gains if it is fixed.
    pub gain: Gain,
    /// That, beyond what costlier findings gain.
    pub gain_ns: i64,
    pub known: Option<&'static Known>,
    /// Waits that end with this one.
    pub explains: Vec<Finding>,
    /// At least this, whatever it costs: it is wrong by its nature.
    pub floor: Option<Level>,
    /// It may be the machine's, or harmless.
    pub ceiling: Option<Ceiling>,
    pub evidence: Vec<Evidence>,
    /// The arguments of `through` that show it, behind the profile.
    pub command: String,
    /// What the texts of the topic leave open, by name.
    pub words: Vec<(&'static str, String)>,
    /// Other communicators made alike of which the same holds.
    pub others: BTreeSet<i64>,
    /// Findings that this one stands for: itself, and those that it absorbed.
    pub together: usize,
    /// Who causes it on `comm`, where others were absorbed.
    pub own_ranks: Option<Ranks>,
}

impl Finding {
    pub fn new(name: &str) -> Finding {
        Finding::of(topic(name))
    }

    pub fn of(topic: &'static Topic) -> Finding {
        Finding {
            topic,
            comm: None,
            op: None,
            ranks: Ranks::default(),
            confidence: Confidence::Exact,
            gain: Gain::default(),
            gain_ns: 0,
            known: None,
            explains: Vec::new(),
            floor: None,
            ceiling: None,
            evidence: Vec::new(),
            command: String::new(),
            words: Vec::new(),
            others: BTreeSet::new(),
            together: 1,
            own_ranks: None,
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
        let level = self.level_by_cost(run)?;
        Some(self.ceiling.map_or(level, |ceiling| level.max(ceiling.level)))
    }

    /// What it would be without a ceiling.
    fn level_by_cost(&self, run: &Run) -> Option<Level> {
        let of_share = match run.share(self.gain_ns) {
            share if share >= HIGH => Some(Level::High),
            share if share >= WARN => Some(Level::Warn),
            share if share >= INFO => Some(Level::Info),
            _ => None,
        };
        of_share.into_iter().chain(self.floor).min()
    }

    /// How many more communicators it holds for.
    pub fn alike(&self) -> usize {
        self.others.len()
    }

    /// The same on a communicator that was made alike, whose ranks are named as well.
    pub fn absorb(&mut self, other: Finding, is_named: bool) {
        self.gain.add(&other.gain);
        self.own_ranks.get_or_insert_with(|| self.ranks.clone());
        if is_named {
            self.ranks = self.ranks.with(&other.ranks);
        }
        self.others.extend(other.comm.into_iter().chain(other.others).filter(|comm| Some(*comm) != self.comm));
        self.together += other.together;
    }

    /// Of all that it stands for.
    pub fn title(&self, run: &Run) -> String {
        let made = self.comm.map(|comm| run.made(comm)).unwrap_or_default();
        let comm = match self.alike() {
            0 => made,
            // In brackets: the operation is one.
            alike => format!("{made} (and {alike} more)"),
        };
        self.filled(run, self.known.map_or(self.topic.title, |known| known.title), comm, &self.ranks)
    }

    /// What was seen, of the costliest communicator alone, and what to try.
    pub fn text(&self, run: &Run) -> String {
        let parts = [self.seen(run), self.advice(run)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// What was seen, of the costliest communicator alone.
    pub fn seen(&self, run: &Run) -> String {
        let comm = self.comm.map(|comm| run.title(comm)).unwrap_or_default();
        let text = self.topic.text;
        let of_one = match self.together {
            1 => None,
            _ if self.alike() == 0 => Some(format!("The costliest of {}", self.together)),
            _ if text.contains("{comm}") => None,
            _ => Some(format!("On {comm}")),
        };
        let text = match of_one {
            None => text.to_owned(),
            // A name stays as it is.
            Some(of_one) if text.starts_with("MPI") => format!("{of_one}: {text}"),
            Some(of_one) => format!("{of_one}: {}{}", text[..1].to_lowercase(), &text[1..]),
        };
        self.filled(run, &text, comm, self.own_ranks.as_ref().unwrap_or(&self.ranks))
    }

    /// What to try.
    pub fn advice(&self, run: &Run) -> String {
        let comm = self.comm.map(|comm| run.title(comm)).unwrap_or_default();
        let advice = self.known.map_or(self.topic.advice, |known| known.advice);
        self.filled(run, advice, comm, self.own_ranks.as_ref().unwrap_or(&self.ranks))
    }

    /// Why it has no higher level, where its gain alone would give it one.
    pub fn why_low(&self, run: &Run) -> Option<&'static str> {
        let is_lowered = |ceiling: &Ceiling| self.level_by_cost(run).is_some_and(|level| level < ceiling.level);
        self.ceiling.filter(is_lowered).map(|ceiling| ceiling.why).filter(|why| !why.is_empty())
    }

    /// A text with words in place of their names in braces.
    fn filled(&self, run: &Run, text: &str, comm: String, ranks: &Ranks) -> String {
        let op: Cow<str> = self.op.map(|op| Cow::Borrowed(run.op(op))).unwrap_or_default();
        let (named, s, es, is) = match ranks.count() {
            1 => (format!("rank {ranks}"), "s", "es", "is"),
            _ => (format!("ranks {ranks}"), "", "", "are"),
        };
        let begin = format!("R{}", &named[1..]);
        let own = [
            ("comm", comm),
            ("op", op.into_owned()),
            ("ranks", named),
            ("Ranks", begin),
            ("s", s.to_owned()),
            ("es", es.to_owned()),
            ("is", is.to_owned()),
        ];
        let mut filled = text.to_owned();
        if text.contains(AT) {
            let line = self.comm.zip(self.op).and_then(|(comm, op)| super::lines::heaviest(run, comm, op));
            filled = filled.replace(AT, &line.map(|line| format!(" at {line}")).unwrap_or_default());
        }
        for (name, word) in own.iter().chain(&self.words) {
            filled = filled.replace(&format!("{{{name}}}"), word);
        }
        filled
    }
}
