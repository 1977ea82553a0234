//! What is asked of a profile. Queries return plain data; nothing here knows how it is shown.

pub mod catalog;
pub mod cells;
pub mod communicators;
pub mod datatypes;
pub mod flows;
pub mod graph;
pub mod hosts;
pub mod involved;
pub mod layers;
pub mod notes;
pub mod operations;
pub mod overview;
pub mod phases;
pub mod ranks;
pub mod source;
pub mod standing;
pub mod timeline;
pub mod transfers;
pub mod ways;

#[cfg(test)]
pub mod sample;
