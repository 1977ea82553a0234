//! Which communicators took part in the completion calls that are charged to the row `*`.

use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// How often a communicator took part in calls of one operation, over all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Involved {
    pub comm: i64,
    pub op: i64,
    pub calls: i64,
}

pub fn involved(profile: &Profile, filter: &Filter) -> Result<Vec<Involved>, Error> {
    // Sites do not know who took part.
    if filter.sites.is_some() {
        return Ok(Vec::new());
    }
    let (condition, values) = filter.involvement_condition();
    let sql = format!("SELECT x.comm, x.op, sum(x.calls) FROM involvement x WHERE {condition} GROUP BY x.comm, x.op");
    profile.query(&sql, values, |row| Ok(Involved { comm: row.get(0)?, op: row.get(1)?, calls: row.get(2)? }))
}
