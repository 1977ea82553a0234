//! Which memory layers read and wrote, by the lines of the program that allocated it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::contributors::{SHOWN, resolved};
use super::{Column, Context, Flag, Part, Question, View, column, linkage, nothing};
use crate::document::{Document, Format, Table, Unit, Value};
use crate::error::Error;
use crate::query::layers::linkage::Layers;
use crate::query::layers::objects::{End, Move, Object, moves, objects};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "objects",
    command: "layers",
    flag: Flag::Option { option: "by", value: "object" },
    help: "from and to which allocations: line, number, size [needs run --sites]",
    meaning: "between which objects data moved: an object is the GPU memory, or pinned memory, that one line of the program allocated. Other memory has no \
              line",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Calls, SortKey::Bytes],
    entries: "rows",
    lacks: &[],
    empty: "the profile has no transfers",
    parts: &[
        Part { name: "moves", headings: || column::headings(COLUMNS) },
        Part { name: "objects", headings: || column::headings(OBJECTS) },
        Part { name: "notes", headings: || column::headings(linkage::NOTES) },
        Part { name: "unlinked", headings: || column::headings(linkage::UNLINKED) },
    ],
    ask,
};

struct Data {
    context: Rc<Context>,
    objects: BTreeMap<i64, Object>,
}

type Of = Column<Move, Data>;

const COLUMNS: &[Of] = &[
    Of::new("layer", "layer", Unit::Text, "the layer", |_, row| Value::text(&row.layer)),
    Of::shown("from", Unit::Text, |data, row| data.shown(&row.source)).whole(),
    Of::shown("to", Unit::Text, |data, row| data.shown(&row.target)).whole(),
    Of::record("source", Unit::Text, "the line that allocated what was read", |data, row| data.line(&row.source)),
    Of::record("source_memory", Unit::Text, "what memory that is: `device`, `pinned`, `pageable`", |_, row| {
        Value::text(&row.source.memory)
    }),
    Of::record("source_allocations", Unit::Count, "how many allocations that line made", |data, row| {
        Value::some(data.object(&row.source), |object| Value::Number(object.allocations))
    }),
    Of::record("source_allocated", Unit::Bytes, "their bytes, also of those that were freed", |data, row| {
        Value::some(data.object(&row.source), |object| Value::Bytes(object.bytes))
    }),
    Of::record("target", Unit::Text, "the line that allocated what was written", |data, row| data.line(&row.target)),
    Of::record("target_memory", Unit::Text, "what memory that is", |_, row| Value::text(&row.target.memory)),
    Of::record("target_allocations", Unit::Count, "how many allocations that line made", |data, row| {
        Value::some(data.object(&row.target), |object| Value::Number(object.allocations))
    }),
    Of::record("target_allocated", Unit::Bytes, "their bytes", |data, row| {
        Value::some(data.object(&row.target), |object| Value::Bytes(object.bytes))
    }),
    Of::new("function", "function", Unit::Text, "the layer's function", |_, row| Value::text(&row.function)),
    Of::new("calls", "calls", Unit::Count, "operations of the layer, over all ranks", |_, row| {
        Value::Number(row.sums.calls)
    }),
    Of::new("bytes", "bytes", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.sums.bytes)),
    Of::new("share", "share", Unit::Share, "of the layer's bytes", |_, row| Value::Share {
        part: row.sums.bytes as f64,
        whole: row.total.bytes as f64,
    }),
];

type OfObject = Column<(i64, Object), Context>;

const OBJECTS: &[OfObject] = &[
    OfObject::new("object", "object", Unit::Text, "the line that allocated it", |context, (site, _)| {
        Value::maybe(context.catalog.sites.spot(*site).map(|spot| spot.text.as_str()))
    })
    .whole(),
    OfObject::new(
        "memory",
        "memory",
        Unit::Text,
        "what memory that is: `device`, `pinned`, `managed`",
        |_, (_, object)| Value::text(&object.memory),
    ),
    OfObject::new(
        "allocations",
        "allocations",
        Unit::Count,
        "how many allocations that line made",
        |_, (_, object)| Value::Number(object.allocations),
    ),
    OfObject::new("bytes", "bytes", Unit::Bytes, "their bytes, also of those that were freed", |_, (_, object)| {
        Value::Bytes(object.bytes)
    }),
];

impl Data {
    fn object(&self, end: &End) -> Option<&Object> {
        self.objects.get(&end.site?)
    }

    fn line(&self, end: &End) -> Value<'_> {
        let spot = end.site.and_then(|site| self.context.catalog.sites.spot(site));
        Value::maybe(spot.map(|spot| spot.text.as_str()))
    }

    /// The line, or what memory it is.
    fn shown<'a>(&'a self, end: &'a End) -> Value<'a> {
        match self.line(end) {
            Value::Unknown => Value::text(if end.memory.is_empty() { "-" } else { &end.memory }),
            line => line,
        }
    }
}

fn ask(question: &Question) -> Result<Document, Error> {
    let mut context = match resolved(question, &VIEW)? {
        Ok(context) => context,
        Err(document) => return Ok(*document),
    };
    context.layers = Layers::read(&context.profile, &context.catalog)?;
    let context = Rc::new(context);
    let objects = objects(&context.profile, &context.catalog)?;
    if objects.is_empty() {
        return Ok(nothing::no_objects(&context, VIEW.entries));
    }
    let mut rows = moves(&context.profile, &context.catalog, &context.filter, question.sort)?;
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    let shown = question.top_of_table(SHOWN).filter(|top| *top > 0).unwrap_or(usize::MAX);
    document.hidden = rows.len().saturating_sub(shown);
    rows.truncate(shown);
    let mut listed: Vec<(i64, Object)> = objects.clone().into_iter().collect();
    listed.sort_by_key(|(_, object)| Reverse(object.bytes));
    let data = Rc::new(Data { context: Rc::clone(&context), objects });
    document.tables = vec![
        column::table("moves", COLUMNS, &data, rows),
        Table {
            title: Some("objects: what each line allocated"),
            ..column::table("objects", OBJECTS, &context, listed)
        },
    ];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}
