//! The counters: one row each. From a row follow what a process tells ([`Calls::read`]), how two are merged, how they travel
//! (`stream::code`), the columns of tables and views (`profile::schema`) with what is written into them, what `through` reads, and the
//! page docs/reference/counters.md. A row that lacks a part does not compile.

use serde::{Deserialize, Serialize};

use crate::shard::{self, BUCKET_FAILED, BUCKET_INVOLVED, Bound, Cell};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Bytes,
    /// Shown in seconds. Its column in a table ends with `_ns`, in a view with `_s`.
    Nanoseconds,
}

/// What two values become: of two threads, two phases, or two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Sum,
    /// The least single value of the counter that it names.
    Least(&'static str),
    /// The greatest one.
    Most(&'static str),
}

/// Where a profile has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Most ranks have the same: once for all of them, in the column of `uneven_total` named here, which is null where it is the mean,
    /// and apart in `uneven_cell` for ranks that differ. The sum is a column of `total`.
    Common(&'static str),
    /// The same of what is mostly zero. The sum is a column of `uneven_total`.
    Rare(&'static str),
    /// Ranks differ: a column of `cell`. The sum is a column of `total`.
    Each,
    /// A column of its own table.
    Column,
}

/// One counter.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    pub name: &'static str,
    pub unit: Unit,
    pub merge: Merge,
    pub stored: Stored,
    /// Whether a profile tells the most of one rank as well.
    pub has_most: bool,
    pub meaning: &'static str,
}

impl Counter {
    #[inline(always)]
    pub const fn is_sum(&self) -> bool {
        matches!(self.merge, Merge::Sum)
    }

    #[inline(always)]
    pub const fn is_common(&self) -> bool {
        matches!(self.stored, Stored::Common(_) | Stored::Rare(_))
    }

    /// Its name without the unit.
    pub fn stem(&self) -> &'static str {
        self.name.strip_suffix("_ns").unwrap_or(self.name)
    }

    /// Its column in a view.
    pub fn column(&self) -> String {
        self.in_view(self.name)
    }

    /// A column of its unit in a view, by the name that it has in tables.
    pub fn in_view(&self, name: &str) -> String {
        match self.unit {
            Unit::Nanoseconds => name.strip_suffix("_ns").unwrap_or(name).to_owned() + "_s",
            Unit::Count | Unit::Bytes => name.to_owned(),
        }
    }
}

/// Merge and unit are constants where this is called.
#[inline(always)]
fn merged(merge: Merge, unit: Unit, one: u64, other: u64, are_counted: (bool, bool)) -> u64 {
    match (merge, are_counted) {
        (Merge::Sum, _) if unit == Unit::Nanoseconds => one.saturating_add(other),
        // A count below zero stems from a process that was ended between two additions.
        (Merge::Sum, _) => one.wrapping_add(other),
        (_, (_, false)) => one,
        (_, (false, true)) => other,
        (Merge::Least(_), _) => one.min(other),
        (Merge::Most(_), _) => one.max(other),
    }
}

/// Makes a struct of counters. `of`: what they are read from. `where`: the counter without which the extremes say nothing. `most`: the
/// most of one rank is told as well.
macro_rules! counters {
    (
        $(#[$about:meta])*
        $name:ident of $entry:ty, where $present:ident {
            $($(#[doc = $meaning:literal])+ $counter:ident: $unit:ident, $merge:expr, $stored:expr, $(with $most:ident,)? = $read:expr;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[doc = $meaning])+ pub $counter: u64,)+
        }

        impl $name {
            pub const TABLE: &'static [Counter] = &[$(Counter {
                name: stringify!($counter),
                unit: Unit::$unit,
                merge: $merge,
                stored: $stored,
                has_most: counters!(@most $($most)?),
                meaning: concat!($($meaning),+),
            }),+];
            pub const COUNT: usize = $name::TABLE.len();

            pub fn read(entry: &$entry) -> $name {
                $name { $($counter: { let read: fn(&$entry) -> u64 = $read; read(entry) }),+ }
            }

            /// In the order of the table.
            #[inline(always)]
            pub const fn values(&self) -> [u64; $name::COUNT] {
                [$(self.$counter),+]
            }

            #[inline(always)]
            pub fn of_values(values: [u64; $name::COUNT]) -> $name {
                let [$($counter),+] = values;
                $name { $($counter),+ }
            }

            pub fn add(&mut self, other: &$name) {
                let are_counted = (self.$present > 0, other.$present > 0);
                $(self.$counter = merged($merge, Unit::$unit, self.$counter, other.$counter, are_counted);)+
            }
        }
    };
    (@most most) => { true };
    (@most) => { false };
}

/// A cell of a shard, and how long one tick of its clock is.
pub struct CellOf<'a> {
    pub cell: &'a Cell,
    pub ns_per_tick: f64,
}

