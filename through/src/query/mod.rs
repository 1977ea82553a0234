//! What is asked of a profile. Queries return plain data; nothing here knows how it is shown.

pub mod catalog;
pub mod cells;
pub mod comm_tree;
pub mod communicators;
pub mod completed;
pub mod copies;
pub mod counted;
pub mod datatypes;
pub mod edges;
pub mod error;
pub mod families;
pub mod files;
pub mod filter;
pub mod flows;
pub mod gpus;
pub mod graph;
pub mod hosts;
pub mod imbalance;
pub mod in_flight;
pub mod involved;
pub mod layers;
pub mod ledger;
mod mpisee;
pub mod notes;
pub mod open;
pub mod operations;
pub mod overview;
pub mod performed;
pub mod phases;
pub mod range;
pub mod ranks;
pub mod roles;
pub mod routes;
pub mod schema;
pub mod selection;
pub mod sites;
pub mod size;
pub mod sort;
pub mod source;
pub mod sql;
pub mod timeline;
pub mod transfers;
pub mod unreturned;
pub mod waiting;
pub mod window;

#[cfg(test)]
pub mod sample;

pub use error::Error;
