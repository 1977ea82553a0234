//! The memory that layers read and wrote, by the lines of the program that allocated it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use commsee::shard::Role;

use crate::query::Error;
use crate::query::catalog::{Catalog, unsigned};
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::sort::SortKey;
use crate::query::transfers::Sums;

/// Whose rows are allocations.
pub const ALLOCATIONS: &str = "gpu-alloc";

/// What was allocated on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// `device`, `pinned`, `managed`; several, where the line allocates several kinds.
    pub memory: String,
    pub allocations: i64,
    pub bytes: u64,
}

/// One end of what moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// A site of the line that allocated it; nothing: it is not known.
    pub site: Option<i64>,
    /// `device`, `pageable`; empty where the layer does not tell.
    pub memory: String,
}

/// What a function of a layer moved from one object to another.
#[derive(Clone, Debug)]
pub struct Move {
    pub layer: String,
    pub function: String,
    pub source: End,
    pub target: End,
    pub sums: Sums,
    /// What the layer moved altogether.
    pub total: Sums,
}

/// By a site of each line. Each allocation counts, also one that was freed.
pub fn objects(profile: &Profile, catalog: &Catalog) -> Result<BTreeMap<i64, Object>, Error> {
    let sql = format!(
        "SELECT x.site, sum(x.calls), sum(x.bytes), w.memory FROM transfer x JOIN way w ON w.id = x.way \
         WHERE w.layer = '{ALLOCATIONS}' AND x.site > 0 GROUP BY x.site, w.memory"
    );
    let mut objects: BTreeMap<i64, Object> = BTreeMap::new();
    profile.query::<(), ()>(&sql, vec![], |row| {
        let site = row.get(0)?;
        let object = objects.entry(catalog.sites.same_line(site).unwrap_or(site)).or_default();
        object.allocations = object.allocations.saturating_add(row.get(1)?);
        object.bytes = object.bytes.saturating_add(unsigned(row.get(2)?));
        let memory: String = row.get(3)?;
        if !object.memory.split(", ").any(|known| known == memory) {
            object.memory += if object.memory.is_empty() { "" } else { ", " };
            object.memory += &memory;
        }
        Ok(())
    })?;
    Ok(objects)
}

/// The heaviest first, of layers that moved anything from or to an object.
pub fn moves(profile: &Profile, catalog: &Catalog, filter: &Filter, sort: Option<SortKey>) -> Result<Vec<Move>, Error> {
    let (condition, values) = filter.transfer_condition();
    let sql = format!(
        "SELECT x.way, nullif(x.source_object, 0), nullif(x.target_object, 0), sum(x.calls), sum(x.bytes) FROM transfer x \
         WHERE {condition} GROUP BY 1, 2, 3"
    );
    let mut lines: HashMap<i64, i64> = HashMap::new();
    let mut rows: BTreeMap<(String, String, End, End), Sums> = BTreeMap::new();
    let mut totals: HashMap<String, (Sums, bool)> = HashMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let Some(route) = catalog.routes.get(&row.get(0)?) else { return Ok(()) };
        let sums = Sums { calls: row.get(3)?, bytes: unsigned(row.get(4)?), ..Sums::default() };
        let mut line = |site: Option<i64>| {
            site.map(|site| *lines.entry(site).or_insert_with(|| catalog.sites.same_line(site).unwrap_or(site)))
        };
        let sites: [Option<i64>; 2] = [line(row.get(1)?), line(row.get(2)?)];
        let (total, has_objects) = totals.entry(route.layer.clone()).or_default();
        total.add(&sums);
        *has_objects |= sites.iter().any(Option::is_some);
        let own = match route.arrives {
            _ if route.role == Role::Device => [route.protocol.as_str(); 2],
            true => ["", &route.memory],
            false => [&route.memory, ""],
        };
        let memory = route.protocol.split_once(" to ").map_or(own, |(source, target)| [source, target]);
        let [source, target] = [0, 1].map(|end: usize| End { site: sites[end], memory: memory[end].to_owned() });
        rows.entry((route.layer.clone(), route.function.clone(), source, target)).or_default().add(&sums);
        Ok(())
    })?;
    let made = rows.into_iter().filter_map(|((layer, function, source, target), sums)| {
        let (total, has_objects) = *totals.get(&layer)?;
        has_objects.then_some(Move { layer, function, source, target, sums, total })
    });
    let mut made: Vec<Move> = made.collect();
    made.sort_by_key(|row| match sort {
        Some(SortKey::Calls) => Reverse(row.sums.calls.max(0) as u64),
        _ => Reverse(row.sums.bytes),
    });
    Ok(made)
}
