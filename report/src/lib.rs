//! For everybody who shows a run to others: `through report` writes one page for the browser. It holds all of its data as JSON, and what draws them: nothing is fetched, nothing is built.
//!
//! `data/` makes JSON of queries, `pack` makes long lists short, `page` is the markup; style and script lie in `page/` as they are sent.

pub mod cli;
pub mod command;
mod data;
mod pack;
mod page;

pub use self::data::Beside;

use std::rc::Rc;

use serde_json::Value;
use through_core::Error;
use through_core::query::open::Profile;

/// What a page is made of.
pub struct Report {
    /// All that the page shows, as its script reads it.
    pub data: Value,
    /// What is said without any script.
    words: data::Words,
}

impl Report {
    /// Of one run, with what is to be shown beside it.
    pub fn of(profile: Profile, beside: Beside) -> Result<Report, Error> {
        let (data, words) = data::read(&Rc::new(profile), beside)?;
        Ok(Report { data, words })
    }

    pub fn page(&self) -> String {
        page::page(self)
    }
}
