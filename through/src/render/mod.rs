//! Prints a report; one renderer per format. None of them asks the profile.

pub mod csv;
pub mod grid;
pub mod harmless;
pub mod header;
pub mod json;
pub mod records;
pub mod table;
