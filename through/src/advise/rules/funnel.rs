//! One rank that all others send to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::advise::finding::{Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::Run;
use crate::query::Error;
use crate::text::units;

pub const SHARE: f64 = 0.9;
pub const MESSAGES: i64 = 100;
pub const RANKS: u64 = 4;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let point_to_point: BTreeSet<i64> =
        run.catalog.operations.keys().copied().filter(|op| matches!(run.class(*op), "p2p")).collect();
    // There may be a million edges: added up here, since SQLite would sort them.
    let mut ends: HashMap<(i64, i64), i64> = HashMap::new();
    run.profile.query::<(), ()>("SELECT comm, dst, calls FROM edge WHERE src <> dst", vec![], |row| {
        let sum = ends.entry((row.get(0)?, row.get(1)?)).or_default();
        *sum = sum.saturating_add(row.get(2)?);
        Ok(())
    })?;
    let mut by_comm: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for ((comm, dst), messages) in ends.into_iter().collect::<BTreeMap<_, _>>() {
        by_comm.entry(comm).or_default().push((dst, messages));
    }
    let mut findings = Vec::new();
    for (comm, ends) in by_comm {
        let all = ends.iter().fold(0i64, |sum, (_, messages)| sum.saturating_add(*messages));
        let Some((root, messages)) = ends.iter().copied().max_by_key(|(_, messages)| *messages) else {
            continue;
        };
        let share = messages as f64 / all.max(1) as f64;
        let Some(size) = run.comm(comm).and_then(|comm| comm.size).filter(|size| *size >= RANKS) else { continue };
        if share < SHARE || messages < MESSAGES || root < 0 {
            continue;
        }
        let sql = format!("SELECT count(DISTINCT src) FROM edge WHERE comm = {comm} AND dst = {root} AND src <> dst");
        let sources: Vec<i64> = run.profile.query(&sql, vec![], |row| row.get(0))?;
        if sources.first().is_none_or(|sources| sources.saturating_add(1) < i64::try_from(size).unwrap_or(i64::MAX)) {
            continue;
        }
        let end = End { rank: root, share, messages: all, column: "dst" };
        findings.push(end.finding("root-funnel", "messages to one rank", run, comm, &point_to_point)?);
    }
    Ok(findings)
}

/// The rank that most messages of a communicator come from (`src`) or go to (`dst`).
pub struct End {
    pub rank: i64,
    pub share: f64,
    /// Of all ranks.
    pub messages: i64,
    pub column: &'static str,
}

impl End {
    /// `ops`: those that carry the messages.
    pub fn finding(
        &self,
        topic: &'static str,
        measure: &'static str,
        run: &Run,
        comm: i64,
        ops: &BTreeSet<i64>,
    ) -> Result<Finding, Error> {
        let sum = format!(
            "SELECT sum(calls) FROM matrix WHERE comm = '{}' AND src <> dst",
            run.name(comm).replace('\'', "''")
        );
        let sql = format!("SELECT ({sum} AND {} = {}) * 1.0 / ({sum})", self.column, self.rank);
        let finding = Finding {
            ranks: u32::try_from(self.rank).into_iter().collect(),
            floor: Some(Level::Info),
            gain: Gain::spent(run.spent(comm, ops)?),
            command: format!("traffic --comm {}", run.name(comm)),
            ..Finding::new(topic)
        };
        Ok(finding
            .on(comm, None)
            .with(measure, self.share, SHARE, sql)
            .word("share", units::percent(self.share, 1.0))
            .word("messages", self.messages.to_string()))
    }
}
