//! What groupbench measured of the machine, and what follows from it.

pub mod compare;
pub mod models;
pub mod open;
pub mod results;
pub mod select;

pub use self::open::{Launch, Measurements, Problem};
pub use self::results::{Case, Measured};
