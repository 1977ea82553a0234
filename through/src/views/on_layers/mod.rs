//! What was called on communicators of layers below MPI: tables behind those of MPI's communicators, in the same words.

mod columns;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use commsee::ccl;

use self::columns::{COMMUNICATORS, OPERATIONS, ROWS};
use super::context::shorten;
use super::{Context, Part, Question, column};
use crate::document::{Audience, Document, Found, Section, Table, Value};
use crate::error::Error;
use crate::query::catalog::Communicator;
use crate::query::layers::calls::{Calls, calls, same_ranks};
use crate::query::sort::SortKey;
use crate::query::source::ALL_RANKS;
use crate::query::transfers::Sums;
use crate::text::escape::visible;
use crate::text::units;

pub const COMMUNICATORS_PART: Part = Part { name: "layer_communicators", headings: || column::headings(COMMUNICATORS) };
pub const OPERATIONS_PART: Part = Part { name: "layer_operations", headings: || column::headings(OPERATIONS) };
pub const ROWS_PART: Part = Part { name: "layer_rows", headings: || column::headings(ROWS) };

/// Communicators that a table shows unless told otherwise.
const SHOWN: usize = 20;

/// A communicator of a layer with what was called on it.
#[derive(Clone)]
struct OnLayer {
    comm: Communicator,
    /// What made it.
    creator: String,
    /// MPI's communicator with the same members.
    same_ranks: Option<String>,
    calls: i64,
    bytes_sent: u64,
    bytes_recv: u64,
    /// Of both.
    total: Sums,
    /// Ranks that called, and the time of those that spent most and least.
    callers: Option<usize>,
    extremes_ns: Option<(i64, i64)>,
    device: Option<Sums>,
    rows: Vec<Calls>,
}

struct Row {
    comm: Rc<OnLayer>,
    calls: Calls,
}

/// What one rank called.
struct OfRank {
    comm: Rc<OnLayer>,
    calls: Rc<Calls>,
    rank: i64,
    sums: Sums,
}

/// What the filter leaves of layers. Without any of their communicators there is nothing to tell.
pub struct OnLayers {
    list: Vec<OnLayer>,
    is_known: bool,
}

const LEGEND: &str = "Communicators of layers below MPI. Sent: bytes in the send buffers of calls, over all ranks. Time: inside the \
     layer's calls; operations may continue after them.";
const DEVICE_LEGEND: &str =
    "Device: mean device time of an operation; algbw and busbw are bytes over that time, as nccl-tests define them.";

/// Where the layer tells how long calls took.
fn timed(sums: &Sums) -> Option<&Sums> {
    Some(sums).filter(|sums| sums.later > 0)
}

fn is_on_device(_: &Context, rows: &[Row]) -> bool {
    rows.iter().any(|row| row.calls.device.is_some())
}

impl OnLayers {
    pub fn of(context: &Context, sort: Option<SortKey>) -> Result<OnLayers, Error> {
        let catalog = &context.catalog;
        let is_known = catalog.communicators.values().any(|comm| comm.layer.is_some());
        let mut by_comm: BTreeMap<i64, Vec<Calls>> = BTreeMap::new();
        for calls in calls(&context.profile, catalog, &context.filter)? {
            by_comm.entry(calls.comm).or_default().push(calls);
        }
        let of = |(number, rows): (i64, Vec<Calls>)| {
            let comm = catalog.communicators.get(&number)?.clone();
            let creator = creator(&comm);
            let same_ranks = same_ranks(&comm, catalog).map(|comm| comm.name.clone());
            Some(OnLayer::of(comm, creator, same_ranks, rows))
        };
        let mut list: Vec<OnLayer> = by_comm.into_iter().filter_map(of).collect();
        list.iter_mut().for_each(|on| order_functions(&mut on.rows, sort));
        order(&mut list, sort);
        Ok(OnLayers { list, is_known })
    }

    /// Tables behind those of MPI, which come first and are left out of what people see if they have nothing.
    fn attach(&self, document: &mut Document, is_mpi_empty: bool, mut tables: Vec<Table>) {
        if !self.is_known {
            return;
        }
        let is_alone = is_mpi_empty && !self.list.is_empty();
        if is_alone {
            document.found = Found::Something;
            for table in &mut document.tables {
                (table.audience.table, table.audience.csv) = (false, false);
            }
        }
        for table in &mut tables {
            table.audience.table &= !self.list.is_empty();
            table.audience.csv &= is_alone;
        }
        document.tables.extend(tables);
    }

    /// One line for each communicator.
    pub fn attach_communicators(
        mut self,
        document: &mut Document,
        question: &Question,
        context: &Rc<Context>,
        is_empty: bool,
    ) {
        let after = self.shortened(question);
        let table = column::table("layer_communicators", COMMUNICATORS, context, self.list.clone());
        let legend = vec![LEGEND.to_owned()];
        let title = Some("communicators of layers below MPI");
        self.attach(document, is_empty, vec![Table { title, legend, after, ..table }]);
    }

