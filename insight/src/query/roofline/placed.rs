//! Where the members of communicators live, and how much of their messages leaves a host.

use std::collections::{BTreeMap, BTreeSet};

use commsee::ranks::Ranks;
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::edges::each_edge;
use through_core::query::filter::Filter;
use through_core::query::open::Profile;

/// Of one communicator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub ranks: u64,
    pub hosts: u64,
    /// The part of its point-to-point messages that leaves a host, by the matrix; without messages there, 1 if members live on several hosts.
    pub crossing: f64,
}

pub struct Placed(BTreeMap<i64, Place>);

impl Placed {
    pub fn read(profile: &Profile, catalog: &Catalog) -> Result<Placed, Error> {
        let hosts: BTreeMap<i64, &str> =
            catalog.processes.iter().map(|process| (process.rank, process.host.as_str())).collect();
        let mut messages: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        each_edge(profile, &Filter::default(), |edge| {
            if let (Some(src), Some(dst)) = (hosts.get(&edge.src), hosts.get(&edge.dst)) {
                let (across, all) = messages.entry(edge.comm).or_default();
                *all = all.saturating_add(edge.calls.max(0));
                *across = across.saturating_add(if src == dst { 0 } else { edge.calls.max(0) });
            }
        })?;
        let mut placed = BTreeMap::new();
        for comm in catalog.communicators.values().filter(|comm| !comm.is_special() && comm.remote_size == 0) {
            let Some(ranks) = comm.size.filter(|size| *size > 1) else { continue };
            let of_members = |members: Ranks| -> BTreeSet<&str> {
                let has = |rank: i64| u32::try_from(rank).is_ok_and(|rank| members.contains(rank));
                hosts.iter().filter(|(rank, _)| has(**rank)).map(|(_, host)| *host).collect()
            };
            let members = comm.ranks.as_deref().map(Ranks::read);
            let hosts = members.map_or_else(|| hosts.values().copied().collect(), of_members).len() as u64;
            let crossing = match messages.get(&comm.id) {
                Some((across, all)) if *all > 0 => *across as f64 / *all as f64,
                _ => f64::from(u8::from(hosts > 1)),
            };
            placed.insert(comm.id, Place { ranks, hosts, crossing });
        }
        Ok(Placed(placed))
    }

    /// Nothing of communicators of one rank, which move nothing, and of intercommunicators, for which no bound is known.
    pub fn of(&self, comm: i64) -> Option<Place> {
        self.0.get(&comm).copied()
    }
}
