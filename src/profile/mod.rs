//! The SQLite file that all shards of a run together become: [`Writer`] takes the stream of what all processes counted, [`recover`] finds what a
//! job left that did not end well.

mod batch;
mod error;
mod files;
mod layers;
pub mod messages;
mod name;
pub mod names;
mod number;
pub mod parts;
mod remains;
mod reserved;
pub mod schema;
mod sites;
mod tables;
mod utc;
mod write;

pub use crate::host::{boot, namespaces};
pub use error::Error;
pub use name::{Origin, expand, expand_in};
pub use remains::{Claim, State, debris, hosts, join, life, locks, recover};
pub use reserved::Reserved;
pub use schema::{APPLICATION_ID, SCHEMA, SCHEMA_VERSION};
pub use utc::utc;
pub use write::{Writer, Written};
