//! Whom the data of a collective operation of a layer go to. A call that names no peers still says it where all ranks send alike, or all to one;
//! what an algorithm makes of it follows from formulas.

use std::collections::{BTreeMap, HashMap};

use commsee::ccl::{self, Function, Holds, Way};

use super::holders::holders;
use crate::query::catalog::{Catalog, Communicator};

/// A communicator with more ranks has too many pairs of them.
const MOST_RANKS: usize = 2048;

/// How it is known what went from one rank to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// Calls say it.
    #[default]
    Exact,
    /// A formula for the algorithm says it.
    Modelled,
    /// Who moves data for the layer says it.
    Measured,
}

impl How {
    pub fn name(self) -> &'static str {
        match self {
            How::Exact => "exact",
            How::Modelled => "modelled",
            How::Measured => "measured",
        }
    }
}

/// Why nobody is said to have got data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// That depends on the algorithm, for which there is a formula.
    OnlyModelled,
    /// There is none for this algorithm.
    NoModel(String),
    /// Calls tell neither peers nor parts.
    NotTold,
    /// Which process is which rank of the communicator is not known; or what its root is.
    RanksNotKnown(String),
    TooManyRanks(String),
}

/// What one process did with one function: calls and bytes over all its ranks of the communicator.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub rank: i64,
    /// The root, where there is one.
    pub root: Option<i64>,
    pub calls: i64,
    pub bytes: u64,
}

/// Between two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub from: i64,
    pub to: i64,
    pub calls: i64,
    pub bytes: u64,
}

/// A communicator and who holds its ranks.
pub struct Members {
    name: String,
    /// By rank in the communicator. Nothing: not known.
    holders: Option<Vec<i64>>,
    /// The ranks in the communicator that each process holds.
    held: BTreeMap<i64, Vec<usize>>,
}

impl Members {
    pub fn of(comm: &Communicator, catalog: &Catalog) -> Members {
        let holders = holders(comm, catalog);
        let held = held(holders.as_deref().unwrap_or_default());
        Members { name: comm.name.clone(), holders, held }
    }

    /// What a function moved by the calls of one process. `is_modelled`: formulas are wanted, too.
    pub fn moved(
        &self,
        function: &Function,
        protocol: &str,
        done: Done,
        is_modelled: bool,
    ) -> Result<(How, Vec<Moved>), Why> {
        match function.way {
            Way::NotTold | Way::Peer | Way::None => return Err(Why::NotTold),
            Way::Algorithm if !is_modelled => return Err(Why::OnlyModelled),
            _ => {}
        }
        let unknown = || Why::RanksNotKnown(self.name.clone());
        let all = self.holders.as_deref().ok_or_else(unknown)?;
        let own = self.held.get(&done.rank).ok_or_else(unknown)?;
        if all.len() > MOST_RANKS && function.way != Way::Algorithm {
            return Err(Why::TooManyRanks(self.name.clone()));
        }
        // Position of the root. Of several ranks in its process the first one: which it is is not told.
        let root = match function.kind {
            ccl::Kind::Collective { has_root: true } => {
                let of_process = done.root.and_then(|root| self.held.get(&root)).and_then(|ranks| ranks.first());
                Some(*of_process.ok_or_else(unknown)?)
            }
            _ => None,
        };
        let is_root = root.is_some_and(|root| all[root] == done.rank);
        let each = Each { all, held: &self.held, own, done };
        Ok(match function.way {
            Way::EachToEach => (How::Exact, each.blocks(done.calls)),
            Way::FromRoot if is_root => (How::Exact, each.blocks(done.calls / own.len() as i64)),
            Way::FromRoot => (How::Exact, Vec::new()),
            Way::ToRoot => (How::Exact, each.to_root(root.unwrap_or_default())),
            _ => (How::Modelled, each.by_algorithm(function, protocol, root, is_root)?),
        })
    }
}

fn held(holders: &[i64]) -> BTreeMap<i64, Vec<usize>> {
    let mut held: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    holders.iter().enumerate().for_each(|(at, rank)| held.entry(*rank).or_default().push(at));
    held
}

