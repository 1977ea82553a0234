//! Stores what ranks counted as a profile does: sums over the ranks, and cells that leave out what the sums tell. The
//! simplest way to do so, not the writer's.

use std::collections::BTreeMap;

use commsee::profile::schema::{NO_CELLS, OVER_PHASES};
use rusqlite::{Connection, params};

/// What cells of different ranks have in common. `phase` `None` is over all phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    pub phase: Option<i64>,
}

/// What one rank counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub calls: i64,
    pub failed: i64,
    pub bytes_sent: i64,
    pub bytes_recv: i64,
    pub time_ns: i64,
    pub time_min_ns: Option<i64>,
    pub time_max_ns: Option<i64>,
}

impl Counted {
    fn add(&mut self, other: &Counted) {
        self.calls = self.calls.wrapping_add(other.calls);
        self.failed = self.failed.wrapping_add(other.failed);
        self.bytes_sent = self.bytes_sent.wrapping_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.wrapping_add(other.bytes_recv);
        self.time_ns = self.time_ns.wrapping_add(other.time_ns);
        self.time_min_ns = [self.time_min_ns, other.time_min_ns].into_iter().flatten().min();
        self.time_max_ns = self.time_max_ns.max(other.time_max_ns);
    }

    fn numbers(&self) -> [i64; 4] {
        [self.calls, self.failed, self.bytes_sent, self.bytes_recv]
    }
}

type Ranks = BTreeMap<i64, Counted>;

/// Cells as ranks counted them, phase by phase.
#[derive(Default)]
pub struct Cells(BTreeMap<Key, Ranks>);

impl Cells {
    pub fn add(&mut self, key: Key, rank: i64, counted: Counted) {
        self.0.entry(key).or_default().entry(rank).or_default().add(&counted);
    }

    /// `node` is the lowest rank on a rank's node; `is_outside` tells operations that are no part of the MPI time.
    pub fn store(&self, db: &Connection, detail: &str, node: impl Fn(i64) -> i64, is_outside: impl Fn(i64) -> bool) {
        let is_phased = self.0.keys().any(|key| key.phase != Some(0));
        let mut whole: BTreeMap<Key, Ranks> = BTreeMap::new();
        let mut times: BTreeMap<i64, BTreeMap<i64, i64>> = BTreeMap::new();
        for (key, ranks) in &self.0 {
            for (rank, counted) in ranks {
                whole.entry(Key { phase: None, ..*key }).or_default().entry(*rank).or_default().add(counted);
                let time_ns = times.entry(key.comm).or_default().entry(*rank).or_default();
                *time_ns = time_ns.wrapping_add(if is_outside(key.op) { 0 } else { counted.time_ns });
            }
        }
        // The number of a group is that of its first cell.
        let mut groups = (0..).map(|group| group * MOST_RANKS);
        for (key, ranks) in &self.0 {
            let mut cells = Ranks::new();
            match detail {
                "rank" => cells.clone_from(ranks),
                "node" => ranks.iter().for_each(|(rank, counted)| cells.entry(node(*rank)).or_default().add(counted)),
                _ => {}
            }
            store_total(db, key, ranks, &cells, groups.next().unwrap());
        }
        if is_phased {
            whole.iter().for_each(|(key, ranks)| store_total(db, key, ranks, &Ranks::new(), groups.next().unwrap()));
        }
        for (comm, times) in times {
            let least = times.iter().min_by_key(|(rank, time_ns)| (**time_ns, **rank)).unwrap();
            let most = times.iter().min_by_key(|(rank, time_ns)| (-i128::from(**time_ns), **rank)).unwrap();
            let sum = times.values().fold(0i64, |sum, time_ns| sum.wrapping_add(*time_ns));
            let sql = "UPDATE communicator SET time_ranks = ?2, time_ns = ?3, rank_min_ns = ?4, rank_min = ?5, \
                       rank_max_ns = ?6, rank_max = ?7 WHERE id = ?1";
            db.prepare_cached(sql)
                .unwrap()
                .execute(params![comm, times.len() as i64, sum, least.1, least.0, most.1, most.0])
                .unwrap();
        }
    }
}

/// More than any profile of a test has.
const MOST_RANKS: i64 = 1 << 20;

fn store_total(db: &Connection, key: &Key, ranks: &Ranks, cells: &Ranks, first: i64) {
    let mut sum = Counted::default();
    ranks.values().for_each(|counted| sum.add(counted));
    let most = |number: fn(&Counted) -> i64| ranks.values().map(number).max().unwrap();
    let spent = |(rank, counted): (&i64, &Counted)| (counted.time_ns, *rank);
    let (rank_min_ns, rank_min) = ranks.iter().map(spent).min().unwrap();
    let (rank_max_ns, rank_max) = ranks.iter().map(spent).max_by_key(|(ns, rank)| (*ns, -rank)).unwrap();
    let shortest = ranks.iter().filter_map(|(rank, counted)| Some((counted.time_min_ns?, *rank))).min();
    let longest = ranks.iter().filter_map(|(rank, counted)| Some((counted.time_max_ns?, *rank))).max();
    let common = cells.values().next().map(Counted::numbers);
    // The sums of a single rank are its cell.
    let is_single = ranks.len() == 1 && cells.len() == 1 && cells.contains_key(&rank_min);
    let last_rank = cells.keys().last().copied().unwrap_or(NO_CELLS);
    let sql = "INSERT INTO total VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    db.prepare_cached(sql)
        .unwrap()
        .execute(params![
            first,
            key.comm,
            key.op,
            sum.calls,
            sum.bytes_sent,
            sum.bytes_recv,
            sum.time_ns,
            rank_min,
            (!is_single).then_some(ranks.len() as i64),
            rank_min_ns,
            rank_max_ns,
            rank_max,
            key.bucket,
            key.phase.unwrap_or(OVER_PHASES),
            (!is_single).then_some(last_rank),
            shortest.map(|(ns, _)| ns),
            shortest.map(|(_, rank)| rank),
            longest.map(|(ns, _)| ns),
            longest.map(|(_, rank)| rank)
        ])
        .unwrap();
    db.prepare_cached("INSERT INTO uneven_total VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        .unwrap()
        .execute(params![
            first,
            most(|counted| counted.calls),
            sum.failed,
            most(|counted| counted.failed),
            common.map(|numbers| numbers[0]),
            common.map(|numbers| numbers[1]),
            common.map(|numbers| numbers[2]),
            common.map(|numbers| numbers[3])
        ])
        .unwrap();
    let mut insert = db.prepare_cached("INSERT INTO cell VALUES (?, ?, ?, ?)").unwrap();
    let mut insert_own = db.prepare_cached("INSERT INTO uneven_cell VALUES (?, ?, ?, ?, ?)").unwrap();
    for (rank, counted) in cells.iter().filter(|_| !is_single) {
        let several = |ns: Option<i64>| ns.filter(|_| counted.calls > 1);
        let (shortest, longest) = (several(counted.time_min_ns), several(counted.time_max_ns));
        insert.execute(params![first + rank, counted.time_ns, shortest, longest]).unwrap();
        let [calls, failed, sent, received] = counted.numbers();
        if Some(counted.numbers()) != common {
            insert_own.execute(params![first + rank, calls, failed, sent, received]).unwrap();
        }
    }
}
