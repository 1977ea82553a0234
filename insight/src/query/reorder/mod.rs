//! In which order ranks should be placed on nodes, so that little goes between them: from the matrix, and from what collective operations
//! exchange by the model of [`model`].

mod cells;
pub mod model;
pub mod nodes;
pub mod search;
pub mod traffic;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use commsee::calls::CALLS;
use commsee::ranks::Ranks;
use through_core::query::Error;
use through_core::query::catalog::{Catalog, Detail, unsigned};
use through_core::query::filter::Filter;
use through_core::query::open::Profile;
use through_core::query::overview;
use through_core::query::source::{Relation, Source};

use self::model::{Amount, Root, Scheme, schemes};
use self::nodes::{Node, block, folded, of_run, parse, round_robin};
use self::traffic::{Builder, Traffic};
use crate::query::patterns::patterns;

/// Orders of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As in the run.
    Run,
    Block,
    RoundRobin,
    Folded,
    /// The best that was found.
    Proposed,
}

/// A placement, and what it costs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub order: Order,
    /// The node of each rank, by its number.
    pub places: Vec<u32>,
    pub between: f64,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is one node.
    OneNode,
    /// Nothing is exchanged, as far as the profile knows.
    NoTraffic,
    /// So little goes between nodes that nothing is to be gained.
    LittleBetween,
    /// No order saves what is worth the trouble.
    NoBetter,
    Better,
}

#[derive(Clone, Debug)]
pub struct Advice {
    /// World ranks, in the order of places.
    pub ranks: Vec<i64>,
    pub nodes: Vec<Node>,
    pub total: f64,
    /// Of the total: messages of the matrix.
    pub matrix: f64,
    /// Of collective operations that were too many to take into account; they are in no other sum.
    pub left_out: f64,
    pub plans: Vec<Plan>,
    /// The plan that a run is compared with: as it was, or on other nodes block by block.
    pub before: usize,
    /// The plan to take.
    pub best: usize,
    pub verdict: Verdict,
}

/// An order that saves less than this part of what goes between nodes is not worth the trouble: links between nodes are no slower for it.
pub const LEAST_GAIN: f64 = 0.05;
/// What goes between nodes is nothing to save on below this part of all bytes.
pub const LEAST_BETWEEN: f64 = 0.01;
/// Pairs of collective operations that are taken into account.
const MOST_PAIRS: usize = 4_000_000;
/// Roots of one operation on one communicator that are told apart.
const MOST_ROOTS: usize = 4;

/// `nodes`: those of the run, or what is written, such as `4x32`. Without an answer the ranks that the profile lacks: an order needs all.
pub fn reorder(
    profile: &Profile,
    catalog: &Catalog,
    filter: &Filter,
    nodes: Option<&str>,
) -> Result<Result<Advice, Ranks>, Error> {
    if catalog.detail != Detail::Rank {
        let (path, detail) = (profile.path.clone(), catalog.detail);
        return Err(Error::Coarse { path, detail, asked: "an order of ranks" });
    }
    let missing = overview::missing(catalog);
    if !missing.is_empty() || catalog.processes.is_empty() {
        return Ok(Err(missing));
    }
    let ranks: Vec<i64> = catalog.processes.iter().map(|process| process.rank).collect();
    let (nodes, of_run) = match nodes {
        None => of_run(catalog),
        Some(text) => (parse(text, ranks.len())?, Vec::new()),
    };
    let slots: usize = nodes.iter().map(|node| node.slots).sum();
    if slots < ranks.len() {
        let all = ranks.len();
        return Err(Error::Name(format!("{all} ranks do not fit into {slots} slots: name more nodes")));
    }
    let Exchanged { traffic, matrix, left_out } = exchanged(profile, catalog, filter, &ranks)?;
    let mut plans: Vec<Plan> = Vec::new();
    let mut plan = |order: Order, places: Vec<u32>| {
        let between = traffic.between(&places);
        plans.push(Plan { order, places, between });
    };
    if !of_run.is_empty() {
        plan(Order::Run, of_run);
    }
    plan(Order::Block, block(&nodes, ranks.len()));
    plan(Order::RoundRobin, round_robin(&nodes, ranks.len()));
    plan(Order::Folded, folded(&nodes, ranks.len()));
    let mut starts: Vec<Vec<u32>> = plans.iter().map(|plan| plan.places.clone()).collect();
    starts.extend(cells::placements(&patterns(profile, catalog, filter)?, &ranks, &nodes));
    if nodes.len() > 1
        && let Some(places) = search::search(&traffic, &nodes, &starts)
    {
        let between = traffic.between(&places);
        plans.push(Plan { order: Order::Proposed, places, between });
    }
    let mut advice = Advice {
        ranks,
        nodes,
        total: traffic.total,
        matrix,
        left_out,
        plans,
        before: 0,
        best: 0,
        verdict: Verdict::NoBetter,
    };
    advice.judge();
    Ok(Ok(advice))
}