struct Each<'a> {
    all: &'a [i64],
    held: &'a BTreeMap<i64, Vec<usize>>,
    /// Ranks that the process holds.
    own: &'a [usize],
    done: Done,
}

impl Each<'_> {
    fn part(&self, part: u64, whole: u64) -> u64 {
        (u128::from(self.done.bytes) * u128::from(part) / u128::from(whole.max(1))) as u64
    }

    /// To each rank one of as many blocks as there are ranks. That to itself stays in its buffers.
    fn blocks(&self, calls: i64) -> Vec<Moved> {
        let ranks = self.all.len() as u64;
        let to = |(to, held): (&i64, &Vec<usize>)| {
            let held = held.len() as u64;
            // Of several ranks in one process each has the others.
            let targets = if *to == self.done.rank { held.saturating_sub(1) } else { held };
            let bytes = self.part(targets, ranks);
            Moved { from: self.done.rank, to: *to, calls: calls.saturating_mul(targets as i64), bytes }
        };
        self.held.iter().map(to).filter(|moved| moved.calls > 0).collect()
    }

    fn to_root(&self, root: usize) -> Vec<Moved> {
        let own = self.own.len() as u64;
        let senders = if self.all[root] == self.done.rank { own - 1 } else { own };
        let calls = self.done.calls / own as i64 * senders as i64;
        let moved = Moved { from: self.done.rank, to: self.all[root], calls, bytes: self.part(senders, own) };
        if senders > 0 { vec![moved] } else { Vec::new() }
    }

    /// Rings over the ranks in their order, and NCCL's binary tree over them.
    fn by_algorithm(
        &self,
        function: &Function,
        protocol: &str,
        root: Option<usize>,
        is_root: bool,
    ) -> Result<Vec<Moved>, Why> {
        let ranks = self.all.len();
        let positions = || self.own.iter().copied();
        let next = |at: usize| (at + 1) % ranks;
        let calls = self.done.calls / self.own.len() as i64;
        let edge = |from: usize, to: usize, bytes: u64| Moved { from: self.all[from], to: self.all[to], calls, bytes };
        let (wide, own) = (ranks as u64, self.own.len() as u64);
        let algorithm = ccl::algorithm(protocol);
        let is = |name: &str| algorithm.eq_ignore_ascii_case(name);
        if ranks < 2 {
            return Ok(Vec::new());
        }
        if is("TREE") && function.name == "AllReduce" {
            let bytes = self.part(1, own);
            let both = |at: usize| parent(at, ranks).map(|up| [edge(at, up, bytes), edge(up, at, bytes)]);
            return Ok(positions().filter_map(both).flatten().collect());
        }
        if !(algorithm.is_empty() || is("RING")) {
            return Err(Why::NoModel(algorithm.to_owned()));
        }
        let ring = |bytes: u64| positions().map(|at| edge(at, next(at), bytes)).collect();
        Ok(match (function.name, function.holds) {
            ("AllReduce", _) => ring(self.part(2 * (wide - 1), wide * own)),
            ("AllGather", _) => ring(self.part(wide - 1, own)),
            ("ReduceScatter", _) => ring(self.part(wide - 1, wide * own)),
            ("Reduce", _) => {
                let bytes = self.part(1, own);
                positions().filter(|at| root != Some(*at)).map(|at| edge(at, next(at), bytes)).collect()
            }
            // Only the root holds data: it tells for all.
            (_, Holds::BlockOfRoot) if is_root => {
                let all = (0..ranks).filter(|at| root != Some(next(*at)));
                all.map(|at| edge(at, next(at), self.done.bytes)).collect()
            }
            (_, Holds::BlockOfRoot) => Vec::new(),
            _ => return Err(Why::NotTold),
        })
    }
}

/// The parent of a rank in NCCL's binary tree, of which rank 0 is the root and ranks alternate between leaves and inner nodes: the lowest bit of
/// the rank goes up by one, or away where there is no such rank. Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast (2009).
fn parent(rank: usize, ranks: usize) -> Option<usize> {
    let lowest = rank & rank.wrapping_neg();
    let without = rank ^ lowest;
    let up = without | lowest << 1;
    (rank > 0).then_some(if up < ranks { up } else { without })
}

