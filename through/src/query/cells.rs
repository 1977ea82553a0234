//! The cells of a profile, one per (communicator, operation, bucket, rank), as they were counted. Where the filter names
//! phases, one per phase in addition.

use super::catalog::unsigned;
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;

#[derive(Clone, Debug)]
pub struct Cell {
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    pub rank: i64,
    pub calls: i64,
    pub failed: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: i64,
    /// The shortest call.
    pub time_min_ns: Option<i64>,
    /// The longest call.
    pub time_max_ns: Option<i64>,
    /// `None`: the phases are added up.
    pub phase: Option<i64>,
}

/// The cells that the filter leaves, by communicator, operation, bucket and rank.
pub fn cells(profile: &Profile, filter: &Filter) -> Result<Vec<Cell>, Error> {
    let (source, phase, values) = match filter.phases {
        Some(_) => {
            let (sql, values) = filter.cells_by_phase();
            (format!("({sql}) x"), "x.phase", values)
        }
        None => {
            let (condition, values) = filter.condition();
            (format!("{} x WHERE {condition}", filter.cells()), "NULL", values)
        }
    };
    let sql = format!(
        "SELECT x.comm, x.op, x.bucket, x.rank, x.calls, x.failed, x.bytes_sent, x.bytes_recv, x.time_ns, \
         x.time_min_ns, x.time_max_ns, {phase} FROM {source} ORDER BY x.comm, x.op, x.bucket, x.rank, {phase}"
    );
    profile.query(&sql, values, |row| {
        Ok(Cell {
            comm: row.get(0)?,
            op: row.get(1)?,
            bucket: row.get(2)?,
            rank: row.get(3)?,
            calls: row.get(4)?,
            failed: row.get(5)?,
            bytes_sent: unsigned(row.get(6)?),
            bytes_recv: unsigned(row.get(7)?),
            time_ns: row.get(8)?,
            time_min_ns: row.get(9)?,
            time_max_ns: row.get(10)?,
            phase: row.get(11)?,
        })
    })
}
