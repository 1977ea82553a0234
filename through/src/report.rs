//! One view of a profile, complete and in order: what a renderer prints.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use crate::cli::{Format, Show};
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;
use crate::order::Order;
use crate::query::catalog::{Catalog, Communicator, SEVERAL_COMMS};
use crate::query::cells::{Cells, cells};
use crate::query::communicators::{Spread, spreads};
use crate::query::datatypes::{Use, uses};
use crate::query::involved::{Involved, involved};
use crate::query::layers::linkage::Layers;
use crate::query::operations::{Operations, operations};
use crate::query::overview::{Overview, overview};
use crate::query::phases::{Phase, phases};
use crate::query::ranks::{Rank, ranks};
use crate::query::standing::{Group, standings};

/// Communicators that a table shows unless told otherwise; programs with thousands of them exist.
const SHOWN_COMMUNICATORS: usize = 20;

pub struct Report {
    pub path: PathBuf,
    pub catalog: Catalog,
    pub overview: Overview,
    pub filter: Filter,
    /// The communicators' parts in calls of the row `*`.
    pub involved: Vec<Involved>,
    /// Where every rank stood, beside the default view of a job that did not finish.
    pub stood: Vec<Group>,
    /// What was recorded of layers below MPI.
    pub layers: Option<Layers>,
    pub body: Body,
    /// How many communicators, ranks or rows were left out by `--top`.
    pub hidden: usize,
}

/// The views.
pub enum Body {
    /// Operations of each communicator.
    Operations(Vec<Section>),
    /// One row per rank (`-a`).
    Cells(Cells),
    /// Time per communicator (`-u`).
    Communicators(Vec<Section>),
    /// Time per rank (`-e`).
    Ranks(Vec<Rank>),
    /// What was done in each phase (`--phases`).
    Phases(Vec<Phase>),
    /// Datatypes of each operation (`--datatypes`).
    Datatypes(Vec<Use>),
    /// Where every rank stood that had not finished (`--stood`).
    Stood(Vec<Group>),
}

/// One communicator with what was done on it.
pub struct Section {
    pub comm: Communicator,
    pub total: Total,
    /// Only where a renderer shows it: it takes another pass over the cells. Some profiles do not know it.
    pub spread: Option<Spread>,
    pub rows: Vec<Operations>,
    /// How often it took part in calls of the row `*`.
    pub involved_calls: i64,
}

/// Sums over the rows of a communicator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    pub calls: i64,
    pub failed: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    /// Over all ranks and all calls.
    pub time_ns: i64,
    /// The part of it that is part of the MPI time: all but `MPI_Init` and `MPI_Finalize`.
    pub mpi_ns: i64,
}

impl Report {
    pub fn make(profile: &Profile, show: &Show) -> Result<Report, Error> {
        let catalog = Catalog::read(profile)?;
        let filter = Filter::resolve(&show.select, &catalog)?;
        let order = Order { key: show.output.sort, catalog: &catalog };
        let is_table = show.output.format == Format::Table;
        let overview = overview(&catalog);
        let mut parts = Vec::new();
        let mut stood = Vec::new();
        let mut body = if show.all_ranks {
            Body::Cells(order.cells(cells(profile, &catalog, &filter)?))
        } else if show.ranks {
            Body::Ranks(order.ranks(ranks(profile, &catalog, &filter)?))
        } else if show.phases {
            Body::Phases(order.phases(phases(profile, &catalog, &filter)?))
        } else if show.datatypes {
            Body::Datatypes(order.uses(uses(profile, &catalog, &filter)?))
        } else if show.stood {
            Body::Stood(standings(profile, &catalog, &filter)?)
        } else {
            let all_finished = overview.unfinished.is_empty() && overview.running.is_empty();
            if !(show.communicators || all_finished) {
                stood = standings(profile, &catalog, &filter)?;
            }
            parts = involved(profile, &filter)?;
            parts.retain(|part| filter.has_comm(part.comm) || filter.has_comm(SEVERAL_COMMS));
            let spreads =
                if show.communicators || !is_table { spreads(profile, &catalog, &filter)? } else { HashMap::new() };
            let sections = order.sections(sections(
                operations(profile, &catalog, &filter, !is_table)?,
                &parts,
                &spreads,
                &catalog,
            ));
            if show.communicators { Body::Communicators(sections) } else { Body::Operations(sections) }
        };
        let hidden = match (&mut body, show.output.top) {
            (Body::Cells(cells), top) => shorten(&mut cells.rows, top),
            (Body::Ranks(rows), top) => shorten(rows, top),
            (Body::Phases(rows), top) => shorten(rows, top),
            (Body::Datatypes(rows), top) => shorten(rows, top),
            (Body::Stood(rows), top) => shorten(rows, top),
            (Body::Operations(rows) | Body::Communicators(rows), top) => {
                // The rows `*` and `-` are no communicators: they stay, and do not count.
                let special = rows.iter().position(|section| section.comm.is_special()).unwrap_or(rows.len());
                let tail = rows.split_off(special);
                let hidden = shorten(rows, top.or(is_table.then_some(SHOWN_COMMUNICATORS)));
                rows.extend(tail);
                hidden
            }
        };
        let (path, layers) = (profile.path.clone(), Layers::read(profile, &catalog)?);
        Ok(Report { path, catalog, overview, filter, involved: parts, stood, layers, body, hidden })
    }

