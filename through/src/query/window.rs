//! A window of the timeline: what began in it, under the names of the tables in which a profile counts messages and transfers, so that
//! every view of these is one of the window. Counters have no times: other tables stay those of the whole run.

use super::open::Profile;
use super::range::TimeRange;
use super::timeline::clocks;
use crate::query::Error;

/// The same profile with the messages and transfers of a window only. Nothing: it has no timeline.
pub fn within(profile: Profile, window: TimeRange) -> Result<Option<Profile>, Error> {
    if clocks(&profile)?.is_empty() {
        return Ok(None);
    }
    let TimeRange { low_ns, high_ns } = window;
    let in_window = format!("e.begin_ns BETWEEN {low_ns} AND {high_ns}");
    // Which is complete at once, and which later, an event does not tell.
    profile.stand_in(&format!(
        "CREATE TEMP TABLE edge AS
         SELECT e.comm AS comm, e.op AS op, e.rank AS src, max(coalesce(e.peer, -1), -1) AS dst, count(*) AS calls, sum(e.bytes) AS bytes
         FROM main.event e WHERE e.kind = 2 AND {in_window} GROUP BY 1, 2, 3, 4;
         CREATE TEMP TABLE transfer AS
         SELECT e.comm AS comm, e.op AS op, b.id AS bucket, e.way AS way, e.rank AS rank, coalesce(e.peer, -1) AS peer, count(*) AS calls,
             sum(e.bytes) AS bytes, 0 AS later, NULL AS time_ns, NULL AS time_min_ns, NULL AS time_max_ns,
             coalesce(e.layer_comm, 0) AS layer_comm, coalesce(e.within, 0) AS within, coalesce(e.site, 0) AS site,
             0 AS source_object, 0 AS target_object
         FROM main.event e
         JOIN main.bucket b ON b.id < 64 AND (e.bytes > b.lo OR b.lo = 0) AND (b.hi IS NULL OR e.bytes <= b.hi)
         WHERE e.kind = 1 AND {in_window} GROUP BY e.comm, e.op, b.id, e.way, e.rank, e.peer, e.layer_comm, e.within, e.site;
         CREATE TEMP TABLE transfer_total AS
         SELECT comm, op, bucket, way, sum(calls) AS calls, sum(bytes) AS bytes, 0 AS later, NULL AS time_ns, NULL AS time_min_ns,
             NULL AS time_max_ns
         FROM temp.transfer GROUP BY comm, op, bucket, way;"
    ))?;
    Ok(Some(profile))
}

/// Until when events of some rank were overwritten, so that a window that begins earlier lacks them.
pub fn overwritten_until_ns(profile: &Profile) -> Result<Option<i64>, Error> {
    let sql =
        "SELECT min(e.begin_ns) FROM clock c JOIN event e ON e.rank = c.rank WHERE c.lost_events > 0 GROUP BY c.rank";
    let firsts: Vec<Option<i64>> = profile.query(sql, vec![], |row| row.get(0))?;
    Ok(firsts.into_iter().flatten().max())
}

/// Operations whose messages are counted, but not on the timeline: one-sided, partitioned and neighborhood ones.
pub fn untimed(profile: &Profile) -> Result<Vec<String>, Error> {
    let sql = "SELECT o.name FROM operation o WHERE o.id IN (SELECT op FROM main.edge) \
               AND o.id NOT IN (SELECT op FROM event WHERE kind = 2) ORDER BY o.name";
    profile.query(sql, vec![], |row| row.get(0))
}
