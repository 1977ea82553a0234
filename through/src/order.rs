//! What comes first. Without a key: communicators by the time spent in them, in each the operations by their time with
//! their buckets ascending, ranks ascending. The rows `*` and `-` are no communicators and come last, and so do
//! `MPI_Init` and `MPI_Finalize` among the operations, because their time is no part of the MPI time.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use crate::cli::SortKey;
use crate::query::catalog::{Catalog, Communicator};
use crate::query::cells::Cell;
use crate::query::datatypes::Use;
use crate::query::operations::Operations;
use crate::query::phases::Phase;
use crate::query::ranks::Rank;
use crate::report::Section;

pub struct Order<'a> {
    pub key: Option<SortKey>,
    pub catalog: &'a Catalog,
}

impl Order<'_> {
    pub fn sections(&self, mut sections: Vec<Section>) -> Vec<Section> {
        for section in &mut sections {
            self.operations(&mut section.rows);
        }
        sections.sort_by(|a, b| {
            let (first, second) = (&a.total, &b.total);
            let by_key = match self.key {
                Some(SortKey::Calls) => second.calls.cmp(&first.calls),
                Some(SortKey::Bytes) => {
                    both(second.bytes_sent, second.bytes_recv).cmp(&both(first.bytes_sent, first.bytes_recv))
                }
                Some(SortKey::Size) => b.comm.size.cmp(&a.comm.size),
                Some(SortKey::Comm) => a.comm.name_key().cmp(&b.comm.name_key()),
                _ => Ordering::Equal,
            };
            let last = |section: &Section| section.comm.is_special().then_some(Reverse(section.comm.id));
            last(a)
                .cmp(&last(b))
                .then(by_key)
                .then_with(|| second.mpi_ns.cmp(&first.mpi_ns))
                .then_with(|| second.time_ns.cmp(&first.time_ns))
                .then_with(|| a.comm.name_key().cmp(&b.comm.name_key()))
        });
        sections
    }

    fn operations(&self, rows: &mut [Operations]) {
        let mut weight: HashMap<i64, i128> = HashMap::new();
        for row in rows.iter() {
            *weight.entry(row.op).or_default() += match self.key {
                Some(SortKey::Calls) => i128::from(row.calls),
                Some(SortKey::Bytes) => both(row.bytes_sent, row.bytes_recv),
                Some(SortKey::Op) => 0,
                _ => i128::from(row.time_ns),
            };
        }
        let is_outside = |row: &Operations| self.catalog.is_outside_span(row.op);
        let by_name =
            |row: &Operations| (is_outside(row), Reverse(weight[&row.op]), self.operation(row.op), row.bucket);
        match self.key {
            Some(SortKey::Bucket) => rows.sort_by(|a, b| a.bucket.cmp(&b.bucket).then(b.time_ns.cmp(&a.time_ns))),
            _ => rows.sort_by(|a, b| by_name(a).cmp(&by_name(b))),
        }
    }

    pub fn cells(&self, mut cells: Vec<Cell>) -> Vec<Cell> {
        let mut weight: HashMap<i64, i128> = HashMap::new();
        for cell in &cells {
            *weight.entry(cell.comm).or_default() += match self.catalog.is_outside_span(cell.op) {
                true => 0,
                false => i128::from(cell.time_ns),
            };
        }
        let mut place: Vec<(bool, Reverse<i128>, i64)> =
            weight.iter().map(|(comm, time_ns)| (self.is_special(*comm), Reverse(*time_ns), *comm)).collect();
        place.sort_unstable();
        let place: HashMap<i64, usize> = place.into_iter().enumerate().map(|(at, (.., comm))| (comm, at)).collect();
        let names: HashMap<i64, &str> = self.catalog.operations.keys().map(|op| (*op, self.operation(*op))).collect();
        let name = |op: &i64| names.get(op).copied().unwrap_or_default();
        cells.sort_by(|a, b| {
            (place[&a.comm], name(&a.op), a.bucket, a.rank).cmp(&(place[&b.comm], name(&b.op), b.bucket, b.rank))
        });
        // Sorting is stable: what is equal by the key keeps the order above.
        match self.key {
            Some(SortKey::Time) => cells.sort_by_key(|cell| Reverse(cell.time_ns)),
            Some(SortKey::Calls) => cells.sort_by_key(|cell| Reverse(cell.calls)),
            Some(SortKey::Bytes) => cells.sort_by_key(|cell| Reverse(both(cell.bytes_sent, cell.bytes_recv))),
            Some(SortKey::Rank) => cells.sort_by_key(|cell| cell.rank),
            Some(SortKey::Bucket) => cells.sort_by_key(|cell| cell.bucket),
            Some(SortKey::Op) => cells.sort_by_key(|cell| name(&cell.op)),
            Some(SortKey::Size) => cells.sort_by_key(|cell| Reverse(self.comm(cell.comm).and_then(|comm| comm.size))),
            Some(SortKey::Comm) => {
                cells.sort_by_cached_key(|cell| self.comm(cell.comm).map(|comm| comm.name_key()));
            }
            None => {}
        }
        cells
    }

    pub fn ranks(&self, mut ranks: Vec<Rank>) -> Vec<Rank> {
        if self.key == Some(SortKey::Time) {
            ranks.sort_by_key(|rank| Reverse(rank.selected_ns));
        }
        ranks
    }

    pub fn phases(&self, mut phases: Vec<Phase>) -> Vec<Phase> {
        match self.key {
            Some(SortKey::Time) => phases.sort_by_key(|phase| Reverse(phase.spread.time_ns)),
            Some(SortKey::Calls) => phases.sort_by_key(|phase| Reverse(phase.calls)),
            Some(SortKey::Bytes) => phases.sort_by_key(|phase| Reverse(both(phase.bytes_sent, phase.bytes_recv))),
            _ => {}
        }
        phases
    }

    pub fn uses(&self, mut uses: Vec<Use>) -> Vec<Use> {
        // Stable: within an operation the datatype of most bytes stays first.
        uses.sort_by(|a, b| {
            let name = |used: &Use| self.comm(used.comm).map(|comm| comm.name_key());
            name(a).cmp(&name(b)).then_with(|| self.operation(a.op).cmp(self.operation(b.op)))
        });
        match self.key {
            Some(SortKey::Calls) => uses.sort_by_key(|used| Reverse(used.calls)),
            Some(SortKey::Bytes) => uses.sort_by_key(|used| Reverse(used.bytes)),
            Some(SortKey::Op) => uses.sort_by_key(|used| self.operation(used.op)),
            Some(SortKey::Size) => uses.sort_by_key(|used| Reverse(self.comm(used.comm).and_then(|comm| comm.size))),
            _ => {}
        }
        uses
    }

    fn operation(&self, number: i64) -> &str {
        self.catalog.operations.get(&number).map(|operation| operation.name.as_str()).unwrap_or_default()
    }

    fn comm(&self, number: i64) -> Option<&Communicator> {
        self.catalog.communicators.get(&number)
    }

    fn is_special(&self, number: i64) -> bool {
        self.comm(number).is_some_and(|comm| comm.is_special())
    }
}

/// Sent and received together, which may be more than 64 bits hold.
fn both(sent: u64, received: u64) -> i128 {
    i128::from(sent) + i128::from(received)
}
