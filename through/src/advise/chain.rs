//! Which wait is another one's cause: ranks are late to a call since they wait in another one, which others are late to.

use std::collections::BTreeMap;

use super::cause;
use super::finding::{Finding, INFO};
use super::gain::{Basis, Budget};
use super::run::Run;
use crate::query::Error;

/// The late ranks wait elsewhere longer than those that wait for them, by at least so much of what they are waited for.
const PART: f64 = 0.5;
/// Waits for ranks that work longer say so better than the imbalance, if they make up at least this part of it.
const TOLD: i64 = 4;

/// Ranks that work one after the other: each is a victim of the one before it, the first of nobody.
const SERIAL: &[&str] = &["serial-chain", "waiting-ring"];

/// Puts what a finding explains with it: what is left are the roots, whose causes are looked for.
pub fn linked(run: &Run, mut findings: Vec<Finding>) -> Result<Vec<Finding>, Error> {
    without_what_waits_tell(run, &mut findings);
    let budget = Budget::of(run);
    let nodes: Vec<Node> = findings.iter().map(Node::of).collect();
    let mut above: Vec<Option<usize>> = vec![None; nodes.len()];
    for at in (0..nodes.len()).filter(|at| run.share(budget.gain_ns(&findings[*at].gain)) >= INFO) {
        let others = (0..nodes.len()).filter(|other| *other != at && !is_above(&above, at, *other));
        let causes = others.filter_map(|other| Some((nodes[at].explained_by(&nodes[other], at > other)?, other)));
        above[at] = causes.max_by_key(|(ns, other)| (*ns, std::cmp::Reverse(*other))).map(|(_, other)| other);
    }
    drop(nodes);
    let mut findings: Vec<Option<Finding>> = findings.into_iter().map(Some).collect();
    let mut roots = Vec::new();
    for at in (0..findings.len()).filter(|at| above[*at].is_none()) {
        roots.extend(with_victims(at, &above, &mut findings));
    }
    for root in &mut roots {
        cause::told(run, root)?;
    }
    // What needs a cause to be sure, and has none, is no finding.
    roots.retain(|root| !root.topic.needs_cause || root.known.is_some());
    Ok(roots)
}

/// Where others wait for the same ranks, and nearly as long, these name the communicator.
fn without_what_waits_tell(run: &Run, findings: &mut Vec<Finding>) {
    let ranks = run.catalog.processes.len().max(1) as i64;
    let waits: Vec<_> = findings
        .iter()
        .filter(|finding| finding.gain.is_waiting())
        .map(|finding| (finding.ranks.clone(), finding.gain.sum_ns() / ranks))
        .collect();
    findings.retain(|finding| {
        let Basis::Known(ns) = finding.gain.basis else { return true };
        let of_same = waits.iter().filter(|(late, _)| *late == finding.ranks).map(|(_, ns)| *ns);
        !finding.topic.is_told_by_waits || TOLD.saturating_mul(of_same.sum::<i64>()) < ns
    });
}

/// Whether `at` is a cause of `other`, over any steps.
fn is_above(above: &[Option<usize>], at: usize, other: usize) -> bool {
    let mut next = Some(other);
    while let Some(step) = next {
        if step == at {
            return true;
        }
        next = above[step];
    }
    false
}

fn with_victims(at: usize, above: &[Option<usize>], findings: &mut Vec<Option<Finding>>) -> Option<Finding> {
    let mut root = findings[at].take()?;
    for victim in (0..above.len()).filter(|victim| above[*victim] == Some(at)) {
        if let Some(victim) = with_victims(victim, above, findings) {
            root.gain.add(&victim.gain);
            // Any of them is enough to be sure.
            root.ceiling = root.ceiling.filter(|_| victim.ceiling.is_some());
            root.explains.push(victim);
        }
    }
    root.explains.sort_by_key(|victim| std::cmp::Reverse(victim.gain.sum_ns()));
    Some(root)
}

/// Who waits how long in what was found, for whom.
struct Node<'a> {
    finding: &'a Finding,
    waits: BTreeMap<i64, i64>,
    late: Vec<i64>,
    /// What each of those waits that wait.
    each_ns: i64,
}

impl Node<'_> {
    fn of(finding: &Finding) -> Node<'_> {
        let mut waits = if finding.gain.is_waiting() { finding.gain.by_rank() } else { BTreeMap::new() };
        waits.retain(|_, ns| *ns > 0);
        let late = match SERIAL.contains(&finding.topic.name) {
            true => Vec::new(),
            false => finding.ranks.ranges().iter().flat_map(|(from, to)| *from..=*to).map(i64::from).collect(),
        };
        let sum_ns = waits.values().fold(0i64, |sum, ns| sum.saturating_add(*ns));
        Node { finding, each_ns: sum_ns / waits.len().max(1) as i64, waits, late }
    }

    /// How long its late ranks wait in the other one, which is why they are late.
    fn explained_by(&self, other: &Node, is_later: bool) -> Option<i64> {
        if self.late.is_empty() || self.waits.is_empty() {
            return None;
        }
        if other.waits.is_empty() {
            // Of ranks that work longer the others need not say so again.
            let is_cause = other.finding.topic.is_cause && self.late.iter().all(|rank| other.late.contains(rank));
            return (is_cause || self.late == other.late).then_some(i64::MAX);
        }
        if self.late == other.late {
            // Where each waits longest they are late first.
            let is_less = (self.each_ns, !is_later) < (other.each_ns, is_later);
            return is_less.then(|| other.sum_ns());
        }
        // Who waits now for this rank and now for that one is no reason why a certain one is late.
        if other.finding.topic.is_vague {
            return None;
        }
        let wait_ns = |rank: &i64| other.waits.get(rank).copied().unwrap_or_default();
        // What those that wait here wait there as well makes nobody late.
        let of_waiters = self.waits.keys().map(|rank| i128::from(wait_ns(rank))).sum::<i128>();
        let usual_ns = (of_waiters / self.waits.len().max(1) as i128) as i64;
        let is_victim = |rank: &i64| (wait_ns(rank) - usual_ns) as f64 >= PART * self.each_ns as f64;
        let mut victims = self.late.iter().filter(|rank| !other.late.contains(rank)).peekable();
        victims.peek()?;
        let waited_ns = victims.clone().fold(0i64, |sum, rank| sum.saturating_add(wait_ns(rank)));
        victims.all(is_victim).then_some(waited_ns)
    }

    fn sum_ns(&self) -> i64 {
        self.waits.values().fold(0, |sum, ns| sum.saturating_add(*ns))
    }
}
