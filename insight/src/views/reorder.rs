//! Bytes between nodes for orders of ranks, and the order to take.

use std::rc::Rc;

use through_core::Error;
use through_core::document::{Audience, Document, Drawing, Format, Found, Style, Unit, Value};
use through_core::text::units;
use through_core::views::{Column, Context, Flag, Part, Question, View, column};

use crate::order::{Kind, OrderFile};
use crate::query::reorder::{Advice, LEAST_BETWEEN, LEAST_GAIN, Order, Verdict, reorder};

pub const VIEW: View = View {
    name: "reorder",
    command: "traffic",
    flag: Flag::Switch { short: None, long: "reorder" },
    help: "Order of ranks with few bytes between nodes",
    meaning: "bytes between nodes for several orders of ranks, and the best order",
    note: "Bytes are those of the [matrix](#matrix) and of collective operations, by [a model](../howto/rank-order.md#what-is-counted). `placement` is the best order: that of the run if no order saves \
           5 % of the bytes between nodes.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "orders",
    lacks: &[],
    empty: "the profile has no ranks",
    parts: &[
        Part { name: "orders", headings: || column::headings(COLUMNS) },
        Part { name: "placement", headings: || column::headings(PLACES) },
    ],
    ask: |question| document(question, None, None),
};

type Of = Column<usize, Advice>;

const COLUMNS: &[Of] = &[
    Of::new(
        "order",
        "order",
        Unit::Text,
        "`run`: as it was; `block`: node by node; `round-robin`: one rank per node in turn; `folded`: the same, reversing direction each time; `proposed`",
        |advice, at| Value::text(name(advice.plans[*at].order)),
    ),
    Of::record("cray_method", Unit::Count, "its `MPICH_RANK_REORDER_METHOD`", |advice, at| {
        Value::some(method(advice.plans[*at].order), Value::Number)
    }),
    Of::new("bytes_between", "between nodes", Unit::Bytes, "between nodes, both directions together", |advice, at| {
        Value::Bytes(advice.plans[*at].between.round() as u64)
    })
    .style(Style::Zero),
    Of::new("share", "share", Unit::Share, "`bytes_between` as a share of all bytes between ranks", |advice, at| {
        Value::Share { part: advice.plans[*at].between, whole: advice.total }
    }),
    Of::new("bytes_within", "inside nodes", Unit::Bytes, "inside of nodes", |advice, at| {
        Value::Bytes((advice.total - advice.plans[*at].between).max(0.0).round() as u64)
    })
    .style(Style::Zero),
    Of::new(
        "saves",
        "saves",
        Unit::Share,
        "share saved of the bytes between nodes in the run, or with other nodes in `block`; negative if worse",
        |advice, at| {
            let before = advice.plans[advice.before].between;
            Value::Share { part: before - advice.plans[*at].between, whole: before }
        },
    ),
    Of::new("taken", "", Unit::Text, "`take` for the best order", |advice, at| {
        Value::text(if advice.best == *at { "take" } else { "" })
    })
    .style(Style::Blank),
];

struct Place {
    rank: i64,
    node: usize,
    slot: usize,
}

type OfPlace = Column<Place, Advice>;

const PLACES: &[OfPlace] = &[
    OfPlace::new("rank", "rank", Unit::Rank, "the rank in `MPI_COMM_WORLD`", |_, place| Value::Number(place.rank)),
    OfPlace::new("node", "node", Unit::Count, "the number of its node, from 0", |_, place| {
        Value::Number(place.node as i64)
    }),
    OfPlace::new("host", "host", Unit::Text, "the node's host, if it is known", |advice, place| {
        Value::maybe(advice.nodes[place.node].host.as_deref())
    }),
    OfPlace::new("slot", "slot", Unit::Count, "its number on the node, from 0", |_, place| {
        Value::Number(place.slot as i64)
    }),
];

const LEGEND: &str = "Bytes are those of the matrix, and of collective operations by a model. \
     MPI libraries that know the nodes may send less between them.";

