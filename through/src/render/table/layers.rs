//! What layers below MPI did: the top contributors or the protocols, what the wire carried for what MPI calls asked, and
//! what hook modules did not see.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::operations::size;
use super::words::{bucket_name, operation_name, titled, wrap};
use super::{more, remark};
use crate::escape::{cut, visible};
use crate::layered::{Body, Layered};
use crate::query::catalog::Catalog;
use crate::query::layers::amplification::Amplification;
use crate::query::layers::contributors::{Contributor, Section, Subject};
use crate::query::layers::linkage::Layers;
use crate::query::layers::protocols::Protocols;
use crate::query::transfers::Sums;
use crate::render::grid::{Column, Grid, number, text};
use crate::render::header::{Head, header};
use crate::terminal::{Paint, Terminal};
use crate::units;

const CONTRIBUTORS: [Column; 8] = [
    text("function"),
    text("protocol"),
    text("over"),
    number("calls"),
    number("bytes"),
    number("share"),
    number("later").optional(2),
    number("mean"),
];
const CONTRIBUTORS_LEGEND: &str = "Calls and bytes are those of the layer, over all ranks; share is that of the bytes of the \
     layer. Mean is the time of operations that were complete only later than their call returned.";

const PROTOCOLS: [Column; 10] = [
    text("communicator"),
    number("bytes"),
    number("eager"),
    number("calls").optional(1),
    number("get"),
    number("calls").optional(1),
    number("put"),
    number("calls").optional(1),
    number("other"),
    number("calls").optional(1),
];
const PROTOCOLS_LEGEND: &str = "Bytes of messages by their size, and how many messages: sent at once (eager), or after an agreement, when the receiver \
     gets the data or the sender puts it (rendezvous). Other: not known which.";

const AMPLIFICATIONS: [Column; 5] =
    [text("communicator"), text("operation"), number("asked"), number("on the wire"), number("ratio")];
const AMPLIFICATIONS_LEGEND: &str = "Asked is what MPI calls were given to send, over all ranks, on the wire what transports were \
     given for them, with headers and control messages. Data that a receiver gets is on the wire of its receive: all operations \
     together have both sides.";
/// Communicators and operations that a table shows.
const AMPLIFICATIONS_SHOWN: usize = 20;

const UNLINKED: [Column; 6] =
    [text("layer"), text("protocol"), number("calls"), number("share"), number("bytes"), number("share")];

/// On a wide terminal the numbers at the end of a line would be too far from the name at its begin.
const HEADING_COLUMNS: usize = 100;

pub fn print(report: &Layered, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let head = Head {
        path: &report.path,
        catalog: &report.catalog,
        overview: &report.overview,
        filter: &report.filter,
        // They stand below, in full.
        layers: None,
    };
    header(&head, terminal, out)?;
    match &report.body {
        Body::Contributors(sections) => contributors(report, sections, terminal, out)?,
        Body::Protocols(rows) => protocols(report, rows, terminal, out)?,
    }
    amplifications(&report.catalog, &report.amplifications, terminal, out)?;
    notes(&report.layers, &report.catalog, terminal, out)?;
    unlinked(&report.layers, terminal, out)
}

fn contributors(report: &Layered, sections: &[Section], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let tables: Vec<Vec<Vec<String>>> =
        sections.iter().map(|section| section.rows.iter().map(|row| contributor(section, row)).collect()).collect();
    let grid = Grid::fit(&CONTRIBUTORS, tables.iter().flatten(), terminal);
    for (section, rows) in sections.iter().zip(&tables) {
        writeln!(out)?;
        heading(&report.catalog, section, terminal, out)?;
        grid.print(rows, terminal, out)?;
        if section.hidden > 0 {
            writeln!(out, "  and {}", units::count(section.hidden as u64, "more row"))?;
        }
    }
    writeln!(out)?;
    remark(CONTRIBUTORS_LEGEND, terminal, out)?;
    if report.hidden > 0 {
        let of_comms = sections.iter().any(|section| matches!(section.subject, Subject::Comm(_)));
        let subjects = if of_comms { "communicators" } else { "operations" };
        more(report.hidden, subjects, terminal, out)?;
    }
    Ok(())
}

/// `── s0.1 "row" · uct ───────────────── 12.3 MiB  37.1 % of uct ──`
fn heading(catalog: &Catalog, section: &Section, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let layer = visible(&section.layer);
    let bytes = units::bytes(section.total.bytes);
    let share = units::percent(section.total.bytes as f64, section.layer_total.bytes as f64);
    let (name, weight) = match section.subject {
        Subject::All => (layer.clone().into_owned(), format!("{bytes} in {}", calls(&section.total))),
        Subject::Comm(comm) => {
            let name = catalog.communicators.get(&comm).map(titled).unwrap_or_else(|| format!("?{comm}"));
            (format!("{name} · {layer}"), format!("{bytes}  {share} of {layer}"))
        }
        Subject::Op(op) => {
            (format!("{} · {layer}", operation_name(catalog, op)), format!("{bytes}  {share} of {layer}"))
        }
    };
    let weight = cut(&weight, terminal.columns / 2);
    let room = terminal.columns.min(HEADING_COLUMNS).saturating_sub(weight.width() + "──  ─  ──".width());
    let name = cut(&name, room);
    let rule = "─".repeat(room.saturating_sub(name.width()) + 1);
    writeln!(out, "── {} {} {weight} ──", terminal.paint(Paint::Strong, &name), terminal.paint(Paint::Faint, &rule))
}

