//! For everybody who profiles a program: runs it so that it leaves a profile, makes one of what a crashed run left, and shows it. It never
//! loads MPI, and `resolve` alone writes to a profile: to a copy, which takes its place.
//!
//! The way of the data: `cli` → `commands` → `views` ask `query` and make a `document`, which `render` prints. The list of commands is in the
//! package `through`, in `cli/`.

pub mod advise;
pub mod cli;
pub mod commands;
pub mod document;
mod error;
pub mod job;
mod live;
pub mod query;
pub mod render;
pub mod symbols;
pub mod text;
pub mod views;

pub use crate::error::Error;
