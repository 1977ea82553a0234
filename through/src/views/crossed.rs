//! Functions of layers against transports.

use super::contributors::{SHOWN, recorded};
use super::{Column, Context, Flag, Part, Question, View, column, linkage};
use crate::document::{Document, Drawing, Format, Unit, Value};
use crate::error::Error;
use crate::query::layers::crossed::{Crossing, crossed};
use crate::query::sort::SortKey;
use crate::render::crossed::Crossed;

pub const VIEW: View = View {
    name: "functions by transport",
    command: "layers",
    flag: Flag::Option { option: "by", value: "transport" },
    help: "functions against transports, % of bytes (% of operations)",
    meaning: "a table for each layer: its functions against its transports, in percent of the layer's bytes and, in brackets, of its operations",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Calls, SortKey::Bytes],
    entries: "functions",
    lacks: &[],
    empty: "the profile has no transfers",
    parts: &[
        Part { name: "crossings", headings: || column::headings(COLUMNS) },
        Part { name: "notes", headings: || column::headings(linkage::NOTES) },
        Part { name: "unlinked", headings: || column::headings(linkage::UNLINKED) },
    ],
    ask,
};

type Of = Column<Crossing, Context>;

const COLUMNS: &[Of] = &[
    Of::record("layer", Unit::Text, "the layer", |_, cell| Value::text(&cell.layer)),
    Of::record("function", Unit::Text, "its function", |_, cell| Value::text(&cell.function)),
    Of::record("transport", Unit::Text, "the transport; empty if there is none", |_, cell| {
        Value::text(&cell.transport)
    }),
    Of::record("calls", Unit::Count, "operations, over all ranks", |_, cell| Value::Number(cell.sums.calls)),
    Of::record("bytes", Unit::Bytes, "their bytes", |_, cell| Value::Bytes(cell.sums.bytes)),
    Of::record("bytes_share", Unit::Share, "of the layer's bytes", |_, cell| Value::Share {
        part: cell.sums.bytes as f64,
        whole: cell.total.bytes as f64,
    }),
    Of::record("calls_share", Unit::Share, "of the layer's operations", |_, cell| Value::Share {
        part: cell.sums.calls as f64,
        whole: cell.total.calls as f64,
    }),
];

fn ask(question: &Question) -> Result<Document, Error> {
    let (context, groups) = match recorded(question, &VIEW)? {
        Ok(recorded) => recorded,
        Err(document) => return Ok(*document),
    };
    let counts = question.sort == Some(SortKey::Calls);
    let (cells, hidden) = crossed(&groups, &context.catalog, &context.filter, counts, question.top_of_table(SHOWN));
    let mut document = context.document(VIEW.entries, cells.is_empty(), VIEW.empty);
    document.hidden = hidden;
    document.drawings = vec![(Format::Table, Box::new(Crossed(cells.clone())) as Box<dyn Drawing>)];
    document.tables = vec![column::table("crossings", COLUMNS, &context, cells)];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}
