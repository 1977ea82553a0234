//! What goes together with the run time over many runs: the time of each operation on each communicator, as the rank has it that spends most, once as it
//! is and once without what may be waiting for others.

use std::collections::BTreeMap;

use super::aligned::Aligned;
use super::boxes::{Spread, spreads};
use super::configuration::{Configuration, configurations};
use super::run::{Cell, Run};
use crate::statistics::{Correlation, Fences, LEVEL, holm, pearson, pearson_within, spearman, spearman_within};

/// With fewer runs no rank correlation is more than chance: of four the least p-value is 0.083.
pub const LEAST_RUNS: usize = 5;

pub struct Correlations {
    /// Those that go together with most seconds of run time first.
    pub rows: Vec<Row>,
    pub runs: Vec<Point>,
    pub configurations: Vec<Configuration>,
    pub spreads: Vec<Spread>,
}

/// A run, with the configuration that it is of.
#[derive(Clone, Debug)]
pub struct Point {
    pub path: String,
    pub configuration: usize,
    pub run_time_ns: i64,
    /// The mean over the ranks.
    pub mpi_s: f64,
    /// Outside of Tukey's fences of its configuration.
    pub is_outlier: bool,
}

/// One operation on a communicator, or on all that were made alike.
#[derive(Clone, Debug)]
pub struct Row {
    pub comm: String,
    pub label: Option<String>,
    pub size: Option<u64>,
    pub creator: String,
    pub parent: Option<String>,
    /// For how many communicators it stands.
    pub members: usize,
    pub is_family: bool,
    pub op: String,
    /// Of the rank that spends most, by run.
    pub times_s: Vec<f64>,
    /// Of the rank that spends most: the mean over the runs, and the deviation.
    pub mean_s: f64,
    pub deviation_s: f64,
    pub pearson: Option<Correlation>,
    pub spearman: Option<Correlation>,
    /// Inside of configurations; nothing: there is one.
    pub within: Option<Correlation>,
    pub spearman_within: Option<Correlation>,
    /// Without what is waiting.
    pub work: Option<Correlation>,
    pub spearman_work: Option<Correlation>,
    /// Whether that is known, and for certain.
    pub waiting: Waiting,
    /// Without outliers; nothing: there are none.
    pub trimmed: Option<Correlation>,
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// What no rank could avoid holds all that is work: barriers, and all-to-all exchanges.
    Bound,
    /// All members make the same calls, so that the one that spends least is taken to wait least.
    Estimate,
    /// Members make different calls: that needs a timeline.
    Unknown,
}

impl Waiting {
    pub fn name(self) -> &'static str {
        match self {
            Waiting::Bound => "bound",
            Waiting::Estimate => "estimate",
            Waiting::Unknown => "timeline",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Correlates,
    IsWaiting,
    MayWait,
    BetweenOnly,
    NotSignificant,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Correlates => "correlates",
            Verdict::IsWaiting => "correlates, but is waiting",
            Verdict::MayWait => "correlates, may be waiting",
            Verdict::BetweenOnly => "correlates between configurations only",
            Verdict::NotSignificant => "not significant",
        }
    }
}

/// One row in one run, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    most_s: f64,
    least_s: Option<f64>,
    is_bound: bool,
}

impl Value {
    fn of(run: &Run, cell: &Cell) -> Value {
        let members = run.comms.get(cell.comm).and_then(|comm| comm.size).unwrap_or(run.ranks).max(1);
        Value {
            most_s: cell.rank_max_ns as f64 / 1e9,
            least_s: cell.even_ns.map(|even| even as f64 / members as f64 / 1e9),
            is_bound: cell.is_synchronising,
        }
    }

    /// Of communicators without common members: the rank that spends most is in one of them.
    fn beside(self, other: Value) -> Value {
        let least_s = match (self.least_s, other.least_s) {
            (Some(a), Some(b)) => Some(a.max(b)),
            _ => None,
        };
        Value { most_s: self.most_s.max(other.most_s), least_s, is_bound: self.is_bound && other.is_bound }
    }

    /// Of communicators that one rank may be in.
    fn after(self, other: Value) -> Value {
        let least_s = match (self.least_s, other.least_s) {
            (Some(a), Some(b)) => Some(a + b),
            _ => None,
        };
        Value { most_s: self.most_s + other.most_s, least_s, is_bound: self.is_bound && other.is_bound }
    }
}

/// Whose time a row is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Unit(usize),
    /// The units that were made alike, by the first of them.
    Alike(usize),
}

