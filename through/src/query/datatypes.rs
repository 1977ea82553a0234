//! Which datatypes each operation on each communicator was given.

use super::catalog::{Catalog, unsigned};
use super::source::Source;
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// One datatype in one operation on one communicator, over all ranks.
#[derive(Clone, Debug)]
pub struct Use {
    pub comm: i64,
    pub op: i64,
    pub datatype: String,
    /// Its elements lie in memory without gaps.
    pub contiguous: bool,
    /// How many ranks used it, if the profile knows.
    pub ranks: Option<u32>,
    /// Datatype arguments: a call may have two.
    pub calls: i64,
    /// What these arguments describe, also where less arrived.
    pub bytes: u64,
}

/// By communicator and operation, the datatype of most bytes first.
pub fn uses(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Use>, Error> {
    let source = Source::new(profile, catalog, filter);
    if filter.ranks.is_some() {
        source.needs_single_ranks()?;
    }
    let (condition, values) = filter.use_condition();
    let sql = format!(
        "SELECT x.comm, x.op, d.name, d.contiguous, count(*), sum(x.calls), sum(x.bytes) FROM datatype_use x \
         JOIN datatype d ON d.id = x.datatype WHERE {condition} GROUP BY x.comm, x.op, x.datatype \
         ORDER BY x.comm, x.op, sum(x.bytes) DESC, d.name"
    );
    profile.query(&sql, values, |row| {
        Ok(Use {
            comm: row.get(0)?,
            op: row.get(1)?,
            datatype: row.get(2)?,
            contiguous: row.get(3)?,
            ranks: if source.has_single_ranks() { row.get(4)? } else { None },
            calls: row.get(5)?,
            bytes: unsigned(row.get(6)?),
        })
    })
}
