//! What is shown and written of results, a format each.

mod csv;
mod database;
mod json;
mod progress;
mod table;

pub use csv::{pairs, samples, summaries};
pub use database::{Database, DatabaseError};
pub use json::Json;
pub use progress::Progress;
pub use table::Table;