impl Correlations {
    /// Of at least one run. `by` names the values of the metadata that make a configuration.
    pub fn of(runs: &[Run], by: &[String]) -> Correlations {
        let all: Vec<&Run> = runs.iter().collect();
        let aligned = Aligned::of(&all, 0);
        let (mut configurations, of_run) = configurations(runs, by);
        let times: Vec<f64> = runs.iter().map(|run| run.run_time_ns as f64 / 1e9).collect();
        let mpi_times: Vec<f64> = runs.iter().map(|run| run.per_rank_s(run.mpi_ns)).collect();
        let outliers = outliers(&times, &of_run);
        configurations.iter_mut().enumerate().for_each(|(at, configuration)| {
            let own = |times: &[f64]| -> Vec<f64> {
                times.iter().zip(&of_run).filter(|(_, of)| **of == at).map(|(time, _)| *time).collect()
            };
            configuration.measure(&own(&times), &own(&mpi_times));
        });
        let mut rows: Vec<Row> = Vec::new();
        for ((whose, op), values) in values(&all, &aligned) {
            let mut row = named(&whose, op, &aligned, runs);
            row.relate(&values, &times, &of_run, &outliers, configurations.len());
            rows.push(row);
        }
        judge(&mut rows, runs.len(), configurations.len());
        let weight = |row: &Row| row.pearson.map_or(0.0, |found| found.r.abs() * row.deviation_s);
        rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| (&a.comm, &a.op).cmp(&(&b.comm, &b.op))));
        let point = |(at, run): (usize, &Run)| Point {
            path: run.path.to_string_lossy().into_owned(),
            configuration: of_run[at],
            run_time_ns: run.run_time_ns,
            mpi_s: mpi_times[at],
            is_outlier: outliers[at],
        };
        let spreads = spreads(&rows, &of_run);
        Correlations { rows, runs: runs.iter().enumerate().map(point).collect(), configurations, spreads }
    }
}

fn outliers(times: &[f64], of_run: &[usize]) -> Vec<bool> {
    let fences: BTreeMap<usize, Option<Fences>> = of_run
        .iter()
        .map(|configuration| {
            let own = times.iter().zip(of_run).filter(|(_, of)| *of == configuration).map(|(time, _)| *time);
            (*configuration, Fences::of(&own.collect::<Vec<_>>()))
        })
        .collect();
    let is_outlier = |(time, of): (&f64, &usize)| fences[of].is_some_and(|fences| fences.is_outside(*time));
    times.iter().zip(of_run).map(is_outlier).collect()
}

/// By row and run.
fn values<'a>(runs: &[&'a Run], aligned: &Aligned) -> BTreeMap<(Whose, &'a str), Vec<Value>> {
    let alike = alike(runs, aligned);
    let mut values: BTreeMap<(Whose, &str), Vec<Value>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        let units = aligned.of_comms(number);
        // Of one call, which gives each rank one: the same number of communicators made before.
        let mut of_calls: BTreeMap<(usize, &str, u64), Value> = BTreeMap::new();
        let mut of_units: BTreeMap<(usize, &str), Value> = BTreeMap::new();
        for cell in &run.cells {
            let (Some(unit), Some(comm)) = (units.get(&cell.comm), run.comms.get(cell.comm)) else { continue };
            let (value, op) = (Value::of(run, cell), cell.op.as_str());
            of_units.entry((*unit, op)).and_modify(|sum| *sum = sum.beside(value)).or_insert(value);
            if let Some(first) = alike.get(unit) {
                let call = of_calls.entry((*first, op, comm.made));
                call.and_modify(|sum| *sum = sum.beside(value)).or_insert(value);
            }
        }
        let mut of_alike: BTreeMap<(usize, &str), Value> = BTreeMap::new();
        for ((first, op, _), value) in of_calls {
            of_alike.entry((first, op)).and_modify(|sum| *sum = sum.after(value)).or_insert(value);
        }
        let of_units = of_units.into_iter().map(|((unit, op), value)| ((Whose::Unit(unit), op), value));
        let of_alike = of_alike.into_iter().map(|((first, op), value)| ((Whose::Alike(first), op), value));
        for (key, value) in of_units.chain(of_alike) {
            let none = Value { least_s: Some(0.0), is_bound: true, ..Value::default() };
            values.entry(key).or_insert_with(|| vec![none; runs.len()])[number] = value;
        }
    }
    values
}

/// The first of the units that were made alike, for each that has others: one parent, creator, size and birthplace.
fn alike(runs: &[&Run], aligned: &Aligned) -> BTreeMap<usize, usize> {
    type Made = (String, Option<usize>, Option<u64>, Option<String>);
    let mut lists: BTreeMap<Made, Vec<usize>> = BTreeMap::new();
    for unit in 0..aligned.units.len() {
        let Some(comm) = runs.first().and_then(|run| aligned.first(unit, 0, run)) else { continue };
        if comm.parent.is_some() {
            let made = (comm.creator.clone(), comm.parent, comm.size, comm.birthplace.clone());
            lists.entry(made).or_default().push(unit);
        }
    }
    let several = lists.into_values().filter(|list| list.len() > 1);
    several.flat_map(|list| list.clone().into_iter().map(move |unit| (unit, list[0]))).collect()
}

