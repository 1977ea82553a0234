//! What the page shows, as JSON: one file for each part of it.

mod bench;
mod cells;
mod diff;
mod files;
mod findings;
mod flows;
mod layers;
mod lists;
mod map;
mod matrix;
mod meta;
mod ranks;
mod runs;
mod scaling;
mod sites;
mod standing;
mod timeline;
mod tree;
mod waits;

use std::rc::Rc;

use serde_json::{Map, Value, json};

pub use self::findings::Told;
use self::lists::Lists;
use insight::machine::below;
use insight::query::bench::Measurements;
use through_core::Error;
use through_core::advise::{Run, advise};
use through_core::query::catalog::{Catalog, Detail};
use through_core::query::counted::keys;
use through_core::query::filter::Filter;
use through_core::query::layers::linkage::Layers;
use through_core::query::open::Profile;
use through_core::query::range::TimeRange;
use through_core::query::waiting::Timed;
use through_core::text::units;
use through_core::views::Context;
use through_core::views::advise::crowded;

/// What the page says without its script.
#[derive(Default)]
pub struct Words {
    pub title: String,
    pub lines: Vec<(&'static str, String)>,
    /// Where the run time went, in a sentence.
    pub answer: String,
    pub findings: Vec<Told>,
    /// Where most of the MPI time went, for runs without findings.
    pub heaviest: Option<findings::Heaviest>,
    /// That the machine had too few processors, if so.
    pub crowded: Option<String>,
    /// What the run was, in sentences.
    pub about: Vec<String>,
    pub meta: Vec<(String, String)>,
    /// What was added up or left out to keep the page small.
    pub caps: Vec<String>,
    /// Views with something to show.
    pub views: Vec<&'static str>,
}

/// What is shown beside a run.
#[derive(Default)]
pub struct Beside {
    /// Runs, of which the last is compared with it.
    pub others: Vec<Profile>,
    /// Part of the timeline.
    pub window: Option<TimeRange>,
    /// Measurements of the machine.
    pub bench: Option<Measurements>,
}

pub fn read(profile: &Rc<Profile>, beside: Beside) -> Result<(Value, Words), Error> {
    let Beside { others, window, bench } = beside;
    let catalog = Catalog::read(profile)?;
    let layers = Layers::read(profile, &catalog)?;
    let context = Context::new(profile, catalog, Filter::default(), layers);
    let catalog = &context.catalog;
    let run = Run::read(profile, catalog)?;
    let mut caps: Vec<String> = Vec::new();
    let lists = Lists::of(catalog, &run.families, &keys(profile, catalog)?, &mut caps);
    let mut data = Map::new();
    let mut add = |name: &str, part: Option<Value>| {
        let is_there = part.is_some();
        data.extend(part.map(|part| (name.to_owned(), part)));
        is_there
    };
    add("version", Some(json!(VERSION)));
    add("profile", Some(meta::profile(&context)));
    add("lists", Some(lists.json(catalog)));
    add("map", Some(map::map(catalog, &lists, &run.families)));
    let has_ranks = add("ranks", Some(ranks::ranks(catalog))) && catalog.detail != Detail::Comm;
    add("ledger", Some(ranks::ledger(&run, &lists)));
    let has_cells = add("cells", cells::cells(profile, catalog, &lists, &mut caps)?);
    add("waits", waits::waits(&run, &lists, &mut caps));
    let has_matrix = add("matrix", matrix::matrix(profile, catalog, &lists, &mut caps)?);
    let has_tree = add("tree", tree::tree(catalog, &lists));
    let has_layers = add("layers", layers::layers(profile, catalog, &lists, &mut caps)?);
    add("layer_calls", layers::calls(profile, catalog, &lists, &mut caps)?);
    let flows = flows::flows(profile, catalog, &lists, &mut caps)?;
    let has_pairs = has_matrix || flows::are_between_ranks(flows.as_ref());
    let has_memories = flows.as_ref().is_some_and(|flows| !flows["memories"].as_array().is_none_or(Vec::is_empty));
    let has_devices =
        add("flows", flows) && catalog.routes.values().any(|route| !route.arrives && !route.device.is_empty());
    let has_files = add("files", files::files(profile, catalog, &lists, &mut caps)?);
    let has_sites = add("sites", sites::sites(profile, catalog, &lists, &mut caps)?);
    let has_standing = add("standing", standing::standing(profile, catalog, &lists)?);
    let has_timeline = add("timeline", timeline::timeline(profile, catalog, &lists, window, &mut caps)?);
    let has_bench = add("bench", bench::bench(bench.as_ref(), &mut caps));
    let runs = diff::runs(profile, &others)?;
    let has_scaling = add("scaling", scaling::scaling(&runs));
    let has_history = add("history", scaling::history(&runs));
    let has_runs = add("runs", runs::runs(&runs));
    let has_diff = add("diff", diff::diff(profile, catalog, &others, runs)?);
    let views = [
        ("overview", true),
        ("findings", true),
        ("map", has_cells && catalog.detail != Detail::Comm),
        ("communicators", has_cells),
        ("tree", has_tree),
        ("matrix", has_pairs || has_memories || has_cells && has_ranks),
        ("ranks", has_ranks),
        ("sizes", has_cells),
        ("graph", has_pairs),
        ("devices", has_devices),
        ("sites", has_sites),
        ("timeline", has_timeline),
        ("standing", has_standing),
        ("layers", has_layers),
        ("files", has_files),
        ("bench", has_bench),
        ("scaling", has_scaling),
        ("history", has_history),
        ("runs", has_runs),
        ("diff", has_diff),
        ("meta", true),
    ];
    let views: Vec<&'static str> = views.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect();
    let beyond = bench.as_ref().map_or(Ok(Vec::new()), |bench| below(&run, bench))?;
    let told = findings::findings(&run, &advise(&run, beyond)?, &views);
    data.insert("findings".to_owned(), findings::json(&told));
    data.insert("views".to_owned(), json!(views));
    data.insert("caps".to_owned(), json!(caps));
    let words = Words {
        title: meta::title(&context),
        lines: meta::lines(&context),
        answer: answer(&run),
        findings: told,
        heaviest: findings::heaviest(&run),
        crowded: crowded(&run),
        about: meta::about(&context),
        meta: meta::meta(&context),
        caps,
        views,
    };
    Ok((Value::Object(data), words))
}

/// Of what the script reads.
const VERSION: u32 = 1;

/// Of the whole run, whatever a reader selects: `In all, 8 ranks ran for 12.3 s: 75.6 % working, 24.4 % in MPI (at least 6.1 % waiting), 0.0 % ended early.`
fn answer(run: &Run) -> String {
    let ledger = &run.ledger;
    if ledger.ranks == 0 {
        return "The profile holds no ranks.".to_owned();
    }
    let whole = ledger.whole_ns() as f64;
    let part = |ns: i128| units::percent(ns as f64, whole);
    let mpi_ns = ledger.entries.iter().map(|entry| entry.time_ns).sum();
    let (least, most) = waits::bounds_ns(run);
    let waiting = match (run.waits.is_some(), run.timed.as_ref().map(Timed::is_whole)) {
        (false, None) => String::new(),
        (_, Some(true)) => format!(" ({} waiting)", part(least)),
        (_, Some(false)) => format!(" (at least {} waiting)", part(least)),
        _ => format!(" ({} to {} waiting in barriers and all-to-all exchanges)", part(least), part(most)),
    };
    let without = match ledger.unscheduled_ns {
        0 => String::new(),
        ns => format!(", {} without a processor", part(ns)),
    };
    let ranks = units::count(ledger.ranks, "rank");
    format!(
        "In all, {ranks} ran for {}: {} of it working{without}, {} in MPI{waiting}, {} after the end of ranks that ended early.",
        units::precise_time(ledger.run_time_ns),
        part(ledger.working_ns - ledger.unscheduled_ns),
        part(mpi_ns),
        part(ledger.end_skew_ns)
    )
}
