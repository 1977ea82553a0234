//! How much of what layers did could be linked to MPI calls. Every report tells it, with what hook modules say of themselves.

use std::collections::BTreeMap;

use commsee::shard::{Role, Route};

use crate::query::Error;
use crate::query::catalog::{Catalog, NO_COMM};
use crate::query::filter::Filter;
use crate::query::notes::{Note, notes};
use crate::query::open::Profile;
use crate::query::transfers::{Group, Sums, groups};

#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub notes: Vec<Note>,
    /// By name; only layers that moved data for somebody: not what arrived, and not what devices did by themselves, which needs no call.
    pub links: Vec<Links>,
}

/// What one layer did as a whole.
#[derive(Clone, Debug)]
pub struct Links {
    pub layer: String,
    pub total: Sums,
    pub unlinked: Sums,
    /// What was not linked, by protocol, most bytes first.
    pub parts: Vec<(String, Sums)>,
}

impl Layers {
    /// Nothing where no layer was recorded.
    pub fn read(profile: &Profile, catalog: &Catalog) -> Result<Option<Layers>, Error> {
        Layers::of(profile, catalog, &groups(profile, &Filter::default())?)
    }

    /// The same of all groups of a profile, where these are known.
    pub fn of(profile: &Profile, catalog: &Catalog, groups: &[Group]) -> Result<Option<Layers>, Error> {
        let layers = Layers { notes: notes(profile)?, links: links(groups, catalog) };
        Ok((!layers.notes.is_empty() || !layers.links.is_empty()).then_some(layers))
    }
}

fn links(groups: &[Group], catalog: &Catalog) -> Vec<Links> {
    let mut layers: BTreeMap<&str, (Sums, BTreeMap<&str, Sums>)> = BTreeMap::new();
    for group in groups {
        let is_asked =
            |route: &&Route| !route.arrives && route.role != Role::Device && route.layer != super::objects::ALLOCATIONS;
        let Some(route) = catalog.routes.get(&group.route).filter(is_asked) else { continue };
        let (total, parts) = layers.entry(&route.layer).or_default();
        total.add(&group.sums);
        let has_call = catalog.operations.get(&group.op).is_some_and(|operation| !operation.is_none());
        if group.comm == NO_COMM && !has_call {
            parts.entry(&route.protocol).or_default().add(&group.sums);
        }
    }
    let made = layers.into_iter().map(|(layer, (total, parts))| {
        let mut unlinked = Sums::default();
        parts.values().for_each(|sums| unlinked.add(sums));
        let mut parts: Vec<(String, Sums)> =
            parts.into_iter().map(|(protocol, sums)| (protocol.to_owned(), sums)).collect();
        parts.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.bytes));
        Links { layer: layer.to_owned(), total, unlinked, parts }
    });
    made.collect()
}
