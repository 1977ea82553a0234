//! The SQLite file that all shards of a run together become.

/// Raised with every change of `schema.sql`; `PRAGMA user_version` of the file.
pub const SCHEMA_VERSION: u32 = 1;

/// The statements that make an empty profile.
pub const SCHEMA: &str = include_str!("schema.sql");
