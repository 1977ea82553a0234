//! `through` as its users meet it: the program is run on profiles whose numbers are known.

mod common;
mod docs;
mod filters;
mod jobs;
mod opening;
mod output;
mod shards;
mod views;
