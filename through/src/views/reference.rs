//! The reference of views, written from their registry.

use std::fmt::Write as _;

use super::{Asked, Flag, Part, View};
use crate::document::Format;

/// The page `docs/reference/views.md`, of the views of profiles and of measurements.
pub fn page<Q: Asked>(views: impl Iterator<Item = &'static View> + Clone, of_measurements: &[View<Q>]) -> String {
    let mut page = String::from(
        "# Views\n\nWritten from the registry of views, `through/src/views/mod.rs` and `insight/src/views/mod.rs`. [`through`](through.md) explains the options.\n\n\
         | view | command | formats | `--sort` | `--top` counts | not with |\n|---|---|---|---|---|---|\n",
    );
    let shown = || views.clone().filter(|view| view.command != "run");
    shown().for_each(|view| row(view, &mut page));
    of_measurements.iter().for_each(|view| row(view, &mut page));
    page += "\nA sort key that a view lacks is ignored. Sizes are whole bytes, times are seconds, shares are fractions (0.25 is a quarter). Unknown values \
             are empty in CSV and `null` in JSON and Parquet. Parquet has the same table as CSV, with counts, ranks and bytes as 64-bit integers, times and fractions as doubles. JSON is one object: `profile` (the path), `meta` (the view `meta`), `overview`, `filters` (in words), \
             `hidden` (entries left out by `--top`), for traffic `layer`, and the arrays named here. If hook modules recorded layers, every \
             document has `notes` and `unlinked` ([contributors](#contributors)).\n";
    let mut written: Vec<&str> = Vec::new();
    shown().for_each(|view| section(view, &mut written, &mut page));
    page += "\n# Views of measurements\n\nViews of files by [groupbench](groupbench.md). JSON has `measurements` (the path) instead of `profile`, no `overview`, and the environment as `meta`.\n";
    of_measurements.iter().for_each(|view| section(view, &mut written, &mut page));
    page
}

fn row<Q: Asked>(view: &View<Q>, page: &mut String) {
    let formats: Vec<&str> = view.written_as().map(Format::name).collect();
    let sorts: Vec<String> = view.sorts.iter().map(|key| format!("`{}`", key.name())).collect();
    let lacks: Vec<String> = view.lacks.iter().map(|option| format!("`--{option}`")).collect();
    let (formats, sorts, lacks) = (formats.join(", "), sorts.join(", "), lacks.join(", "));
    let _ =
        writeln!(page, "| {} | {} | {formats} | {sorts} | {} | {lacks} |", view.name, invocation(view), view.entries);
}

fn section<Q>(view: &View<Q>, written: &mut Vec<&'static str>, page: &mut String) {
    let _ = write!(page, "\n## {}\n\n{}: {}.", heading(view), invocation(view), view.meaning);
    if !view.note.is_empty() {
        let _ = write!(page, " {}", view.note);
    }
    page.push('\n');
    for part in view.parts {
        if written.contains(&part.name) && view.parts[0].name != part.name {
            continue;
        }
        if written.contains(&part.name) {
            let _ = writeln!(page, "\nThe array is `{}`, as above.", part.name);
            continue;
        }
        written.push(part.name);
        columns(part, page);
    }
}

fn columns(part: &Part, page: &mut String) {
    let _ = write!(page, "\nArray `{}`:\n\n| column | unit | meaning |\n|---|---|---|\n", part.name);
    for heading in (part.headings)() {
        if let Some(name) = heading.name {
            let _ = writeln!(page, "| `{name}` | {} | {} |", heading.unit.word(), heading.meaning);
        }
    }
}

fn heading<Q>(view: &View<Q>) -> String {
    let mut letters = view.name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// How it is asked for: `through layers --by comm`.
fn invocation<Q>(view: &View<Q>) -> String {
    let command = ["through", view.command].join(" ");
    let command = command.trim_end();
    match view.flag {
        Flag::Default => format!("`{command}`"),
        Flag::Switch { short: Some(short), long, .. } => format!("`{command}` `-{short}`, `--{long}`"),
        Flag::Switch { long, .. } => format!("`{command}` `--{long}`"),
        Flag::Option { option, value } => format!("`{command}` `--{option} {value}`"),
    }
}
