//! `through` as its users meet it: the program is run on profiles whose numbers are known.

mod common;
mod datatypes;
mod docs;
mod exec;
mod filters;
mod fuzzed;
mod golden;
mod graphs;
mod hostile;
mod hosts;
mod jobs;
mod layers;
mod matrix;
mod opening;
mod output;
mod phases;
mod plans;
mod registry;
mod shards;
mod sites;
mod stood;
mod summed;
mod symbols;
mod versions;
mod views;
mod watch;
