//! What a profile suggests: rules look for one thing each, and what they find is weighed by the run time that it costs. Texts are apart from
//! rules (`topics`). A rule keeps silent where it is not sure: a false alarm costs more trust than a missed finding.

mod finding;
mod lines;
mod reference;
mod rules;
mod run;
mod saving;
mod topics;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use self::finding::{Confidence, Cost, Finding, Level};
pub use self::reference::page;
pub use self::run::{Run, filters, on};
pub use self::saving::Saving;
pub use self::topics::{TOPICS, Topic};

use crate::query::Error;

/// Topic, first communicator of the family, operation, and what is said of it at most.
type Alike = (&'static str, i64, Option<i64>, Option<Level>);

/// Of the costliest of communicators made alike: the ranks of one that costs a smaller part are not worth their names.
const NAMED: i128 = 4;

/// A rule of another crate, which compares a run with files of measurements of the machine, if there are any.
pub type Beyond = fn(&Run, &[PathBuf]) -> Result<Vec<Finding>, crate::Error>;

/// What all rules find, with what others found beyond them, the costliest first, and the heaviest call that they do not explain. Of communicators that were made alike the one that costs most stands for all.
pub fn advise(run: &Run, beyond: Vec<Finding>) -> Result<Vec<Finding>, Error> {
    // What may be the machine's is not mixed with what is not.
    let mut alike: BTreeMap<Alike, Vec<Finding>> = BTreeMap::new();
    let mut findings = Vec::new();
    let mut found = beyond;
    for rule in rules::RULES {
        found.extend(rule(run)?);
    }
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
    for mut members in alike.into_values() {
        members.sort_by_key(|finding| std::cmp::Reverse(finding.severity_ns));
        let mut members = members.into_iter();
        let Some(mut first) = members.next() else { continue };
        let most_ns = first.severity_ns;
        for other in members {
            let is_named = NAMED * other.severity_ns >= most_ns;
            first.absorb(other, is_named);
        }
        findings.push(first);
    }
    findings.retain(|finding| finding.level(run).is_some());
    findings.sort_by_key(|finding| {
        (finding.level(run), std::cmp::Reverse(finding.severity_ns), finding.topic.name, finding.comm)
    });
    // Behind what says why: it only names what is left.
    findings.extend(rules::heaviest(run, &findings));
    Ok(findings)
}
