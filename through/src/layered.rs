//! What `through ucx` prints, complete and in order.

use std::path::PathBuf;

use crate::cli::{Format, Split, Ucx};
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;
use crate::query::catalog::Catalog;
use crate::query::layers::amplification::{Amplification, amplifications};
use crate::query::layers::contributors::{Section, Shown, Subject, contributors};
use crate::query::layers::linkage::Layers;
use crate::query::layers::protocols::{Protocols, protocols};
use crate::query::overview::{Overview, overview};
use crate::query::transfers::groups;

/// Subjects, and contributors of each, that a table shows unless told otherwise.
const SHOWN: usize = 20;

pub struct Layered {
    pub path: PathBuf,
    pub catalog: Catalog,
    pub overview: Overview,
    pub filter: Filter,
    pub layers: Layers,
    pub body: Body,
    pub amplifications: Vec<Amplification>,
    /// How many subjects `--top` left out: of protocols, communicators.
    pub hidden: usize,
}

pub enum Body {
    Contributors(Vec<Section>),
    Protocols(Vec<Protocols>),
}

impl Layered {
    pub fn make(profile: &Profile, catalog: Catalog, filter: Filter, ucx: &Ucx) -> Result<Layered, Error> {
        let whole = groups(profile, &Filter::default())?;
        let layers = Layers::of(profile, &catalog, &whole)?.unwrap_or_default();
        let groups = if filter.ranks.is_some() { groups(profile, &filter)? } else { whole };
        let is_table = ucx.output.format == Format::Table;
        let top = ucx.output.top.or(is_table.then_some(SHOWN));
        let (body, hidden) = match ucx.by {
            Some(Split::Protocol) => {
                let mut rows = protocols(&groups, &catalog, &filter, !ucx.ways.layer.is_empty());
                let mut comms: Vec<i64> = rows.iter().map(|row| row.comm).collect();
                comms.dedup();
                let kept = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(comms.len());
                let dropped = comms.split_off(kept);
                rows.retain(|row| comms.contains(&row.comm));
                let hidden = dropped.len();
                (Body::Protocols(rows), hidden)
            }
            by => {
                let shown = Shown { sort: ucx.output.sort, top };
                let (sections, hidden) = match by {
                    Some(Split::Comm) => {
                        contributors(&groups, &catalog, &filter, |group| Subject::Comm(group.comm), shown)
                    }
                    Some(Split::Op) => contributors(&groups, &catalog, &filter, |group| Subject::Op(group.op), shown),
                    _ => contributors(&groups, &catalog, &filter, |_| Subject::All, shown),
                };
                (Body::Contributors(sections), hidden)
            }
        };
        let amplifications = amplifications(profile, &groups, &catalog, &filter)?;
        let (path, overview) = (profile.path.clone(), overview(&catalog));
        Ok(Layered { path, catalog, overview, filter, layers, body, amplifications, hidden })
    }

    /// Whether the filter left nothing.
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Contributors(sections) => sections.is_empty(),
            Body::Protocols(rows) => rows.is_empty(),
        }
    }
}
