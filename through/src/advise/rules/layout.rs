//! Data with gaps, which MPI packs before it sends.

use std::collections::BTreeMap;

use crate::advise::finding::{Ceiling, Confidence, Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::datatypes::{Use, uses};
use crate::query::filter::Filter;
use crate::text::units;

const SHARE: f64 = 0.5;
const CALLS: i64 = 100;
const BYTES: u64 = 1 << 20;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut by_call: BTreeMap<(i64, i64), Vec<Use>> = BTreeMap::new();
    for used in uses(&run.profile, &run.catalog, &Filter::default())? {
        by_call.entry((used.comm, used.op)).or_default().push(used);
    }
    let mut findings = Vec::new();
    for ((comm, op), uses) in by_call {
        let gaps = || uses.iter().filter(|used| !used.contiguous);
        let all = uses.iter().fold(0u64, |sum, used| sum.saturating_add(used.bytes));
        let bytes = gaps().fold(0u64, |sum, used| sum.saturating_add(used.bytes));
        let calls = gaps().fold(0i64, |sum, used| sum.saturating_add(used.calls));
        let share = bytes as f64 / all.max(1) as f64;
        // The first one has the most bytes.
        let Some(most) = gaps().next().filter(|_| share >= SHARE && calls >= CALLS && bytes >= BYTES) else { continue };
        findings.push(
            Finding {
                confidence: Confidence::Datatypes,
                gain: Gain::spent(run.spent(comm, &[op].into())?).part(share),
                floor: Some(Level::Info),
                ceiling: Some(Ceiling { level: Level::Warn, why: "the time of packing is unknown" }),
                command: format!("--datatypes {}", filters(run, comm, op)),
                ..Finding::new("non-contiguous-data")
            }
            .on(comm, Some(op))
            .with(
                "part of the bytes with gaps in memory",
                share,
                SHARE,
                format!(
                    "SELECT sum(bytes * (1 - contiguous)) * 1.0 / sum(bytes) FROM datatypes WHERE {}",
                    on(run, comm, op)
                ),
            )
            .with(
                "datatype arguments with gaps",
                calls as f64,
                CALLS as f64,
                format!("SELECT sum(calls) FROM datatypes WHERE NOT contiguous AND {}", on(run, comm, op)),
            )
            .word("datatype", most.datatype.clone())
            .word("share", units::percent(share, 1.0))
            .word("size", units::bytes(bytes)),
        );
    }
    Ok(findings)
}
