//! What changed from one program to another, each run several times: the change of ranks times run time as a ledger that adds up, in which every entry
//! has its reason.

use super::aligned::Aligned;
use super::entry::{Change, Entry, Matched, Named, What};
use super::reason::{Parts, Reason};
use super::run::Run;
use super::sums::{Rounding, Sum, are_apart, middle, side, sums};
use super::verdict::{LEAST_RUNS, alone, together};

pub struct Comparison {
    pub runs: [Vec<Run>; 2],
    /// Longest run time of a rank: the mean over the runs, in whole nanoseconds.
    pub run_time_ns: [i64; 2],
    pub run_time: Change,
    /// The change of ranks times run time, to which all entries add up.
    pub delta_whole_ns: i128,
    /// The largest first.
    pub entries: Vec<Entry>,
    pub matched: Vec<Matched>,
    /// Whether communicators of one call are taken together, since runs have different numbers of ranks.
    pub is_by_call: bool,
}

impl Comparison {
    /// Of at least one run a side.
    pub fn of(a: Vec<Run>, b: Vec<Run>) -> Comparison {
        let number = a.len();
        let all: Vec<&Run> = a.iter().chain(&b).collect();
        let aligned = Aligned::of(&all, number);
        let sums = sums(&all, &aligned);
        let named: Vec<Named> = (0..aligned.units.len()).map(|unit| named(&aligned, unit, &all, number)).collect();
        let mut rounding = Rounding::new(a.len(), b.len());
        let entry = |(what, sums): (&What, &Vec<Sum>)| {
            let comm = match what {
                What::Calls { unit, .. } => named[*unit].clone(),
                _ => Named::default(),
            };
            entry(what, comm, sums.split_at(number), &mut rounding)
        };
        let mut entries: Vec<Entry> = sums.iter().map(entry).collect();
        let per_rank = |sums: &Vec<Sum>| sums.iter().zip(&all).map(|(sum, run)| run.per_rank_s(sum.time_ns)).collect();
        let seconds: Vec<Vec<f64>> = sums.values().map(per_rank).collect();
        for ((entry, change), seconds) in entries.iter_mut().zip(together(&seconds, number)).zip(&seconds) {
            entry.per_rank_ns = ((mean(&seconds[number..]) - mean(&seconds[..number])) * 1e9).round() as i64;
            entry.time = change;
            entry.reason = reason(entry);
        }
        // With as many ranks on both sides that is the order of both.
        let size = |entry: &Entry| (entry.per_rank_ns.abs(), entry.delta_ns.abs());
        entries.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| a.what.cmp(&b.what)));
        let seconds: Vec<f64> = all.iter().map(|run| run.run_time_ns as f64 / 1e9).collect();
        let matched = aligned.units.iter().zip(named).map(|(unit, comm)| Matched { comm, how: unit.how });
        Comparison {
            run_time_ns: [mean_ns(&a), mean_ns(&b)],
            run_time: alone(&seconds, number),
            delta_whole_ns: rounding.rounded,
            entries,
            matched: matched.collect(),
            is_by_call: aligned.is_by_call,
            runs: [a, b],
        }
    }

    /// Whether verdicts are given at all.
    pub fn has_verdicts(&self) -> bool {
        self.runs.iter().all(|runs| runs.len() >= LEAST_RUNS)
    }
}

fn mean(seconds: &[f64]) -> f64 {
    seconds.iter().sum::<f64>() / seconds.len().max(1) as f64
}

fn mean_ns(runs: &[Run]) -> i64 {
    let sum: i128 = runs.iter().map(|run| i128::from(run.run_time_ns)).sum();
    let number = runs.len().max(1) as i128;
    ((2 * sum + number).div_euclid(2 * number)).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn named(aligned: &Aligned, unit: usize, runs: &[&Run], number: usize) -> Named {
    let of = &aligned.units[unit].members;
    let side = |range: std::ops::Range<usize>| range.clone().find(|run| !of[*run].is_empty());
    let sides = [side(0..number), side(number..runs.len())];
    let first = |run: usize| aligned.first(unit, run, runs[run]);
    Named {
        names: sides.map(|run| first(run?).map(|comm| comm.name.clone())),
        label: sides.into_iter().flatten().find_map(|run| first(run)?.label.clone()),
        members: sides.map(|run| run.map_or(0, |run| of[run].len())),
    }
}

fn entry(what: &What, comm: Named, (a, b): (&[Sum], &[Sum]), rounding: &mut Rounding) -> Entry {
    let delta_ns = rounding.next(a, b);
    let parts = Parts::of(&side(a), &side(b));
    let [ranks, calls, bytes, waiting] =
        [parts.ranks_ns, parts.calls_ns, parts.bytes_ns, parts.waiting_ns].map(|part| part.round() as i128);
    let parts_ns = match what {
        What::Calls { .. } => [ranks, calls, bytes, waiting, delta_ns - ranks - calls - bytes - waiting],
        _ => [ranks, 0, 0, 0, delta_ns - ranks],
    };
    let varies = |of: fn(&Sum) -> u128| [a, b].iter().any(|sums| sums.iter().any(|sum| of(sum) != of(&sums[0])));
    let calls = |sum: &Sum| sum.calls as u128;
    let rank_calls = |sum: &Sum| sum.rank_calls as u128;
    let bytes = |sum: &Sum| sum.bytes;
    Entry {
        what: what.clone(),
        comm,
        delta_ns,
        per_rank_ns: 0,
        before_ns: parts.before_ns,
        parts_ns,
        reason: None,
        calls: [a, b].map(|sums| middle(sums, calls) as i64),
        bytes: [a, b].map(|sums| u64::try_from(middle(sums, bytes)).unwrap_or(u64::MAX)),
        calls_vary: varies(calls),
        bytes_vary: varies(bytes),
        has_changed: (
            are_apart(a, b, |sum| (rank_calls(sum), u128::from(sum.ranks))),
            are_apart(a, b, |sum| (bytes(sum), rank_calls(sum).max(1))),
        ),
        time: Change::default(),
    }
}

/// Nothing: nothing that is counted has changed, and the time not for certain.
fn reason(entry: &Entry) -> Option<Reason> {
    let is_certain = entry.time.verdict.is_some_and(|verdict| verdict.is_certain());
    let is_more = entry.delta_ns > 0;
    if entry.delta_ns == 0 && entry.has_changed == (false, false)
        || entry.time.verdict.is_some() && !is_certain && entry.has_changed == (false, false)
    {
        return None;
    }
    let [ranks_ns, calls_ns, bytes_ns, waiting_ns, speed_ns] = entry.parts_ns.map(|part| part as f64);
    let one_of = |more, less| match ranks_ns.abs() > speed_ns.abs() {
        true => Some(if is_more { Reason::MoreRanks } else { Reason::FewerRanks }),
        false => Some(if is_more { more } else { less }),
    };
    match entry.what {
        What::Calls { .. } => {}
        What::Working => return one_of(Reason::MoreWork, Reason::LessWork),
        What::Unexplained => return one_of(Reason::MoreUnexplained, Reason::LessUnexplained),
        What::EndSkew => return one_of(Reason::MoreEndSkew, Reason::LessEndSkew),
    }
    let parts = Parts { before_ns: entry.before_ns, ranks_ns, calls_ns, bytes_ns, waiting_ns, speed_ns };
    let is_certain = entry.time.verdict.map(|_| is_certain);
    Some(parts.reason(entry.has_changed, is_certain, entry.bytes != [0, 0]))
}
