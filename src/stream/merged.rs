//! The streams of many processes in one process, shard by shard: where no tree of processes merges them.

use super::code::{Decoder, Encoder};
use super::detail::Detail;
use super::merge::{Merge, Source};
use super::process::ProcessStream;
use crate::shard::Shard;

/// Streams that become one as soon as there are so many.
const MERGED_AT_ONCE: usize = 32;

/// Streams as bytes, those of many shards merged already: so a merge never sees more than a few.
pub struct MergedShards {
    detail: Detail,
    is_phased: bool,
    /// In level n each is made of up to 32ⁿ shards.
    levels: Vec<Vec<Vec<u8>>>,
}

impl MergedShards {
    /// `is_phased`: whether any of the shards has a phase.
    pub fn new(detail: Detail, is_phased: bool) -> MergedShards {
        MergedShards { detail, is_phased, levels: Vec::new() }
    }

    pub fn add(&mut self, shard: Shard) {
        let mut part = written(ProcessStream::new(shard, self.detail, self.is_phased));
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(part);
            if self.levels[level].len() < MERGED_AT_ONCE {
                return;
            }
            part = written(merged(self.levels[level].drain(..)));
        }
    }

    /// All of them as one.
    pub fn stream(self) -> impl Source {
        merged(self.levels.into_iter().flatten())
    }
}

fn merged(parts: impl Iterator<Item = Vec<u8>>) -> Merge<Decoder> {
    Merge::new(parts.map(Decoder::new).collect())
}

fn written(mut source: impl Source) -> Vec<u8> {
    let mut encoder = Encoder::default();
    while let Some(item) = source.next() {
        encoder.push(&item);
    }
    encoder.take()
}
