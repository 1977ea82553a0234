//! Which ranks share a network interface, as the bandwidths over k tell.

use std::rc::Rc;

use commsee::bench::model::{Fit, Model};
use through_core::Error;
use through_core::document::{Document, Format, Style, Unit, Value};
use through_core::text::units;
use through_core::views::{Column, Flag, Part, View, column, shorten};

use super::{Question, head, sections};
use crate::query::bench::Case;
use crate::query::bench::models::fitted;

pub const VIEW: View<Question> = View {
    name: "bench model",
    command: "bench model",
    flag: Flag::Default,
    help: "Ranks that share a network interface, by their bandwidths",
    meaning: "models of the bandwidth against k, the active ranks of a group, fitted to the measurements ([how to](../howto/measure-the-machine.md#which-ranks-share-a-network-interface))",
    note: "`packed` p: p consecutive ranks share a NIC; `round-robin` r: ranks take r NICs in turn; `bijective`: each has its own; `map`: the map from `--nics`, or one that \
           fits better than the models. f is fitted by least squares of relative errors. A model with the same values as the best at every measured k has `same predictions`; one whose residual noise \
           may explain is `within noise`: measure more values of k, or more samples.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "patterns",
    lacks: &[],
    empty: "the file has no bandwidths",
    parts: &[Part { name: "fits", headings: || column::headings(COLUMNS) }],
    ask,
};

/// Models beside the best that a table shows.
const SHOWN: usize = 3;

struct Row {
    case: Rc<Case>,
    ks: Rc<str>,
    fit: Fit,
    /// Others that cannot be told from the best.
    alike: usize,
}

type Of = Column<Row, ()>;

const COLUMNS: &[Of] = &[
    Of::record("family", Unit::Text, "the family of patterns", |_, row| Value::text(&row.case.family)),
    Of::record("direction", Unit::Text, "its direction", |_, row| Value::text(&row.case.direction)),
    Of::record("n", Unit::Count, "groups", |_, row| Value::Number(row.case.n as i64)),
    Of::record("g", Unit::Count, "ranks of each group", |_, row| Value::Number(row.case.g as i64)),
    Of::record("library", Unit::Text, "the library that moved the data", |_, row| Value::text(&row.case.library)),
    Of::record("buffers", Unit::Text, "where the buffers are", |_, row| Value::text(&row.case.buffers)),
    Of::record("crosses_hosts", Unit::YesNo, "whether a message leaves its host", |_, row| {
        Value::Flag(row.case.crosses_hosts)
    }),
    Of::new("bytes", "bytes", Unit::Bytes, "the count of the pattern", |_, row| Value::Bytes(row.case.bytes))
        .style(Style::Zero)
        .once(),
    Of::new("k", "k", Unit::Ranks, "the values of k that were measured", |_, row| Value::text(&row.ks)).optional(1),
    Of::record("model", Unit::Text, "`packed`, `round-robin`, `bijective` or `map`", |_, row| {
        Value::text(row.fit.model.name())
    }),
    Of::record("parameter", Unit::Count, "p of `packed`, r of `round-robin`", |_, row| {
        Value::some(row.fit.model.parameter(), |parameter| Value::Number(parameter as i64))
    }),
    Of::record("nics", Unit::Text, "of a `map`: the NIC of each rank", |_, row| match &row.fit.model {
        Model::Map { nics } => Value::owned(list(nics)),
        _ => Value::Unknown,
    }),
    Of::shown("model", Unit::Text, |_, row| Value::owned(title(&row.fit.model))),
    Of::new("nic_bandwidth", "f of a NIC", Unit::Rate, "f: the bandwidth of one NIC", |_, row| {
        Value::Rate(row.fit.nic_bandwidth)
    }),
    Of::new("residual", "residual", Unit::Share, "root mean square of the relative errors", |_, row| Value::Share {
        part: row.fit.residual,
        whole: 1.0,
    }),
    Of::new("standing", "fit", Unit::Text, "`best`, `same predictions`, `within noise` or `worse`", |_, row| {
        Value::text(row.fit.standing.name())
    }),
    Of::record("alike", Unit::Count, "other models as good as the best for this pattern", |_, row| {
        Value::Number(row.alike as i64)
    }),
];

const LEGEND: &str = "packed p: p ranks in a row share a NIC; round-robin r: ranks take r NICs in turn; bijective: each has its own. \
     f: the bandwidth of one. To separate models with the same predictions, or within noise, measure more k.";

fn ask(question: &Question) -> Result<Document, Error> {
    let results = question.meant(&question.measured);
    let nics = question.nics.as_deref();
    if let Some(nics) = nics
        && !results.iter().any(|row| row.case.g == nics.len() as u64)
    {
        let what = format!("--nics names the NICs of {} ranks, and no group that was measured has so many", nics.len());
        return Err(Error::Argument(what));
    }
    let mut patterns = fitted(&results, nics);
    let measured = patterns.len();
    // One k tells nothing of NICs.
    if question.is_table() {
        patterns.retain(|pattern| pattern.ks().len() > 1);
    }
    let single = measured - patterns.len();
    let mut document = question.document(VIEW.entries, patterns.is_empty(), head(&question.measured));
    let flagged = results.iter().filter(|row| !row.is_sound()).count();
    if flagged > 0 {
        let what = units::count(flagged as u64, "measurement");
        document.left_out = Some(format!("{what} flagged, or with wrong data, left out: through bench lists them."));
        if !document.is_found() {
            document.reasons = document.left_out.iter().cloned().collect();
        }
    }
    if single > 0 {
        document.left_out =
            Some(format!("{} measured with a single k are left out.", units::count(single as u64, "pattern")));
    }
    document.hidden = shorten(&mut patterns, question.top);
    let mut rows = Vec::new();
    for pattern in patterns {
        let ks: Rc<str> = list(&pattern.ks()).into();
        let alike = pattern.alike().count();
        let case = Rc::new(pattern.case);
        let shown = if question.is_table() { 1 + alike.clamp(1, SHOWN) } else { usize::MAX };
        rows.extend(pattern.fits.into_iter().take(shown).map(|fit| Row {
            case: Rc::clone(&case),
            ks: Rc::clone(&ks),
            fit,
            alike,
        }));
    }
    let sections = sections(rows.iter().map(|row| &*row.case));
    let mut table = column::table("fits", COLUMNS, &Rc::new(()), rows);
    table.sections = sections;
    table.legend = vec![LEGEND.to_owned()];
    document.tables.push(table);
    Ok(document)
}

/// `packed 2`.
pub fn title(model: &Model) -> String {
    match (model, model.parameter()) {
        (Model::Map { nics }, _) => format!("map {}", list(nics)),
        (model, Some(parameter)) => format!("{} {parameter}", model.name()),
        (model, None) => model.name().to_owned(),
    }
}

fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}
