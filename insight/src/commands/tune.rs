//! `through tune [PROFILE]`: files and a script that compare algorithms of a collective.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use commsee::access;
use through_core::Error;
use through_core::advise::{Run, advise};
use through_core::commands::opened;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::selection::Selection;
use through_core::render::output;
use through_core::text::escape::visible;
use through_core::text::message::say;
use through_core::text::path::{own_command, quoted};
use through_core::text::units;

use crate::cli::Tune;
use crate::tune::algorithms::{COLLECTIVES, find};
use crate::tune::{Library, Plan, SCRIPT, algorithms};

/// What it is worth to look for an algorithm for.
const TOPICS: [&str; 2] = ["slower-though-smaller", "odd-sibling"];
/// Less of the run time is hardly told from chance.
const WORTHWHILE: f64 = 0.01;
/// Configurations that anybody may want to run.
const MOST: usize = 64;

pub fn tune(tune: &Tune) -> Result<u8, Error> {
    let profile = Rc::new(opened(&tune.input)?);
    let catalog = Rc::new(Catalog::read(&profile)?);
    let library = catalog.meta("mpi_library").unwrap_or_default();
    let family = catalog.meta("mpi_family").unwrap_or_default();
    let Some(library) = Library::of(family, library) else {
        let first = library.lines().next().unwrap_or_default();
        let what = format!("{first}: no known way to choose its algorithms; there is one for Open MPI and MPICH");
        return Err(Error::Argument(what));
    };
    let selection =
        Selection { comm: tune.comm.clone(), op: tune.op.iter().cloned().collect(), ..Selection::default() };
    let filter = Filter::resolve(&selection, &catalog)?;
    if !filter.absent.is_empty() {
        let absent = filter.absent.join(", ");
        say(format_args!("{}: not in this profile: {absent}", profile.path.display()));
        return Ok(1);
    }
    let run = Run::read(&profile, &catalog)?;
    let Some((comm, op)) = chosen(&run, &filter)? else {
        let known: Vec<&str> = COLLECTIVES.iter().map(|collective| collective.op).collect();
        say(format_args!(
            "{}: the selection has no collective with a choice of algorithms; these are {}",
            profile.path.display(),
            known.join(", ")
        ));
        return Ok(1);
    };
    let collective = find(run.op(op)).expect("one of those that are known");
    let are_several = tune.comm.len() > 1 || tune.comm.iter().any(|words| words.contains(','));
    let sizes = if are_several { sizes(&run, &filter, op) } else { size(&run, comm).into_iter().collect() };
    let algorithms = wanted(&tune.algorithms, &algorithms(collective, library))?;
    let plan = Plan { collective, sizes, library, algorithms, runs: tune.runs, through: own_command() };
    if plan.configuration_count() > MOST {
        let what = format!("{} configurations: choose algorithms with --algorithms", plan.configuration_count());
        return Err(Error::Argument(what));
    }
    let part = part(&run, op, &plan);
    let folder = tune
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("tune-{}", collective.op.trim_start_matches("MPI_"))));
    let failed = |path: &std::path::Path| {
        let path = path.to_owned();
        move |source| Error::Output { path, source }
    };
    access::folder(&folder, 0o777).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => {
            let what = "the directory exists and may have results: remove it, or name another one with -o";
            Error::Argument(format!("{}: {what}", folder.display()))
        }
        _ => failed(&folder)(source),
    })?;
    for file in plan.files() {
        let path = folder.join(&file.name);
        access::write(&path, file.text.as_bytes()).map_err(failed(&path))?;
    }
    let title = match plan.sizes.as_slice() {
        [ranks] => format!("{}, {ranks} ranks", visible(&run.title(comm))),
        sizes => {
            let sizes = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
            format!("communicators of {sizes} ranks")
        }
    };
    let said = said(&plan, &title, &quoted(&folder.join(SCRIPT)), part);
    output::write(None, |_, out| out.write_all(said.as_bytes()))?;
    Ok(0)
}

fn size(run: &Run, comm: i64) -> Option<u64> {
    run.comm(comm)?.size
}

/// Of the selected communicators with the operation.
fn sizes(run: &Run, filter: &Filter, op: i64) -> Vec<u64> {
    let meant = run.sums.values().filter(|sum| sum.op == op && filter.has_comm(sum.comm));
    let sizes: BTreeSet<u64> = meant.filter_map(|sum| size(run, sum.comm)).collect();
    sizes.into_iter().collect()
}

/// Those that are named, in the library's order; all where none is.
fn wanted(names: &[String], known: &[&'static str]) -> Result<Vec<&'static str>, Error> {
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::Argument(format!("no algorithm '{name}': there are {}", known.join(", "))));
    }
    let is_wanted = |name: &&&str| names.is_empty() || names.iter().any(|wanted| wanted == **name);
    Ok(known.iter().filter(is_wanted).copied().collect())
}

/// What is compared, and how to start it.
fn said(plan: &Plan, on: &str, script: &str, part: f64) -> String {
    let configurations = plan.configuration_count();
    let runs = plan.runs as usize * (configurations + 1);
    let mut said = format!("{} on {on}: {}\n", plan.collective.op, plan.algorithms.join(", "));
    if configurations > plan.algorithms.len() {
        let _ = writeln!(said, "Each algorithm on each size makes {configurations} configurations.");
    } else if plan.sizes.len() > 1 {
        said += "MPICH's variable knows no size: each algorithm is tried on all communicators.\n";
    }
    said += &format!("{runs} runs compare them with the library's default:\n\n    sh {script} LAUNCHER ARGUMENTS...\n");
    if part < WORTHWHILE {
        let part = units::percent(part, 1.0);
        let _ = writeln!(said, "\nIt takes {part} of the run time, so another algorithm can save at most that.");
    }
    if plan.runs < 4 {
        said += "\nFewer than 4 runs of each give numbers without a verdict.\n";
    }
    said
}

/// The part of the run time of all ranks that calls take which another algorithm changes.
fn part(run: &Run, op: i64, plan: &Plan) -> f64 {
    let is_changed = |comm: i64| size(run, comm).is_some_and(|ranks| plan.changes(ranks));
    let sums = run.sums.values().filter(|sum| sum.op == op && is_changed(sum.comm));
    let time_ns: f64 = sums.map(|sum| sum.time_ns as f64).sum();
    time_ns / run.ledger.whole_ns() as f64
}

/// The communicator and operation that are selected; of several what advice names, else the heaviest.
fn chosen(run: &Run, filter: &Filter) -> Result<Option<(i64, i64)>, through_core::query::Error> {
    let is_meant = |comm: i64, op: i64| filter.has_comm(comm) && filter.has_op(op) && find(run.op(op)).is_some();
    for finding in advise(run, Vec::new())? {
        if let (Some(comm), Some(op)) = (finding.comm, finding.op)
            && TOPICS.contains(&finding.topic.name)
            && is_meant(comm, op)
        {
            return Ok(Some((comm, op)));
        }
    }
    let meant = run.sums.values().filter(|sum| is_meant(sum.comm, sum.op));
    Ok(meant.max_by_key(|sum| sum.time_ns).map(|sum| (sum.comm, sum.op)))
}
