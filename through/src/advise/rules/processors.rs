//! Ranks that are bound to fewer processors than they are.

use std::collections::BTreeMap;

use commsee::ranks::Ranks;

use crate::advise::finding::{Confidence, Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::Run;
use crate::query::Error;

/// Ranks of a host that may run on the same processors.
struct Bound<'a> {
    host: &'a str,
    cpus: &'a str,
    ranks: Vec<u32>,
}

impl Bound<'_> {
    fn processors(&self) -> u64 {
        Ranks::read(self.cpus).count()
    }

    fn must_share(&self) -> bool {
        self.ranks.len() as u64 > self.processors()
    }
}

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut all: BTreeMap<(&str, &str), Bound> = BTreeMap::new();
    for process in &run.catalog.processes {
        if let (Some(cpus), Ok(rank)) = (&process.cpus, u32::try_from(process.rank)) {
            let (host, cpus) = (process.host.as_str(), cpus.as_str());
            all.entry((host, cpus)).or_insert_with(|| Bound { host, cpus, ranks: Vec::new() }).ranks.push(rank);
        }
    }
    let shared: Vec<&Bound> = all.values().filter(|one| one.must_share() && is_bound(run, one, all.values())).collect();
    let Some(most) = shared.iter().max_by_key(|one| one.ranks.len() as u64 / one.processors().max(1)) else {
        return Ok(Vec::new());
    };
    let ranks: Ranks = shared.iter().flat_map(|one| one.ranks.iter().copied()).collect();
    let quoted = |text: &str| text.replace('\'', "''");
    let sql =
        format!("SELECT count(*) FROM ranks WHERE host = '{}' AND cpus = '{}'", quoted(most.host), quoted(most.cpus));
    let several = if most.processors() == 1 { "" } else { "s" };
    let finding = Finding {
        confidence: Confidence::Bound,
        gain: Gain {
            moved: ranks.ranges().iter().flat_map(|(first, last)| *first..=*last).map(i64::from).collect(),
            ..Gain::known(ready_ns(run, &ranks))
        },
        ranks,
        floor: Some(Level::Warn),
        command: "--ranks".to_owned(),
        ..Finding::new("shared-processors")
    };
    let finding = finding.with("ranks that share them", most.ranks.len() as f64, most.processors() as f64, sql);
    let finding = finding.word("of", most.ranks.iter().copied().collect::<Ranks>().to_string());
    Ok(vec![finding.word("cpus", format!("processor{several} {}", most.cpus)).word("host", most.host)])
}

/// How long one of them was ready to run without a processor, in the mean.
fn ready_ns(run: &Run, ranks: &Ranks) -> i64 {
    let is_meant = |rank: i64| u32::try_from(rank).is_ok_and(|rank| ranks.contains(rank));
    let meant = run.catalog.processes.iter().filter(|process| is_meant(process.rank));
    let sum = meant.filter_map(|process| process.scheduled).fold(0i64, |sum, (_, ready)| sum.saturating_add(ready));
    sum / i64::try_from(ranks.count().max(1)).unwrap_or(i64::MAX)
}

/// The host has other processors. Ranks that may run on all of them share them because there are too many: the head of each view says that.
fn is_bound<'a>(run: &Run, one: &Bound, all: impl Iterator<Item = &'a Bound<'a>>) -> bool {
    // The metadata has those of rank 0's host.
    let first = run.catalog.processes.first().filter(|process| process.rank == 0 && process.host == one.host);
    let switched_on: Option<u64> = first.and_then(|_| run.catalog.meta("processors")?.parse().ok());
    let others = all.filter(|other| other.host == one.host);
    let known = others.fold(Ranks::default(), |known, other| known.with(&Ranks::read(other.cpus))).count();
    one.processors() < switched_on.unwrap_or(0).max(known)
}
