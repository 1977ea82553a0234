//! What was done on each communicator: what the views of operations, of communicators and the summary are made of.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashMap};

use super::context::{both, shorten};
use super::folding::folded;
use super::{Context, Question};
use crate::error::Error;
use crate::query::catalog::{Catalog, Communicator, SEVERAL_COMMS, size_class};
use crate::query::communicators::{Spread, spreads};
use crate::query::families::Families;
use crate::query::involved::{Involved, involved};
use crate::query::operations::{Operations, operations};
use crate::query::sort::SortKey;

/// Communicators that a table shows unless told otherwise; programs with thousands of them exist.
const SHOWN: usize = 20;

/// One communicator with what was done on it.
pub struct OnCommunicator {
    pub comm: Communicator,
    pub total: Total,
    /// Only where it is shown: it takes another pass over the cells. Some profiles do not know it.
    pub spread: Option<Spread>,
    pub rows: Vec<Operations>,
    /// How often it took part in calls of the row `*`.
    pub involved_calls: i64,
    /// Where it stands for its family.
    pub family: Option<Folded>,
}

/// Communicators that were made alike, as one.
pub struct Folded {
    /// `400 × Comm_split of W0.0, 2 ranks`.
    pub title: String,
    /// The names of some.
    pub names: String,
    pub members: usize,
}

/// Sums over the rows of a communicator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    pub calls: i64,
    pub failed: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    /// Over all ranks and all calls.
    pub time_ns: i64,
    /// The part of it that is part of the MPI time: all but `MPI_Init` and `MPI_Finalize`.
    pub mpi_ns: i64,
}

/// All that the filter leaves, in order.
pub struct Communicators {
    pub list: Vec<OnCommunicator>,
    /// The communicators' parts in calls of the row `*`.
    pub involved: Vec<Involved>,
}

impl Communicators {
    pub fn of(
        context: &Context,
        sort: Option<SortKey>,
        with_spreads: bool,
        with_single_calls: bool,
    ) -> Result<Communicators, Error> {
        let Context { profile, catalog, filter, .. } = context;
        let mut parts = involved(profile, filter)?;
        parts.retain(|part| filter.has_comm(part.comm) || filter.has_comm(SEVERAL_COMMS));
        let spreads = if with_spreads { spreads(profile, catalog, filter)? } else { HashMap::new() };
        let rows = operations(profile, catalog, filter, with_single_calls)?;
        let mut list = by_communicator(rows, &parts, &spreads, catalog);
        list.iter_mut().for_each(|part| order_operations(&mut part.rows, catalog, sort));
        order(&mut list, sort);
        Ok(Communicators { list, involved: parts })
    }

    /// Families in place of their members, for people; not where communicators are named one by one.
    pub fn fold(&mut self, context: &Context, question: &Question, sort: Option<SortKey>) {
        if question.folds() {
            self.list = folded(std::mem::take(&mut self.list), &Families::of(&context.catalog));
            self.list.iter_mut().for_each(|part| order_operations(&mut part.rows, &context.catalog, sort));
            order(&mut self.list, sort);
        }
    }

    /// Keeps what `--top` names. The rows `*` and `-` are no communicators: they stay, and do not count.
    pub fn shorten(&mut self, question: &Question) -> usize {
        let special = self.list.iter().position(|part| part.comm.is_special()).unwrap_or(self.list.len());
        let tail = self.list.split_off(special);
        let hidden = shorten(&mut self.list, question.top_of_table(SHOWN));
        self.list.extend(tail);
        hidden
    }
}

impl Total {
    pub fn add(&mut self, other: &Total) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.saturating_add(other.bytes_recv);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.mpi_ns = self.mpi_ns.saturating_add(other.mpi_ns);
    }
}

fn by_communicator(
    rows: Vec<Operations>,
    parts: &[Involved],
    spreads: &HashMap<i64, Spread>,
    catalog: &Catalog,
) -> Vec<OnCommunicator> {
    let mut involved_calls: HashMap<i64, i64> = HashMap::new();
    for part in parts {
        let calls = involved_calls.entry(part.comm).or_default();
        *calls = calls.saturating_add(part.calls);
    }
    let mut by_comm: BTreeMap<i64, Vec<Operations>> = BTreeMap::new();
    for row in rows {
        by_comm.entry(row.comm).or_default().push(row);
    }
    let part = |(number, rows): (i64, Vec<Operations>)| OnCommunicator {
        // Only a damaged profile has cells of a communicator that it does not list.
        comm: catalog.communicators.get(&number).cloned().unwrap_or_else(|| Communicator {
            id: number,
            name: format!("?{number}"),
            ..Communicator::default()
        }),
        total: total(&rows, catalog),
        spread: spreads.get(&number).copied(),
        rows,
        involved_calls: involved_calls.get(&number).copied().unwrap_or_default(),
        family: None,
    };
    by_comm.into_iter().map(part).collect()
}

