//! One entry of the ledger of a change.

use std::borrow::Cow;

use super::matching::How;
use super::reason::Reason;
use crate::statistics::Shift;

/// What time of the ranks it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// An operation on a communicator, by the number of its unit.
    Calls { unit: usize, op: String },
    /// Outside of MPI.
    Working,
    /// MPI time that is in no counter.
    Unexplained,
    /// From the end of each rank to that of the last one.
    EndSkew,
}

impl What {
    pub fn name(&self) -> &'static str {
        match self {
            What::Calls { .. } => "calls",
            What::Working => "working",
            What::Unexplained => "unexplained",
            What::EndSkew => "end skew",
        }
    }

    /// For people.
    pub fn words(&self) -> &'static str {
        match self {
            What::Calls { .. } => "in MPI",
            What::Working => "outside MPI",
            What::Unexplained => "in lost counters",
            What::EndSkew => "after its end",
        }
    }

    pub fn op(&self) -> Option<&str> {
        match self {
            What::Calls { op, .. } => Some(op),
            _ => None,
        }
    }
}

/// The communicator on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    pub names: [Option<String>; 2],
    pub label: Option<String>,
    /// For how many it stands on each side: all of one call where the runs have different numbers of ranks.
    pub members: [usize; 2],
}

impl Named {
    /// As the first side calls it, if it has it.
    pub fn name(&self) -> Option<&str> {
        self.names.iter().flatten().next().map(String::as_str)
    }
}

#[derive(Clone, Debug)]
pub struct Matched {
    pub comm: Named,
    /// Nothing: one side has none.
    pub how: Option<How>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub what: What,
    pub comm: Named,
    /// Over all ranks, mean over the runs, rounded so that all entries add up.
    pub delta_ns: i128,
    /// The change of the mean over the ranks.
    pub per_rank_ns: i64,
    /// The same by ranks, calls, bytes, waiting and speed.
    pub parts_ns: [i128; 5],
    /// [`Parts::before_ns`](super::reason::Parts::before_ns).
    pub before_ns: f64,
    /// Nothing: that there is a change is not certain.
    pub reason: Option<Reason>,
    /// The median of the runs of each side.
    pub calls: [i64; 2],
    pub bytes: [u64; 2],
    /// Whether runs of one side differ.
    pub calls_vary: bool,
    pub bytes_vary: bool,
    /// Whether all runs of one side have more calls, or more bytes per call, than all of the other.
    pub has_changed: (bool, bool),
    pub time: Change,
}

impl Entry {
    /// The reason for people, behind "because of". The time of a call more may fall by chance.
    pub fn because_of(&self) -> Option<Cow<'static, str>> {
        let reason = self.reason?;
        let is_against = reason.of_counts().is_some_and(|sign| sign * self.per_rank_ns.signum() < 0);
        Some(match is_against {
            true => Cow::Owned(format!("despite {}", reason.words())),
            false => Cow::Borrowed(reason.words()),
        })
    }
}

/// How sure the change of a time is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// By the test of Mann and Whitney; of entries for all of them together, by Holm's rule.
    pub p: Option<f64>,
    /// In seconds of run time: the mean over the ranks.
    pub shift: Option<Shift>,
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Slower,
    Faster,
    NotSignificant,
    NotTested,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::NotSignificant => "not significant",
            Verdict::NotTested => "not tested",
        }
    }

    pub fn is_certain(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Faster)
    }
}
