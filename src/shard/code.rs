//! Where in the code one process made its calls, as a reader finds it: entries by number, and the module of an address.

use std::collections::BTreeMap;

use super::layout::{NO_SITE, Text};
use super::site::{Frame, Module, NO_MODULE, NO_TEXT, Site};
use super::text::joined;

/// Sorted by number; what refers to nothing is left out.
#[derive(Default)]
pub struct Code {
    pub modules: Vec<(u32, Module)>,
    pub frames: Vec<(u32, Frame)>,
    pub sites: Vec<(u32, Site)>,
    /// Mapped addresses by their begin: the end, and whose they are.
    ranges: BTreeMap<u64, (u64, u32)>,
    /// By number, then by part.
    pub(super) texts: Vec<Text>,
}

impl Code {
    pub fn module(&self, number: u32) -> Option<&Module> {
        position(&self.modules, number).map(|at| &self.modules[at].1)
    }

    pub fn frame(&self, number: u32) -> Option<&Frame> {
        position(&self.frames, number).map(|at| &self.frames[at].1)
    }

    pub fn site(&self, number: u32) -> Option<&Site> {
        position(&self.sites, number).map(|at| &self.sites[at].1)
    }

    /// Whether there is such a site, or it is none.
    pub fn has_site(&self, number: u32) -> bool {
        number == NO_SITE || self.site(number).is_some()
    }

    /// The module that an address belongs to: of several, the one that was mapped last.
    pub fn module_at(&self, address: u64) -> Option<(u32, &Module)> {
        let (_, &(end, number)) = self.ranges.range(..=address).next_back()?;
        Some((number, self.module(number)?)).filter(|_| address < end)
    }

    /// Gives a module its range, of which others may have had parts.
    fn map(&mut self, number: u32, Module { start, end, .. }: Module) {
        if let Some((_, before)) = self.ranges.range_mut(..start).next_back()
            && before.0 > start
        {
            let rest = std::mem::replace(before, (start, before.1));
            if rest.0 > end {
                self.ranges.insert(end, rest);
            }
        }
        while let Some((&begin, &rest)) = self.ranges.range(start..end).next() {
            self.ranges.remove(&begin);
            if rest.0 > end {
                self.ranges.insert(end, rest);
            }
        }
        self.ranges.insert(start, (end, number));
    }

    /// The site of the call that returns to an address, of one frame, which is added. [`NO_SITE`] where it is in no module.
    pub fn add_caller(&mut self, return_address: u64) -> u32 {
        // The call itself: what it returns to may be another line.
        let call = return_address.saturating_sub(1);
        let Some((module, Module { bias, .. })) = self.module_at(call) else { return NO_SITE };
        let frame = Frame::of_module(module, call.wrapping_sub(*bias));
        let Some(frame) = add(&mut self.frames, frame) else { return NO_SITE };
        add(&mut self.sites, Site { frame, outer: NO_SITE }).unwrap_or(NO_SITE)
    }

    /// A path or a name; empty where there is none.
    pub fn text(&self, number: u32) -> String {
        joined(&self.texts, number)
    }

    /// Sorts the entries, drops those that make no sense, and returns how many.
    pub(super) fn settle(&mut self) -> u64 {
        let lengths = |code: &Code| code.modules.len() + code.frames.len() + code.sites.len();
        let before = lengths(self);
        self.texts.sort_by_key(|text| (text.number, text.flags));
        self.texts.dedup_by_key(|text| (text.number, text.flags));
        let texts = &self.texts;
        let has_text = |number: u32| texts.binary_search_by_key(&number, |text| text.number).is_ok();
        sort(&mut self.modules);
        self.modules
            .retain(|(number, module)| *number > NO_MODULE && module.start < module.end && has_text(module.path));
        sort(&mut self.frames);
        let modules = &self.modules;
        self.frames.retain(|(number, frame)| {
            let is_of_module = position(modules, frame.module).is_some();
            let is_of_interpreter = frame.module == NO_MODULE && frame.function != NO_TEXT && has_text(frame.function);
            *number > 0 && (is_of_module || is_of_interpreter)
        });
        sort(&mut self.sites);
        let sites = std::mem::take(&mut self.sites);
        for (number, site) in sites {
            // Those outside come first: so there is no circle.
            if number > NO_SITE && self.frame(site.frame).is_some() && self.has_site(site.outer) {
                self.sites.push((number, site));
            }
        }
        let dropped = before - lengths(self);
        for (number, module) in self.modules.clone() {
            self.map(number, module);
        }
        dropped as u64
    }
}

