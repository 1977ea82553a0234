//! Between which lines late ranks work, where a timeline or call sites tell.

use std::collections::BTreeMap;

use commsee::ranks::Ranks;
use rusqlite::types::Value;

use super::lines;
use super::run::Run;
use crate::query::Error;
use crate::query::timeline::CALL;

/// A call of a timeline: communicator, operation and site.
type Spot = (i64, i64, Option<i64>);

/// ` between grid.c:18 and grid.c:24`, by a timeline of the first of the ranks; without one ` before grid.c:24`.
pub fn words(run: &Run, ranks: &Ranks, comm: i64, op: i64) -> Result<String, Error> {
    let longest = match run.timed {
        Some(_) => longest(run, ranks, comm, op)?,
        None => None,
    };
    if let Some((from, to)) = longest {
        let (from, to) = (name(run, from), name(run, to));
        return Ok(if from == to { format!(" before each {to}") } else { format!(" between {from} and {to}") });
    }
    Ok(lines::heaviest(run, comm, op).map(|line| format!(" before {line}")).unwrap_or_default())
}

/// The calls between which a rank works longest before the call that it is late to.
fn longest(run: &Run, ranks: &Ranks, comm: i64, op: i64) -> Result<Option<(Spot, Spot)>, Error> {
    let Some((rank, _)) = ranks.ranges().first() else { return Ok(None) };
    let sql = format!(
        "SELECT thread, begin_ns, end_ns, comm, op, site FROM event WHERE kind = {CALL} AND rank = ? ORDER BY thread, begin_ns"
    );
    let mut gaps: BTreeMap<(Spot, Spot), i64> = BTreeMap::new();
    let mut before: Option<(i64, i64, Spot)> = None;
    run.profile.query::<(), ()>(&sql, vec![Value::from(i64::from(*rank))], |row| {
        let (thread, begin_ns): (i64, i64) = (row.get(0)?, row.get(1)?);
        let end_ns = row.get::<_, Option<i64>>(2)?.unwrap_or(begin_ns);
        let spot = (row.get(3)?, row.get(4)?, row.get(5)?);
        if let Some((_, ended_ns, from)) = before.filter(|(of, ..)| *of == thread)
            && (spot.0, spot.1) == (comm, op)
        {
            let gap = gaps.entry((from, spot)).or_default();
            *gap = gap.saturating_add(begin_ns.saturating_sub(ended_ns));
        }
        before = Some((thread, end_ns, spot));
        Ok(())
    })?;
    Ok(gaps.into_iter().max_by_key(|(_, ns)| *ns).map(|(spots, _)| spots))
}

/// Its line, or its operation.
fn name(run: &Run, (comm, op, site): Spot) -> String {
    let spot = site.and_then(|site| run.catalog.sites.spot(site)).filter(|spot| spot.nameless.is_none());
    spot.map_or_else(|| format!("{} on {}", run.op(op), run.title(comm)), |spot| spot.text.clone())
}
