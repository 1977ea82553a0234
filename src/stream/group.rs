//! The calls of one communicator, operation, message-size bucket and phase: per rank, and summed up.

use serde::{Deserialize, Serialize};

use super::identity::Identity;
use crate::counters::{Calls, Counter, Merge};

/// Ranks whose rows travel together. It bounds what is held of one group at a time.
pub const BLOCK_RANKS: u32 = 4096;

/// The phase of a sum over all phases.
pub const ALL_PHASES: u64 = u64::MAX;

/// All ranks together.
pub const NO_RANK: u32 = u32::MAX;

/// What a group is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub identity: Identity,
    pub operation: u16,
    pub bucket: u8,
    /// Hash of the phase's name; 0 is outside any, [`ALL_PHASES`] over all.
    pub phase: u64,
}

/// What one rank, or the ranks of one node, counted in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The rank, or the hash of the node's name: rows of one location become one.
    pub location: u64,
    /// The lowest of the ranks.
    pub rank: u32,
    pub counted: Calls,
}

impl Row {
    pub fn add(&mut self, other: &Row) {
        self.rank = self.rank.min(other.rank);
        self.counted.add(&other.counted);
    }
}

/// Rows of a group, ascending by location: those of [`BLOCK_RANKS`] ranks, or of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Each {
    pub key: Key,
    pub block: u32,
    pub rows: Vec<Row>,
}

impl Each {
    /// Adds another part of the same block.
    pub fn add(&mut self, other: Each) {
        let is_behind = |last: &Row, first: &Row| last.location < first.location;
        match (self.rows.last(), other.rows.first(), self.rows.first(), other.rows.last()) {
            (Some(last), Some(first), ..) if is_behind(last, first) => self.rows.extend(other.rows),
            (_, _, Some(first), Some(last)) if is_behind(last, first) => {
                let behind = std::mem::replace(&mut self.rows, other.rows);
                self.rows.extend(behind);
            }
            _ => {
                self.rows.extend(other.rows);
                self.rows.sort_by_key(|row| row.location);
                self.rows.dedup_by(|more, row| {
                    let is_same = more.location == row.location;
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
    /// Those counters that are summed up; the others are 0.
    pub sums: Calls,
    /// The most of one rank, where that is told; the others are 0.
    pub most: Calls,
    /// The time of the rank that spent least, and of the one that spent most.
    pub rank_least: Peak,
    pub rank_most: Peak,
    /// Extremes of single calls, in the order of the table. None where no rank made a call: bytes may come without one.
    pub extremes: [Option<Peak>; Calls::EXTREMES],
}

impl Totals {
    /// Of the row of one rank.
    pub fn of(row: &Row) -> Totals {
        let peak = |ns| Peak { ns, rank: row.rank };
        let counted = &row.counted;
        let mut extremes = counted.only(|counter| !counter.is_sum()).filter(|_| counted.calls > 0);
        Totals {
            ranks: 1,
            sums: counted.keep(Counter::is_sum),
            most: counted.keep(|counter| counter.has_most),
            rank_least: peak(counted.time_ns),
            rank_most: peak(counted.time_ns),
            extremes: std::array::from_fn(|_| extremes.next().map(peak)),
        }
    }

    pub fn add(&mut self, other: &Totals) {
        self.ranks = self.ranks.wrapping_add(other.ranks);
        self.sums.add(&other.sums);
        let (own, others) = (self.most.values(), other.most.values());
        self.most = Calls::of_values(std::array::from_fn(|at| own[at].max(others[at])));
        self.rank_least = self.rank_least.least(other.rank_least);
        self.rank_most = self.rank_most.most(other.rank_most);
        for ((_, counter), (own, other)) in Calls::extremes().zip(self.extremes.iter_mut().zip(other.extremes)) {
            *own = match (*own, other) {
                (Some(one), Some(other)) if matches!(counter.merge, Merge::Least(_)) => Some(one.least(other)),
                (Some(one), Some(other)) => Some(one.most(other)),
                (one, other) => one.or(other),
            };
        }
    }

    /// The row that the totals of a single rank were made of.
    pub fn single(&self) -> Row {
        let Peak { ns: _, rank } = self.rank_most;
        let mut values = self.sums.values();
        for ((at, _), peak) in Calls::extremes().zip(self.extremes) {
            values[at] = peak.map_or(0, |peak| peak.ns);
        }
        Row { location: rank.into(), rank, counted: Calls::of_values(values) }
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
        let counted = Calls { calls, bytes_sent: 8, time_ns, time_min_ns, time_max_ns, ..Calls::default() };
        Row { location: rank.into(), rank, counted }
    }

    #[test]
    fn rows_lie_in_the_order_of_locations() {
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
        let both = Calls { calls: 4, bytes_sent: 16, time_ns: 160, ..b.counted };
        assert_eq!(twice.rows[1], Row { counted: both, ..b });
    }

    #[test]
    fn extremes_name_the_lowest_rank_that_had_them() {
        let mut totals = Totals::of(&row(3, 2, 80));
        totals.add(&Totals::of(&row(1, 5, 80)));
        totals.add(&Totals::of(&row(2, 1, 40)));
        let most = totals.most.calls;
        assert_eq!((totals.ranks, totals.sums.calls, most, totals.sums.time_ns), (3, 8, 5, 200));
        assert_eq!((totals.rank_most, totals.rank_least), (Peak { ns: 80, rank: 1 }, Peak { ns: 40, rank: 2 }));
        assert_eq!(totals.extremes, [Some(Peak { ns: 10, rank: 2 }), Some(Peak { ns: 40, rank: 1 })]);
        let mut none = Totals::of(&row(7, 0, 0));
        assert_eq!(none.extremes, [None; 2]);
        none.add(&totals);
        assert_eq!(none.extremes, totals.extremes);
    }

    #[test]
    fn a_single_row_comes_back_from_its_totals() {
        let one = row(3, 2, 80);
        assert_eq!(Totals::of(&one).single(), one);
    }
}
