//! Names and ranges become the numbers of a profile.

use std::collections::{BTreeMap, BTreeSet};

use commsee::{calls, ccl};

use super::Filter;
use crate::query::Error;
use crate::query::catalog::{Catalog, Communicator, Operation, size_class};
use crate::query::families::Families;
use crate::query::range::{BucketPick, TimeRange};
use crate::query::routes::Route;
use crate::query::selection::Selection;
use crate::text::escape::visible;
use crate::text::similar::similar;
use crate::text::units;

impl Filter {
    /// Looks up what was named. A name that no profile could hold is an error; one that this profile lacks is remembered.
    pub fn resolve(select: &Selection, catalog: &Catalog) -> Result<Filter, Error> {
        let has_layer_comms = catalog.communicators.values().any(|comm| comm.layer.is_some());
        let is_phased = catalog.phases.len() > 1;
        let mut filter =
            Filter { has_layer_comms, is_phased, time: select.time, window: select.window, ..Filter::default() };
        filter.resolve_comms(select, catalog);
        filter.resolve_operations(select, catalog)?;
        filter.resolve_buckets(select, catalog);
        filter.resolve_ranks(select, catalog);
        filter.resolve_phases(select, catalog)?;
        if let Some(TimeRange { low_ns, high_ns }) = select.time {
            filter.words.push(match high_ns {
                i64::MAX => format!("rows of {} or more", units::time(low_ns)),
                _ => format!("rows of {} to {}", units::time(low_ns), units::time(high_ns)),
            });
        }
        if let Some(TimeRange { low_ns, high_ns }) = select.window {
            let end = if high_ns == i64::MAX { "the end".to_owned() } else { units::precise_time(high_ns) };
            filter.words.push(format!("window from {} to {end}", units::precise_time(low_ns)));
        }
        filter.resolve_ways(select, catalog);
        filter.resolve_sites(select, catalog);
        Ok(filter)
    }

