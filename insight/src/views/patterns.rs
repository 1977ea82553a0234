//! Patterns of point-to-point messages on each communicator, and the messages that do not fit.

use std::cmp::Reverse;
use std::rc::Rc;

use commsee::ranks::Ranks;
use through_core::Error;
use through_core::document::{Audience, Document, Format, Style, Table, Unit, Value};
use through_core::query::families::Families;
use through_core::views::{Column, Context, Flag, Part, Question, View, alike, column, shorten};

use crate::query::patterns::{Branching, Grid, Link, Pattern, Shape, Unjudged, Way, patterns};

pub const VIEW: View = View {
    name: "patterns",
    command: "traffic",
    flag: Flag::Switch { short: None, long: "patterns" },
    help: "Patterns of point-to-point messages on each communicator",
    meaning: "the pattern of messages between the ranks of each communicator, and the messages that do not fit",
    note: "Messages are those of the [matrix](#matrix): point-to-point, neighborhood collectives and one-sided calls. A pattern fits if at most 10 % of its pairs of ranks, or one pair, differ from the messages. \
           If nothing fits, pairs with less than 1 % of the bytes of the heaviest one are set aside; they are then listed as unexpected. Members count in the order of their world ranks; grids are \
           row-major, the last dimension varies fastest. Rings, chains, stars and butterflies are found in any order of ranks, grids are not.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "communicators",
    lacks: &[],
    empty: "the profile has no messages between ranks",
    parts: &[
        Part { name: "patterns", headings: || column::headings(COLUMNS) },
        Part { name: "misfits", headings: || column::headings(MISFITS) },
    ],
    ask,
};

const SHOWN: usize = 20;
/// Misfits that a table shows.
const MISFITS_SHOWN: usize = 10;

type Of = Column<Pattern>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name", |_, row| Value::text(&row.comm.name)),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |_, row| {
        Value::maybe(row.comm.label.as_deref())
    }),
    Of::shown("communicator", Unit::Communicator, |_, row| Value::Communicator {
        name: &row.comm.name,
        label: row.comm.label.as_deref(),
    }),
    Of::new("size", "size", Unit::Count, "its number of processes", |_, row| {
        Value::some(row.comm.size, |size| Value::Number(size as i64))
    }),
    Of::record(
        "ranks",
        Unit::Ranks,
        "world ranks in the pattern: the members, or those that sent or received anything",
        |_, row| {
            let ranks: Ranks = row.ranks.iter().filter_map(|rank| u32::try_from(*rank).ok()).collect();
            Value::owned(ranks.to_string())
        },
    ),
    Of::record(
        "pattern",
        Unit::Text,
        "`pair`, `ring`, `halo`, `star`, `tree`, `butterfly`, `all-to-all`, `none`; unknown for intercommunicators, and if the profile lacks members",
        |_, row| match &row.fit {
            Some(fit) => Value::text(word(&fit.shape)),
            None => Value::maybe(row.unjudged.is_none().then_some("none")),
        },
    ),
    Of::shown("pattern", Unit::Text, |_, row| Value::owned(described(row))),
    Of::record("kind", Unit::Text, "of a tree: `binary`, `binomial`, or unknown", |_, row| {
        Value::maybe(row.fit.as_ref().and_then(|fit| branching(&fit.shape)))
    }),
    Of::record("dims", Unit::Text, "of a halo: its dimensions, such as `4x8`; the last varies fastest", |_, row| {
        Value::some(grid(row), |grid| Value::owned(list(&grid.dims, "x")))
    }),
    Of::record(
        "periodic",
        Unit::Text,
        "of a halo: for each dimension 1 if it is periodic, such as `1,0`; 0 of two ranks",
        |_, row| {
            Value::some(grid(row), |grid| {
                Value::owned(list(&grid.periodic.iter().map(|is| u8::from(*is)).collect::<Vec<_>>(), ","))
            })
        },
    ),
    Of::record(
        "points",
        Unit::Count,
        "of a halo: points of its stencil: 5 and 9 in two dimensions, 7, 19 and 27 in three",
        |_, row| Value::some(grid(row), |grid| Value::Number(points(grid))),
    ),
    Of::record(
        "direction",
        Unit::Text,
        "`both ways`, `one way`, `mixed`; of stars and trees `from the root`, `to the root`",
        |_, row| Value::maybe(row.fit.as_ref().and_then(|fit| direction(&fit.shape))),
    ),
    Of::record("root", Unit::Rank, "for a star or tree: the world rank of its root, if known", |_, row| {
        Value::some(root(row), Value::Number)
    }),
    Of::record("by_rank", Unit::YesNo, "whether members are in the order of their ranks", |_, row| {
        Value::some(row.fit.as_ref(), |fit| Value::Flag(fit.numbers.is_none()))
    }),
    Of::record("also", Unit::Text, "other patterns that also fit", |_, row| {
        Value::owned(row.also.iter().map(shape).collect::<Vec<_>>().join("; "))
    }),
    Of::new("pairs", "pairs", Unit::Count, "ordered pairs of ranks with messages", |_, row| {
        Value::Number(row.links as i64)
    }),
    Of::new("calls", "calls", Unit::Count, "messages", |_, row| Value::Number(row.calls)).optional(3),
    Of::new("bytes", "bytes", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.bytes)),
    Of::new("unexpected", "unexpected", Unit::Count, "pairs that do not fit the pattern", |_, row| {
        misfits(row, row.extra.len())
    })
    .style(Style::Blank),
    Of::new("missing", "missing", Unit::Count, "pairs of the pattern without a message", |_, row| {
        misfits(row, row.lacking.len())
    })
    .style(Style::Blank),
];

