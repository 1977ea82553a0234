//! What layers below MPI did: sums over ranks and peers, which a profile holds as well, and single rows. Their table lies
//! in the order of communicator, operation, bucket and route, so that sums over what follows need neither a sort nor memory.

use std::collections::BTreeSet;

use super::catalog::unsigned;
use super::source::ALL_RANKS;
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// Operations of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub calls: i64,
    pub bytes: u64,
    /// How many were not complete when their call returned; the times are theirs.
    pub later: i64,
    pub time_ns: i64,
    pub time_min_ns: Option<i64>,
    pub time_max_ns: Option<i64>,
}

impl Sums {
    pub fn add(&mut self, other: &Sums) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.later = self.later.saturating_add(other.later);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.time_min_ns = [self.time_min_ns, other.time_min_ns].into_iter().flatten().min();
        self.time_max_ns = self.time_max_ns.max(other.time_max_ns);
    }

    /// Of those that were complete later.
    pub fn mean_ns(&self) -> Option<i64> {
        (self.later > 0).then(|| self.time_ns / self.later)
    }
}

/// Over all ranks and their peers.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    pub route: i64,
    /// The layer's communicator, where the filter has any.
    pub layer_comm: Option<i64>,
    /// Where the program made the call, where the filter asks for that.
    pub site: Option<i64>,
    pub sums: Sums,
}

impl Filter {
    /// Whether it leaves something of a group; of ranks a group knows nothing.
    pub fn has_group(&self, group: &Group) -> bool {
        let among = |numbers: &Option<BTreeSet<i64>>, number| numbers.as_ref().is_none_or(|all| all.contains(&number));
        (self.has_comm(group.comm) || group.layer_comm.is_some_and(|comm| self.has_comm(comm)))
            && (self.has_op(group.op) || self.functions.as_ref().is_some_and(|all| all.contains(&group.route)))
            && self.has_site(group.site)
            && among(&self.buckets, group.bucket)
            && among(&self.routes, group.route)
    }
}

/// All groups, of all ranks or of those that the filter leaves; told apart by communicators of layers where the filter has any, and by sites
/// where it asks for them. Its other conditions are the caller's.
pub fn groups(profile: &Profile, filter: &Filter) -> Result<Vec<Group>, Error> {
    let (sql, values) = if filter.ranks.is_none() && !filter.has_layer_comms && !filter.by_site {
        let sums = "calls, bytes, later, time_ns, time_min_ns, time_max_ns";
        (format!("SELECT comm, op, bucket, way, {sums}, NULL, NULL FROM transfer_total"), Vec::new())
    } else {
        let (layer_comm, and_layer_comm) = match filter.has_layer_comms {
            true => ("nullif(x.layer_comm, 0)", ", x.layer_comm"),
            false => ("NULL", ""),
        };
        let (site, and_site) = if filter.by_site { ("nullif(x.site, 0)", ", x.site") } else { ("NULL", "") };
        let (condition, values) = Filter { ranks: filter.ranks.clone(), ..Filter::default() }.transfer_condition();
        let sql = format!(
            "SELECT x.comm, x.op, x.bucket, x.way, sum(x.calls), sum(x.bytes), sum(x.later), sum(x.time_ns), \
             min(x.time_min_ns), max(x.time_max_ns), {layer_comm}, {site} FROM transfer x WHERE {condition} \
             GROUP BY x.comm, x.op, x.bucket, x.way{and_layer_comm}{and_site}"
        );
        (sql, values)
    };
    profile.query(&sql, values, |row| {
        let sums = Sums {
            calls: row.get(4)?,
            bytes: unsigned(row.get(5)?),
            later: row.get(6)?,
            time_ns: row.get::<_, Option<i64>>(7)?.unwrap_or(0),
            time_min_ns: row.get(8)?,
            time_max_ns: row.get(9)?,
        };
        let (comm, op, bucket, route) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(Group { comm, op, bucket, route, layer_comm: row.get(10)?, site: row.get(11)?, sums })
    })
}

/// The other end of a transfer, or a rank itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    Rank(i64),
    /// Memory that a copy begins or ends in, by its number among those of `Ends`.
    Memory(usize),
    /// Not known, or none.
    Unknown,
    /// A process of another `MPI_COMM_WORLD`.
    Remote,
}

/// A peer that belongs to another `MPI_COMM_WORLD`.
pub const REMOTE: i64 = -2;

impl End {
    pub fn of_peer(peer: i64) -> End {
        match peer {
            REMOTE => End::Remote,
            rank if rank > ALL_RANKS => End::Rank(rank),
            _ => End::Unknown,
        }
    }

    pub fn of_rank(rank: i64) -> End {
        if rank > ALL_RANKS { End::Rank(rank) } else { End::Unknown }
    }

    pub fn rank(self) -> Option<i64> {
        if let End::Rank(rank) = self { Some(rank) } else { None }
    }
}

/// One row, with numbers for names.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    pub route: i64,
    /// Of the process that recorded it.
    pub rank: End,
    pub peer: End,
    pub sums: Sums,
    /// The layer's communicator, and the route of the layer's call that it happened in.
    pub layer_comm: Option<i64>,
    pub within: Option<i64>,
    /// Where the program made the call.
    pub site: Option<i64>,
    /// Where it allocated what was read, and what was written.
    pub objects: [Option<i64>; 2],
}

/// Hands over every row that the filter leaves, one by one: there may be millions. What stops it early is the caller's.
pub fn each(
    profile: &Profile,
    filter: &Filter,
    top: Option<usize>,
    mut take: impl FnMut(Transfer) -> rusqlite::Result<()>,
) -> Result<(), Error> {
    let (condition, values) = filter.transfer_condition();
    let limit =
        top.filter(|top| *top > 0).map(|top| format!(" LIMIT {}", top.min(i64::MAX as usize))).unwrap_or_default();
    let sql = format!(
        "SELECT x.comm, x.op, x.bucket, x.way, x.rank, x.peer, x.calls, x.bytes, x.later, x.time_ns, x.time_min_ns, \
         x.time_max_ns, nullif(x.layer_comm, 0), nullif(x.within, 0), nullif(x.site, 0), \
         nullif(x.source_object, 0), nullif(x.target_object, 0) FROM transfer x WHERE {condition} ORDER BY x.comm, x.op, x.bucket, x.way, x.rank, x.peer{limit}"
    );
    profile.query::<(), ()>(&sql, values, |row| {
        let sums = Sums {
            calls: row.get(6)?,
            bytes: unsigned(row.get(7)?),
            later: row.get(8)?,
            time_ns: row.get::<_, Option<i64>>(9)?.unwrap_or(0),
            time_min_ns: row.get(10)?,
            time_max_ns: row.get(11)?,
        };
        take(Transfer {
            comm: row.get(0)?,
            op: row.get(1)?,
            bucket: row.get(2)?,
            route: row.get(3)?,
            rank: End::of_rank(row.get(4)?),
            peer: End::of_peer(row.get(5)?),
            sums,
            layer_comm: row.get(12)?,
            within: row.get(13)?,
            site: row.get(14)?,
            objects: [row.get(15)?, row.get(16)?],
        })
    })
}

/// How many rows the filter leaves.
pub fn count(profile: &Profile, filter: &Filter) -> Result<usize, Error> {
    let (condition, values) = filter.transfer_condition();
    let sql = format!("SELECT count(*) FROM transfer x WHERE {condition}");
    let counts: Vec<i64> = profile.query(&sql, values, |row| row.get(0))?;
    Ok(counts.first().map_or(0, |count| (*count).max(0) as usize))
}