    fn resolve_comms(&mut self, select: &Selection, catalog: &Catalog) {
        let named = |wanted: &str| -> Vec<i64> {
            // A label may look like a birthplace.
            let born = wanted.strip_prefix("made@").map(|birthplace| catalog.sites.matching(birthplace));
            let born = born.unwrap_or_default();
            let is_wanted = |comm: &&Communicator| {
                let is_born = comm.site.is_some_and(|site| born.contains(&site));
                comm.name == wanted || comm.label.as_deref() == Some(wanted) || is_born
            };
            catalog.communicators.values().filter(is_wanted).map(|comm| comm.id).collect()
        };
        let families = (!select.family.is_empty()).then(|| Families::of(catalog));
        let of_family = |comm: i64| match families.as_ref().and_then(|families| families.find(comm)) {
            Some(family) => family.members.clone(),
            None => vec![comm],
        };
        let asked = select.comm.iter().map(|text| (text, false)).chain(select.family.iter().map(|text| (text, true)));
        for (text, is_family) in asked {
            let extended = |numbers: Vec<i64>| -> Vec<i64> {
                if is_family { numbers.into_iter().flat_map(of_family).collect() } else { numbers }
            };
            let found = self.comms.get_or_insert_default();
            // A label may hold a comma.
            match named(text) {
                whole if !whole.is_empty() => found.extend(extended(whole)),
                _ => {
                    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                        let numbers = named(name);
                        if numbers.is_empty() {
                            self.absent.push(unknown_communicator(name, catalog));
                        }
                        found.extend(extended(numbers));
                    }
                }
            }
            let what = if is_family { "family of" } else { "communicator" };
            self.words.push(format!("{what} {text}"));
        }
    }

    fn resolve_operations(&mut self, select: &Selection, catalog: &Catalog) -> Result<(), Error> {
        let with = |holds: &dyn Fn(&Operation) -> bool| -> BTreeSet<i64> {
            catalog.operations.iter().filter(|(_, operation)| holds(operation)).map(|(number, _)| *number).collect()
        };
        for name in listed(&select.op) {
            let found = with(&|operation| bare(&operation.name) == bare(name));
            let known = calls::find(name).map(|call| call.name.to_owned());
            let stored = found.first().and_then(|number| Some(catalog.operations.get(number)?.name.clone()));
            let functions = if self.has_layer_comms { functions(name, catalog) } else { BTreeMap::new() };
            let mut names: BTreeSet<&str> = functions.values().copied().collect();
            names.extend(stored.as_deref());
            let full = match names.is_empty() {
                true => known
                    .or_else(|| unused_function(name).filter(|_| self.has_layer_comms))
                    .ok_or_else(|| unknown_operation(name, catalog))?,
                false => names.into_iter().collect::<Vec<_>>().join(", "),
            };
            if found.is_empty() && functions.is_empty() {
                self.absent.push(full.clone());
            }
            self.ops.get_or_insert_default().extend(found);
            if self.has_layer_comms {
                self.functions.get_or_insert_default().extend(functions.into_keys());
            }
            self.words.push(full);
        }
        if select.p2p || select.collectives {
            let chosen = with(&|operation| match operation.class.as_str() {
                "p2p" => select.p2p,
                "collective" | "neighborhood" => select.collectives,
                _ => false,
            });
            self.ops = Some(match self.ops.take() {
                Some(named) => named.intersection(&chosen).copied().collect(),
                None => chosen,
            });
            if self.has_layer_comms {
                let is_chosen = |function: &ccl::Function| {
                    select.p2p && function.is_point_to_point() || select.collectives && function.is_collective()
                };
                let all = catalog.routes.iter();
                let chosen = all.filter(|(_, route)| ccl::find(&route.function).is_some_and(is_chosen));
                let chosen: BTreeSet<i64> = chosen.map(|(number, _)| *number).collect();
                self.functions = Some(match self.functions.take() {
                    Some(named) => named.intersection(&chosen).copied().collect(),
                    None => chosen,
                });
            }
            self.words.extend(select.p2p.then(|| "point-to-point".to_owned()));
            self.words.extend(select.collectives.then(|| "collective".to_owned()));
        }
        Ok(())
    }

    fn resolve_buckets(&mut self, select: &Selection, catalog: &Catalog) {
        if let Some(range) = select.bytes {
            let all = catalog.buckets.iter();
            let overlapping = all.filter(|(_, bucket)| range.overlaps(bucket.lo, bucket.hi)).map(|(number, _)| *number);
            self.buckets = Some(overlapping.collect());
            let size = commsee::bytes::exact;
            self.words.push(match (range.low, range.high) {
                (low, u64::MAX) => format!("messages of {} bytes or more", size(low)),
                (low, high) => format!("messages of {} to {} bytes", size(low), size(high)),
            });
        }
        let mut picked: BTreeSet<i64> = BTreeSet::new();
        for pick in &select.bucket {
            let mut all = catalog.buckets.iter().filter(|(number, bucket)| match pick {
                BucketPick::Number(wanted) => u64::try_from(size_class(**number)) == Ok(*wanted),
                BucketPick::Edges { lo, hi } => (bucket.lo, bucket.hi) == (*lo, *hi),
            });
            let found = all.next();
            let word = match (found, pick) {
                (Some((_, bucket)), _) => format!("bucket {}", units::bucket(bucket.lo, bucket.hi)),
                (None, BucketPick::Number(number)) => format!("bucket {number}"),
                (None, BucketPick::Edges { lo, hi }) => format!("bucket {}", units::bucket(*lo, *hi)),
            };
            match found {
                Some((number, _)) => picked.extend(all.map(|(number, _)| *number).chain([*number])),
                None => self.absent.push(word.clone()),
            }
            self.words.push(word);
        }
        if !select.bucket.is_empty() {
            self.buckets = Some(match self.buckets.take() {
                Some(overlapping) => overlapping.intersection(&picked).copied().collect(),
                None => picked,
            });
        }
    }

    fn resolve_ranks(&mut self, select: &Selection, catalog: &Catalog) {
        self.resolve_numbers_of_ranks(select, catalog);
        if select.host.is_empty() {
            return;
        }
        let is_named = |host: &str, name: &str| host == name || host.split('.').next() == Some(name);
        let mut found = BTreeSet::new();
        for name in listed(&select.host) {
            let here = || catalog.processes.iter().filter(|process| is_named(&process.host, name));
            if here().next().is_none() {
                self.absent.push(format!("host {name}"));
            }
            found.extend(here().map(|process| process.rank));
            self.words.push(format!("host {name}"));
        }
        self.ranks = Some(match self.ranks.take() {
            Some(ranks) => ranks.intersection(&found).copied().collect(),
            None => found,
        });
    }

    fn resolve_numbers_of_ranks(&mut self, select: &Selection, catalog: &Catalog) {
        if select.rank.is_empty() {
            return;
        }
        let wanted = |rank: u32| select.rank.iter().any(|set| set.contains(rank));
        let present = catalog.processes.iter().map(|process| process.rank);
        let found: BTreeSet<i64> = present.filter(|rank| u32::try_from(*rank).is_ok_and(wanted)).collect();
        for (low, high) in select.rank.iter().flat_map(|set| set.ranges()) {
            let range = i64::from(*low)..=i64::from(*high);
            let text = if low == high { format!("rank {low}") } else { format!("ranks {low}-{high}") };
            if found.range(range).next().is_none() {
                self.absent.push(text.clone());
            }
            self.words.push(text);
        }
        self.ranks = Some(found);
    }

    fn resolve_phases(&mut self, select: &Selection, catalog: &Catalog) -> Result<(), Error> {
        for name in select.phase.iter().flat_map(|text| text.split(',')) {
            let known = catalog.phases.iter().find(|(_, known)| *known == name);
            let (number, _) = known.ok_or_else(|| unknown_phase(name, catalog))?;
            self.phases.get_or_insert_default().insert(*number);
            self.words.push(phase_title(name));
        }
        Ok(())
    }

    fn resolve_sites(&mut self, select: &Selection, catalog: &Catalog) {
        for text in &select.site {
            let found = self.sites.get_or_insert_default();
            // The name of a function may hold a comma.
            match catalog.sites.matching(text) {
                whole if !whole.is_empty() => found.extend(whole),
                _ => {
                    for wanted in text.split(',').map(str::trim).filter(|wanted| !wanted.is_empty()) {
                        let sites = catalog.sites.matching(wanted);
                        if sites.is_empty() {
                            self.absent.push(format!("site {wanted}"));
                        }
                        found.extend(sites);
                    }
                }
            }
            self.words.push(format!("site {text}"));
        }
    }

    fn resolve_ways(&mut self, select: &Selection, catalog: &Catalog) {
        const COLUMNS: [Column; 5] = [
            ("layer", |route| &route.layer),
            ("function", |route| &route.function),
            ("transport", |route| &route.transport),
            ("device", |route| &route.device),
            ("protocol", |route| &route.protocol),
        ];
        let lists = [&select.layer, &select.function, &select.transport, &select.device, &select.protocol];
        for ((column, of), lists) in COLUMNS.into_iter().zip(lists).filter(|(_, lists)| !lists.is_empty()) {
            let wanted: BTreeSet<&str> = listed(lists).collect();
            for name in &wanted {
                let title = if name.is_empty() { format!("no {column}") } else { format!("{column} {name}") };
                if !catalog.routes.values().any(|route| of(route).eq_ignore_ascii_case(name)) {
                    self.absent.push(title.clone());
                }
                self.words.push(title);
            }
            let is_wanted = |route: &Route| wanted.iter().any(|name| of(route).eq_ignore_ascii_case(name));
            let found =
                catalog.routes.iter().filter(|(_, route)| is_wanted(route)).map(|(number, _)| *number).collect();
            self.routes = Some(match self.routes.take() {
                Some(routes) => routes.intersection(&found).copied().collect(),
                None => found,
            });
        }
    }
}

