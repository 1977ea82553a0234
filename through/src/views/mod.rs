//! What a profile can be looked at by. Every view is one row of [`VIEWS`], and a file of its own: the command line, `--help`, the reference
//! page and the tests of every view in every format follow from the row; tables, CSV and JSON from its columns.

pub mod advise;
mod algorithms;
mod birthplaces;
mod cells;
pub mod column;
mod comm_tree;
mod communicator;
mod communicators;
mod completed;
mod context;
mod contributors;
mod crossed;
mod datatypes;
mod efficiency;
mod files;
mod folding;
mod graph;
mod head;
mod hist;
mod hosts;
mod imbalance;
mod in_flight;
mod lineless;
mod linkage;
pub mod live;
mod matrix;
mod matters;
mod nothing;
mod objects;
mod on_layers;
mod operations;
mod phases;
mod protocols;
mod ranks;
mod reference;
mod sites;
mod summary;
mod timeline;
mod top;
mod traffic;
mod transfers;
mod tree;
mod waited;
mod waits;

pub use column::Column;
pub use context::{Between, Context, Question, shorten};
pub use folding::{Folding, alike};
pub use head::library_name;
pub use operations::FOLDED;
pub use reference::page;
pub use traffic::left_out;

use crate::document::{Document, Format, Heading};
use crate::error::Error;
use crate::query::sort::SortKey;

/// All of them, in the order of the help and the reference.
pub const VIEWS: &[View] = &[
    operations::VIEW,
    cells::VIEW,
    communicators::VIEW,
    ranks::VIEW,
    hosts::VIEW,
    phases::VIEW,
    datatypes::VIEW,
    completed::VIEW,
    files::VIEW,
    in_flight::VIEW,
    efficiency::VIEW,
    top::VIEW,
    hist::VIEW,
    advise::VIEW,
    communicators::COMMAND,
    birthplaces::VIEW,
    comm_tree::VIEW,
    waits::VIEW,
    imbalance::VIEW,
    matrix::VIEW,
    graph::VIEW,
    sites::VIEW,
    sites::BY_RANK,
    tree::DOWN,
    tree::UP,
    contributors::VIEW,
    contributors::BY_COMMUNICATOR,
    contributors::BY_OPERATION,
    contributors::BY_MEMORY,
    contributors::BY_SITE,
    objects::VIEW,
    protocols::VIEW,
    crossed::VIEW,
    transfers::VIEW,
    timeline::VIEW,
    summary::VIEW,
];

/// A way to look at something, and what is told of it.
pub struct View<Q = Question> {
    pub name: &'static str,
    /// The words of the command that shows it; none for `through` itself, and `run` for what is printed behind a job.
    pub command: &'static str,
    /// How that command is told to.
    pub flag: Flag,
    /// For `--help`.
    pub help: &'static str,
    /// For the reference, as the next one is, which may be empty.
    pub meaning: &'static str,
    pub note: &'static str,
    /// The first one is the default.
    pub formats: &'static [Format],
    /// Other keys are ignored.
    pub sorts: &'static [SortKey],
    /// What `--top` counts.
    pub entries: &'static str,
    /// Options that it cannot be asked with.
    pub lacks: &'static [&'static str],
    /// What is said where it shows nothing though everything is asked for.
    pub empty: &'static str,
    /// Its own tables. CSV has the first.
    pub parts: &'static [Part],
    pub ask: fn(&Q) -> Result<Document, Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// What the command shows unless told otherwise.
    Default,
    Switch {
        short: Option<char>,
        long: &'static str,
    },
    /// A value of an option: `--by comm`.
    Option {
        option: &'static str,
        value: &'static str,
    },
}

/// A table of a view.
#[derive(Clone, Copy)]
pub struct Part {
    /// The array in JSON.
    pub name: &'static str,
    pub headings: fn() -> Vec<Heading>,
}

/// The views of a command.
pub fn of(command: &str) -> impl Iterator<Item = &'static View> {
    VIEWS.iter().filter(move |view| view.command == command)
}

impl View {
    /// What the command shows unless told otherwise.
    pub fn usual(command: &str) -> &'static View {
        of(command).find(|view| view.flag == Flag::Default).expect("every command has one")
    }
}

/// What a view is asked.
pub trait Asked {
    fn format(&self) -> Format;
}

impl<Q: Asked> View<Q> {
    /// What has a flat table for CSV can also be had for spreadsheets, and as Parquet.
    pub fn written_as(&self) -> impl Iterator<Item = Format> {
        let is_flat = self.formats.contains(&Format::Csv);
        let parquet = (is_flat && cfg!(feature = "parquet")).then_some(Format::Parquet);
        self.formats.iter().copied().chain(is_flat.then_some(Format::Spreadsheet)).chain(parquet)
    }

    /// The document, if the view can be written so.
    pub fn ask(&self, question: &Q) -> Result<Document, Error> {
        if self.written_as().any(|format| format == question.format()) {
            return (self.ask)(question);
        }
        let flag = match self.flag {
            Flag::Default => self.name.to_owned(),
            Flag::Switch { long, .. } => format!("--{long}"),
            Flag::Option { option, value } => format!("--{option} {value}"),
        };
        let formats: Vec<&str> = self.written_as().map(Format::name).collect();
        Err(Error::Argument(format!("{flag} is written as --format {}", formats.join(" or "))))
    }
}
