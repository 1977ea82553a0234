//! Time per line of the program that makes communicators: a program with thousands of them has a handful of such lines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::communicator::{Communicators, Total};
use super::context::{both, shorten};
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Communicator;
use crate::query::sites::Spot;
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "birthplaces",
    command: "comms",
    flag: Flag::Option { option: "by", value: "line" },
    help: "time per line of the program that creates communicators",
    meaning: "the time in all communicators that one line of the program creates ([find the line](../howto/find-the-line.md))",
    note: "`--comm made@grid.c:88` selects the communicators of one row.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Comm],
    entries: "birthplaces",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "birthplaces", headings: || column::headings(COLUMNS) }],
    ask,
};

/// Communicators that were made on the same line.
#[derive(Default)]
struct Family {
    spot: Option<Rc<Spot>>,
    creators: BTreeSet<String>,
    members: Vec<String>,
    sizes: Option<(u64, u64)>,
    total: Total,
}

type Of = Column<Family>;

const COLUMNS: &[Of] = &[
    Of::record("made_at", Unit::Text, "the line that created them; unknown if the program did not", |_, row| {
        Value::maybe(row.spot.as_ref().map(|spot| spot.text.as_str()))
    }),
    Of::record("made_in", Unit::Text, "the function of that line", |_, row| {
        Value::maybe(row.spot.as_ref().and_then(|spot| spot.function.as_deref()))
    }),
    Of::shown("made at", Unit::Text, |_, row| match &row.spot {
        Some(spot) => Value::owned(spot.sentence()),
        None => Value::text("(not known)"),
    })
    .widest(44),
    Of::record("creator", Unit::Text, "the MPI functions that created them", |_, row| {
        Value::owned(row.creators.iter().map(String::as_str).collect::<Vec<_>>().join(","))
    }),
    Of::new("communicators", "comms", Unit::Count, "number of communicators", |_, row| {
        Value::Number(row.members.len() as i64)
    }),
    Of::record("comms", Unit::Text, "their names", |_, row| Value::owned(row.members.join(","))),
    Of::record("size_min", Unit::Count, "processes in the smallest one", |_, row| {
        Value::some(row.sizes, |(least, _)| Value::Number(least as i64))
    }),
    Of::record("size_max", Unit::Count, "processes in the largest one", |_, row| {
        Value::some(row.sizes, |(_, most)| Value::Number(most as i64))
    }),
    Of::shown("size", Unit::Text, |_, row| {
        Value::some(row.sizes, |(least, most)| match least == most {
            true => Value::owned(least.to_string()),
            false => Value::owned(format!("{least}-{most}")),
        })
    })
    .style(Style::Blank),
    Of::new("calls", "calls", Unit::Count, "[calls](through.md#how-calls-are-added-up)", |_, row| {
        Value::Number(row.total.calls)
    })
    .optional(2),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.total.bytes_sent))
        .optional(1),
    Of::new("bytes_recv", "received", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.total.bytes_recv))
        .optional(1),
    Of::record("time_s", Unit::Seconds, "of all calls, over all ranks", |_, row| Value::Time(row.total.time_ns)),
    Of::new("mpi_s", "time", Unit::Seconds, "MPI time: without `MPI_Init` and `MPI_Finalize`", |_, row| {
        Value::Time(row.total.mpi_ns)
    }),
    Of::new("share", "share", Unit::Share, "`mpi_s` as a share of the MPI time", |context, row| Value::Share {
        part: row.total.mpi_ns as f64,
        whole: context.mpi_ns,
    }),
];

const LEGEND: &str = "Time is the sum over the ranks and over all communicators that were made there, and its share that of the MPI time. \
     (not known): MPI_COMM_WORLD, calls over several communicators or none, and what libraries made.";

const SHOWN: usize = 20;

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let found = Communicators::of(&context, question.sort, false, false)?;
    let mut totals: HashMap<i64, Total> = found.list.iter().map(|part| (part.comm.id, part.total)).collect();
    let all = context.catalog.communicators.values();
    let is_whole = !(context.filter.selects_calls() || context.filter.ranks.is_some());
    let mut families: BTreeMap<Option<Rc<Spot>>, Family> = BTreeMap::new();
    for comm in all.filter(|comm| context.filter.has_comm(comm.id)) {
        let total = totals.remove(&comm.id);
        if total.is_none() && (!is_whole || comm.is_special()) {
            continue;
        }
        let spot = comm.site.and_then(|site| context.catalog.sites.spot(site)).cloned();
        let family = families.entry(spot.clone()).or_default();
        family.spot = spot;
        family.add(comm, total.unwrap_or_default());
    }
    let mut rows: Vec<Family> = families.into_values().collect();
    order(&mut rows, question.sort);
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top_of_table(SHOWN));
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("birthplaces", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

impl Family {
    fn add(&mut self, comm: &Communicator, total: Total) {
        if !comm.is_special() {
            self.creators.extend(comm.creator.clone());
            self.members.push(comm.name.clone());
            if let Some(size) = comm.size {
                let (least, most) = self.sizes.unwrap_or((size, size));
                self.sizes = Some((least.min(size), most.max(size)));
            }
        }
        self.total.add(&total);
    }
}

/// Those that nobody knows come last.
fn order(rows: &mut [Family], sort: Option<SortKey>) {
    rows.sort_by(|a, b| {
        let (first, second) = (&a.total, &b.total);
        let by_key = match sort {
            Some(SortKey::Calls) => second.calls.cmp(&first.calls),
            Some(SortKey::Bytes) => {
                both(second.bytes_sent, second.bytes_recv).cmp(&both(first.bytes_sent, first.bytes_recv))
            }
            Some(SortKey::Comm) => b.members.len().cmp(&a.members.len()),
            _ => std::cmp::Ordering::Equal,
        };
        let key = |family: &Family| (family.spot.is_none(), Reverse(family.total.mpi_ns));
        a.spot
            .is_none()
            .cmp(&b.spot.is_none())
            .then(by_key)
            .then_with(|| key(a).cmp(&key(b)))
            .then_with(|| a.spot.cmp(&b.spot))
    });
}
