//! Where in the code: what the sites of a profile stand for. A site is a node of a tree: a frame, and the site of the frames outside of it.
//!
//! `names` finds what a profile does not say itself, `spot` is how a line of code is written, and `counts` reads the counters of sites.

pub mod counts;
mod names;
mod spot;
pub mod tree;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

pub use self::names::{Looked, Unnamed};
pub use self::spot::{Nameless, Spot};
use crate::query::Error;
use crate::query::open::Profile;
use crate::symbols::{Module, Name, Trust};

/// Deeper stacks lead back to themselves, in a damaged profile alone.
const DEEPEST: usize = 1024;

/// An instruction that a call was made by; of an interpreter, neither is known.
#[derive(Clone, Copy, Debug)]
struct Frame {
    module: Option<i64>,
    address: u64,
}

#[derive(Clone, Copy, Debug)]
struct Site {
    frame: i64,
    outer: Option<i64>,
}

/// All that a profile knows of the code, by the numbers that it has.
#[derive(Default)]
pub struct Sites {
    modules: BTreeMap<i64, Module>,
    frames: BTreeMap<i64, Frame>,
    sites: BTreeMap<i64, Site>,
    /// What the profile says of frames, the innermost function first.
    stored: BTreeMap<i64, Vec<Name>>,
    /// For what binaries without a build id are trusted; nothing: no binary is looked at.
    trust: Option<Trust>,
    /// The same with what had to be looked up.
    spots: OnceCell<BTreeMap<i64, Vec<Rc<Spot>>>>,
}

impl Sites {
    /// `trust`: for what binaries without a build id are trusted; nothing: no binary is looked at.
    pub fn read(profile: &Profile, trust: Option<Trust>) -> Result<Sites, Error> {
        let mut stored: BTreeMap<i64, Vec<Name>> = BTreeMap::new();
        let sql = "SELECT frame, function, file, line FROM frame_name ORDER BY frame, depth";
        profile.query::<(), ()>(sql, vec![], |row| {
            let name = names::stored(row.get(1)?, row.get(2)?, row.get(3)?);
            stored.entry(row.get(0)?).or_default().push(name);
            Ok(())
        })?;
        Ok(Sites {
            modules: profile.query("SELECT id, path, build_id FROM module", vec![], |row| {
                let build_id: Option<String> = row.get(2)?;
                let path: String = row.get(1)?;
                Ok((
                    row.get(0)?,
                    Module { path: PathBuf::from(path), build_id: build_id.and_then(|id| names::bytes(&id)) },
                ))
            })?,
            frames: profile.query("SELECT id, module, address FROM frame", vec![], |row| {
                let address: Option<i64> = row.get(2)?;
                Ok((row.get(0)?, Frame { module: row.get(1)?, address: address.unwrap_or(0) as u64 }))
            })?,
            sites: profile.query("SELECT id, frame, outer FROM site", vec![], |row| {
                Ok((row.get(0)?, Site { frame: row.get(1)?, outer: row.get(2)? }))
            })?,
            stored,
            trust,
            spots: OnceCell::new(),
        })
    }

    /// Takes binaries without a build id for those of the job.
    pub fn trust_paths(&mut self) {
        self.trust = Some(Trust::Always);
    }

    /// Whether calls were recorded with more than their caller.
    pub fn has_stacks(&self) -> bool {
        self.sites.values().any(|site| site.outer.is_some())
    }

    /// The line that a call was made on: the innermost one.
    pub fn spot(&self, site: i64) -> Option<&Rc<Spot>> {
        self.of_frame(self.sites.get(&site)?.frame).first()
    }

    /// The first site whose innermost line is the same: sites differ in what is around it.
    pub fn same_line(&self, site: i64) -> Option<i64> {
        let line = self.spot(site)?;
        self.sites.keys().copied().find(|other| self.spot(*other) == Some(line))
    }

    /// All functions that a call was made in, the innermost first, with those that were inlined.
    pub fn stack(&self, site: i64) -> Vec<&Rc<Spot>> {
        let mut stack = Vec::new();
        let mut next = self.sites.get(&site);
        while let Some(site) = next.filter(|_| stack.len() < DEEPEST) {
            stack.extend(self.of_frame(site.frame));
            next = site.outer.and_then(|outer| self.sites.get(&outer));
        }
        stack
    }

    /// The sites whose stack holds a line, a function, or what a pattern matches.
    pub fn matching(&self, wanted: &str) -> BTreeSet<i64> {
        let frames: BTreeSet<i64> = self
            .frames
            .keys()
            .copied()
            .filter(|frame| self.of_frame(*frame).iter().any(|spot| spot.is(wanted)))
            .collect();
        let mut known: BTreeMap<i64, bool> = BTreeMap::new();
        for number in self.sites.keys() {
            let mut path = Vec::new();
            let mut next = Some(*number);
            let mut is_met = false;
            while let Some(number) = next.filter(|_| path.len() < DEEPEST) {
                let Some(site) = self.sites.get(&number) else { break };
                is_met = known.get(&number).copied().unwrap_or(frames.contains(&site.frame));
                if is_met || known.contains_key(&number) {
                    break;
                }
                path.push(number);
                next = site.outer;
            }
            known.extend(path.into_iter().map(|number| (number, is_met)));
            known.insert(*number, is_met);
        }
        known.into_iter().filter_map(|(number, is_met)| is_met.then_some(number)).collect()
    }

    /// Some of the lines that there are, for whoever named one that is not there.
    pub fn known(&self) -> BTreeSet<String> {
        self.sites.keys().filter_map(|site| Some(self.spot(*site)?.text.clone())).collect()
    }

    fn of_frame(&self, frame: i64) -> &[Rc<Spot>] {
        let spots = self.spots.get_or_init(|| self.all_spots());
        spots.get(&frame).map(Vec::as_slice).unwrap_or_default()
    }

    fn all_spots(&self) -> BTreeMap<i64, Vec<Rc<Spot>>> {
        let Looked { names: found, unnamed } = self.look_up(None, &|stored| stored.is_empty());
        let whys: BTreeMap<i64, Nameless> = unnamed.iter().map(|unnamed| (unnamed.module, unnamed.why())).collect();
        let spots = |(number, frame): (&i64, &Frame)| {
            let names = found.get(number).or_else(|| self.stored.get(number)).map(Vec::as_slice).unwrap_or_default();
            let mut spots: Vec<Rc<Spot>> = names.iter().filter_map(|name| Spot::of(name).map(Rc::new)).collect();
            if spots.is_empty() {
                let module = frame.module.and_then(|number| Some((number, self.modules.get(&number)?)));
                let why = |number: i64| whys.get(&number).copied().unwrap_or(Nameless::Unknown);
                spots.extend(
                    module.map(|(number, module)| Rc::new(Spot::nameless(&module.path, frame.address, why(number)))),
                );
            }
            (*number, spots)
        };
        self.frames.iter().map(spots).collect()
    }
}
