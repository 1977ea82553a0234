//! Prints a report; one renderer per format. None of them asks the profile, but for rows that are printed as they are read.

pub mod chrome;
pub mod csv;
pub mod graph;
pub mod grid;
pub mod harmless;
pub mod header;
pub mod json;
pub mod layers;
pub mod pairs;
pub mod records;
pub mod table;
pub mod transfers;