    /// A table of functions for each communicator.
    pub fn attach_operations(
        mut self,
        document: &mut Document,
        question: &Question,
        context: &Rc<Context>,
        is_empty: bool,
    ) {
        let after = self.shortened(question);
        let mut rows = Vec::new();
        for on in &self.list {
            let comm = Rc::new(OnLayer { rows: Vec::new(), ..on.clone() });
            rows.extend(on.rows.iter().map(|calls| Row { comm: Rc::clone(&comm), calls: calls.clone() }));
        }
        let sections = self.list.iter().map(section).collect();
        let device = is_on_device(context, &rows).then_some(DEVICE_LEGEND);
        let legend = [LEGEND].into_iter().chain(device).map(str::to_owned).collect();
        let communicators = Table {
            audience: Audience::JSON,
            ..column::table("layer_communicators", COMMUNICATORS, context, self.list.clone())
        };
        let operations =
            Table { sections, legend, after, ..column::table("layer_operations", OPERATIONS, context, rows) };
        self.attach(document, is_empty, vec![communicators, operations]);
    }

    /// A row for each rank.
    pub fn attach_rows(self, document: &mut Document, question: &Question, context: &Rc<Context>, is_empty: bool) {
        let mut rows = Vec::new();
        for on in &self.list {
            let comm = Rc::new(OnLayer { rows: Vec::new(), ..on.clone() });
            for calls in &on.rows {
                let of = Rc::new(Calls { ranks: BTreeMap::new(), ..calls.clone() });
                rows.extend(calls.ranks.iter().map(|(rank, sums)| OfRank {
                    comm: Rc::clone(&comm),
                    calls: Rc::clone(&of),
                    rank: *rank,
                    sums: *sums,
                }));
            }
        }
        match question.sort {
            Some(SortKey::Time) => rows.sort_by_key(|row| Reverse(row.sums.time_ns)),
            Some(SortKey::TimeAscending) => rows.sort_by_key(|row| row.sums.time_ns),
            Some(SortKey::Calls) => rows.sort_by_key(|row| Reverse(row.sums.calls)),
            Some(SortKey::CallsAscending) => rows.sort_by_key(|row| row.sums.calls),
            Some(SortKey::Bytes) => rows.sort_by_key(|row| Reverse(row.sums.bytes)),
            Some(SortKey::Bucket) => rows.sort_by_key(|row| row.calls.bucket),
            Some(SortKey::BucketDescending) => rows.sort_by_key(|row| Reverse(row.calls.bucket)),
            Some(SortKey::Rank) => rows.sort_by_key(|row| row.rank),
            Some(SortKey::Op) => rows.sort_by(|a, b| a.calls.function.cmp(&b.calls.function)),
            _ => {}
        }
        let hidden = shorten(&mut rows, question.top);
        let after = left_out(hidden, "more row of layers");
        let title = Some("calls on communicators of layers below MPI");
        let legend = vec![LEGEND.to_owned()];
        let table = Table { title, legend, after, ..column::table("layer_rows", ROWS, context, rows) };
        self.attach(document, is_empty, vec![table]);
    }

    /// Keeps what `--top` names, and says how many it left out.
    fn shortened(&mut self, question: &Question) -> Vec<String> {
        let hidden = shorten(&mut self.list, question.top_of_table(SHOWN));
        left_out(hidden, "more communicator of layers")
    }
}

fn left_out(hidden: usize, one: &str) -> Vec<String> {
    let rest = |one: &str| format!("and {}: --top 0 shows all", units::count(hidden as u64, one));
    match hidden {
        0 => Vec::new(),
        1 => vec![rest(one)],
        // What is counted stands before `of`.
        _ => vec![format!("and {hidden} {}: --top 0 shows all", one.replacen(" of", "s of", 1))],
    }
}

impl OnLayer {
    fn of(comm: Communicator, creator: String, same_ranks: Option<String>, rows: Vec<Calls>) -> OnLayer {
        let (mut calls, mut total, mut device) = (0i64, Sums::default(), None::<Sums>);
        let (mut bytes_sent, mut bytes_recv) = (0u64, 0u64);
        let mut ranks: HashMap<i64, i64> = HashMap::new();
        for row in &rows {
            calls = calls.saturating_add(row.performed);
            let (sent, received) = row.sent_and_received(row.total.bytes);
            (bytes_sent, bytes_recv) = (bytes_sent.saturating_add(sent), bytes_recv.saturating_add(received));
            total.add(&row.total);
            row.device.iter().for_each(|sums| device.get_or_insert_default().add(sums));
            for (rank, sums) in &row.ranks {
                let time_ns = ranks.entry(*rank).or_default();
                *time_ns = time_ns.saturating_add(sums.time_ns);
            }
        }
        let callers = (!ranks.contains_key(&ALL_RANKS)).then_some(ranks.len());
        let times = || ranks.values().copied();
        let extremes_ns = times().max().zip(times().min()).filter(|_| total.later > 0 && callers.is_some());
        OnLayer { comm, creator, same_ranks, calls, bytes_sent, bytes_recv, total, callers, extremes_ns, device, rows }
    }
}

