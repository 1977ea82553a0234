//! What is asked of a profile. Queries return plain data; nothing here knows how it is shown.

pub mod catalog;
pub mod cells;
pub mod communicators;
pub mod datatypes;
pub mod involved;
pub mod operations;
pub mod overview;
pub mod phases;
pub mod ranks;
pub mod source;
pub mod standing;

#[cfg(test)]
pub mod sample;
