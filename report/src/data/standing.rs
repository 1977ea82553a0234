//! Where every rank stood that had not finished.

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::in_flight::{State, in_flight};
use through_core::query::open::Profile;

use super::lists::{Lists, text};
use crate::pack::list;

const MOST: usize = 2_000;

pub fn standing(profile: &Profile, catalog: &Catalog, lists: &Lists) -> Result<Option<Value>, Error> {
    let groups = in_flight(profile, catalog, &Filter::default())?;
    let rows = groups.iter().take(MOST).map(|group| {
        let (comm, op) = match group.state {
            State::Call { comm, op } => (Some(lists.comm(comm)), Some(lists.op(op))),
            _ => (None, None),
        };
        let place = match group.state {
            State::Call { .. } => "call",
            State::Program => "(in the program)",
            State::Unknown => "(counting paused)",
            State::Finished => "(finished)",
            State::Missing => "(no shard)",
        };
        json!({
            "place": place, "comm": comm, "op": op, "count": group.ranks.count(),
            "ranks": text(&group.ranks.to_string()), "absent": text(&group.absent.to_string()),
            "since_ns": group.since_ns.map(|(first, last)| [first, last]), "for_ns": group.for_ns,
            "site": group.spot.as_ref().map(|spot| text(&spot.sentence())),
        })
    });
    Ok((!groups.is_empty()).then(|| list(rows.collect())))
}
