//! Names that a profile lacks: they are looked up in the binaries of the job, module by module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use super::{Nameless, Sites};
use crate::symbols::{Name, Outcome, Search, resolve};

/// What was found.
#[derive(Default)]
pub struct Looked {
    /// By frame.
    pub names: BTreeMap<i64, Vec<Name>>,
    pub unnamed: Vec<Unnamed>,
}

/// A module with frames of which no more is known.
pub struct Unnamed {
    pub module: i64,
    pub path: PathBuf,
    pub has_build_id: bool,
    pub frames: usize,
    pub outcome: Outcome,
}

impl Unnamed {
    pub fn why(&self) -> Nameless {
        match (self.outcome, self.has_build_id) {
            (Outcome::Done, _) => Nameless::Stripped,
            (Outcome::NoBinary, true) => Nameless::NoBinary,
            (Outcome::NoBinary, false) => Nameless::NoBuildId,
            (Outcome::OutOfTime, _) => Nameless::Unknown,
        }
    }
}

impl Sites {
    /// Looks up the frames of which the profile says too little, as long as there is time.
    pub fn look_up(&self, until: Option<Instant>, is_too_little: &dyn Fn(&[Name]) -> bool) -> Looked {
        let mut wanted: BTreeMap<i64, BTreeMap<u64, Vec<i64>>> = BTreeMap::new();
        for (number, frame) in &self.frames {
            let stored = self.stored.get(number).map(Vec::as_slice).unwrap_or_default();
            if let Some(module) = frame.module.filter(|_| is_too_little(stored)) {
                wanted.entry(module).or_default().entry(frame.address).or_default().push(*number);
            }
        }
        let mut looked = Looked::default();
        let Some(search) = self.trust.map(Search::of_environment) else { return looked };
        for (number, frames) in wanted {
            let Some(module) = self.modules.get(&number) else { continue };
            let addresses: BTreeSet<u64> = frames.keys().copied().collect();
            let (names, outcome) = match until.is_some_and(|until| Instant::now() > until) {
                true => (BTreeMap::new(), Outcome::OutOfTime),
                false => resolve(module, &addresses, &search, until),
            };
            if names.len() < frames.len() {
                looked.unnamed.push(Unnamed {
                    module: number,
                    path: module.path.clone(),
                    has_build_id: module.build_id.is_some(),
                    frames: frames.len() - names.len(),
                    outcome,
                });
            }
            for (address, names) in names {
                looked.names.extend(frames[&address].iter().map(|frame| (*frame, names.clone())));
            }
        }
        looked
    }

    /// Frames of binaries, and how many of them the profile has a line for, or at least a function.
    pub fn told(&self) -> (usize, usize, usize) {
        let of_modules = || self.frames.iter().filter(|(_, frame)| frame.module.is_some());
        let with = |holds: fn(&Name) -> bool| {
            of_modules()
                .filter(|(number, _)| self.stored.get(number).is_some_and(|names| names.iter().any(holds)))
                .count()
        };
        (of_modules().count(), with(|name| name.line.is_some()), with(|name| name.function.is_some()))
    }
}

/// A name as a profile has it: `solve+0x1f` is a function of which the line is not known.
pub fn stored(function: Option<String>, file: Option<String>, line: Option<u32>) -> Name {
    if let (Some(function), None) = (&function, line)
        && let Some((bare, offset)) = function.rsplit_once("+0x")
        && let Ok(offset) = u64::from_str_radix(offset, 16)
    {
        return Name { function: Some(bare.to_owned()), offset: Some(offset), file, line };
    }
    Name { function, offset: None, file, line }
}

/// Of two digits each.
pub fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_no_part_of_a_name() {
        let name = stored(Some("operator+0x1f".to_owned()), None, None);
        assert_eq!((name.function.as_deref(), name.offset), (Some("operator"), Some(31)));
        assert_eq!(stored(Some("operator+".to_owned()), None, None).function.as_deref(), Some("operator+"));
        assert_eq!(bytes("00ff"), Some(vec![0, 255]));
        assert_eq!(bytes("0g"), None);
    }
}