/// What is shown of an order for some nodes, or the file for a launcher.
pub fn document(question: &Question, nodes: Option<&str>, write: Option<Kind>) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut document = context.document(VIEW.entries, false, VIEW.empty);
    let advice = match reorder(&context.profile, &context.catalog, &context.filter, nodes)? {
        Ok(advice) => Rc::new(advice),
        Err(missing) => {
            let which = if missing.is_empty() { "all of them".to_owned() } else { format!("ranks {missing}") };
            document.found = Found::NotRecorded;
            document.reasons = vec![format!("an order needs all ranks, and the profile lacks {which}")];
            return Ok(document);
        }
    };
    document.words = vec![("verdict", verdict(&advice))];
    document.numbers = vec![
        ("ranks", Value::Number(advice.ranks.len() as i64)),
        ("nodes", Value::Number(advice.nodes.len() as i64)),
        ("bytes", bytes(advice.total)),
        ("matrix_bytes", bytes(advice.matrix)),
        ("collective_bytes", bytes(advice.total - advice.matrix)),
        ("left_out_bytes", bytes(advice.left_out)),
    ];
    let mut orders = column::table("orders", COLUMNS, &advice, (0..advice.plans.len()).collect());
    orders.after = vec![String::new(), verdict(&advice)];
    orders.legend = vec![LEGEND.to_owned()];
    let by_node = advice.by_node();
    let of_node = |(node, ranks): (usize, &Vec<i64>)| {
        ranks.iter().enumerate().map(move |(slot, rank)| Place { rank: *rank, node, slot }).collect::<Vec<_>>()
    };
    let mut places: Vec<Place> = by_node.iter().enumerate().flat_map(of_node).collect();
    places.sort_by_key(|place| place.rank);
    let mut placement = column::table("placement", PLACES, &advice, places);
    placement.audience = Audience::JSON;
    document.tables = vec![orders, placement];
    if let Some(kind) = write {
        if kind.needs_hosts() && advice.nodes.iter().any(|node| node.host.is_none()) {
            let name = kind.name();
            return Err(Error::Argument(format!("--write {name} needs hosts: --nodes node1:32,node2:32")));
        }
        let hosts = advice.nodes.iter().map(|node| node.host.clone()).collect();
        let about = format!("Order of ranks by through traffic --reorder: {}", name(advice.plans[advice.best].order));
        let file = OrderFile { kind, about, hosts, by_host: by_node };
        document.drawings = vec![(Format::Table, Box::new(file) as Box<dyn Drawing>)];
        if advice.verdict != Verdict::Better {
            document.remarks.push(verdict(&advice));
        }
    }
    if advice.left_out > 0.0 {
        let bytes = units::bytes(advice.left_out as u64);
        document.remarks.push(format!("collective operations with {bytes} are left out: too many pairs of ranks"));
    }
    Ok(document)
}

fn bytes(bytes: f64) -> Value<'static> {
    Value::Bytes(bytes.max(0.0).round() as u64)
}

fn name(order: Order) -> &'static str {
    match order {
        Order::Run => "run",
        Order::Block => "block",
        Order::RoundRobin => "round-robin",
        Order::Folded => "folded",
        Order::Proposed => "proposed",
    }
}

fn method(order: Order) -> Option<i64> {
    match order {
        Order::Run => None,
        Order::RoundRobin => Some(0),
        Order::Block => Some(1),
        Order::Folded => Some(2),
        Order::Proposed => Some(3),
    }
}

/// The answer in a sentence.
fn verdict(advice: &Advice) -> String {
    let (before, best) = (&advice.plans[advice.before], &advice.plans[advice.best]);
    let percent = |part: f64| units::percent(part, 1.0);
    match advice.verdict {
        Verdict::OneNode => {
            "all ranks are on one node, so their order does not matter: name other nodes with --nodes 4x32".to_owned()
        }
        Verdict::NoTraffic => "the profile has no bytes between ranks".to_owned(),
        Verdict::LittleBetween => {
            format!("another order cannot help: less than {} of all bytes go between nodes", percent(LEAST_BETWEEN))
        }
        Verdict::NoBetter => format!(
            "another order does not help: none that was found saves {} of the bytes between nodes",
            percent(LEAST_GAIN)
        ),
        Verdict::Better => format!(
            "{} saves {} of the bytes between nodes: {} instead of {}",
            name(best.order),
            units::percent(before.between - best.between, before.between),
            units::bytes(best.between.round() as u64),
            units::bytes(before.between.round() as u64)
        ),
    }
}
