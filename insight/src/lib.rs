//! For everybody who compares: runs of a program with others (`diff`, `correlate`), the ranks with their nodes (`patterns`, `reorder`), calls
//! with the machine (`bench`, `roofline`), algorithms with each other (`tune`). What one profile tells by itself is in `through-core`.

pub mod cli;
pub mod commands;
pub mod machine;
mod named;
pub mod order;
pub mod query;
pub mod statistics;
pub mod tune;
pub mod views;
