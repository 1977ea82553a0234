//! How long a pattern takes: when its ranks begin, how often it runs, and what is kept of that.

mod clock;
mod cold;
mod round_trip;
mod run;
mod sync;
mod warm_up;

pub use clock::Clock;
pub use run::{Case, Limits, Measured, Measurement, Sample, Stopped};
pub use sync::{Sync, Synchroniser, Together};