impl Advice {
    fn judge(&mut self) {
        let before = self.plans[self.before].between;
        // Of plans that are as good as each other the first, which is the usual one.
        let best =
            (0..self.plans.len()).min_by(|one, other| self.plans[*one].between.total_cmp(&self.plans[*other].between));
        let best = best.unwrap_or(self.before);
        let gain = before - self.plans[best].between;
        self.verdict = match () {
            () if self.nodes.len() < 2 => Verdict::OneNode,
            () if self.total <= 0.0 => Verdict::NoTraffic,
            () if before < LEAST_BETWEEN * self.total => Verdict::LittleBetween,
            () if gain < LEAST_GAIN * before => Verdict::NoBetter,
            () => Verdict::Better,
        };
        self.best = if self.verdict == Verdict::Better { best } else { self.before };
    }

    /// World ranks node by node, in the order of the slots.
    pub fn by_node(&self) -> Vec<Vec<i64>> {
        let mut by_node: Vec<Vec<i64>> = vec![Vec::new(); self.nodes.len()];
        for (rank, node) in self.ranks.iter().zip(&self.plans[self.best].places) {
            by_node[*node as usize].push(*rank);
        }
        by_node
    }
}

struct Exchanged {
    traffic: Traffic,
    matrix: f64,
    left_out: f64,
}

fn exchanged(profile: &Profile, catalog: &Catalog, filter: &Filter, ranks: &[i64]) -> Result<Exchanged, Error> {
    let number = |rank: i64| ranks.binary_search(&rank).ok().map(|number| number as u32);
    let mut traffic = Builder::default();
    let (condition, values) = filter.edge_condition();
    let sql = format!("SELECT x.src, x.dst, x.bytes FROM edge x WHERE {condition}");
    let mut matrix = 0.0;
    profile.query::<(), ()>(&sql, values, |row| {
        if let (Some(src), Some(dst)) = (number(row.get(0)?), number(row.get(1)?)) {
            let bytes = unsigned(row.get(2)?) as f64;
            matrix += if src == dst { 0.0 } else { bytes };
            traffic.pair(src, dst, bytes);
        }
        Ok(())
    })?;
    // Communicators with the same members are one here.
    let mut lists: BTreeMap<Rc<str>, Vec<u32>> = BTreeMap::new();
    let mut sums: BTreeMap<(Rc<str>, Scheme), f64> = BTreeMap::new();
    for (key, amounts) in amounts(profile, catalog, filter)? {
        let Some((rule, comm)) = rule(catalog, key.1).zip(catalog.communicators.get(&key.0)) else { continue };
        let Some(text) = comm.ranks.clone().filter(|_| comm.remote_size == 0 && comm.layer.is_none()) else { continue };
        let members = lists.entry(text.clone()).or_insert_with(|| {
            let known: Ranks = ranks.iter().filter_map(|rank| u32::try_from(*rank).ok()).collect();
            let members = Ranks::read(&text).within(&known);
            members
                .ranges()
                .iter()
                .flat_map(|(first, last)| *first..=*last)
                .filter_map(|rank| number(rank.into()))
                .collect()
        });
        for (root, part) in roots(amounts, members, &number) {
            let amount = Amount { members: members.len().max(1) as f64, ..part };
            for (scheme, m) in schemes(rule, &amount, root) {
                *sums.entry((text.clone(), scheme)).or_default() += m;
            }
        }
    }
    let mut schemes: Vec<_> = sums.into_iter().collect();
    schemes.sort_by(|((_, _), one), ((_, _), other)| other.total_cmp(one));
    let (mut pairs, mut left_out) = (MOST_PAIRS, 0.0);
    for ((text, scheme), m) in schemes {
        let members = &lists[&text];
        match pairs.checked_sub(scheme.pairs(members.len())) {
            Some(left) => {
                pairs = left;
                scheme.add(members, m, &mut traffic);
            }
            None => left_out += m * members.len() as f64,
        }
    }
    Ok(Exchanged { traffic: traffic.finish(ranks.len()), matrix, left_out })
}