/// What was left out, and why.
#[derive(Clone, Debug, Default)]
pub struct Left(BTreeMap<(Why, String), (i64, u64)>);

impl Left {
    pub fn add(&mut self, why: Why, function: &str, done: Done) {
        let sum = self.0.entry((why, function.to_owned())).or_default();
        *sum = (sum.0.saturating_add(done.calls), sum.1.saturating_add(done.bytes));
    }

    /// For each reason the functions, and their calls and bytes.
    pub fn by_reason(&self) -> Vec<(&Why, Vec<&str>, i64, u64)> {
        let mut reasons: Vec<(&Why, Vec<&str>, i64, u64)> = Vec::new();
        for ((why, function), (calls, bytes)) in &self.0 {
            match reasons.last_mut().filter(|last| last.0 == why) {
                Some((_, functions, all_calls, all_bytes)) => {
                    functions.push(function);
                    *all_calls = all_calls.saturating_add(*calls);
                    *all_bytes = all_bytes.saturating_add(*bytes);
                }
                None => reasons.push((why, vec![function], *calls, *bytes)),
            }
        }
        reasons
    }
}

/// Members of communicators, each looked up once.
pub struct Known<'a> {
    catalog: &'a Catalog,
    members: HashMap<i64, Option<Members>>,
}

