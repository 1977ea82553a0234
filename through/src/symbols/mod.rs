//! From an address in a module to a function, a file and a line. The build id decides: what differs in it is never used, so that no line
//! is wrong.
//!
//! `find` looks for the binary and its debug data, `elf` maps such a file, `dwarf` reads lines and inlined functions, `table` the symbol
//! table, `demangle` makes names readable, and `cache` keeps what was found for the next time.

mod cache;
mod demangle;
mod dwarf;
pub mod elf;
mod find;
mod progress;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub use self::cache::{Kept, of_user as cache_of_user};
use self::find::{Files, find};
pub use self::find::{Search, Trust};

/// A mapped file, as the job had it.
#[derive(Clone, Debug)]
pub struct Module {
    pub path: PathBuf,
    pub build_id: Option<Vec<u8>>,
}

/// A function that an instruction belongs to: one of its own, or one that was inlined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    pub function: Option<String>,
    /// From the begin of the function, where nobody knows the line.
    pub offset: Option<u64>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// The names at each address, the innermost inlined function first. An address that nobody can name is missing.
pub type Names = BTreeMap<u64, Vec<Name>>;

/// How far names were looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As far as the files tell.
    Done,
    /// Neither the binary nor its debug data was found.
    NoBinary,
    /// The time was over before.
    OutOfTime,
}

/// Names all these addresses of a module, which are the file's own and lie inside of the call instruction.
pub fn resolve(
    module: &Module,
    addresses: &BTreeSet<u64>,
    search: &Search,
    until: Option<Instant>,
) -> (Names, Outcome) {
    if addresses.is_empty() {
        return (Names::new(), Outcome::Done);
    }
    let files = find(module, search);
    let kept = search.cache.as_deref().zip(module.build_id.as_deref()).and_then(|(cache, id)| cache::path(cache, id));
    let cached = kept.as_deref().map(cache::read).unwrap_or_default();
    let mut names = cached.names(files.as_ref().map(|files| &*files.identity), addresses);
    let left: BTreeSet<u64> = addresses.iter().copied().filter(|address| !names.contains_key(address)).collect();
    let mut outcome = Outcome::Done;
    if !left.is_empty() {
        match files {
            None => outcome = Outcome::NoBinary,
            Some(files) => {
                let (found, is_whole) = progress::said(&files, || look_up(&files, &left, until));
                if let Some(kept) = kept {
                    cached.with(files.identity, &found).write(&kept);
                }
                names.extend(found.into_iter().map(|(address, found)| (address, found.names)));
                if !is_whole {
                    outcome = Outcome::OutOfTime;
                }
            }
        }
    }
    names.retain(|_, names| !names.is_empty());
    (names, outcome)
}

/// What was found at an address.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    /// Empty: there is nothing.
    names: Vec<Name>,
    /// Debug data told function and line, so that no other file can tell more.
    is_exact: bool,
}

/// And whether there was time for all of them.
fn look_up(files: &Files, addresses: &BTreeSet<u64>, until: Option<Instant>) -> (BTreeMap<u64, Found>, bool) {
    let functions = table::functions(files, addresses);
    let (mut lines, is_whole) = dwarf::lines(files, addresses, until);
    let mut found = BTreeMap::new();
    for address in addresses {
        let Some(names) = lines.remove(address) else { continue };
        found.insert(*address, joined(names, functions.get(address)));
    }
    (found, is_whole)
}

/// Lines of debug data, with the function of the symbol table where that is all there is.
fn joined(mut names: Vec<Name>, function: Option<&Name>) -> Found {
    let is_exact = !names.is_empty() && names.iter().all(|name| name.function.is_some() && name.line.is_some());
    match (names.as_mut_slice(), function) {
        ([], Some(function)) => names.push(function.clone()),
        ([.., outermost], Some(function)) if outermost.function.is_none() => {
            outermost.function.clone_from(&function.function);
            if outermost.line.is_none() {
                outermost.offset = function.offset;
            }
        }
        // Debug data has no more than the last part of what no other file can see.
        ([.., outermost], Some(Name { function: Some(whole), .. })) => {
            let is_part = |part: &String| whole.strip_suffix(part.as_str()).is_some_and(|scope| scope.ends_with("::"));
            if outermost.function.as_ref().is_some_and(is_part) {
                outermost.function = Some(whole.clone());
            }
        }
        _ => {}
    }
    Found { names, is_exact }
}
