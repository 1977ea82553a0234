//! The top contributors: which function of which layer moved how much over which transport, as a whole or for each
//! communicator or operation.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use commsee::ccl;

use super::calls::is_of;
use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::routes::Route;
use crate::query::sort::SortKey;
use crate::query::transfers::{Group, Sums};

/// What a block of contributors is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    All,
    Comm(i64),
    Op(i64),
    /// A function of a layer outside of MPI calls, by a route that has it.
    Function(i64),
    /// Where the data lie, by a route that has it.
    Memory(i64),
    /// The line of the program's call, by a site that has it.
    Site(Option<i64>),
}

/// The communicator that a group is told under: that of its layer, where the layer has its own, else MPI's.
pub fn communicator(group: &Group, catalog: &Catalog) -> Subject {
    let own = group.layer_comm.filter(|comm| {
        let module = catalog.communicators.get(comm).and_then(|comm| comm.layer.as_deref());
        module.zip(catalog.routes.get(&group.route)).is_some_and(|(module, route)| is_of(module, &route.layer))
    });
    Subject::Comm(own.unwrap_or(group.comm))
}

/// The MPI operation that a group is told under, or outside of MPI calls what was called of the layer.
pub fn operation(group: &Group, catalog: &Catalog) -> Subject {
    let is_outside = catalog.operations.get(&group.op).is_none_or(|op| op.is_none());
    let function = catalog.routes.get(&group.route).map(|route| route.function.as_str());
    let known = function.filter(|function| is_outside && group.layer_comm.is_some() && ccl::find(function).is_some());
    let route = known.and_then(|known| catalog.routes.iter().find(|(_, route)| route.function == known));
    route.map_or(Subject::Op(group.op), |(number, _)| Subject::Function(*number))
}

/// The memory that a group is told under.
pub fn memory(group: &Group, catalog: &Catalog) -> Subject {
    let own = catalog.routes.get(&group.route).map(|route| &route.memory);
    let first = catalog.routes.iter().find(|(_, route)| Some(&route.memory) == own);
    Subject::Memory(first.map_or(group.route, |(number, _)| *number))
}

/// The line of the program that a group is told under.
pub fn site(group: &Group, catalog: &Catalog) -> Subject {
    Subject::Site(group.site.and_then(|site| catalog.sites.same_line(site)))
}

/// One function over one transport and device.
#[derive(Clone, Debug)]
pub struct Contributor {
    /// Without the scope: groups of processes of the layer's own are added up.
    pub route: Route,
    pub sums: Sums,
}

/// What one layer did for one subject.
#[derive(Clone, Debug)]
pub struct Section {
    pub subject: Subject,
    pub layer: String,
    pub total: Sums,
    /// What the layer did for all subjects: what shares are shares of.
    pub layer_total: Sums,
    pub rows: Vec<Contributor>,
    /// How many rows `top` left out.
    pub hidden: usize,
}

/// What is shown of the sections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    pub sort: Option<SortKey>,
    /// Subjects, and rows of each section; nothing and 0 show all.
    pub top: Option<usize>,
}

