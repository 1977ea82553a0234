//! What was counted at each site.

use commsee::ranks::Ranks;

use crate::query::Error;
use crate::query::catalog::{Catalog, unsigned};
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::source::{ALL_RANKS, sited};

/// Calls of one operation over one communicator at one site; of one rank, or of all that made any.
#[derive(Clone, Debug)]
pub struct Count {
    pub site: i64,
    pub comm: i64,
    pub op: i64,
    pub ranks: Ranks,
    pub calls: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: i64,
}

impl Count {
    /// Adds those of another rank.
    pub fn add(&mut self, other: &Count) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.saturating_add(other.bytes_recv);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// Whether any were recorded.
pub fn is_recorded(profile: &Profile) -> Result<bool, Error> {
    let any: Vec<i64> = profile.query("SELECT 1 FROM call_site LIMIT 1", vec![], |row| row.get(0))?;
    Ok(!any.is_empty())
}

/// What the filter leaves, by site, communicator, operation and rank, in this order.
pub fn by_rank(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Count>, Error> {
    let relation = sited::by_site(profile, catalog, filter)?;
    profile.query(&relation.sql, relation.values, |row| {
        let rank: i64 = row.get(3)?;
        let ranks = u32::try_from(rank).ok().filter(|_| rank != ALL_RANKS);
        Ok(Count {
            site: row.get(0)?,
            comm: row.get(1)?,
            op: row.get(2)?,
            ranks: ranks.into_iter().collect(),
            calls: row.get(4)?,
            bytes_sent: unsigned(row.get(5)?),
            bytes_recv: unsigned(row.get(6)?),
            time_ns: row.get(7)?,
        })
    })
}

/// The same with the ranks added up.
pub fn over_ranks(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Count>, Error> {
    let mut sums: Vec<(Count, Vec<u32>)> = Vec::new();
    for count in by_rank(profile, catalog, filter)? {
        let ranks = count.ranks.ranges().iter().map(|(first, _)| *first);
        match sums.last_mut() {
            Some((sum, all)) if (sum.site, sum.comm, sum.op) == (count.site, count.comm, count.op) => {
                sum.add(&count);
                all.extend(ranks);
            }
            _ => {
                let ranks = ranks.collect();
                sums.push((count, ranks));
            }
        }
    }
    Ok(sums.into_iter().map(|(sum, ranks)| Count { ranks: ranks.into_iter().collect(), ..sum }).collect())
}