/// What a route has, by its name.
type Column = (&'static str, fn(&Route) -> &str);

/// Every word of lists that are separated by commas. An empty list is the empty word.
fn listed(lists: &[String]) -> impl Iterator<Item = &str> {
    lists.iter().flat_map(|list| list.split(',')).map(str::trim)
}

/// What a phase is called where its name may be empty.
pub fn phase_title(name: &str) -> String {
    if name.is_empty() { "outside any phase".to_owned() } else { format!("phase {name}") }
}

fn bare(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    lower.strip_prefix("mpi_").unwrap_or(&lower).to_owned()
}

/// Routes of functions on communicators of layers, by the name that a user gives them: with the prefix of their library or without it.
fn functions<'a>(name: &str, catalog: &'a Catalog) -> BTreeMap<i64, &'a str> {
    let is_named = |function: &str| {
        let bare = ccl::bare(function).filter(|_| ccl::find(function).is_some());
        bare.is_some_and(|bare| bare.eq_ignore_ascii_case(name) || function.eq_ignore_ascii_case(name))
    };
    let routes = catalog.routes.iter().filter(|(_, route)| is_named(&route.function));
    routes.map(|(number, route)| (*number, route.function.as_str())).collect()
}

/// One that no profile need have, but that there is.
fn unused_function(name: &str) -> Option<String> {
    let is_function =
        ccl::find(name).is_some() || ccl::FUNCTIONS.iter().any(|known| known.name.eq_ignore_ascii_case(name));
    is_function.then(|| name.to_owned())
}

fn unknown_phase(name: &str, catalog: &Catalog) -> Error {
    let names: Vec<&str> = catalog.phases.values().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Error::Name(
        visible(&format!("there is no phase '{name}'; the profile has: {there}; '' is outside any phase")).into(),
    )
}

fn unknown_communicator(name: &str, catalog: &Catalog) -> String {
    let known = catalog.communicators.values();
    let known = known.flat_map(|comm| comm.label.as_deref().into_iter().chain([comm.name.as_str()]));
    match similar(name, known, str::to_lowercase) {
        near if near.is_empty() => format!("communicator {name}"),
        near => format!("communicator {name} (similar: {})", near.join(", ")),
    }
}

fn unknown_operation(name: &str, catalog: &Catalog) -> Error {
    let recorded = catalog.operations.values().map(|operation| operation.name.as_str());
    let names = similar(name, recorded.chain(calls::CALLS.iter().map(|call| call.name)), bare);
    Error::Name(match names.is_empty() {
        true => format!("'{name}' is not an MPI operation: write it as MPI_Allreduce or allreduce"),
        false => format!("'{name}' is not an MPI operation; similar: {}", names.join(", ")),
    })
}
