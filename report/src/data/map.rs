//! The map of communicators: which ranks each has, and what it is to them.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value, json};
use through_core::query::catalog::{Catalog, Communicator};
use through_core::query::families::Families;
use through_core::query::roles::{Role, Roles, Run, runs};
use through_core::text::units;

use super::lists::{Lists, text};
use crate::pack::{Columns, list};

/// Runs of ranks on the page. Members of further communicators are those that called something on them.
const MOST_RUNS: usize = 150_000;
/// Ranks that a role is worked out from.
const MOST_MEMBERS: i64 = 20_000_000;

pub fn map(catalog: &Catalog, lists: &Lists, families: &Families) -> Value {
    let mut members = Members::default();
    let roles = Roles::of(catalog);
    let mut groups = Vec::new();
    let mut columns: Vec<[i64; 4]> = Vec::new();
    for family in families.iter() {
        let comms: Vec<&Communicator> = family
            .members
            .iter()
            .filter(|comm| lists.is_single(**comm))
            .filter_map(|comm| catalog.communicators.get(comm))
            .collect();
        let Some(first) = comms.first() else { continue };
        let head = match &family.label {
            Some(label) => format!("{} × \"{}\"", comms.len(), text(label)),
            None => format!("{} × {}", comms.len(), made_by(first)),
        };
        // What the head or the origin says is not said again.
        let name = Some(format!("{}…", first.name)).filter(|name| !family.origin.ends_with(name.as_str()));
        let about = [name, family.label.as_ref().map(|_| made_by(first)), Some(family.origin.clone())];
        groups.push(group(lists, &comms, &head, members.role(&roles, &comms), about));
    }
    for comm in catalog.communicators.values().filter(|comm| lists.is_single(comm.id)) {
        let place = lists.comm(comm.id) as i64;
        columns.extend(members.of(comm).iter().map(|run| [place, run.first, run.count, run.step]));
        if families.find(comm.id).is_some() {
            continue;
        }
        let head = match (&comm.label, comm.is_special()) {
            (_, true) if comm.name == "-" => "no communicator".to_owned(),
            (_, true) => "several communicators".to_owned(),
            (Some(label), _) => format!("{} \"{}\"", comm.name, text(label)),
            (None, _) => comm.name.clone(),
        };
        let spot = comm.site.and_then(|site| catalog.sites.spot(site)).map(|spot| spot.sentence());
        let is_made = comm.creator.is_some() && comm.parent.is_some();
        let about = [None, is_made.then(|| made_by(comm)), spot];
        groups.push(group(lists, &[comm], &head, members.role(&roles, &[comm]), about));
    }
    columns.truncate(MOST_RUNS);
    let mut packed = Columns::default();
    for (at, name) in ["comm", "first", "count", "step"].into_iter().enumerate() {
        packed.add_differences(name, columns.iter().map(|row| row[at]));
    }
    json!({ "groups": list(Value::Array(groups)), "members": packed.finish() })
}

fn group(lists: &Lists, comms: &[&Communicator], head: &str, role: Option<Role>, about: [Option<String>; 3]) -> Value {
    let places: Vec<usize> = comms.iter().map(|comm| lists.comm(comm.id)).collect();
    let sized = comms[0].size.filter(|_| role.is_none()).map(|size| units::count(size, "rank"));
    let told = role.as_ref().map(|role| match role.text == role.name {
        true => role.text.clone(),
        false => format!("{}: {}", role.name, role.text),
    });
    let words: Vec<String> = told.into_iter().chain(sized).chain(about.into_iter().flatten()).collect();
    json!({ "comms": places, "head": text(head), "role": role.map(|role| role.name), "about": text(&words.join(" · ")) })
}

fn made_by(comm: &Communicator) -> String {
    match comm.creator.as_deref() {
        Some("unknown") | None => "communicator".to_owned(),
        Some(creator) => text(creator.strip_prefix("MPI_").unwrap_or(creator)),
    }
}

/// Lists of ranks, each read once: communicators with the same members share the text.
#[derive(Default)]
struct Members {
    known: HashMap<Rc<str>, Rc<Vec<Run>>>,
}

impl Members {
    fn of(&mut self, comm: &Communicator) -> Rc<Vec<Run>> {
        let Some(ranks) = &comm.ranks else { return Rc::default() };
        self.known.entry(ranks.clone()).or_insert_with(|| Rc::new(runs(ranks))).clone()
    }

    fn role(&mut self, roles: &Roles, comms: &[&Communicator]) -> Option<Role> {
        let members: Vec<Vec<Run>> = comms.iter().map(|comm| self.of(comm).to_vec()).collect();
        let count: i64 = members.iter().flatten().map(|run| run.count).sum();
        let are_known = members.iter().all(|runs| !runs.is_empty());
        (are_known && count <= MOST_MEMBERS).then(|| roles.role(&members)).flatten()
    }
}
