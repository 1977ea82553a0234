//! Why ranks are late: they work longer, or are longer in another call. Found by what they spend more than those that wait for them.

use std::collections::BTreeMap;

use commsee::ranks::Ranks;

use super::finding::{Ceiling, Finding, Level};
use super::gaps;
use super::run::Run;
use super::topics::{CALLS, WORKS};
use crate::query::Error;
use crate::query::catalog::Process;
use crate::query::filter::Filter;
use crate::query::source::{Relation, Source};
use crate::text::units;

/// A cause makes up at least so much of what is waited.
const PART: f64 = 0.5;
/// Of the waiting: where the processor explains all but so much, the rest may be the error of the estimate.
const LEFT: f64 = 0.25;
/// So much more work is no scheduler's (as of `load-imbalance`).
const SURE_NS: i64 = 100_000_000;
/// Ranks of each side that are looked at.
const RANKS: usize = 8;

/// Communicator and operation.
type Call = (i64, i64);

/// Gives a finding about late ranks its title by their cause, where that is known.
pub fn told(run: &Run, finding: &mut Finding) -> Result<(), Error> {
    let (Some(comm), Some(op)) = (finding.comm, finding.op) else { return Ok(()) };
    if !finding.topic.has_late_ranks {
        return Ok(());
    }
    let late = finding.own_ranks.as_ref().unwrap_or(&finding.ranks).clone();
    let of_call = || finding.gain.cells.iter().filter(|((on, of, _), ns)| (*on, *of) == (comm, op) && **ns > 0);
    let waiting: Ranks = of_call().filter_map(|((.., rank), _)| u32::try_from(*rank).ok()).collect();
    let others = waiting.without(&late);
    if late.is_empty() || others.is_empty() {
        return Ok(());
    }
    let waited_ns = of_call().fold(0i64, |sum, (_, ns)| sum.saturating_add(*ns)) / others.count().max(1) as i64;
    let waited_ns = capped(run, finding, &late, &others, waited_ns);
    let enough_ns = (PART * waited_ns as f64) as i64;
    // All of them: one of two may only wait for the other.
    let least_ns = works_ns(run, &late).into_iter().min().unwrap_or_default();
    let of_others = works_ns(run, &others);
    let sum_ns = of_others.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns));
    let longer_ns = least_ns.saturating_sub(sum_ns / of_others.len().max(1) as i64);
    if longer_ns > 0 && longer_ns >= enough_ns {
        let between = gaps::words(run, &late, comm, op)?;
        finding.known = Some(&WORKS);
        if longer_ns >= SURE_NS {
            finding.ceiling = None;
        }
        finding.words.extend([("longer", units::time(longer_ns)), ("between", between)]);
        return Ok(());
    }
    let (late, others) = (some(&late), some(&others));
    let longer = longer_in(run, &late, &others, (comm, op))?;
    if let Some(((comm, op), longer_ns)) = longer.filter(|(_, ns)| *ns > 0 && *ns >= enough_ns) {
        let is_open = run.timed.is_none() && matches!(run.class(op), "p2p" | "completion");
        let trace = if is_open { ": a timeline (through run --trace) shows which ranks it waits for" } else { "" };
        finding.known = Some(&CALLS);
        finding.words.extend([
            ("longer", units::time(longer_ns)),
            ("call", format!("{} on {}", run.op(op), run.made(comm))),
            ("trace", trace.to_owned()),
        ]);
    }
    Ok(())
}

/// What late ranks had no processor for, longer than the others, is not the program's: what is left of the waiting.
fn capped(run: &Run, finding: &mut Finding, late: &Ranks, others: &Ranks, waited_ns: i64) -> i64 {
    let unscheduled_ns = |ranks: &Ranks| {
        let is_meant = |rank: i64| u32::try_from(rank).is_ok_and(|rank| ranks.contains(rank));
        let processes = run.catalog.processes.iter().filter(|process| is_meant(process.rank));
        processes.map(|process| process.unscheduled_ns).fold(0i64, i64::saturating_add) / ranks.count().max(1) as i64
    };
    let more_ns = unscheduled_ns(late).saturating_sub(unscheduled_ns(others)).clamp(0, waited_ns.max(0));
    if more_ns == 0 {
        return waited_ns;
    }
    let left = 1.0 - more_ns as f64 / waited_ns as f64;
    finding.gain = std::mem::take(&mut finding.gain).part(left);
    if left <= LEFT {
        finding.ceiling =
            Some(Ceiling { level: Level::Info, why: "the late ranks had no processor for most of that time" });
    }
    waited_ns - more_ns
}

/// Outside of MPI, on a processor.
fn works_ns(run: &Run, ranks: &Ranks) -> Vec<i64> {
    let is_meant = |rank: i64| u32::try_from(rank).is_ok_and(|rank| ranks.contains(rank));
    let processes = run.catalog.processes.iter().filter(|process| is_meant(process.rank));
    processes.map(Process::work_ns).collect()
}

fn some(ranks: &Ranks) -> Vec<i64> {
    ranks.ranges().iter().flat_map(|(from, to)| *from..=*to).map(i64::from).take(RANKS).collect()
}

/// The call that takes the late ranks most more time than the others, but for that in which these wait.
fn longer_in(run: &Run, late: &[i64], others: &[i64], waits: Call) -> Result<Option<(Call, i64)>, Error> {
    let filter = Filter {
        ranks: Some(late.iter().chain(others).copied().collect()),
        is_phased: run.catalog.phases.len() > 1,
        ..Filter::default()
    };
    let source = Source::new(&run.profile, &run.catalog, &filter);
    if !source.has_single_ranks() {
        return Ok(None);
    }
    let Relation { sql, values } = source.rows()?;
    let mut sums: BTreeMap<Call, [i64; 2]> = BTreeMap::new();
    run.profile.query::<(), ()>(&format!("SELECT comm, op, rank, time_ns FROM ({sql})"), values, |row| {
        let side = usize::from(!late.contains(&row.get(2)?));
        let sum = &mut sums.entry((row.get(0)?, row.get(1)?)).or_default()[side];
        *sum = sum.saturating_add(row.get(3)?);
        Ok(())
    })?;
    sums.retain(|(comm, op), _| (*comm, *op) != waits && !run.catalog.is_outside_span(*op));
    let longer_ns = |[of_late, of_others]: [i64; 2]| {
        (of_late / late.len().max(1) as i64).saturating_sub(of_others / others.len().max(1) as i64)
    };
    Ok(sums.into_iter().map(|(call, sides)| (call, longer_ns(sides))).max_by_key(|(_, ns)| *ns))
}