impl CellOf<'_> {
    fn ns(&self, ticks: u64) -> u64 {
        ns(ticks, self.ns_per_tick)
    }

    /// Of all its calls.
    fn time_ns(&self) -> u64 {
        // How often a communicator took part has no time: its place keeps the call that was noted last.
        if self.cell.bucket() == BUCKET_INVOLVED { 0 } else { self.ns(self.cell.ticks) }
    }

    /// Of a single call.
    fn extreme_ns(&self, bound: Bound) -> u64 {
        match self.cell.calls {
            0 => 0,
            1 => self.ns(self.cell.ticks),
            // Those of several pending receives are not kept (`record/tally.rs`): both are told as the mean.
            calls if self.cell.ticks_min > self.cell.ticks_max => self.ns(self.cell.ticks) / calls,
            // A bound is rounded outwards.
            _ => self.ns(bound.ticks()).min(self.ns(self.cell.ticks)),
        }
    }
}

/// A process that was ended between two additions may leave a duration below zero.
pub fn ns(ticks: u64, ns_per_tick: f64) -> u64 {
    ((ticks as i64).max(0) as f64 * ns_per_tick).round() as u64
}

counters! {
    /// What one rank counted on a communicator, in an operation, a bucket and a phase.
    Calls of CellOf<'_>, where calls {
        /// calls that returned, including those that returned an error
        calls: Count, Merge::Sum, Stored::Common("cell_calls"), with most, = |of| of.cell.calls;
        /// those of them that returned an error; they carry no bytes
        failed: Count, Merge::Sum, Stored::Rare("cell_failed"), with most,
            = |of| if of.cell.bucket() == BUCKET_FAILED { of.cell.calls } else { 0 };
        /// bytes that the rank sent, by the rules in [calls](calls.md)
        bytes_sent: Bytes, Merge::Sum, Stored::Common("cell_sent"), = |of| of.cell.bytes_sent;
        /// bytes that the rank received
        bytes_recv: Bytes, Merge::Sum, Stored::Common("cell_recv"), = |of| of.cell.bytes_recv;
        /// time inside the MPI library
        time_ns: Nanoseconds, Merge::Sum, Stored::Each, = |of| of.time_ns();
        /// the shortest call
        time_min_ns: Nanoseconds, Merge::Least("time_ns"), Stored::Each, = |of| of.extreme_ns(of.cell.ticks_min);
        /// the longest call
        time_max_ns: Nanoseconds, Merge::Most("time_ns"), Stored::Each, = |of| of.extreme_ns(of.cell.ticks_max);
    }
}

counters! {
    /// Messages from one rank to another, by communicator and operation.
    Messages of shard::Edge, where calls {
        /// messages
        calls: Count, Merge::Sum, Stored::Column, = |edge| edge.calls;
        /// bytes in them
        bytes: Bytes, Merge::Sum, Stored::Column, = |edge| edge.bytes;
    }
}

counters! {
    /// Calls from one site, by communicator, operation, bucket, phase and rank.
    SiteCalls of CellOf<'_>, where calls {
        /// calls that returned, including those that returned an error
        calls: Count, Merge::Sum, Stored::Column, = |of| of.cell.calls;
        /// bytes that the rank sent, by the rules in [calls](calls.md)
        bytes_sent: Bytes, Merge::Sum, Stored::Column, = |of| of.cell.bytes_sent;
        /// bytes that the rank received
        bytes_recv: Bytes, Merge::Sum, Stored::Column, = |of| of.cell.bytes_recv;
        /// time inside the MPI library
        time_ns: Nanoseconds, Merge::Sum, Stored::Column, = |of| of.time_ns();
    }
}

/// What calls have completed, and the time that is charged to it.
pub struct CompletedOf<'a> {
    pub entry: &'a shard::Completed,
    pub time_ns: u64,
}

counters! {
    /// Requests that calls completed, by communicator, operation and phase of the calls, operation and size of the requests, peer and rank.
    Completions of CompletedOf<'_>, where requests {
        /// requests that were completed
        requests: Count, Merge::Sum, Stored::Column, = |of| of.entry.requests;
        /// bytes that arrived by them
        bytes: Bytes, Merge::Sum, Stored::Column, = |of| of.entry.bytes;
        /// time of the calls that waited for them
        time_ns: Nanoseconds, Merge::Sum, Stored::Column, = |of| of.time_ns;
    }
}

counters! {
    /// Calls on a file, by communicator, operation, bucket, phase and rank.
    FileCalls of CellOf<'_>, where calls {
        /// calls that returned, including those that returned an error
        calls: Count, Merge::Sum, Stored::Column, = |of| of.cell.calls;
        /// those of them that returned an error; they carry no bytes
        failed: Count, Merge::Sum, Stored::Column, = |of| if of.cell.bucket() == BUCKET_FAILED { of.cell.calls } else { 0 };
        /// bytes that the rank read
        bytes_read: Bytes, Merge::Sum, Stored::Column, = |of| of.cell.bytes_recv;
        /// bytes that the rank wrote
        bytes_written: Bytes, Merge::Sum, Stored::Column, = |of| of.cell.bytes_sent;
        /// time inside the MPI library
        time_ns: Nanoseconds, Merge::Sum, Stored::Column, = |of| of.time_ns();
    }
}

