//! What the filters of the command line mean in one profile: the numbers of its communicators, operations, buckets and
//! ranks.

use std::collections::BTreeSet;

use commsee::calls;
use rusqlite::types::Value;

use crate::cli::{Select, SelectCalls, SelectWays};
use crate::error::Error;
use crate::escape::visible;
use crate::query::catalog::{Catalog, Operation};
use crate::query::ways::Way;
use crate::range::{BucketPick, TimeRange};
use crate::units;

/// Which cells are shown. `None` lets everything through.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub comms: Option<BTreeSet<i64>>,
    pub ops: Option<BTreeSet<i64>>,
    pub buckets: Option<BTreeSet<i64>>,
    pub ranks: Option<BTreeSet<i64>>,
    pub phases: Option<BTreeSet<i64>>,
    /// How layers below MPI moved data.
    pub ways: Option<BTreeSet<i64>>,
    /// Whether the profile has communicators of layers.
    pub has_layer_comms: bool,
    /// Whether there are cells that differ in their phase only.
    pub is_phased: bool,
    pub time: Option<TimeRange>,
    /// The filters in words, for people.
    pub words: Vec<String>,
    /// What was named and is not in the profile.
    pub absent: Vec<String>,
}

impl Filter {
    /// Looks up what was named. A name that no profile could hold is an error; one that this profile lacks is remembered.
    pub fn resolve(select: &Select, catalog: &Catalog) -> Result<Filter, Error> {
        let mut filter = Filter::of_calls(&select.calls, catalog)?;
        filter.time = select.time;
        filter.resolve_phases(select, catalog)?;
        if let Some(TimeRange { low_ns, high_ns }) = select.time {
            filter.words.push(match high_ns {
                i64::MAX => format!("rows of {} or more", units::time(low_ns)),
                _ => format!("rows of {} to {}", units::time(low_ns), units::time(high_ns)),
            });
        }
        Ok(filter)
    }

    /// The same for what layers below MPI did.
    pub fn of_transfers(calls: &SelectCalls, ways: &SelectWays, catalog: &Catalog) -> Result<Filter, Error> {
        let mut filter = Filter::of_calls(calls, catalog)?;
        filter.resolve_ways(ways, catalog);
        Ok(filter)
    }

    fn of_calls(select: &SelectCalls, catalog: &Catalog) -> Result<Filter, Error> {
        let mut filter = Filter {
            is_phased: catalog.phases.len() > 1,
            has_layer_comms: catalog.communicators.values().any(|comm| comm.layer.is_some()),
            ..Filter::default()
        };
        filter.resolve_comms(select, catalog);
        filter.resolve_operations(select, catalog)?;
        filter.resolve_buckets(select, catalog);
        filter.resolve_ranks(select, catalog);
        Ok(filter)
    }

    /// Whether it selects among the cells of a rank, not only ranks.
    pub fn selects_cells(&self) -> bool {
        let lists = [&self.comms, &self.ops, &self.buckets, &self.phases];
        lists.into_iter().any(|list| list.is_some()) || self.time.is_some()
    }

    pub fn has_comm(&self, comm: i64) -> bool {
        self.comms.as_ref().is_none_or(|comms| comms.contains(&comm))
    }

    pub fn has_op(&self, op: i64) -> bool {
        self.ops.as_ref().is_none_or(|ops| ops.contains(&op))
    }

