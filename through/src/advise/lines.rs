//! Which line of the program makes calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::run::Run;
use crate::query::filter::Filter;
use crate::query::sites::Spot;
use crate::query::sites::counts::{is_recorded, over_ranks};

/// The heaviest line that calls an operation on a communicator, `grid.c:24`; nothing where none is recorded or it has no name.
pub fn heaviest(run: &Run, comm: i64, op: i64) -> Option<String> {
    if !is_recorded(&run.profile).ok()? {
        return None;
    }
    let filter = Filter {
        comms: Some([comm].into()),
        ops: Some([op].into()),
        is_phased: run.catalog.phases.len() > 1,
        ..Filter::default()
    };
    let counts = over_ranks(&run.profile, &run.catalog, &filter).ok()?;
    let mut lines: BTreeMap<Option<&Spot>, i64> = BTreeMap::new();
    for count in &counts {
        let time_ns = lines.entry(run.catalog.sites.spot(count.site).map(Rc::as_ref)).or_default();
        *time_ns = time_ns.saturating_add(count.time_ns);
    }
    let (heaviest, _) = lines.iter().max_by_key(|(line, ns)| (**ns, Reverse(**line)))?;
    Some(heaviest.filter(|spot| spot.nameless.is_none())?.text.clone())
}
