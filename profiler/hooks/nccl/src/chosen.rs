//! How NCCL does an operation, as the plugin hears of it: before the call returns, in the thread that makes it.

use crate::functions::Function;

/// NCCL's own words: `RING`, `LL128`. Empty where the plugin is told none, as for sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct How {
    pub algorithm: Word,
    pub protocol: Word,
    pub channels: u8,
}

impl How {
    /// `RING/LL128 x4`; what is not known is left out.
    pub fn text(&self) -> String {
        let (algorithm, protocol) = (self.algorithm.text(), self.protocol.text());
        let between = if algorithm.is_empty() || protocol.is_empty() { "" } else { "/" };
        match self.channels {
            0 => format!("{algorithm}{between}{protocol}"),
            channels => format!("{algorithm}{between}{protocol} x{channels}").trim_start().to_owned(),
        }
    }
}

/// A short name, kept by value: the plugin's strings need not live on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Word([u8; 16]);

impl Word {
    pub fn new(text: &[u8]) -> Word {
        let mut word = [0; 16];
        let length = text.len().min(word.len());
        word[..length].copy_from_slice(&text[..length]);
        Word(word)
    }

    pub fn text(&self) -> &str {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..length]).unwrap_or("")
    }
}

/// An operation as the plugin is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// What [`crate::expected::take`] gave for its communicator.
    pub communicator: u32,
    pub function: Function,
    /// As NCCL tells it: elements, or bytes for AllGather and Broadcast.
    pub count: u64,
    /// The root or the peer; -1 for none.
    pub peer: i32,
    pub how: How,
}
