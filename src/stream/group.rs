//! The calls of one communicator, operation, message-size bucket and phase: per rank, and summed up.

use serde::{Deserialize, Serialize};

use super::Identity;

/// Ranks whose rows travel together. It bounds what is held of one group at a time.
pub const BLOCK_RANKS: u32 = 4096;

/// All ranks together.
pub const NO_RANK: u32 = u32::MAX;

/// What a group is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub identity: Identity,
    pub operation: u16,
    pub bucket: u8,
    /// Hash of the phase's name; 0 is outside any, [`super::ALL_PHASES`] over all.
    pub phase: u64,
}

/// What one rank, or the ranks of one node, counted in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The rank, or the hash of the node's name: rows of one place become one.
    pub place: u64,
    /// The lowest of the ranks.
    pub rank: u32,
    pub calls: u64,
    pub failed: u64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: u64,
    /// The shortest and the longest call; both 0 where there is none.
    pub time_min_ns: u64,
    pub time_max_ns: u64,
}

impl Row {
    pub fn add(&mut self, other: &Row) {
        (self.time_min_ns, self.time_max_ns) = match (self.calls, other.calls) {
            (_, 0) => (self.time_min_ns, self.time_max_ns),
            (0, _) => (other.time_min_ns, other.time_max_ns),
            _ => (self.time_min_ns.min(other.time_min_ns), self.time_max_ns.max(other.time_max_ns)),
        };
        self.rank = self.rank.min(other.rank);
        self.calls = self.calls.wrapping_add(other.calls);
        self.failed = self.failed.wrapping_add(other.failed);
        self.bytes_sent = self.bytes_sent.wrapping_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.wrapping_add(other.bytes_recv);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// Rows of a group, ascending by place: those of [`BLOCK_RANKS`] ranks, or of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Each {
    pub key: Key,
    pub block: u32,
    pub rows: Vec<Row>,
}

impl Each {
    /// Adds another part of the same block.
    pub fn add(&mut self, other: Each) {
        let is_behind = |last: &Row, first: &Row| last.place < first.place;
        match (self.rows.last(), other.rows.first(), self.rows.first(), other.rows.last()) {
            (Some(last), Some(first), ..) if is_behind(last, first) => self.rows.extend(other.rows),
            (_, _, Some(first), Some(last)) if is_behind(last, first) => {
                let behind = std::mem::replace(&mut self.rows, other.rows);
                self.rows.extend(behind);
            }
            _ => {
                self.rows.extend(other.rows);
                self.rows.sort_by_key(|row| row.place);
                self.rows.dedup_by(|more, row| {
                    let is_same = more.place == row.place;
                    if is_same {
                        row.add(more);
                    }
                    is_same
                });
            }
        }
    }
}

/// An extreme, and the rank that had it; of equal ones the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    pub ns: u64,
    pub rank: u32,
}

impl Peak {
    pub fn least(self, other: Peak) -> Peak {
        if (other.ns, other.rank) < (self.ns, self.rank) { other } else { self }
    }

    pub fn most(self, other: Peak) -> Peak {
        let is_more = other.ns > self.ns || (other.ns == self.ns && other.rank < self.rank);
        if is_more { other } else { self }
    }
}

/// Sums over ranks, and the extremes among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub ranks: u64,
    pub calls: u64,
    pub calls_max: u64,
    pub failed: u64,
    pub failed_max: u64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: u64,
    pub rank_least: Peak,
    pub rank_most: Peak,
    /// None where no rank made a call: bytes may come without one.
    pub call_shortest: Option<Peak>,
    pub call_longest: Option<Peak>,
}

impl Totals {
    /// Of the row of one rank.
    pub fn of(row: &Row) -> Totals {
        let peak = |ns| Peak { ns, rank: row.rank };
        let call = |ns| (row.calls > 0).then_some(peak(ns));
        Totals {
            ranks: 1,
            calls: row.calls,
            calls_max: row.calls,
            failed: row.failed,
            failed_max: row.failed,
            bytes_sent: row.bytes_sent,
            bytes_recv: row.bytes_recv,
            time_ns: row.time_ns,
            rank_least: peak(row.time_ns),
            rank_most: peak(row.time_ns),
            call_shortest: call(row.time_min_ns),
            call_longest: call(row.time_max_ns),
        }
    }

    pub fn add(&mut self, other: &Totals) {
        let either = |a: Option<Peak>, b: Option<Peak>, of_both: fn(Peak, Peak) -> Peak| match (a, b) {
            (Some(a), Some(b)) => Some(of_both(a, b)),
            (a, b) => a.or(b),
        };
        self.ranks = self.ranks.wrapping_add(other.ranks);
        self.calls = self.calls.wrapping_add(other.calls);
        self.calls_max = self.calls_max.max(other.calls_max);
        self.failed = self.failed.wrapping_add(other.failed);
        self.failed_max = self.failed_max.max(other.failed_max);
        self.bytes_sent = self.bytes_sent.wrapping_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.wrapping_add(other.bytes_recv);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.rank_least = self.rank_least.least(other.rank_least);
        self.rank_most = self.rank_most.most(other.rank_most);
        self.call_shortest = either(self.call_shortest, other.call_shortest, Peak::least);
        self.call_longest = either(self.call_longest, other.call_longest, Peak::most);
    }
}

/// A group summed up over ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    pub key: Key,
    pub totals: Totals,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: u32, calls: u64, time_ns: u64) -> Row {
        let (time_min_ns, time_max_ns) = (time_ns / 4, time_ns / 2);
        Row {
            place: rank.into(),
            rank,
            calls,
            failed: 0,
            bytes_sent: 8,
            bytes_recv: 0,
            time_ns,
            time_min_ns,
            time_max_ns,
        }
    }

    #[test]
    fn rows_lie_in_the_order_of_places() {
        let key = Key { identity: [1, 2], operation: 3, bucket: 0, phase: 0 };
        let each = |rows: &[Row]| Each { key, block: 0, rows: rows.to_vec() };
        let (a, b, c) = (row(0, 1, 40), row(1, 2, 80), row(2, 3, 120));
        for (mut one, other) in [
            (each(&[a, b]), each(&[c])),
            (each(&[c]), each(&[a, b])),
            (each(&[a, c]), each(&[b])),
            (each(&[]), each(&[a, b, c])),
        ] {
            one.add(other);
            assert_eq!(one.rows, [a, b, c]);
        }
        let mut twice = each(&[a, b]);
        twice.add(each(&[b, c]));
        assert_eq!(twice.rows[1], Row { calls: 4, bytes_sent: 16, time_ns: 160, ..b });
    }

    #[test]
    fn extremes_name_the_lowest_rank_that_had_them() {
        let mut totals = Totals::of(&row(3, 2, 80));
        totals.add(&Totals::of(&row(1, 5, 80)));
        totals.add(&Totals::of(&row(2, 1, 40)));
        assert_eq!((totals.ranks, totals.calls, totals.calls_max, totals.time_ns), (3, 8, 5, 200));
        assert_eq!((totals.rank_most, totals.rank_least), (Peak { ns: 80, rank: 1 }, Peak { ns: 40, rank: 2 }));
        assert_eq!(totals.call_longest, Some(Peak { ns: 40, rank: 1 }));
        let mut none = Totals::of(&row(7, 0, 0));
        assert_eq!(none.call_shortest, None);
        none.add(&totals);
        assert_eq!(none.call_shortest, totals.call_shortest);
    }
}