fn named(whose: &Whose, op: &str, aligned: &Aligned, runs: &[Run]) -> Row {
    let (unit, all): (usize, Vec<&Run>) = match whose {
        Whose::Unit(unit) | Whose::Alike(unit) => (*unit, runs.iter().collect()),
    };
    let there = (0..runs.len()).find_map(|at| Some((at, aligned.first(unit, at, &runs[at])?)));
    let parent = there.and_then(|(at, comm)| Some(runs[at].comms.get(comm.parent?)?.name.clone()));
    let members = match whose {
        Whose::Unit(_) => there.map_or(0, |(at, _)| aligned.units[unit].members[at].len()),
        Whose::Alike(_) => alike(&all, aligned).into_values().filter(|first| *first == unit).count(),
    };
    let comm = there.map(|(_, comm)| comm.clone()).unwrap_or_default();
    Row {
        comm: comm.name,
        label: comm.label.filter(|_| members == 1),
        size: comm.size,
        creator: comm.creator.trim().to_owned(),
        parent,
        members,
        is_family: matches!(whose, Whose::Alike(_)),
        op: op.to_owned(),
        times_s: Vec::new(),
        mean_s: 0.0,
        deviation_s: 0.0,
        pearson: None,
        spearman: None,
        within: None,
        spearman_within: None,
        work: None,
        spearman_work: None,
        waiting: Waiting::Unknown,
        trimmed: None,
        verdict: None,
    }
}

impl Row {
    fn relate(&mut self, values: &[Value], times: &[f64], of_run: &[usize], outliers: &[bool], configurations: usize) {
        let most: Vec<f64> = values.iter().map(|value| value.most_s).collect();
        self.times_s.clone_from(&most);
        let number = most.len().max(1) as f64;
        self.mean_s = most.iter().sum::<f64>() / number;
        self.deviation_s = (most.iter().map(|value| (value - self.mean_s).powi(2)).sum::<f64>() / number).sqrt();
        self.pearson = pearson(&most, times);
        self.spearman = spearman(&most, times);
        if configurations > 1 {
            self.within = pearson_within(&most, times, of_run);
            self.spearman_within = spearman_within(&most, times, of_run);
        }
        if let Some(least) = values.iter().map(|value| value.least_s).collect::<Option<Vec<f64>>>() {
            let is_bound = values.iter().all(|value| value.is_bound);
            self.waiting = if is_bound { Waiting::Bound } else { Waiting::Estimate };
            self.work = pearson(&least, times);
            self.spearman_work = spearman(&least, times);
        }
        if outliers.contains(&true) {
            let kept = |values: &[f64]| -> Vec<f64> {
                values.iter().zip(outliers).filter(|(_, is_outlier)| !**is_outlier).map(|(value, _)| *value).collect()
            };
            self.trimmed = pearson(&kept(&most), &kept(times));
        }
    }
}

/// Of all rows together: at 5 %, one of twenty sets in which something correlates would have another row that seems to.
const LEVEL_OF_ALL: f64 = 0.02;

/// What remains without the waiting is taken for chance unless it is as sure as this: of twenty rows that are nothing but waiting, one is below 5 %.
const WORK_LEVEL: f64 = 0.01;

/// For all rows together, by Holm's rule.
fn judge(rows: &mut [Row], runs: usize, configurations: usize) {
    if runs < LEAST_RUNS {
        return;
    }
    let p = |found: Option<Correlation>| found.and_then(|found| found.p).unwrap_or(1.0);
    let p_values: Vec<f64> = rows.iter().map(|row| p(row.pearson)).collect();
    for (row, adjusted) in rows.iter_mut().zip(holm(&p_values)) {
        row.verdict = Some(match row.waiting {
            _ if adjusted > LEVEL_OF_ALL => Verdict::NotSignificant,
            _ if configurations > 1 && p(row.within) > LEVEL => Verdict::BetweenOnly,
            Waiting::Unknown => Verdict::MayWait,
            _ if p(row.work) > WORK_LEVEL => Verdict::IsWaiting,
            _ => Verdict::Correlates,
        });
    }
}

#[cfg(test)]
mod tests {
    use commsee::ranks::Ranks;

    use super::super::run::Comm;
    use super::super::simulated::cell;
    use super::*;
    use crate::statistics::random::Random;