    pub fn has_rank(&self, rank: i64) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank))
    }

    /// A condition over the table `involvement` (as `x`), whose calls have no size and whose time is in the row `*`, and the
    /// values of its parameters.
    pub fn involvement_condition(&self) -> (String, Vec<Value>) {
        let phases = if self.is_phased { &self.phases } else { &None };
        membership(&[("op", &self.ops), ("rank", &self.ranks), ("phase", phases)])
    }

    /// The same over the table `datatype_use`, which knows neither sizes nor times nor phases.
    pub fn use_condition(&self) -> (String, Vec<Value>) {
        membership(&[("comm", &self.comms), ("op", &self.ops), ("rank", &self.ranks)])
    }

    /// The same over the tables `transfer` and `edge`, of which only the first knows sizes and ways.
    pub fn transfer_condition(&self) -> (String, Vec<Value>) {
        let key = [("op", &self.ops), ("bucket", &self.buckets), ("way", &self.ways), ("rank", &self.ranks)];
        self.on_comms(membership(&key))
    }

    /// The same over the table `event`; its sizes and ways are the caller's.
    pub fn event_condition(&self) -> (String, Vec<Value>) {
        self.on_comms(membership(&[("op", &self.ops), ("rank", &self.ranks)]))
    }

    /// And that it is on one of the communicators: in the MPI call, or beside it on a communicator of a layer.
    fn on_comms(&self, (mut condition, mut values): (String, Vec<Value>)) -> (String, Vec<Value>) {
        if self.comms.is_some() {
            let (on_comm, list) = membership(&[("comm", &self.comms)]);
            let beside = if self.has_layer_comms { " OR x.layer_comm IN (SELECT value FROM json_each(?))" } else { "" };
            condition += &format!(" AND ({on_comm}{beside})");
            values.extend(if self.has_layer_comms { [list.clone(), list].concat() } else { list });
        }
        (condition, values)
    }

    pub fn edge_condition(&self) -> (String, Vec<Value>) {
        membership(&[("comm", &self.comms), ("op", &self.ops), ("src", &self.ranks)])
    }

    fn resolve_comms(&mut self, select: &SelectCalls, catalog: &Catalog) {
        let named = |wanted: &str| -> Vec<i64> {
            let is_wanted = |label: Option<&str>, name: &str| name == wanted || label == Some(wanted);
            let all = catalog.communicators.values();
            all.filter(|comm| is_wanted(comm.label.as_deref(), &comm.name)).map(|comm| comm.id).collect()
        };
        for text in &select.comm {
            let found = self.comms.get_or_insert_default();
            // A label may hold a comma.
            match named(text) {
                whole if !whole.is_empty() => found.extend(whole),
                _ => {
                    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                        let numbers = named(name);
                        if numbers.is_empty() {
                            self.absent.push(format!("communicator {name}"));
                        }
                        found.extend(numbers);
                    }
                }
            }
            self.words.push(format!("communicator {text}"));
        }
    }

    fn resolve_operations(&mut self, select: &SelectCalls, catalog: &Catalog) -> Result<(), Error> {
        let with = |holds: &dyn Fn(&Operation) -> bool| -> BTreeSet<i64> {
            catalog.operations.iter().filter(|(_, operation)| holds(operation)).map(|(number, _)| *number).collect()
        };
        for name in select.op.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|name| !name.is_empty()) {
            let found = with(&|operation| bare(&operation.name) == bare(name));
            let known = calls::find(name).map(|call| call.name.to_owned());
            let stored = found.first().and_then(|number| Some(catalog.operations.get(number)?.name.clone()));
            let full = stored.or(known).ok_or_else(|| unknown_operation(name, catalog))?;
            if found.is_empty() {
                self.absent.push(full.clone());
            }
            self.ops.get_or_insert_default().extend(found);
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
            self.words.extend(select.p2p.then(|| "point-to-point".to_owned()));
            self.words.extend(select.collectives.then(|| "collective".to_owned()));
        }
        Ok(())
    }

    fn resolve_buckets(&mut self, select: &SelectCalls, catalog: &Catalog) {
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
            let found = catalog.buckets.iter().find(|(number, bucket)| match pick {
                BucketPick::Number(wanted) => u64::try_from(**number) == Ok(*wanted),
                BucketPick::Edges { lo, hi } => (bucket.lo, bucket.hi) == (*lo, *hi),
            });
            let word = match (found, pick) {
                (Some((_, bucket)), _) => format!("bucket {}", units::bucket(bucket.lo, bucket.hi)),
                (None, BucketPick::Number(number)) => format!("bucket {number}"),
                (None, BucketPick::Edges { lo, hi }) => format!("bucket {}", units::bucket(*lo, *hi)),
            };
            match found {
                Some((number, _)) => _ = picked.insert(*number),
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

    fn resolve_ranks(&mut self, select: &SelectCalls, catalog: &Catalog) {
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

    fn resolve_phases(&mut self, select: &Select, catalog: &Catalog) -> Result<(), Error> {
        for name in select.phase.iter().flat_map(|text| text.split(',')) {
            let known = catalog.phases.iter().find(|(_, known)| *known == name);
            let (number, _) = known.ok_or_else(|| unknown_phase(name, catalog))?;
            self.phases.get_or_insert_default().insert(*number);
            self.words.push(phase_title(name));
        }
        Ok(())
    }

    fn resolve_ways(&mut self, select: &SelectWays, catalog: &Catalog) {
        const COLUMNS: [Column; 4] = [
            ("layer", |way| &way.layer),
            ("transport", |way| &way.transport),
            ("device", |way| &way.device),
            ("protocol", |way| &way.protocol),
        ];
        let lists = [&select.layer, &select.transport, &select.device, &select.protocol];
        for ((column, of), lists) in COLUMNS.into_iter().zip(lists).filter(|(_, lists)| !lists.is_empty()) {
            let wanted: BTreeSet<&str> = listed(lists).collect();
            for name in &wanted {
                let title = if name.is_empty() { format!("no {column}") } else { format!("{column} {name}") };
                if !catalog.ways.values().any(|way| of(way).eq_ignore_ascii_case(name)) {
                    self.absent.push(title.clone());
                }
                self.words.push(title);
            }
            let is_wanted = |way: &Way| wanted.iter().any(|name| of(way).eq_ignore_ascii_case(name));
            let found = catalog.ways.iter().filter(|(_, way)| is_wanted(way)).map(|(number, _)| *number).collect();
            self.ways = Some(match self.ways.take() {
                Some(ways) => ways.intersection(&found).copied().collect(),
                None => found,
            });
        }
    }
}

/// What a way has, by its name.
type Column = (&'static str, fn(&Way) -> &str);

/// Every word of lists that are separated by commas. An empty list is the empty word.
fn listed(lists: &[String]) -> impl Iterator<Item = &str> {
    lists.iter().flat_map(|list| list.split(',')).map(str::trim)
}

/// What a phase is called where its name may be empty.
pub fn phase_title(name: &str) -> String {
    if name.is_empty() { "outside any phase".to_owned() } else { format!("phase {name}") }
}

/// That each column is among its numbers. A list is one parameter, because SQLite limits how many there may be.
fn membership(columns: &[(&str, &Option<BTreeSet<i64>>)]) -> (String, Vec<Value>) {
    let mut condition = "true".to_owned();
    let mut values = Vec::new();
    for (column, numbers) in columns.iter().filter_map(|(column, numbers)| Some((column, numbers.as_ref()?))) {
        let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
        condition += &format!(" AND x.{column} IN (SELECT value FROM json_each(?))");
        values.push(Value::from(format!("[{}]", words.join(","))));
    }
    (condition, values)
}

fn bare(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    lower.strip_prefix("mpi_").unwrap_or(&lower).to_owned()
}

fn unknown_phase(name: &str, catalog: &Catalog) -> Error {
    let names: Vec<&str> = catalog.phases.values().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Error::Argument(visible(&format!("there is no phase '{name}'; the profile has: {there}; '' is outside any")).into())
}

fn unknown_operation(name: &str, catalog: &Catalog) -> Error {
    let recorded = catalog.operations.values().map(|operation| operation.name.as_str());
    let mut near: Vec<(f64, &str)> = recorded
        .chain(calls::CALLS.iter().map(|call| call.name))
        .map(|known| (strsim::jaro_winkler(&bare(known), &bare(name)), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.dedup_by_key(|(_, known)| *known);
    let names: Vec<&str> = near.iter().take(5).map(|(_, known)| *known).collect();
    Error::Argument(match names.is_empty() {
        true => format!("'{name}' is no MPI operation: write it as MPI_Allreduce or allreduce"),
        false => format!("'{name}' is no MPI operation; similar: {}", names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::sample;
    use clap::Parser;

    fn resolve(words: &[&str]) -> Result<Filter, Error> {
        let cli = crate::cli::Cli::try_parse_from(["through"].iter().chain(words)).unwrap();
        Filter::resolve(&cli.show.select, &sample::catalog())
    }

    #[test]
    fn names_become_numbers() {
        let filter = resolve(&["--comm", "s0.1,a, b", "--comm", "W0.0", "--op", "allreduce,MPI_SEND"]).unwrap();
        assert_eq!(filter.comms.unwrap().into_iter().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(filter.ops.unwrap().len(), 2);
        assert_eq!(filter.absent, ["communicator a", "communicator b"]);
    }

    #[test]
    fn a_label_may_hold_a_comma() {
        let filter = resolve(&["--comm", "rows, odd"]).unwrap();
        assert_eq!(filter.comms.unwrap().into_iter().collect::<Vec<_>>(), [4]);
        assert!(filter.absent.is_empty());
    }

    #[test]
    fn classes_narrow_the_operations() {
        assert_eq!(resolve(&["-p"]).unwrap().ops.unwrap().len(), 1);
        assert_eq!(resolve(&["-p", "-c"]).unwrap().ops.unwrap().len(), 2);
        assert!(resolve(&["-p", "--op", "allreduce"]).unwrap().ops.unwrap().is_empty());
    }

    #[test]
    fn an_unknown_operation_names_similar_ones() {
        let error = resolve(&["--op", "Alreduce"]).unwrap_err().to_string();
        assert!(error.contains("MPI_Allreduce"), "{error}");
        assert!(resolve(&["--op", "zzz"]).unwrap_err().to_string().contains("write it as"));
    }

    #[test]
    fn an_operation_that_the_profile_lacks_matches_nothing() {
        let filter = resolve(&["--op", "Bcast"]).unwrap();
        assert_eq!((filter.ops, filter.absent), (Some(BTreeSet::new()), vec!["MPI_Bcast".to_owned()]));
    }

    #[test]
    fn phases_are_named_exactly() {
        let phases = |words: &[&str]| resolve(words).unwrap().phases.unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(phases(&["--phase", "solve,set up"]), [1, 2]);
        assert_eq!(phases(&["--phase", ""]), [0]);
        assert_eq!(phases(&["--phase", "solve", "--phase", ""]), [0, 2]);
        let error = resolve(&["--phase", "Solve"]).unwrap_err().to_string();
        assert!(error.contains("no phase 'Solve'") && error.contains("set up, solve"), "{error}");
    }

    #[test]
    fn ways_are_met_by_all_that_is_asked_of_them() {
        let ways = |words: &[&str]| {
            let cli = crate::cli::Cli::try_parse_from(["through", "ucx"].iter().chain(words)).unwrap();
            let Some(crate::cli::Command::Ucx(ucx)) = cli.command else { panic!("no ucx") };
            let filter = Filter::of_transfers(&ucx.calls, &ucx.ways, &sample::catalog()).unwrap();
            (filter.ways.map(|ways| ways.into_iter().collect::<Vec<_>>()), filter.absent)
        };
        assert_eq!(ways(&[]), (None, vec![]));
        assert_eq!(ways(&["--layer", "UCT"]), (Some(vec![2, 3]), vec![]));
        assert_eq!(
            ways(&["--layer", "uct", "--transport", "tcp, rc"]),
            (Some(vec![2]), vec!["transport rc".to_owned()])
        );
        assert_eq!(ways(&["--layer", "ucp", "--transport", "tcp"]), (Some(vec![]), vec![]));
        assert_eq!(ways(&["--transport", ""]), (Some(vec![1]), vec![]));
    }

    #[test]
    fn buckets_are_met_from_both_sides() {
        let buckets = |words: &[&str]| resolve(words).unwrap().buckets.unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(buckets(&["--bytes", "128:1K"]), [0, 1]);
        assert_eq!(buckets(&["--bytes", "129:1K"]), [1]);
        assert_eq!(buckets(&["--bytes", "8K:"]), [2]);
        assert_eq!(buckets(&["--bucket", "0,1K:"]), [0, 2]);
        assert!(buckets(&["--bucket", "128-1K", "--bytes", ":128"]).is_empty());
    }
}
