//! Runs side by side: what changed between two programs, and what goes together with the run time.

pub mod aligned;
pub mod boxes;
pub mod changes;
pub mod configuration;
pub mod correlate;
pub mod entry;
pub mod layers;
pub mod matching;
pub mod reason;
pub mod run;
pub mod scaling;
pub mod shape;
mod sums;
pub mod verdict;

#[cfg(test)]
mod simulated;
