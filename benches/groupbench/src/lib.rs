//! Measures communication between groups of MPI ranks: what a machine can do, in the words of commsee's profiles.
//!
//! - [`pattern`]: who sends how much to whom, in which steps; [`groups`]: which ranks make a group. Neither knows MPI;
//! - [`library`]: ways to move the messages of a step; [`composition`]: a pattern that is ready to run, for other programs too;
//! - [`measure`]: how ranks begin together, how often a pattern runs, and what is kept of that;
//! - [`memory`]: what messages lie in, `gpu`: that of a GPU;
//! - [`record`], [`output`]: rows, and the formats that they are written in;
//! - [`cli`], [`commands`]: the program; [`c`]: the functions of `groupbench.h`, for C.

pub mod c;
pub mod cli;
pub mod commands;
pub mod composition;
pub mod environment;
mod gpu;
pub mod groups;
pub mod library;
pub mod measure;
pub mod memory;
pub mod mpi;
pub mod output;
pub mod pattern;
pub mod record;
