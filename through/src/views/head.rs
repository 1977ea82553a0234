//! The lines above every table, line by line: the program, its library, ranks and hosts, and what is missing.

use commsee::job::Job;

use super::Context;
use crate::document::{Head, Line, Subject};
use crate::query::catalog::{Catalog, Detail};
use crate::query::layers::linkage::{Layers, Links};
use crate::query::overview::Overview;
use crate::text::terminal::Paint;
use crate::text::units;

/// Programs of a job that are listed.
const PROGRAMS: usize = 8;

/// What the ranks run: mostly one program, else each with its ranks.
fn programs(command: Option<&str>, several: Option<&str>) -> Vec<String> {
    let Some(several) = several else { return vec![command.unwrap_or("(command line not kept)").to_owned()] };
    let known = |line: &str| {
        let (ranks, command) = line.split_once('\t')?;
        Some(format!("{command} (ranks {ranks})"))
    };
    let all: Vec<String> = several.lines().filter_map(known).collect();
    let more = all.len().saturating_sub(PROGRAMS);
    let more = (more > 0).then(|| format!("and {more} more (see `programs` in the view `meta`)"));
    all.into_iter().take(PROGRAMS).chain(more).collect()
}

pub fn head(context: &Context) -> Head {
    let catalog = &context.catalog;
    let mut lines: Vec<Line> = Vec::new();
    let mut line = |name, text: String, paint| lines.push(Line { name, text, paint });
    for program in programs(catalog.meta("command"), catalog.meta("programs")) {
        line("program", program, None);
    }
    if let Some(library) = catalog.meta("mpi_library") {
        let name = if catalog.has_mpi() { library_name(library) } else { "none: a program without MPI".to_owned() };
        line("library", name, None);
    }
    if let Some(start) = catalog.meta("start_time") {
        line("started", start.replace('T', " ").replace('Z', " UTC"), None);
    }
    if let Some(job) = job(catalog) {
        line("job", job, None);
    }
    line("ranks", placed(&context.overview, catalog.meta("ranks")), None);
    if let Some(detail) = detail(catalog.detail) {
        line("detail", detail.to_owned(), None);
    }
    for note in notes(context) {
        line("note", note, Some(Paint::Warning));
    }
    for (name, text) in context.layers.iter().flat_map(|layers| linkage(layers, catalog)) {
        line(name, text, None);
    }
    Head {
        subject: Subject::Profile,
        path: context.profile.path.clone(),
        meta: catalog.meta.clone(),
        overview: context.overview.clone(),
        filters: context.filter.words.clone(),
        lines,
    }
}

/// `Open MPI v4.1.4`, `MPICH Version: 4.0.2`: what the library says of itself, up to where it goes into its packaging.
pub fn library_name(library: &str) -> String {
    let first = library.trim().lines().next().unwrap_or_default();
    let name = first.split(", package:").next().unwrap_or_default();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What hook modules say of themselves, and how much of what layers did is linked to no MPI call: a line each at most.
fn linkage(layers: &Layers, catalog: &Catalog) -> Vec<(&'static str, String)> {
    let notes: Vec<String> = layers.notes.iter().map(|note| note.sentence(catalog)).collect();
    let links = layers.links.iter().filter(|_| catalog.has_mpi());
    let unlinked: Vec<String> = links.map(unlinked).collect();
    let lines = [("layers", notes.join("; ")), ("unlinked", unlinked.join("; "))];
    lines.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// `uct: 0.1 % of 12.3 MiB, 0.8 % of 4000 operations`.
fn unlinked(links: &Links) -> String {
    let (part, whole) = (links.unlinked, links.total);
    let layer = &links.layer;
    if part.calls == 0 && part.bytes == 0 {
        return format!("{layer}: nothing");
    }
    let calls = units::percent(part.calls as f64, whole.calls as f64);
    let bytes = units::percent(part.bytes as f64, whole.bytes as f64);
    format!("{layer}: {bytes} of {}, {calls} of {} operations", units::bytes(whole.bytes), whole.calls)
}

/// `1234.0 of Slurm, 2 nodes`: the batch job, with its step.
fn job(catalog: &Catalog) -> Option<String> {
    let words = [catalog.meta("job")?, catalog.meta("job_step").unwrap_or_default()].map(str::to_owned);
    let [id, step] = words;
    let system = catalog.meta("batch_system").map(|system| format!(" of {system}")).unwrap_or_default();
    let nodes = catalog.meta("job_nodes").and_then(|nodes| nodes.parse().ok());
    let nodes = nodes.map(|nodes| format!(", {}", units::count(nodes, "node"))).unwrap_or_default();
    let title = Job { id, step, ..Job::default() }.title()?;
    Some(format!("{title}{system}{nodes}"))
}

fn placed(overview: &Overview, started: Option<&str>) -> String {
    let hosts = units::count(overview.hosts, "host");
    match started.and_then(|ranks| ranks.parse::<u64>().ok()) {
        Some(started) if started > overview.ranks => {
            format!("{} of {started} recorded, on {hosts}", overview.ranks)
        }
        _ => format!("{} on {hosts}", overview.ranks),
    }
}

/// What the profile tells apart, if not ranks.
fn detail(detail: Detail) -> Option<&'static str> {
    match detail {
        Detail::Rank => None,
        Detail::Node => Some("per node, not per rank: a node is named by its lowest rank"),
        Detail::Comm => Some("per communicator, not per rank"),
    }
}

/// Where rank 0 is there are more ranks than processors.
pub fn crowded(catalog: &Catalog) -> Option<String> {
    let processors: u64 = catalog.meta("processors")?.parse().ok()?;
    let host = &catalog.processes.iter().find(|process| process.rank == 0)?.host;
    let (here, elsewhere): (Vec<_>, Vec<_>) = catalog.processes.iter().partition(|process| process.host == *host);
    let there = if elsewhere.is_empty() { String::new() } else { format!(" of {host}") };
    if here.len() as u64 <= processors {
        return None;
    }
    let (ranks, processors) = (units::count(here.len() as u64, "rank"), units::count(processors, "processor"));
    Some(format!("{ranks} on {processors}{there}: work and waiting times are unreliable"))
}

/// What makes the numbers less than the whole truth.
fn notes(report: &Context) -> Vec<String> {
    let mut notes = Vec::new();
    let overview = &report.overview;
    for (unfinished, what) in [(&overview.running, "still ran"), (&overview.unfinished, overview.how_unfinished())] {
        if !unfinished.is_empty() {
            let ranks = units::count(unfinished.count(), "rank");
            notes.push(format!("{ranks} {what}: {unfinished}"));
        }
    }
    if report.catalog.are_spawned() {
        notes.push("spawned by processes that are not in this profile".to_owned());
    }
    notes.extend(overview.who_aborted());
    if !overview.missing.is_empty() {
        notes.push(format!(
            "{} not in the profile: {}",
            units::count(overview.missing.count(), "rank"),
            overview.missing
        ));
    }
    notes.extend(crowded(&report.catalog));
    notes.extend(
        report
            .catalog
            .meta("hidden_calls")
            .map(|names| format!("not recorded, because they intercept calls before commsee: {names}")),
    );
    for (key, what) in [
        ("lost_calls", "calls are missing: no room for their counters, or interrupted by a signal handler"),
        ("damaged_entries", "entries of the shards were damaged and are missing"),
    ] {
        if let Some(number) = report.catalog.meta(key).filter(|number| *number != "0") {
            notes.push(format!("{number} {what}"));
        }
    }
    notes
}