counters! {
    /// Datatype arguments, by communicator, operation and datatype.
    Arguments of shard::Use, where calls {
        /// calls in which an argument was of the type
        calls: Count, Merge::Sum, Stored::Column, = |used| used.calls;
        /// bytes that these arguments describe
        bytes: Bytes, Merge::Sum, Stored::Column, = |used| used.bytes;
    }
}

impl Calls {
    /// Counters that are extremes of single calls.
    pub const EXTREMES: usize = {
        let (mut at, mut extremes) = (0, 0);
        while at < Calls::COUNT {
            extremes += !Calls::TABLE[at].is_sum() as usize;
            at += 1;
        }
        extremes
    };

    /// Where each extreme is in the table, and where the counter that it is about: a single call has no other value than that.
    pub const BOUNDED: [(usize, usize); Calls::EXTREMES] = {
        let mut bounded = [(0, 0); Calls::EXTREMES];
        let (mut at, mut known) = (0, 0);
        while at < Calls::COUNT {
            if let Merge::Least(of) | Merge::Most(of) = Calls::TABLE[at].merge {
                bounded[known] = (at, position(Calls::TABLE, of));
                known += 1;
            }
            at += 1;
        }
        bounded
    };

    /// The extremes, in the order of the table.
    pub fn extremes() -> impl Iterator<Item = (usize, &'static Counter)> {
        Calls::BOUNDED.into_iter().map(|(at, _)| (at, &Calls::TABLE[at]))
    }

    /// The values of counters that a condition holds for, in the order of the table.
    #[inline(always)]
    pub fn only(&self, is_wanted: fn(&Counter) -> bool) -> impl Iterator<Item = u64> {
        self.values()
            .into_iter()
            .zip(Calls::TABLE)
            .filter(move |(_, counter)| is_wanted(counter))
            .map(|(value, _)| value)
    }

    /// Zero but for these counters.
    #[inline(always)]
    pub fn keep(&self, is_kept: fn(&Counter) -> bool) -> Calls {
        let values = self.values();
        Calls::of_values(std::array::from_fn(|at| if is_kept(&Calls::TABLE[at]) { values[at] } else { 0 }))
    }
}

/// The position of a name in a table. A name that is not there ends the build.
pub const fn position(table: &[Counter], name: &str) -> usize {
    let mut at = 0;
    while !is_same(table[at].name.as_bytes(), name.as_bytes()) {
        at += 1;
    }
    at
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_name_a_counter_of_their_unit() {
        for table in
            [Calls::TABLE, Messages::TABLE, SiteCalls::TABLE, Completions::TABLE, FileCalls::TABLE, Arguments::TABLE]
        {
            for counter in table {
                if let Merge::Least(of) | Merge::Most(of) = counter.merge {
                    let of = table.iter().find(|other| other.name == of).expect("a counter of the table");
                    assert!(of.is_sum() && of.unit == counter.unit && of.stored == counter.stored, "{}", counter.name);
                }
                assert_eq!(counter.unit == Unit::Nanoseconds, counter.name.ends_with("_ns"), "{}", counter.name);
                assert!(!counter.meaning.trim().ends_with('.'), "{}", counter.name);
            }
        }
    }

    #[test]
    fn what_was_not_called_has_no_extremes() {
        let called =
            |time_ns: u64| Calls { calls: 1, time_ns, time_min_ns: time_ns, time_max_ns: time_ns, ..Calls::default() };
        let mut sum = Calls { bytes_recv: 8, ..Calls::default() };
        sum.add(&called(5));
        assert_eq!((sum.calls, sum.time_min_ns, sum.time_max_ns, sum.bytes_recv), (1, 5, 5, 8));
        sum.add(&called(3));
        sum.add(&Calls::default());
        assert_eq!((sum.calls, sum.time_ns, sum.time_min_ns, sum.time_max_ns), (2, 8, 3, 5));
        assert_eq!(Calls::of_values(sum.values()), sum);
    }

    #[test]
    fn extremes_of_pending_receives_lie_around_their_mean() {
        use crate::shard::BUCKET_PENDING;

        let pending = |calls: u64, ticks: u64| {
            let (ticks_min, ticks_max) = (Bound::LONGEST, Bound::below(0));
            let key = Cell::key(0, 0, BUCKET_PENDING);
            let cell = Cell { key, calls, bytes_sent: 0, bytes_recv: 0, ticks, ticks_min, ticks_max };
            let counted = Calls::read(&CellOf { cell: &cell, ns_per_tick: 1.0 });
            (counted.time_min_ns, counted.time_max_ns)
        };
        assert_eq!(pending(0, 0), (0, 0));
        assert_eq!(pending(1, 7), (7, 7));
        assert_eq!(pending(3, 21), (7, 7));
    }
}
