//! Buffers that no cache holds: a pattern has several sets of them, used in turn, and a sweep over other memory drives the last one out where they are small.

use std::fs;

/// Sets of buffers at most.
const MOST: u64 = 16;
/// Where the system does not say how large its last cache is.
const USUAL_CACHE_BYTES: u64 = 64 << 20;

/// How many sets of so many bytes are used in turn.
pub fn sets(bytes: u64) -> usize {
    (2 * cache_bytes()).div_ceil(bytes.max(1)).clamp(2, MOST) as usize
}

/// Writes over memory of twice the last cache.
pub struct Sweep {
    memory: Vec<u64>,
}

impl Sweep {
    /// `None` where the sets are large enough by themselves.
    pub fn beside(bytes: u64) -> Option<Sweep> {
        let cache = cache_bytes();
        (bytes.saturating_mul(sets(bytes) as u64) < 2 * cache)
            .then(|| Sweep { memory: vec![1; (2 * cache / size_of::<u64>() as u64) as usize] })
    }

    pub fn run(&mut self) {
        for word in self.memory.iter_mut().step_by(8) {
            *word = std::hint::black_box(*word).wrapping_add(1);
        }
    }
}

/// Of the largest cache of processor 0.
fn cache_bytes() -> u64 {
    let size = |index: usize| {
        let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")).ok()?;
        commsee::bytes::parse(text.trim()).ok()
    };
    (0..8).filter_map(size).max().unwrap_or(USUAL_CACHE_BYTES)
}
