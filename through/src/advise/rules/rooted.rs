//! Collectives with a root: ranks that wait for it, or a root that waits for the others. Only a timeline tells.

use super::timed::{calls, named};
use crate::advise::finding::Finding;
use crate::advise::run::Run;
use crate::query::Error;
use crate::query::waiting::State;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let late = calls(run, &[State::LateBroadcast]);
    let late = late.iter().map(|call| {
        let root = named(call.waits.iter().map(|waited| waited.late_rank));
        Finding { ranks: root, ..call.finding(run, "late-root") }
    });
    let early = calls(run, &[State::EarlyReduce]);
    let early = early.iter().map(|call| {
        let root = named(call.waits.iter().map(|waited| waited.rank));
        let late = named(call.waits.iter().map(|waited| waited.late_rank));
        Finding { ranks: late, ..call.finding(run, "early-root") }.word("early", format!("rank {root}"))
    });
    Ok(late.chain(early).collect())
}
