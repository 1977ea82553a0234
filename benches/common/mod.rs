//! What the benchmarks share.

// Every benchmark is a crate of its own and uses its part of this.
#![allow(dead_code, unused_imports)]

mod arguments;
mod library;
mod mpi;
mod others;
mod processor;
mod run;
mod statistics;

pub use arguments::{Arguments, number};
pub use library::{Library, Peer, libraries};
pub use mpi::{Mpi, compiled, installed, version_of};
pub use others::Usage;
pub use processor::{processor_model, processors};
pub use run::{bytes_in, output_of, place};
pub use statistics::{Interval, interval_of_median, median, quantile};

/// A line for the reader of the figures, apart from them.
pub fn note(text: &str) {
    eprintln!("note: {text}");
}
