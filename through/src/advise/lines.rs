//! Which line of the program makes calls.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::run::Run;
use crate::query::filter::Filter;
use crate::query::sites::Spot;
use crate::query::sites::counts::{is_recorded, over_ranks};

/// The line that takes most of the time in an operation on a communicator, or how to record it; nothing where it has no name.
pub fn sentence(run: &Run, comm: i64, op: i64) -> Option<String> {
    if !is_recorded(&run.profile).ok()? {
        return Some("Call sites (COMMSEE_SITES=1, through --sites) tell which line calls it.".to_owned());
    }
    let filter = Filter {
        comms: Some([comm].into()),
        ops: Some([op].into()),
        is_phased: run.catalog.phases.len() > 1,
        ..Filter::default()
    };
    let counts = over_ranks(&run.profile, &run.catalog, &filter).ok()?;
    let spot = |site: i64| run.catalog.sites.spot(site);
    let heaviest = counts.iter().max_by_key(|count| (count.time_ns, Reverse(count.site)))?;
    let named = spot(heaviest.site).filter(|spot| spot.nameless.is_none())?.sentence();
    let lines: BTreeSet<&Spot> = counts.iter().filter_map(|count| Some(spot(count.site)?.as_ref())).collect();
    Some(match lines.len() {
        1 => format!("It is called at {named}."),
        _ => format!("Most of its time it is called at {named}; through --sites has the other lines."),
    })
}
