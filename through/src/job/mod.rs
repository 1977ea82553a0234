//! Jobs: how they are started under the profiler, and how what they leave becomes a profile.
//!
//! `preload`, `launcher` and `signals` start one, and `misspelled` sees what was meant to be set. `shards` finds what a job left on
//! this host, `carry` brings it to where other hosts see it, `collect` asks them, `parts` reads what profiles carry, `results` is the sum of
//! it, and `names` has it told by line. Where there is none, `unprofiled` finds the reason in what `programs` and `loaded` tell.

pub mod carry;
pub mod collect;
pub mod launcher;
pub mod loaded;
pub mod misspelled;
pub mod names;
pub mod parts;
pub mod preload;
pub mod programs;
pub mod results;
pub mod shards;
pub mod signals;
pub mod unprofiled;