struct Misfit {
    comm: String,
    label: Option<String>,
    is_missing: bool,
    link: Link,
}

type OfMisfit = Column<Misfit>;

const MISFITS: &[OfMisfit] = &[
    OfMisfit::record("comm", Unit::Communicator, "the communicator's name", |_, row| Value::text(&row.comm)),
    OfMisfit::shown("communicator", Unit::Communicator, |_, row| Value::Communicator {
        name: &row.comm,
        label: row.label.as_deref(),
    })
    .once(),
    OfMisfit::new(
        "what",
        "what",
        Unit::Text,
        "`unexpected`: sent, and no part of the pattern; `missing`: part of it, and not sent",
        |_, row| Value::text(if row.is_missing { "missing" } else { "unexpected" }),
    ),
    OfMisfit::new("src", "from", Unit::Rank, "the rank that sends", |_, row| Value::Number(row.link.src)),
    OfMisfit::new(
        "dst",
        "to",
        Unit::Rank,
        "the rank that it sends to; unknown: a process of another world",
        |_, row| Value::some(Some(row.link.dst).filter(|dst| *dst >= 0), Value::Number),
    ),
    OfMisfit::new("calls", "calls", Unit::Count, "messages", |_, row| Value::Number(row.link.calls)),
    OfMisfit::new("bytes", "bytes", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.link.bytes)),
];

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let filter = &context.filter;
    if filter.buckets.is_some() || filter.time.is_some() || filter.phases.is_some() || filter.sites.is_some() {
        let why = "messages between ranks are not counted by size, time, phase or site: leave out";
        return Err(Error::Argument(format!("{why} --bytes, --bucket, --time, --phase and --site")));
    }
    let mut found = patterns(&context.profile, &context.catalog, &context.filter)?;
    let mut document = context.document(VIEW.entries, found.is_empty(), VIEW.empty);
    if question.folds() {
        found = folded(found, &Families::of(&context.catalog));
    }
    document.hidden = shorten(&mut found, question.top_of_table(SHOWN));
    let misfits: Vec<Misfit> = found.iter().flat_map(misfits_of).collect();
    let audience = if misfits.is_empty() { Audience::JSON } else { Audience::BESIDE };
    document.tables = vec![column::table("patterns", COLUMNS, &context, found)];
    let mut listed = column::table("misfits", MISFITS, &context, misfits);
    listed.audience = audience;
    listed.title = Some("Pairs that do not fit");
    listed.more = Some(through_core::document::More { most: MISFITS_SHOWN, one: "more pair", hint: ": --format json" });
    document.tables.push(Table { ..listed });
    Ok(document)
}

/// Communicators that were made alike and whose messages make the same pattern, with all its pairs and no others, as one line.
fn folded(found: Vec<Pattern>, families: &Families) -> Vec<Pattern> {
    let own = |row: &Pattern| (row.extra.len() + row.lacking.len() > 0).then_some(row.comm.id);
    let mut rows = alike(found, families, |row| (row.comm.id, (described(row), own(row))));
    for (sum, others) in &mut rows {
        for other in others.iter() {
            sum.links = sum.links.saturating_add(other.links);
            sum.calls = sum.calls.saturating_add(other.calls);
            sum.bytes = sum.bytes.saturating_add(other.bytes);
        }
        if let Some(family) = families.find(sum.comm.id).filter(|_| !others.is_empty()) {
            (sum.comm.name, sum.comm.label) = (family.title(others.len() + 1), None);
        }
    }
    let mut rows: Vec<Pattern> = rows.into_iter().map(|(row, _)| row).collect();
    rows.sort_by_key(|row| (Reverse(row.bytes), row.comm.id));
    rows
}