fn total(rows: &[Operations], catalog: &Catalog) -> Total {
    let mut total = Total::default();
    for row in rows {
        let is_outside = catalog.is_outside_span(row.op);
        total.calls = total.calls.saturating_add(row.performed());
        total.failed = total.failed.saturating_add(row.failed);
        total.bytes_sent = total.bytes_sent.saturating_add(row.bytes_sent);
        total.bytes_recv = total.bytes_recv.saturating_add(row.bytes_recv);
        total.time_ns = total.time_ns.saturating_add(row.time_ns);
        total.mpi_ns = total.mpi_ns.saturating_add(if is_outside { 0 } else { row.time_ns });
    }
    total
}

/// Communicators by the time spent in them. The rows `*` and `-` are no communicators and come last.
fn order(list: &mut [OnCommunicator], sort: Option<SortKey>) {
    list.sort_by(|a, b| {
        let (first, second) = (&a.total, &b.total);
        let by_key = match sort {
            Some(SortKey::Calls) => second.calls.cmp(&first.calls),
            Some(SortKey::CallsAscending) => first.calls.cmp(&second.calls),
            Some(SortKey::TimeAscending) => first.mpi_ns.cmp(&second.mpi_ns),
            Some(SortKey::Bytes) => {
                both(second.bytes_sent, second.bytes_recv).cmp(&both(first.bytes_sent, first.bytes_recv))
            }
            Some(SortKey::Size) => b.comm.size.cmp(&a.comm.size),
            Some(SortKey::Comm) => a.comm.name_key().cmp(&b.comm.name_key()),
            _ => Ordering::Equal,
        };
        let special = |part: &OnCommunicator| part.comm.is_special().then_some(Reverse(part.comm.id));
        special(a)
            .cmp(&special(b))
            .then(by_key)
            .then_with(|| second.mpi_ns.cmp(&first.mpi_ns))
            .then_with(|| second.time_ns.cmp(&first.time_ns))
            .then_with(|| a.comm.name_key().cmp(&b.comm.name_key()))
    });
}

/// Operations by their time with their buckets ascending; `MPI_Init` and `MPI_Finalize` last, since their time is no part of the MPI time.
fn order_operations(rows: &mut [Operations], catalog: &Catalog, sort: Option<SortKey>) {
    let mut weight: HashMap<i64, i128> = HashMap::new();
    for row in rows.iter() {
        *weight.entry(row.op).or_default() += match sort {
            Some(SortKey::Calls) => i128::from(row.calls),
            Some(SortKey::CallsAscending) => -i128::from(row.calls),
            Some(SortKey::TimeAscending) => -i128::from(row.time_ns),
            Some(SortKey::Bytes) => both(row.bytes_sent, row.bytes_recv),
            Some(SortKey::Op) => 0,
            _ => i128::from(row.time_ns),
        };
    }
    let name = |op: i64| catalog.operations.get(&op).map(|operation| operation.name.as_str()).unwrap_or_default();
    let key = |row: &Operations| {
        (catalog.is_outside_span(row.op), Reverse(weight[&row.op]), name(row.op), size_class(row.bucket))
    };
    match sort {
        Some(SortKey::Bucket) => {
            rows.sort_by(|a, b| size_class(a.bucket).cmp(&size_class(b.bucket)).then(b.time_ns.cmp(&a.time_ns)))
        }
        Some(SortKey::BucketDescending) => {
            rows.sort_by(|a, b| size_class(b.bucket).cmp(&size_class(a.bucket)).then(b.time_ns.cmp(&a.time_ns)))
        }
        _ => rows.sort_by(|a, b| key(a).cmp(&key(b))),
    }
}

/// What made a communicator, without what all names of MPI share: `Comm_split`.
pub fn creator(comm: &Communicator) -> &str {
    match comm.creator.as_deref() {
        Some("unknown") => "created by a library",
        Some(creator) => creator.strip_prefix("MPI_").unwrap_or(creator),
        None => "",
    }
}