/// Sections of the heaviest subjects first, those of one subject by layer; and how many subjects were left out. Of the
/// filter, ranks were regarded before: the groups are theirs.
pub fn contributors(
    groups: &[Group],
    catalog: &Catalog,
    filter: &Filter,
    subject: impl Fn(&Group, &Catalog) -> Subject,
    shown: Shown,
) -> (Vec<Section>, usize) {
    let mut layer_totals: HashMap<&str, Sums> = HashMap::new();
    let mut sections: BTreeMap<(Subject, &str), BTreeMap<Route, Sums>> = BTreeMap::new();
    for group in groups {
        let Some(route) = catalog.routes.get(&group.route) else { continue };
        layer_totals.entry(&route.layer).or_default().add(&group.sums);
        if filter.has_group(group) {
            let rows = sections.entry((subject(group, catalog), &route.layer)).or_default();
            rows.entry(Route { scope: String::new(), ..route.clone() }).or_default().add(&group.sums);
        }
    }
    let mut weights: HashMap<Subject, u128> = HashMap::new();
    let made = sections.into_iter().map(|((subject, layer), routes)| {
        let mut total = Sums::default();
        routes.values().for_each(|sums| total.add(sums));
        // Layers tell of the same data: the one that moved most stands for the subject.
        let weight = weights.entry(subject).or_default();
        *weight = (*weight).max(weight_of(&total, shown.sort));
        let mut rows: Vec<Contributor> = routes.into_iter().map(|(route, sums)| Contributor { route, sums }).collect();
        sort_rows(&mut rows, shown.sort);
        let hidden = rows.len() - top(rows.len(), shown.top);
        rows.truncate(rows.len() - hidden);
        let layer_total = layer_totals.get(layer).copied().unwrap_or_default();
        Section { subject, layer: layer.to_owned(), total, layer_total, rows, hidden }
    });
    let mut made: Vec<Section> = made.collect();
    made.sort_by(|a, b| {
        let key = |section: &Section| {
            (is_special(section.subject, catalog), Reverse(weights.get(&section.subject).copied()), section.subject)
        };
        let by_name = match shown.sort {
            Some(SortKey::Comm | SortKey::Op) => is_special(a.subject, catalog)
                .cmp(&is_special(b.subject, catalog))
                .then_with(|| name(a.subject, catalog).cmp(&name(b.subject, catalog))),
            _ => std::cmp::Ordering::Equal,
        };
        by_name.then_with(|| key(a).cmp(&key(b))).then_with(|| a.layer.cmp(&b.layer))
    });
    let hidden = shorten_subjects(&mut made, shown.top, catalog);
    (made, hidden)
}

fn weight_of(sums: &Sums, sort: Option<SortKey>) -> u128 {
    match sort {
        Some(SortKey::Calls) => sums.calls.max(0) as u128,
        Some(SortKey::Time) => sums.time_ns.max(0) as u128,
        _ => u128::from(sums.bytes),
    }
}

fn sort_rows(rows: &mut [Contributor], sort: Option<SortKey>) {
    rows.sort_by_key(|row| (Reverse(weight_of(&row.sums, sort)), Reverse(row.sums.calls)));
    if sort == Some(SortKey::Op) {
        rows.sort_by(|a, b| a.route.function.cmp(&b.route.function));
    }
}

/// The rows `*` and `-`, which come last and do not count.
fn is_special(subject: Subject, catalog: &Catalog) -> bool {
    match subject {
        Subject::All => false,
        Subject::Comm(comm) => catalog.communicators.get(&comm).is_none_or(|comm| comm.is_special()),
        Subject::Op(op) => catalog.operations.get(&op).is_none_or(|op| op.is_none()),
        Subject::Function(_) => false,
        Subject::Memory(route) => catalog.routes.get(&route).is_none_or(|route| route.memory.is_empty()),
        Subject::Site(site) => site.is_none(),
    }
}

fn name(subject: Subject, catalog: &Catalog) -> Option<(u64, char, u64, &str)> {
    match subject {
        Subject::All => None,
        Subject::Comm(comm) => catalog.communicators.get(&comm).map(|comm| {
            let (_, root, letter, counter, name) = comm.name_key();
            (root, letter, counter, name)
        }),
        Subject::Op(op) => catalog.operations.get(&op).map(|op| (0, ' ', 0, op.name.as_str())),
        Subject::Function(route) => catalog.routes.get(&route).map(|route| (0, ' ', 0, route.function.as_str())),
        Subject::Memory(route) => catalog.routes.get(&route).map(|route| (0, ' ', 0, route.memory.as_str())),
        Subject::Site(site) => catalog.sites.spot(site?).map(|spot| (0, ' ', 0, spot.text.as_str())),
    }
}

fn shorten_subjects(sections: &mut Vec<Section>, most: Option<usize>, catalog: &Catalog) -> usize {
    let mut subjects: Vec<Subject> = sections.iter().map(|section| section.subject).collect();
    subjects.dedup();
    subjects.retain(|subject| !is_special(*subject, catalog));
    let hidden: HashSet<Subject> = subjects.split_off(top(subjects.len(), most)).into_iter().collect();
    sections.retain(|section| !hidden.contains(&section.subject));
    hidden.len()
}

/// How many of so many are shown.
fn top(all: usize, top: Option<usize>) -> usize {
    top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(all)
}