fn misfits_of(pattern: &Pattern) -> Vec<Misfit> {
    if pattern.fit.is_none() {
        return Vec::new();
    }
    let misfit = |is_missing: bool| {
        move |link: &Link| Misfit {
            comm: pattern.comm.name.clone(),
            label: pattern.comm.label.clone(),
            is_missing,
            link: *link,
        }
    };
    pattern.extra.iter().map(misfit(false)).chain(pattern.lacking.iter().map(misfit(true))).collect()
}

fn misfits(row: &Pattern, count: usize) -> Value<'static> {
    Value::some(row.fit.as_ref(), |_| Value::Number(count as i64))
}

/// `halo 4x8, periodic in 1`.
pub fn described(row: &Pattern) -> String {
    let Some(fit) = &row.fit else {
        return match row.unjudged {
            None => "none",
            Some(Unjudged::Intercommunicator) => "not judged: intercommunicator",
            Some(Unjudged::Missing) => "not judged: ranks are missing",
        }
        .to_owned();
    };
    let root = root(row).map(|root| format!(", root {root}")).unwrap_or_default();
    let all = row.comm.size.is_none_or(|size| row.ranks.len() as u64 == size);
    let some = if all { String::new() } else { format!(", of {} ranks", row.ranks.len()) };
    format!("{}{root}{some}", shape(&fit.shape))
}

fn word(shape: &Shape) -> &'static str {
    match shape {
        Shape::Pair(_) => "pair",
        Shape::Ring(_) => "ring",
        Shape::Halo(_) => "halo",
        Shape::Star { .. } => "star",
        Shape::Tree { .. } | Shape::AnyTree(_) => "tree",
        Shape::Butterfly => "butterfly",
        Shape::AllToAll => "all-to-all",
    }
}

/// `halo 4x8, periodic in 1, both ways`.
fn shape(shape: &Shape) -> String {
    let kind = branching(shape).map(|kind| format!("{kind} ")).unwrap_or_default();
    let way = direction(shape).filter(|way| *way != "both ways").map(|way| format!(", {way}")).unwrap_or_default();
    let grid = match shape {
        Shape::Halo(grid) => {
            let periods: Vec<u8> = grid.periodic.iter().map(|is| u8::from(*is)).collect();
            let periodic = match periods.iter().sum::<u8>() as usize {
                0 => String::new(),
                all if all == grid.dims.len() => ", periodic".to_owned(),
                _ => format!(", periods {}", list(&periods, ",")),
            };
            let points = if grid.reach > 1 { format!(", {} points", points(grid)) } else { String::new() };
            format!(" {}{periodic}{points}", list(&grid.dims, "x"))
        }
        _ => String::new(),
    };
    format!("{kind}{}{grid}{way}", word(shape))
}

fn branching(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Tree { branching, .. } | Shape::AnyTree(Some(branching)) => Some(match branching {
            Branching::Binary => "binary",
            Branching::Binomial => "binomial",
        }),
        _ => None,
    }
}

fn direction(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Pair(way) | Shape::Ring(way) => Some(if *way == Way::Both { "both ways" } else { "one way" }),
        Shape::Halo(grid) => Some(match grid.ways.iter().filter(|way| **way == Way::Both).count() {
            0 => "one way",
            all if all == grid.ways.len() => "both ways",
            _ => "mixed",
        }),
        Shape::Star { way, .. } | Shape::Tree { way, .. } => Some(match way {
            Way::Both => "both ways",
            Way::Up => "from the root",
            Way::Down => "to the root",
        }),
        Shape::AnyTree(_) | Shape::Butterfly | Shape::AllToAll => None,
    }
}

fn grid(row: &Pattern) -> Option<&Grid> {
    match &row.fit.as_ref()?.shape {
        Shape::Halo(grid) => Some(grid),
        _ => None,
    }
}

fn root(row: &Pattern) -> Option<i64> {
    match &row.fit.as_ref()?.shape {
        Shape::Star { root, .. } | Shape::Tree { root, .. } => row.ranks.get(*root as usize).copied(),
        _ => None,
    }
}

/// Of `reach` coordinates at most that differ by one in either direction, and the point itself.
fn points(grid: &Grid) -> i64 {
    let dims = grid.dims.len() as i64;
    let mut ways = 1;
    (1..=grid.reach as i64).fold(1, |sum, changed| {
        ways = ways * (dims - changed + 1) / changed;
        sum + ways * (1 << changed)
    })
}

fn list<T: ToString>(items: &[T], between: &str) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}
