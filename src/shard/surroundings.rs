//! What a process ran in: the processors that it was bound to, and the settings of the layers below it ([`crate::environment`]).

use super::layout::Text;
use super::text::joined;

/// Numbers of its texts. A setting is `NAME=value`.
pub const PROCESSORS: u32 = 1;
pub const NUMA_NODES: u32 = 2;
pub const FIRST_SETTING: u32 = 3;

#[derive(Default)]
pub struct Surroundings {
    pub(super) texts: Vec<Text>,
}

impl Surroundings {
    pub(super) fn settle(&mut self) {
        self.texts.sort_by_key(|text| (text.number, text.flags));
        self.texts.dedup_by_key(|text| (text.number, text.flags));
    }

    /// Such as `0-3`; empty where the system did not say.
    pub fn processors(&self) -> String {
        joined(&self.texts, PROCESSORS)
    }

    /// Those that the processors belong to, such as `0`.
    pub fn numa_nodes(&self) -> String {
        joined(&self.texts, NUMA_NODES)
    }

    pub fn settings(&self) -> impl Iterator<Item = String> {
        let first = |text: &&Text| text.number >= FIRST_SETTING && text.flags == 0;
        self.texts.iter().filter(first).map(|text| joined(&self.texts, text.number))
    }
}