impl<'a> Known<'a> {
    pub fn of(catalog: &'a Catalog) -> Known<'a> {
        Known { catalog, members: HashMap::new() }
    }

    pub fn members(&mut self, comm: i64) -> Option<&Members> {
        let of = |comm: &Communicator| Members::of(comm, self.catalog);
        self.members.entry(comm).or_insert_with(|| self.catalog.communicators.get(&comm).map(of)).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(holders: &[i64]) -> Members {
        Members { name: "nccl:i0.0".to_owned(), holders: Some(holders.to_vec()), held: held(holders) }
    }

    fn of(
        holders: &[i64],
        function: &str,
        protocol: &str,
        done: (i64, Option<i64>, i64, u64),
    ) -> Vec<(i64, i64, i64, u64)> {
        let (rank, root, calls, bytes) = done;
        let done = Done { rank, root, calls, bytes };
        let moved = members(holders).moved(ccl::find(function).unwrap(), protocol, done, true).unwrap().1;
        moved.into_iter().map(|moved| (moved.from, moved.to, moved.calls, moved.bytes)).collect()
    }

    #[test]
    fn what_calls_say_is_exact() {
        assert_eq!(of(&[0, 1, 2], "ncclAlltoAll", "", (1, None, 2, 600)), [(1, 0, 2, 200), (1, 2, 2, 200)]);
        assert_eq!(of(&[0, 1, 2], "ncclGather", "", (1, Some(2), 2, 100)), [(1, 2, 2, 100)]);
        assert_eq!(of(&[0, 1, 2], "ncclGather", "", (2, Some(2), 2, 100)), []);
        assert_eq!(of(&[0, 1, 2], "ncclScatter", "", (0, Some(0), 2, 600)), [(0, 1, 2, 200), (0, 2, 2, 200)]);
        assert_eq!(of(&[0, 1, 2], "ncclScatter", "", (1, Some(0), 2, 0)), []);
    }

    /// Process 0 holds ranks 0 and 1, process 5 ranks 2 and 3.
    #[test]
    fn a_process_may_hold_several_ranks() {
        let two_each = &[0, 0, 5, 5];
        // 2 calls, one by each rank, of 4 blocks of 100 bytes.
        assert_eq!(of(two_each, "ncclAlltoAll", "", (0, None, 2, 800)), [(0, 0, 2, 200), (0, 5, 4, 400)]);
        assert_eq!(of(two_each, "ncclGather", "", (0, Some(0), 2, 200)), [(0, 0, 1, 100)]);
        assert_eq!(of(two_each, "ncclGather", "", (5, Some(0), 2, 200)), [(5, 0, 2, 200)]);
        assert_eq!(of(two_each, "ncclScatter", "", (0, Some(0), 2, 400)), [(0, 0, 1, 100), (0, 5, 2, 200)]);
        assert_eq!(of(two_each, "ncclAllGather", "", (5, None, 2, 200)), [(5, 5, 1, 300), (5, 0, 1, 300)]);
    }

    #[test]
    fn rings_follow_the_order_of_ranks() {
        let ring = &[0, 2, 1, 3];
        assert_eq!(of(ring, "ncclAllReduce", "RING/LL x2", (2, None, 3, 4000)), [(2, 1, 3, 6000)]);
        assert_eq!(of(ring, "ncclAllReduce", "", (3, None, 3, 4000)), [(3, 0, 3, 6000)]);
        assert_eq!(of(ring, "ncclAllGather", "", (0, None, 1, 100)), [(0, 2, 1, 300)]);
        assert_eq!(of(ring, "ncclReduceScatter", "", (0, None, 1, 400)), [(0, 2, 1, 300)]);
        let broadcast = [(2, 1, 1, 50), (1, 3, 1, 50), (3, 0, 1, 50)];
        assert_eq!(of(ring, "ncclBroadcast", "RING/SIMPLE", (2, Some(2), 1, 50)), broadcast);
        assert_eq!(of(ring, "ncclBroadcast", "RING/SIMPLE", (1, Some(2), 1, 0)), []);
        assert_eq!(of(ring, "ncclReduce", "", (2, Some(2), 1, 50)), []);
        assert_eq!(of(ring, "ncclReduce", "", (0, Some(2), 1, 50)), [(0, 2, 1, 50)]);
        assert_eq!(of(&[7], "ncclAllReduce", "", (7, None, 1, 50)), []);
    }

    /// The tree that the comments of NCCL draw for 14 ranks.
    #[test]
    fn the_tree_is_that_of_nccl() {
        let parents: Vec<Option<usize>> = (0..14).map(|rank| parent(rank, 14)).collect();
        let drawn = [None, Some(2), Some(4), Some(2), Some(8), Some(6), Some(4), Some(6), Some(0)];
        assert_eq!(parents[..9], drawn);
        assert_eq!(parents[9..], [Some(10), Some(12), Some(10), Some(8), Some(12)]);
        let tree = of(&[0, 1, 2, 3], "ncclAllReduce", "TREE/LL x1", (1, None, 2, 80));
        assert_eq!(tree, [(1, 2, 2, 80), (2, 1, 2, 80)]);
        assert_eq!(of(&[0, 1, 2, 3], "ncclAllReduce", "TREE/LL x1", (0, None, 2, 80)), []);
    }

    #[test]
    fn what_is_not_known_says_why() {
        let done = Done { rank: 0, root: None, calls: 1, bytes: 8 };
        let why = |members: &Members, function: &str, protocol: &str, is_modelled| {
            members.moved(ccl::find(function).unwrap(), protocol, done, is_modelled).unwrap_err()
        };
        let known = members(&[0, 1]);
        assert_eq!(why(&known, "ncclAllReduce", "RING/LL", false), Why::OnlyModelled);
        assert_eq!(why(&known, "ncclAllReduce", "NVLS_TREE/SIMPLE x4", true), Why::NoModel("NVLS_TREE".to_owned()));
        assert_eq!(why(&known, "ncclAllGather", "TREE/LL", true), Why::NoModel("TREE".to_owned()));
        assert_eq!(why(&known, "ncclAlltoAllV", "", true), Why::NotTold);
        let name = "nccl:i0.0".to_owned();
        assert_eq!(why(&known, "ncclGather", "", false), Why::RanksNotKnown(name.clone()));
        let unknown = Members { holders: None, held: BTreeMap::new(), ..members(&[]) };
        assert_eq!(why(&unknown, "ncclAlltoAll", "", false), Why::RanksNotKnown(name.clone()));
        let many: Vec<i64> = (0..=MOST_RANKS as i64).collect();
        assert_eq!(why(&members(&many), "ncclAlltoAll", "", false), Why::TooManyRanks(name));
    }
}