    /// Four ranks: Alltoallv takes longer in slow runs, on all of them and on one of them most, and who is early waits in a Send for the others.
    fn run(random: &mut Random, slow: f64) -> Run {
        let ranks = Ranks::read("0-3");
        let world = Comm { name: "W0.0".to_owned(), size: Some(4), ranks: Some(ranks), ..Comm::default() };
        let mut noise = |deviation: f64| deviation * random.normal() * 1e9;
        let skew: Vec<f64> = (0..4).map(|rank| 0.2e9 * f64::from(rank) * slow).collect();
        let alltoallv: Vec<f64> = skew.iter().map(|skew| 3e9 * slow + skew + noise(0.01)).collect();
        let send: Vec<f64> = skew.iter().map(|skew| 0.5e9 + 0.6e9 * slow - skew + noise(0.01)).collect();
        // The last rank waits for nobody.
        let send: Vec<f64> = send.iter().zip(&skew).map(|(send, _)| *send).collect();
        let bcast: Vec<f64> = (0..4).map(|_| 1e9 + noise(0.1)).collect();
        let cells = vec![
            cell(0, "MPI_Alltoallv", 48, 1 << 30, &alltoallv, 1e6),
            cell(0, "MPI_Sendrecv", 100, 1 << 20, &send, 1e5),
            cell(0, "MPI_Bcast", 10, 1 << 20, &bcast, 1e5),
        ];
        let run_time_ns = (40e9 + alltoallv[3] + noise(0.1)) as i64;
        Run { ranks: 4, run_time_ns, comms: vec![world], cells, ..Run::default() }
    }

    fn found<'a>(found: &'a Correlations, op: &str) -> &'a Row {
        found.rows.iter().find(|row| row.op == op).unwrap()
    }

    #[test]
    fn what_only_waits_is_told_from_what_is_slow() {
        let mut right = 0;
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let runs: Vec<Run> = (0..40)
                .map(|_| {
                    let slow = 1.0 + 0.2 * random.normal();
                    run(&mut random, slow)
                })
                .collect();
            let correlations = Correlations::of(&runs, &[]);
            let [alltoallv, send, bcast] =
                ["MPI_Alltoallv", "MPI_Sendrecv", "MPI_Bcast"].map(|op| found(&correlations, op));
            assert!(alltoallv.pearson.unwrap().r > 0.9 && send.pearson.unwrap().r > 0.9, "{send:?}");
            right += usize::from(
                alltoallv.verdict == Some(Verdict::Correlates)
                    && send.verdict == Some(Verdict::IsWaiting)
                    && bcast.verdict == Some(Verdict::NotSignificant),
            );
            assert_eq!((alltoallv.waiting, send.waiting), (Waiting::Bound, Waiting::Estimate));
        }
        assert!(right >= 190, "{right} of 200");
    }

    #[test]
    fn few_runs_have_no_verdict() {
        let mut random = Random::new(1);
        let runs: Vec<Run> = (0..4).map(|at| run(&mut random, 1.0 + 0.1 * f64::from(at))).collect();
        assert!(Correlations::of(&runs, &[]).rows.iter().all(|row| row.verdict.is_none()));
    }

    /// Two configurations, one slow in all: inside of them nothing goes together.
    #[test]
    fn configurations_are_looked_into() {
        let mut random = Random::new(4);
        let mut runs: Vec<Run> = Vec::new();
        for at in 0..40 {
            let mut run = run(&mut random, 1.0);
            let is_slow = at % 2 == 1;
            run.meta.insert("command".to_owned(), format!("./app {at}", at = at % 2));
            for cell in run.cells.iter_mut().filter(|cell| is_slow && cell.op == "MPI_Bcast") {
                (cell.rank_max_ns, cell.even_ns) =
                    (cell.rank_max_ns + 2_000_000_000, cell.even_ns.map(|even| even + 8_000_000_000));
            }
            run.run_time_ns += if is_slow { 5_000_000_000 } else { 0 };
            runs.push(run);
        }
        let correlations = Correlations::of(&runs, &[]);
        assert_eq!(correlations.configurations.len(), 2);
        let bcast = found(&correlations, "MPI_Bcast");
        assert!(bcast.pearson.unwrap().r > 0.9 && bcast.within.unwrap().r.abs() < 0.5, "{bcast:?}");
        assert_eq!(bcast.verdict, Some(Verdict::BetweenOnly));
        assert_eq!(Correlations::of(&runs, &["ranks".to_owned()]).configurations.len(), 1);
    }

    #[test]
    fn outliers_are_named_and_left_out() {
        let mut random = Random::new(8);
        let mut runs: Vec<Run> = (0..20).map(|_| run(&mut random, 1.0)).collect();
        runs[7].run_time_ns *= 3;
        runs[7].cells[2].rank_max_ns *= 30;
        let correlations = Correlations::of(&runs, &[]);
        let named: Vec<usize> = (0..20).filter(|at| correlations.runs[*at].is_outlier).collect();
        let bcast = found(&correlations, "MPI_Bcast");
        assert!(named.contains(&7) && bcast.pearson.unwrap().r > 0.9, "{named:?}");
        assert!(bcast.trimmed.unwrap().r < 0.6, "{bcast:?}");
    }
}
