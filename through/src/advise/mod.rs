//! What a profile suggests: rules look for one thing each, and what they find is weighed by the run time that it costs. Texts are apart from
//! rules (`topics`). A rule keeps silent where it is not sure: a false alarm costs more trust than a missed finding.

mod cause;
mod chain;
mod finding;
mod gain;
mod gaps;
mod lines;
mod reference;
mod rules;
mod run;
mod topics;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use self::finding::{Confidence, Finding, Level};
use self::gain::Budget;
pub use self::gain::Gain;
pub use self::reference::{explained, page};
pub use self::run::{Run, filters, on};
pub use self::topics::{TOPICS, Topic};

use crate::query::Error;

/// Topic, first communicator of the family, operation, and what is said of it at most.
type Alike = (&'static str, i64, Option<i64>, Option<Level>);

/// Of the costliest of communicators made alike: the ranks of one that costs a smaller part are not worth their names.
const NAMED: i64 = 4;

/// A rule of another crate, which compares a run with files of measurements of the machine, if there are any.
pub type Beyond = fn(&Run, &[PathBuf]) -> Result<Vec<Finding>, crate::Error>;

/// What all rules find, with what others found beyond them, the costliest first. Waits that another finding explains are with it.
pub fn advise(run: &Run, beyond: Vec<Finding>) -> Result<Vec<Finding>, Error> {
    let mut found = beyond;
    for rule in rules::RULES {
        found.extend(rule(run)?);
    }
    Ok(in_order(run, chain::linked(run, together(run, found))?))
}

/// Of communicators that were made alike the one that costs most stands for all.
fn together(run: &Run, found: Vec<Finding>) -> Vec<Finding> {
    // What may be the machine's is not mixed with what is not.
    let mut alike: BTreeMap<Alike, Vec<Finding>> = BTreeMap::new();
    let mut findings = Vec::new();
    for finding in found {
        match finding.comm {
            Some(comm) => {
                let head = run.families.find(comm).map_or(comm, |family| family.first());
                alike
                    .entry((finding.topic.name, head, finding.op, finding.ceiling.map(|ceiling| ceiling.level)))
                    .or_default()
                    .push(finding);
            }
            None => findings.push(finding),
        }
    }
    let budget = Budget::of(run);
    for mut members in alike.into_values() {
        members.sort_by_key(|finding| std::cmp::Reverse(budget.gain_ns(&finding.gain)));
        let mut members = members.into_iter();
        let Some(mut first) = members.next() else { continue };
        let most_ns = first.gain.sum_ns();
        for other in members {
            let is_named = NAMED.saturating_mul(other.gain.sum_ns()) >= most_ns;
            first.absorb(other, is_named);
        }
        findings.push(first);
    }
    findings
}

/// The costliest first, each by what it gains beyond those before it; without those that gain too little.
fn in_order(run: &Run, mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut budget = Budget::of(run);
    // What may be the machine's, or has another reason, claims what is left.
    findings.sort_by_key(|finding| (finding.topic.name, finding.comm));
    let (unsure, sure): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.ceiling.is_some() || finding.topic.is_vague);
    let mut ordered = settled(&mut budget, sure);
    ordered.extend(settled(&mut budget, unsure));
    ordered.retain(|finding| finding.level(run).is_some());
    ordered.sort_by_key(|finding| std::cmp::Reverse(finding.gain_ns));
    ordered
}

/// Each with its gain beyond what was taken. Claims make gains smaller only, so that the costliest is asked again until it stays so.
fn settled(budget: &mut Budget, mut findings: Vec<Finding>) -> Vec<Finding> {
    for finding in &mut findings {
        finding.gain_ns = budget.gain_ns(&finding.gain);
    }
    let mut settled = Vec::new();
    while let Some(at) = most(&findings) {
        let gain_ns = budget.gain_ns(&findings[at].gain);
        if gain_ns < findings[at].gain_ns {
            findings[at].gain_ns = gain_ns;
            continue;
        }
        let finding = findings.remove(at);
        budget.take(&finding.gain, gain_ns);
        settled.push(finding);
    }
    settled
}

fn most(findings: &[Finding]) -> Option<usize> {
    let gains = findings.iter().enumerate().map(|(at, finding)| (finding.gain_ns, std::cmp::Reverse(at)));
    gains.max().map(|(_, std::cmp::Reverse(at))| at)
}