    /// Whether the filter left nothing.
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Operations(sections) | Body::Communicators(sections) => sections.is_empty(),
            Body::Cells(cells) => cells.rows.is_empty(),
            Body::Ranks(rows) => rows.is_empty(),
            Body::Phases(rows) => rows.is_empty(),
            Body::Datatypes(rows) => rows.is_empty(),
            Body::Stood(rows) => rows.is_empty(),
        }
    }

    /// MPI time of the ranks that the filter leaves: what shares are shares of.
    pub fn mpi_ns(&self) -> f64 {
        let processes = self.catalog.processes.iter().filter(|process| self.filter.has_rank(process.rank));
        processes.map(|process| process.mpi_ns as f64).sum()
    }
}

/// Keeps the first entries and tells how many were dropped; 0 and nothing keep all.
fn shorten<T>(rows: &mut Vec<T>, top: Option<usize>) -> usize {
    let kept = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(rows.len());
    let hidden = rows.len() - kept;
    rows.truncate(kept);
    hidden
}

fn sections(
    rows: Vec<Operations>,
    parts: &[Involved],
    spreads: &HashMap<i64, Spread>,
    catalog: &Catalog,
) -> Vec<Section> {
    let mut involved_calls: HashMap<i64, i64> = HashMap::new();
    for part in parts {
        let calls = involved_calls.entry(part.comm).or_default();
        *calls = calls.saturating_add(part.calls);
    }
    let mut by_comm: BTreeMap<i64, Vec<Operations>> = BTreeMap::new();
    for row in rows {
        by_comm.entry(row.comm).or_default().push(row);
    }
    let section = |(number, rows): (i64, Vec<Operations>)| Section {
        // Only a damaged profile has cells of a communicator that it does not list.
        comm: catalog.communicators.get(&number).cloned().unwrap_or_else(|| Communicator {
            id: number,
            name: format!("?{number}"),
            ..Communicator::default()
        }),
        total: total(&rows, catalog),
        spread: spreads.get(&number).copied(),
        rows,
        involved_calls: involved_calls.get(&number).copied().unwrap_or_default(),
    };
    by_comm.into_iter().map(section).collect()
}

fn total(rows: &[Operations], catalog: &Catalog) -> Total {
    let mut total = Total::default();
    for row in rows {
        let is_outside = catalog.is_outside_span(row.op);
        total.calls = total.calls.saturating_add(row.calls);
        total.failed = total.failed.saturating_add(row.failed);
        total.bytes_sent = total.bytes_sent.saturating_add(row.bytes_sent);
        total.bytes_recv = total.bytes_recv.saturating_add(row.bytes_recv);
        total.time_ns = total.time_ns.saturating_add(row.time_ns);
        total.mpi_ns = total.mpi_ns.saturating_add(if is_outside { 0 } else { row.time_ns });
    }
    total
}
