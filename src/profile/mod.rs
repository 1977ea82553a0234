//! The SQLite file that all shards of a run together become: [`Writer`] takes the stream of what all processes counted, [`recover`] finds what a
//! job left that did not end well.

mod claim;
pub mod debris;
pub mod hosts;
mod layers;
mod life;
pub mod locks;
mod name;
mod number;
pub mod parts;
mod place;
pub mod recover;
mod tables;
mod write;

pub use claim::Claim;
pub use life::{State, boot, life, namespaces};
pub use name::{Origin, expand};
pub use place::Place;
pub use write::{Error, Writer, Written, utc};

/// Raised with every change of `schema.sql`; `PRAGMA user_version` of the file.
pub const SCHEMA_VERSION: u32 = 5;

/// `PRAGMA application_id` of the file: "msee" in ASCII.
pub const APPLICATION_ID: u32 = 0x6d73_6565;

/// The statements that make an empty profile.
pub const SCHEMA: &str = include_str!("schema.sql");
