//! Messages between ranks as a profile has them: by communicator and operation.

use super::catalog::unsigned;
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub comm: i64,
    pub op: i64,
    pub src: i64,
    /// Less than 0: a process of another `MPI_COMM_WORLD`.
    pub dst: i64,
    pub calls: i64,
    pub bytes: u64,
}

/// In no order.
pub fn edges(profile: &Profile, filter: &Filter) -> Result<Vec<Edge>, Error> {
    let mut edges = Vec::new();
    each_edge(profile, filter, |edge| edges.push(edge))?;
    Ok(edges)
}

/// The same, one by one: a dense matrix has millions.
pub fn each_edge(profile: &Profile, filter: &Filter, mut take: impl FnMut(Edge)) -> Result<(), Error> {
    let (condition, values) = filter.edge_condition();
    let sql = format!("SELECT x.comm, x.op, x.src, x.dst, x.calls, x.bytes FROM edge x WHERE {condition}");
    profile.query(&sql, values, |row| {
        take(Edge {
            comm: row.get(0)?,
            op: row.get(1)?,
            src: row.get(2)?,
            dst: row.get(3)?,
            calls: row.get(4)?,
            bytes: unsigned(row.get(5)?),
        });
        Ok(())
    })
}

/// How many there are on each communicator.
pub fn counts(profile: &Profile) -> Result<Vec<(i64, usize)>, Error> {
    profile.query("SELECT comm, count(*) FROM edge GROUP BY comm", vec![], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?.max(0) as usize))
    })
}