/// The function that made it, where the letter is one that is known.
fn creator(comm: &Communicator) -> String {
    let letter = comm.creator.as_deref().unwrap_or_default();
    comm.layer.as_deref().and_then(|layer| ccl::creator(layer, letter)).unwrap_or(letter).to_owned()
}

fn order(list: &mut [OnLayer], sort: Option<SortKey>) {
    list.sort_by(|a, b| {
        let by_key = match sort {
            Some(SortKey::Calls) => b.calls.cmp(&a.calls),
            Some(SortKey::CallsAscending) => a.calls.cmp(&b.calls),
            Some(SortKey::TimeAscending) => a.total.time_ns.cmp(&b.total.time_ns),
            Some(SortKey::Bytes) => b.total.bytes.cmp(&a.total.bytes),
            Some(SortKey::Size) => b.comm.size.cmp(&a.comm.size),
            Some(SortKey::Comm) => std::cmp::Ordering::Equal,
            _ => b.total.time_ns.cmp(&a.total.time_ns).then(b.total.bytes.cmp(&a.total.bytes)),
        };
        by_key.then_with(|| a.comm.name_key().cmp(&b.comm.name_key()))
    });
}

/// Functions by their time with their buckets ascending; those that move nothing last.
fn order_functions(rows: &mut [Calls], sort: Option<SortKey>) {
    let mut weight: HashMap<String, i128> = HashMap::new();
    for row in rows.iter() {
        *weight.entry(row.function.clone()).or_default() += match sort {
            Some(SortKey::Calls) => i128::from(row.performed),
            Some(SortKey::CallsAscending) => -i128::from(row.performed),
            Some(SortKey::TimeAscending) => -i128::from(row.total.time_ns),
            Some(SortKey::Bytes) => i128::from(row.total.bytes),
            Some(SortKey::Op) => 0,
            _ => i128::from(row.total.time_ns),
        };
    }
    let moves = |row: &Calls| ccl::find(&row.function).is_none_or(|function| function.kind != ccl::Kind::Control);
    match sort {
        Some(SortKey::Bucket) => rows.sort_by_key(|row| row.bucket),
        Some(SortKey::BucketDescending) => rows.sort_by_key(|row| Reverse(row.bucket)),
        _ => rows.sort_by(|a, b| {
            let key = |row: &Calls| (!moves(row), Reverse(weight[&row.function]));
            let rest = |row: &Calls| (row.bucket, Reverse(row.total.bytes));
            let by_name = || a.function.cmp(&b.function);
            key(a).cmp(&key(b)).then_with(by_name).then_with(|| rest(a).cmp(&rest(b)))
        }),
    }
}

fn section(on: &OnLayer) -> Section {
    let comm = &on.comm;
    let time = timed(&on.total).map(|sums| format!("{} in calls", units::time(sums.time_ns)));
    let origin = match &comm.parent {
        Some(parent) => format!("{} of {}", on.creator, parent),
        None => on.creator.clone(),
    };
    let ranks = comm.ranks.as_deref().map(visible).unwrap_or_default().into_owned();
    let colon = if ranks.is_empty() { "" } else { ": " };
    let size = comm.size.map(|size| format!("{}{colon}", units::count(size, "rank")));
    let mut about = vec![(visible(&origin).into_owned(), String::new()), (size.unwrap_or_default(), ranks)];
    let mut say = |text: String| about.push((text, String::new()));
    if let Some(same) = &on.same_ranks {
        say(format!("same ranks as {}", visible(same)));
    }
    if comm.freed {
        say("freed".to_owned());
    }
    if let Some(device) = on.device.as_ref().and_then(timed) {
        say(format!("{} on devices", units::time(device.time_ns)));
    }
    if on.bytes_sent > 0 || on.bytes_recv > 0 {
        say(format!("{} sent", units::bytes(on.bytes_sent)));
        say(format!("{} received", units::bytes(on.bytes_recv)));
    }
    Section {
        name: Value::titled(&comm.name, comm.label.as_deref()),
        weight: time.unwrap_or_else(|| units::bytes(on.total.bytes)),
        about,
        rows: on.rows.len(),
        ..Section::default()
    }
}