/// The byte rule of an operation.
fn rule(catalog: &Catalog, op: i64) -> Option<&'static str> {
    let name = &catalog.operations.get(&op).filter(|operation| operation.class == "collective")?.name;
    CALLS.iter().find(|call| call.name == name).map(|call| call.rule)
}

/// What an operation did on a communicator: all together, and rank by rank where it has a root.
#[derive(Default)]
struct OfRanks {
    all: Amount,
    by_rank: HashMap<i64, (f64, f64)>,
}

/// By communicator and operation.
fn amounts(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<BTreeMap<(i64, i64), OfRanks>, Error> {
    let rooted = ["bcast", "reduce", "gather", "gatherv", "scatter", "scatterv"];
    let mut ops: [BTreeSet<i64>; 2] = Default::default();
    for op in catalog.operations.keys().filter(|op| filter.has_op(**op)) {
        if let Some(rule) = rule(catalog, *op) {
            ops[usize::from(rooted.contains(&rule))].insert(*op);
        }
    }
    let [unrooted, rooted] = ops;
    let mut amounts: BTreeMap<(i64, i64), OfRanks> = BTreeMap::new();
    let only = |ops| Filter { ops: Some(ops), ..filter.clone() };
    let add = |amount: &mut Amount, calls: i64, sent: i64, received: i64| {
        amount.calls += calls.max(0) as f64;
        amount.sent += unsigned(sent) as f64;
        amount.received += unsigned(received) as f64;
    };
    let of_all = only(unrooted);
    let Relation { sql, values } = Source::new(profile, catalog, &of_all).groups(false)?;
    let sql = format!("SELECT comm, op, calls, bytes_sent, bytes_recv FROM ({sql})");
    profile.query::<(), ()>(&sql, values, |row| {
        let of_ranks = amounts.entry((row.get(0)?, row.get(1)?)).or_default();
        add(&mut of_ranks.all, row.get(2)?, row.get(3)?, row.get(4)?);
        Ok(())
    })?;
    let of_each = only(rooted);
    let Relation { sql, values } = Source::new(profile, catalog, &of_each).parts()?;
    let sql = format!("SELECT n.comm, n.op, n.calls, n.bytes_sent, n.bytes_recv, n.rank FROM ({sql}) n");
    profile.query::<(), ()>(&sql, values, |row| {
        let of_ranks = amounts.entry((row.get(0)?, row.get(1)?)).or_default();
        let (sent, received): (i64, i64) = (row.get(3)?, row.get(4)?);
        add(&mut of_ranks.all, row.get(2)?, sent, received);
        let sum = of_ranks.by_rank.entry(row.get(5)?).or_default();
        (sum.0, sum.1) = (sum.0 + unsigned(sent) as f64, sum.1 + unsigned(received) as f64);
        Ok(())
    })?;
    Ok(amounts)
}

/// Parts by their root, which is who sends alone, or takes alone. Nobody, where the operation has no root.
fn roots(of_ranks: OfRanks, members: &[u32], number: &impl Fn(i64) -> Option<u32>) -> Vec<(Root, Amount)> {
    let OfRanks { all, by_rank } = of_ranks;
    let count = |of: fn(&(f64, f64)) -> f64| by_rank.values().filter(|bytes| of(bytes) > 0.0).count();
    // Of a broadcast few send, of a reduction few receive.
    let of: fn(&(f64, f64)) -> f64 =
        if count(|bytes| bytes.0) <= count(|bytes| bytes.1) { |bytes| bytes.0 } else { |bytes| bytes.1 };
    let member = |rank: i64| members.binary_search(&number(rank)?).ok().map(|member| member as u32);
    let mut roots: Vec<(u32, f64)> = by_rank
        .iter()
        .filter_map(|(rank, bytes)| Some((member(*rank)?, of(bytes))))
        .filter(|(_, bytes)| *bytes > 0.0)
        .collect();
    roots.sort_unstable_by_key(|(root, _)| *root);
    let sum: f64 = roots.iter().map(|(_, bytes)| bytes).sum();
    if roots.is_empty() {
        return vec![(Root::One(0), all)];
    }
    if roots.len() > MOST_ROOTS {
        return vec![(Root::All, all)];
    }
    let part = |(root, bytes): (u32, f64)| {
        let share = bytes / sum;
        let part = Amount { sent: all.sent * share, received: all.received * share, calls: all.calls * share, ..all };
        (Root::One(root), part)
    };
    roots.into_iter().map(part).collect()
}
