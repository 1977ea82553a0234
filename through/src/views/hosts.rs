//! Run time and MPI time per host: a slow or overloaded host shows here before its ranks do.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use commsee::ranks::Ranks;

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::hosts::{HostBytes, host_bytes};
use crate::query::ranks::{Rank, ranks};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "hosts",
    command: "",
    flag: Flag::Switch { short: None, long: "hosts" },
    help: "Run time and MPI time per host",
    meaning: "run time and MPI time of the ranks of each host, by its lowest rank",
    note: "With filters, times are those of the selected calls.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time],
    entries: "hosts",
    lacks: &[],
    empty: "the profile has no ranks",
    parts: &[Part { name: "hosts", headings: || column::headings(COLUMNS) }],
    ask,
};

struct Host {
    name: String,
    ranks: Vec<Rank>,
    /// Unknown where the matrix does not know what the filters ask.
    bytes: Option<HostBytes>,
}

impl Host {
    fn sum_ns(&self) -> i64 {
        self.ranks.iter().fold(0, |sum, rank| sum.saturating_add(rank.selected_ns))
    }

    fn numbers(&self) -> Ranks {
        self.ranks.iter().filter_map(|rank| rank.process.rank.try_into().ok()).collect()
    }
}

type Of = Column<Host>;

const COLUMNS: &[Of] = &[
    Of::new("host", "host", Unit::Text, "the host", |_, host| Value::text(&host.name)),
    Of::new("ranks", "ranks", Unit::Ranks, "its ranks", |_, host| Value::owned(host.numbers().to_string())).widest(24),
    Of::new("wall_max_s", "run time", Unit::Seconds, "of the rank with the longest run time", |_, host| {
        Value::some(host.ranks.iter().map(|rank| rank.process.wall_ns).max(), Value::Time)
    })
    .style(Style::Precise),
    Of::new("mpi_s", "MPI time", Unit::Seconds, "over its ranks", |_, host| Value::Time(host.sum_ns()))
        .style(Style::Precise),
    Of::new("share", "share", Unit::Share, "`mpi_s` as a share of the MPI time of all hosts", |context, host| Value::Share {
        part: host.sum_ns() as f64,
        whole: context.mpi_ns,
    }),
    Of::new("rank_max_s", "max", Unit::Seconds, "MPI time of the rank with the most", |_, host| {
        Value::some(host.ranks.iter().map(|rank| rank.selected_ns).max(), Value::Time)
    }),
    Of::new("rank_avg_s", "avg", Unit::Seconds, "the mean of its ranks", |_, host| Value::Mean {
        sum_ns: host.sum_ns(),
        count: host.ranks.len() as i64,
    }),
    Of::new("rank_min_s", "min", Unit::Seconds, "MPI time of the rank with the least", |_, host| {
        Value::some(host.ranks.iter().map(|rank| rank.selected_ns).min(), Value::Time)
    })
    .optional(3),
    Of::new("bytes_within", "inside", Unit::Bytes, "messages of the [matrix](#matrix) between its ranks; this and the next columns are known only with filters by communicator, operation and rank", |_, host| {
        Value::some(host.bytes, |bytes| Value::Bytes(bytes.within))
    })
    .optional(2)
    .when(has_messages),
    Of::new("bytes_out", "to others", Unit::Bytes, "messages of its ranks to ranks of other hosts", |_, host| {
        Value::some(host.bytes, |bytes| Value::Bytes(bytes.sent))
    })
    .optional(1)
    .when(has_messages),
    Of::new("bytes_in", "from others", Unit::Bytes, "messages of ranks of other hosts to its ranks", |_, host| {
        Value::some(host.bytes, |bytes| Value::Bytes(bytes.received))
    })
    .optional(1)
    .when(has_messages),
];

fn has_messages(_: &Context, hosts: &[Host]) -> bool {
    hosts.iter().any(|host| host.bytes.is_some_and(|bytes| bytes != HostBytes::default()))
}

const LEGEND: &str = "MPI time is the sum over the ranks of a host; max, avg and min are over these. Ranks wait for hosts that spend \
     little time in MPI. Bytes are those of messages between ranks, without collective operations.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut rows = hosts(&context)?;
    if question.sort == Some(SortKey::Time) {
        rows.sort_by_key(|host| Reverse(host.sum_ns()));
    }
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top);
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("hosts", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// In the order of their lowest ranks.
fn hosts(context: &Context) -> Result<Vec<Host>, Error> {
    let mut by_name: BTreeMap<String, Vec<Rank>> = BTreeMap::new();
    for rank in ranks(&context.profile, &context.catalog, &context.filter)? {
        by_name.entry(rank.process.host.clone()).or_default().push(rank);
    }
    let bytes = host_bytes(&context.profile, &context.catalog, &context.filter)?;
    let of_host = |name: &String| bytes.as_ref().map(|bytes| bytes.get(name).copied().unwrap_or_default());
    let mut hosts: Vec<Host> =
        by_name.into_iter().map(|(name, ranks)| Host { bytes: of_host(&name), name, ranks }).collect();
    hosts.sort_by_key(|host| host.ranks.first().map(|rank| rank.process.rank));
    Ok(hosts)
}
