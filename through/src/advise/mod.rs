//! What a profile suggests: rules look for one thing each, and what they find is weighed by the run time that it costs. Texts are apart from
//! rules (`topics`). A rule keeps silent where it is not sure: a false alarm costs more trust than a missed finding.

mod finding;
mod reference;
mod rules;
mod run;
mod topics;

use std::collections::BTreeMap;

pub use self::finding::{Confidence, Finding, Level};
pub use self::reference::page;
pub use self::run::Run;
pub use self::topics::TOPICS;

use crate::query::Error;

/// What all rules find, the costliest first. Of communicators that were made alike the one that costs most stands for all.
pub fn advise(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut alike: BTreeMap<(&str, i64, Option<i64>), Vec<Finding>> = BTreeMap::new();
    let mut findings = Vec::new();
    for rule in rules::RULES {
        for finding in rule(run)?.into_iter().filter(|finding| finding.level(run).is_some()) {
            match finding.comm {
                Some(comm) => {
                    let head = run.families.find(comm).map_or(comm, |family| family.first());
                    alike.entry((finding.topic.name, head, finding.op)).or_default().push(finding);
                }
                None => findings.push(finding),
            }
        }
    }
    for mut members in alike.into_values() {
        members.sort_by_key(|finding| std::cmp::Reverse(finding.severity_ns));
        let mut members = members.into_iter();
        let Some(mut first) = members.next() else { continue };
        for other in members {
            first.absorb(other);
        }
        findings.push(first);
    }
    findings.sort_by_key(|finding| {
        (finding.level(run), std::cmp::Reverse(finding.severity_ns), finding.topic.name, finding.comm)
    });
    Ok(findings)
}