/// Behind all others.
fn add<T>(entries: &mut Vec<(u32, T)>, entry: T) -> Option<u32> {
    let number = entries.last().map_or(0, |(number, _)| *number).checked_add(1)?;
    entries.push((number, entry));
    Some(number)
}

fn sort<T>(entries: &mut Vec<(u32, T)>) {
    entries.sort_by_key(|(number, _)| *number);
    entries.dedup_by_key(|(number, _)| *number);
}

/// The index of a number.
pub fn position<T>(entries: &[(u32, T)], number: u32) -> Option<usize> {
    // Numbers have no gaps, but where a shard is damaged.
    let at = (number as usize).wrapping_sub(1);
    match entries.get(at) {
        Some((known, _)) if *known == number => Some(at),
        _ => entries.binary_search_by_key(&number, |(known, _)| *known).ok(),
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;
    use crate::shard::set_text;

    fn text(number: u32, part: u32, words: &str) -> Text {
        let mut text = Text { number, flags: part, ..Text::zeroed() };
        set_text(&mut text.text, words);
        text
    }

    fn module(start: u64, end: u64, path: u32) -> Module {
        Module { start, end, bias: start, path, ..Module::zeroed() }
    }

    #[test]
    fn what_refers_to_nothing_is_left_out() {
        let of = Frame::of_module;
        let mut code = Code {
            modules: vec![(1, module(16, 32, 1)), (2, module(32, 32, 1)), (3, module(64, 99, 9)), (0, module(1, 2, 1))],
            frames: vec![(1, of(1, 5)), (2, of(2, 5)), (3, Frame::of_interpreter(2, 9, 7)), (4, of(NO_MODULE, 5))],
            sites: [(1, 1, 0), (2, 3, 1), (3, 2, 1), (4, 1, 3), (5, 1, 5), (6, 1, 7), (7, 3, 2)]
                .map(|(number, frame, outer)| (number, Site { frame, outer }))
                .to_vec(),
            texts: vec![text(2, 1, "k"), text(1, 0, "/bin/a"), text(2, 0, "wor")],
            ..Code::default()
        };
        assert_eq!(code.settle(), 3 + 2 + 4);
        let numbers: Vec<u32> = code.sites.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 7]);
        assert_eq!((code.text(1), code.text(2), code.text(3)), ("/bin/a".into(), "work".into(), String::new()));
        assert_eq!((code.site(7).map(|site| site.outer), code.site(3)), (Some(2), None));
        assert!(code.has_site(NO_SITE) && code.has_site(2) && !code.has_site(6));
    }

    #[test]
    fn an_address_belongs_to_what_was_mapped_last() {
        let mut code = Code {
            modules: [(100, 200), (300, 400), (150, 160), (390, 420), (290, 310), (500, 600), (480, 700), (500, 550)]
                .map(|(start, end)| module(start, end, 1))
                .into_iter()
                .zip(1..)
                .map(|(module, number)| (number, module))
                .collect(),
            texts: vec![text(1, 0, "a.so")],
            ..Code::default()
        };
        assert_eq!(code.settle(), 0);
        let at = |address| code.module_at(address).map_or(0, |(number, _)| number);
        let latest = |address| {
            let mut latest_first = code.modules.iter().rev();
            latest_first.find(|(_, module)| module.holds(address)).map_or(0, |(number, _)| *number)
        };
        assert_eq!([99, 100, 150, 160, 199, 200].map(at), [0, 1, 3, 1, 1, 0]);
        for address in 0..800 {
            assert_eq!(at(address), latest(address), "{address}");
        }
    }

    #[test]
    fn build_ids_that_are_too_long_keep_their_begin() {
        let mut module = module(0, 1, 1);
        assert!(module.build_id().is_empty());
        module.set_build_id(&[7; 32]);
        assert_eq!(module.build_id(), [7; 20]);
        module.build_id_bytes = 99;
        assert_eq!(module.build_id().len(), 20);
    }
}
