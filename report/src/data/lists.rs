//! What the numbers in all other parts stand for: communicators, operations, message sizes, phases. Parts refer to them by their place.

use std::collections::{BTreeMap, HashMap};

use commsee::ccl;
use serde_json::{Value, json};
use through_core::query::catalog::{Catalog, Communicator, size_class};
use through_core::query::counted::Key;
use through_core::query::families::Families;
use through_core::text::escape::{cut, visible};
use through_core::text::units;

use crate::pack;

/// Longer texts are cut.
const TEXT_COLUMNS: usize = 300;
/// So are paragraphs, which may list ranks.
const PARAGRAPH_COLUMNS: usize = 900;
/// Kinds of calls (communicator, operation, size, phase) that are told apart: those of the heaviest communicators.
const MOST_KINDS: usize = 30_000;
/// And so many communicators, also where nothing was called on them.
const MOST_COMMS: usize = 12_000;

/// Harmless where it is shown, and not too long.
pub fn text(text: &str) -> String {
    cut(&visible(text), TEXT_COLUMNS).into_owned()
}

pub fn paragraph(text: &str) -> String {
    cut(&visible(text), PARAGRAPH_COLUMNS).into_owned()
}

pub struct Lists {
    comms: HashMap<i64, usize>,
    ops: HashMap<i64, usize>,
    buckets: HashMap<i64, usize>,
    phases: HashMap<i64, usize>,
    order: Vec<i64>,
    /// Communicators that are added up, and the place that stands for them.
    others: usize,
    families: Vec<(String, Vec<usize>)>,
}

impl Lists {
    /// `keys`: of what was counted, with their time.
    pub fn of(catalog: &Catalog, families: &Families, keys: &BTreeMap<Key, i64>, caps: &mut Vec<String>) -> Lists {
        let mut order = kept(catalog, keys);
        let others = catalog.communicators.len().saturating_sub(order.len());
        if others > 0 {
            caps.push(format!(
                "{} with the least MPI time are added up as “others”: {} are shown one by one.",
                units::count(others as u64, "communicator"),
                order.len()
            ));
        }
        let key = |comm: &i64| catalog.communicators.get(comm).map(Communicator::name_key);
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        let comms: HashMap<i64, usize> = order.iter().enumerate().map(|(at, comm)| (*comm, at)).collect();
        let numbered =
            |numbers: &mut dyn Iterator<Item = i64>| numbers.enumerate().map(|(at, number)| (number, at)).collect();
        let families = families.iter().map(|family| {
            let members: Vec<usize> = family.members.iter().filter_map(|comm| comms.get(comm).copied()).collect();
            (text(&family.title(family.members.len())), members)
        });
        Lists {
            families: families.filter(|(_, members)| !members.is_empty()).collect(),
            ops: numbered(&mut catalog.operations.keys().copied()),
            buckets: numbered(&mut catalog.buckets.keys().copied().filter(|bucket| size_class(*bucket) == *bucket)),
            phases: numbered(&mut catalog.phases.keys().copied()),
            comms,
            order,
            others,
        }
    }

    /// Its place, or that of all which are not told apart. One that the profile lacks is among these.
    pub fn comm(&self, comm: i64) -> usize {
        self.comms.get(&comm).copied().unwrap_or(self.order.len())
    }

    /// A number that leads nowhere, as in a damaged profile, has the place behind the last one.
    pub fn op(&self, op: i64) -> usize {
        self.ops.get(&op).copied().unwrap_or(self.ops.len())
    }

    pub fn bucket(&self, bucket: i64) -> usize {
        self.buckets.get(&size_class(bucket)).copied().unwrap_or(self.buckets.len())
    }

    pub fn phase(&self, phase: i64) -> usize {
        self.phases.get(&phase).copied().unwrap_or(self.phases.len())
    }

    pub fn is_single(&self, comm: i64) -> bool {
        self.comms.contains_key(&comm)
    }

    pub fn json(&self, catalog: &Catalog) -> Value {
        let mut family_of: BTreeMap<usize, usize> = BTreeMap::new();
        for (family, (_, members)) in self.families.iter().enumerate() {
            family_of.extend(members.iter().map(|member| (*member, family)));
        }
        let comms: Vec<Value> = self
            .order
            .iter()
            .enumerate()
            .filter_map(|(at, comm)| Some(json_of(catalog.communicators.get(comm)?, catalog, family_of.get(&at))))
            .collect();
        let ops: Vec<Value> = catalog
            .operations
            .iter()
            .map(|(number, op)| {
                let is_outside = catalog.is_outside_span(*number);
                json!({ "name": text(&op.name), "class": text(&op.class), "outside": is_outside, "sized": op.has_size() })
            })
            .collect();
        let buckets = catalog
            .size_classes()
            .map(|bucket| json!({ "lo": bucket.lo, "hi": bucket.hi, "name": units::bucket(bucket.lo, bucket.hi) }));
        json!({
            "comms": pack::list(Value::Array(comms)),
            "other_comms": self.others,
            "families": pack::list(self.families.iter().map(|(title, members)| json!({ "title": title, "members": members })).collect()),
            "ops": ops,
            "buckets": buckets.collect::<Vec<_>>(),
            "phases": catalog.phases.values().map(|name| text(name)).collect::<Vec<_>>(),
        })
    }
}

fn json_of(comm: &Communicator, catalog: &Catalog, family: Option<&usize>) -> Value {
    let spot = comm.site.and_then(|site| catalog.sites.spot(site));
    let mut all = json!({ "name": text(&comm.name) });
    let mut add = |name: &str, value: Value| {
        if !value.is_null() {
            all[name] = value;
        }
    };
    add("label", comm.label.as_deref().map(text).into());
    add("creator", creator(comm).as_deref().map(text).into());
    add("size", comm.size.into());
    add("parent", comm.parent.as_deref().map(text).into());
    add("ranks", comm.ranks.as_deref().map(text).into());
    add("layer", comm.layer.as_deref().map(text).into());
    add("site", spot.map(|spot| text(&spot.sentence())).into());
    add("family", family.copied().into());
    add("special", comm.is_special().then_some(true).into());
    all
}

/// The function that made it, as far as that is known.
fn creator(comm: &Communicator) -> Option<String> {
    let letter = comm.creator.as_deref()?;
    let of_layer = comm.layer.as_deref().and_then(|layer| Some(format!("{layer}{}", ccl::creator(layer, letter)?)));
    Some(of_layer.unwrap_or_else(|| letter.to_owned()))
}

/// The communicators that are told apart: all, or the heaviest.
fn kept(catalog: &Catalog, keys: &BTreeMap<Key, i64>) -> Vec<i64> {
    let mut weights: HashMap<i64, (i64, usize)> = catalog.communicators.keys().map(|comm| (*comm, (0, 0))).collect();
    for (key, time_ns) in keys {
        if let Some((sum, kinds)) = weights.get_mut(&key.comm) {
            (*sum, *kinds) = (sum.saturating_add(*time_ns), *kinds + 1);
        }
    }
    let mut heaviest: Vec<(i64, i64, usize)> =
        weights.into_iter().map(|(comm, (time_ns, kinds))| (comm, time_ns, kinds)).collect();
    heaviest.sort_by_key(|(comm, time_ns, _)| (std::cmp::Reverse(*time_ns), *comm));
    let mut left = MOST_KINDS;
    let fits = |(_, _, kinds): &(i64, i64, usize)| {
        let is_room = *kinds <= left;
        left = left.saturating_sub(*kinds);
        is_room
    };
    heaviest.into_iter().take(MOST_COMMS).take_while(fits).map(|(comm, ..)| comm).collect()
}
