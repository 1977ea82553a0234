//! What comes first. Without a key: communicators by the time spent in them, in each the operations by their time with
//! their buckets ascending, ranks ascending. The rows `*` and `-` are no communicators and come last, and so do
//! `MPI_Init` and `MPI_Finalize` among the operations, because their time is no part of the MPI time.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use crate::cli::SortKey;
use crate::query::catalog::{Catalog, Communicator};
use crate::query::cells::{Cell, Cells, Key};
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

    pub fn cells(&self, mut cells: Cells) -> Cells {
        let place = self.places(&cells);
        let Cells { groups, rows } = &mut cells;
        let sizes: Vec<_> = groups.iter().map(|group| self.comm(group.comm).and_then(|comm| comm.size)).collect();
        let group = |cell: &Cell| &groups[cell.group()];
        let usual = |a: &Cell, b: &Cell| {
            let key = |cell: &Cell| (place[cell.group()].of_all, cell.rank(), group(cell).phase);
            key(a).cmp(&key(b))
        };
        // Unstable, because rows may be many: what is equal by the key is compared by what makes every row another.
        let mut sort = |compare: &dyn Fn(&Cell, &Cell) -> Ordering| {
            rows.sort_unstable_by(|a, b| compare(a, b).then_with(|| usual(a, b)));
        };
        match self.key {
            Some(SortKey::Time) => sort(&|a, b| b.time_ns.cmp(&a.time_ns)),
            Some(SortKey::Calls) => sort(&|a, b| b.calls.cmp(&a.calls)),
            Some(SortKey::Bytes) => {
                sort(&|a, b| both(b.bytes_sent, b.bytes_recv).cmp(&both(a.bytes_sent, a.bytes_recv)))
            }
            Some(SortKey::Rank) => sort(&|a, b| a.rank().cmp(&b.rank())),
            Some(SortKey::Bucket) => sort(&|a, b| group(a).bucket.cmp(&group(b).bucket)),
            Some(SortKey::Op) => sort(&|a, b| place[a.group()].of_op.cmp(&place[b.group()].of_op)),
            Some(SortKey::Size) => sort(&|a, b| sizes[b.group()].cmp(&sizes[a.group()])),
            Some(SortKey::Comm) => sort(&|a, b| place[a.group()].of_comm.cmp(&place[b.group()].of_comm)),
            None => sort(&|_, _| Ordering::Equal),
        }
        cells
    }

    /// Where the groups of cells stand. Communicators come by the MPI time of the cells that are left of them.
    fn places(&self, cells: &Cells) -> Vec<Place> {
        let mut times = vec![0i128; cells.groups.len()];
        for cell in &cells.rows {
            times[cell.group()] += i128::from(cell.time_ns);
        }
        let mut weight: HashMap<i64, i128> = HashMap::new();
        for (group, time_ns) in cells.groups.iter().zip(times) {
            *weight.entry(group.comm).or_default() += if self.catalog.is_outside_span(group.op) { 0 } else { time_ns };
        }
        let key = |group: &Key| {
            let comm = (self.is_special(group.comm), Reverse(weight[&group.comm]), group.comm);
            (comm, self.operation(group.op), group.bucket)
        };
        let of_all = ranked(&cells.groups, key);
        let of_op = ranked(&cells.groups, |group| self.operation(group.op));
        let of_comm = ranked(&cells.groups, |group| self.comm(group.comm).map(|comm| comm.name_key()));
        let places = of_all.into_iter().zip(of_op).zip(of_comm);
        places.map(|((of_all, of_op), of_comm)| Place { of_all, of_op, of_comm }).collect()
    }

    pub fn ranks(&self, mut ranks: Vec<Rank>) -> Vec<Rank> {
        if self.key == Some(SortKey::Time) {
            ranks.sort_by_key(|rank| Reverse(rank.selected_ns));
        }
        ranks
    }

    pub fn phases(&self, mut phases: Vec<Phase>) -> Vec<Phase> {
        match self.key {
            Some(SortKey::Time) => phases.sort_by_key(|phase| Reverse(phase.mpi_ns)),
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

/// Which one a group of cells is in an order of groups.
struct Place {
    of_all: usize,
    of_op: usize,
    of_comm: usize,
}

/// For each entry how many different keys are less than its own.
fn ranked<T, K: Ord>(entries: &[T], key: impl Fn(&T) -> K) -> Vec<usize> {
    let mut keys: Vec<K> = entries.iter().map(&key).collect();
    keys.sort_unstable();
    keys.dedup();
    entries.iter().map(|entry| keys.partition_point(|known| *known < key(entry))).collect()
}

/// Sent and received together, which may be more than 64 bits hold.
fn both(sent: u64, received: u64) -> i128 {
    i128::from(sent) + i128::from(received)
}
