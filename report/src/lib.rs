//! For everybody who shows a run to others: `through report` writes one page for the browser. It holds all of its data as JSON, and what
//! draws them: nothing is fetched, nothing is built.
//!
//! `data/` makes JSON of queries, `pack` makes long lists short, `page` is the markup; style and script lie in `page/` as they are sent.

pub mod cli;
pub mod command;
mod data;
mod pack;
mod page;
