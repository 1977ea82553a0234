//! Circles among the rooms of a crate: at its root all files and folders, in a folder the folders in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::source::{Crate, ModuleId};

/// Which room needs which, and where it says so.
type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// Each circle as a text that names the files and lines that tie it.
pub fn circles(house: &Crate, base: &Path) -> Vec<String> {
    let mut scopes: BTreeMap<ModuleId, Arrows> = BTreeMap::new();
    for reference in house.references.iter().filter(|reference| house.needs(reference)) {
        let Some(target) = house.resolve(reference.from, &reference.path) else { continue };
        let (from, to) = (house.route(reference.from), house.route(target));
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        let scope = from[common - 1];
        let (Some(a), Some(b)) = (room(house, scope, from.get(common)), room(house, scope, to.get(common))) else {
            continue;
        };
        let file = reference.file.strip_prefix(base).unwrap_or(&reference.file);
        let place = format!("{}:{}: {}", file.display(), reference.line, reference.path.join("::"));
        if a != b {
            scopes.entry(scope).or_default().entry((a, b)).or_default().insert(place);
        }
    }
    scopes.iter().flat_map(|(&scope, arrows)| in_scope(&name(house, scope), arrows)).collect()
}

fn name(house: &Crate, module: ModuleId) -> String {
    house.route(module).iter().map(|&id| house.modules[id].name.as_str()).collect::<Vec<_>>().join("::")
}

/// The room in which a module lies. The root's own code is a room of the root; a folder's `mod.rs` speaks for all of it.
fn room(house: &Crate, scope: ModuleId, module: Option<&ModuleId>) -> Option<String> {
    let is_root = house.modules[scope].parent.is_none();
    match module {
        Some(&module) if is_root || house.modules[module].is_folder => Some(house.modules[module].name.clone()),
        Some(_) => None,
        None => is_root.then(|| "(root)".to_owned()),
    }
}

fn in_scope(scope: &str, arrows: &Arrows) -> Vec<String> {
    let rooms: BTreeSet<&String> = arrows.keys().flat_map(|(from, to)| [from, to]).collect();
    let reached: BTreeMap<&String, BTreeSet<&String>> = rooms.iter().map(|&room| (room, reach(room, arrows))).collect();
    let mut told: BTreeSet<&String> = BTreeSet::new();
    let mut circles = Vec::new();
    for &room in &rooms {
        let circle: BTreeSet<&String> =
            reached[room].iter().copied().filter(|other| reached[*other].contains(room)).collect();
        if circle.is_empty() || !told.insert(room) {
            continue;
        }
        told.extend(&circle);
        circles.push(describe(scope, &circle, arrows));
    }
    circles
}

/// All that a room needs, straight or by others.
fn reach<'a>(room: &String, arrows: &'a Arrows) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![room];
    while let Some(at) = open.pop() {
        for (_, to) in arrows.keys().filter(|(from, _)| from == at) {
            if reached.insert(to) {
                open.push(to);
            }
        }
    }
    reached
}

fn describe(scope: &str, circle: &BTreeSet<&String>, arrows: &Arrows) -> String {
    let rooms: Vec<&str> = circle.iter().map(|room| room.as_str()).collect();
    let mut text = format!("in {scope}: {}\n", rooms.join(", "));
    for ((from, to), places) in arrows.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to)) {
        writeln!(text, "  {from} -> {to}").unwrap();
        for place in places {
            writeln!(text, "    {place}").unwrap();
        }
    }
    text
}