fn calls(sums: &Sums) -> String {
    units::count(sums.calls.max(0) as u64, "operation")
}

fn contributor(section: &Section, row: &Contributor) -> Vec<String> {
    let sums = &row.sums;
    vec![
        visible(&row.way.function).into_owned(),
        visible(&row.way.protocol).into_owned(),
        visible(&row.way.path()).into_owned(),
        sums.calls.to_string(),
        size(sums.bytes),
        units::percent(sums.bytes as f64, section.layer_total.bytes as f64),
        sums.later.to_string(),
        sums.mean_ns().map_or_else(|| "-".to_owned(), units::time),
    ]
}

fn protocols(report: &Layered, rows: &[Protocols], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let catalog = &report.catalog;
    let splits: [fn(&Protocols) -> &Sums; 4] = [|row| &row.eager, |row| &row.get, |row| &row.put, |row| &row.other];
    // Protocols that nobody used would take the room of others.
    let is_used = splits.map(|split| rows.iter().any(|row| split(row).calls != 0));
    let is_shown = |column: usize| column < 2 || is_used[(column - 2) / 2];
    let keep = |cells: Vec<String>| -> Vec<String> {
        cells.into_iter().enumerate().filter(|(column, _)| is_shown(*column)).map(|(_, cell)| cell).collect()
    };
    let columns: Vec<Column> =
        PROTOCOLS.into_iter().enumerate().filter(|(column, _)| is_shown(*column)).map(|(_, shown)| shown).collect();
    let mut last = None;
    let mut cells = |row: &Protocols| {
        let is_new = last.replace(row.comm) != Some(row.comm);
        let name = catalog.communicators.get(&row.comm).filter(|_| is_new).map(titled).unwrap_or_default();
        let mut cells = vec![name, bucket_name(catalog, row.bucket)];
        for split in splits {
            let sums = split(row);
            cells.push(size(sums.bytes));
            cells.push(if sums.calls == 0 { "-".to_owned() } else { sums.calls.to_string() });
        }
        cells
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| keep(cells(row))).collect();
    writeln!(out)?;
    Grid::fit(&columns, rows.iter(), terminal).print(&rows, terminal, out)?;
    writeln!(out)?;
    remark(PROTOCOLS_LEGEND, terminal, out)?;
    if report.hidden > 0 {
        more(report.hidden, "communicators", terminal, out)?;
    }
    Ok(())
}

fn amplifications(
    catalog: &Catalog,
    rows: &[Amplification],
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut last = None;
    let mut cells = |row: &Amplification| {
        let is_new = last.replace(row.comm) != Some(row.comm);
        let name = catalog.communicators.get(&row.comm).filter(|_| is_new).map(titled).unwrap_or_default();
        vec![
            name,
            row.op.map_or_else(|| "(all)".to_owned(), |op| operation_name(catalog, op)),
            units::bytes(row.asked_bytes),
            units::bytes(row.wire_bytes),
            ratio(row.ratio()),
        ]
    };
    let shown: Vec<Vec<String>> = rows.iter().take(AMPLIFICATIONS_SHOWN).map(&mut cells).collect();
    title("amplification: bytes on the wire for those that MPI calls asked to send", terminal, out)?;
    Grid::fit(&AMPLIFICATIONS, shown.iter(), terminal).print(&shown, terminal, out)?;
    if rows.len() > shown.len() {
        let more = units::count((rows.len() - shown.len()) as u64, "more row");
        writeln!(out, "  and {more}: --format json")?;
    }
    writeln!(out)?;
    remark(AMPLIFICATIONS_LEGEND, terminal, out)
}

/// Three digits that count.
fn ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio > 0.0 && ratio < 0.001 => "<0.001".to_owned(),
        ratio if ratio < 9.9995 => format!("{ratio:.3}"),
        ratio if ratio < 99.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

fn notes(layers: &Layers, catalog: &Catalog, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if layers.notes.is_empty() {
        return Ok(());
    }
    title("what the modules say", terminal, out)?;
    for note in &layers.notes {
        let text = format!("{}: {}", visible(&note.module), visible(&note.sentence(catalog)));
        for line in wrap(&text, terminal.columns - 2) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

fn unlinked(layers: &Layers, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if layers.links.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for links in &layers.links {
        for (number, (protocol, sums)) in links.parts.iter().enumerate() {
            rows.push(vec![
                if number == 0 { visible(&links.layer).into_owned() } else { String::new() },
                visible(protocol).into_owned(),
                sums.calls.to_string(),
                units::percent(sums.calls as f64, links.total.calls as f64),
                units::bytes(sums.bytes),
                units::percent(sums.bytes as f64, links.total.bytes as f64),
            ]);
        }
    }
    title("what is linked to no MPI call", terminal, out)?;
    if !rows.is_empty() {
        Grid::fit(&UNLINKED, rows.iter(), terminal).print(&rows, terminal, out)?;
    }
    let whole = layers.links.iter().filter(|links| links.parts.is_empty());
    let whole: Vec<String> = whole.map(|links| visible(&links.layer).into_owned()).collect();
    if !whole.is_empty() {
        writeln!(out, "  {}", cut(&format!("of {}: nothing", whole.join(", ")), terminal.columns - 2))?;
    }
    Ok(())
}

fn title(text: &str, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "{}", terminal.paint(Paint::Strong, text))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ratios_have_digits_that_count() {
        assert_eq!(
            [0.0, 0.0001, 1.0, 1.0004, 12.34, 1234.5].map(super::ratio),
            ["0.000", "<0.001", "1.000", "1.000", "12.3", "1234"]
        );
    }
}
