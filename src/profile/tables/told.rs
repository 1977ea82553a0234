//! What holds for some ranks: programs, and the settings of the layers below them.

use std::collections::BTreeMap;

use crate::ranks;
use crate::stream::{OfRanks, add_ranges};

/// Programs of a job that are told apart, and values of a setting.
const MOST: usize = 64;

#[derive(Default)]
pub struct Told {
    programs: Vec<OfRanks>,
    /// By name.
    settings: BTreeMap<String, Vec<OfRanks>>,
}

impl Told {
    pub fn add_program(&mut self, program: OfRanks) {
        add(&mut self.programs, program);
    }

    pub fn add_setting(&mut self, setting: OfRanks) {
        let Some((name, value)) = setting.text.split_once('=') else { return };
        let value = OfRanks { text: value.to_owned(), ..setting.clone() };
        add(self.settings.entry(name.to_owned()).or_default(), value);
    }

    /// Where there are several.
    pub fn programs(&self) -> Option<String> {
        (self.programs.len() > 1).then(|| lines(&self.programs))
    }

    /// By name: the value, and lines where it does not hold for all of so many ranks.
    pub fn settings(&self, ranks: u64) -> impl Iterator<Item = (&str, String)> {
        let holds_for =
            |value: &OfRanks| -> u64 { value.members.iter().map(|(first, last)| u64::from(last - first) + 1).sum() };
        self.settings.iter().map(move |(name, values)| match values.as_slice() {
            [value] if holds_for(value) >= ranks => (name.as_str(), value.text.clone()),
            values => (name.as_str(), lines(values)),
        })
    }
}

/// A line for each: its ranks, a tab, and the text.
fn lines(all: &[OfRanks]) -> String {
    let mut all: Vec<&OfRanks> = all.iter().collect();
    all.sort_by_key(|one| one.members.first().copied());
    let line = |one: &&OfRanks| format!("{}\t{}", ranks::format_ranges(&one.members), one.text);
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn add(all: &mut Vec<OfRanks>, one: OfRanks) {
    all.push(one);
    if all.len() > MOST {
        // A job whose ranks are all different: those that come last stand for themselves no more.
        let last = all.pop();
        if let Some((rest, last)) = all.last_mut().zip(last) {
            rest.text = "(others)".to_owned();
            add_ranges(&mut rest.members, last.members);
        }
    }
}
