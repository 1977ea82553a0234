//! A table: what its columns are called, its rows, and what is said beside it.

use std::io;

use super::{Style, Unit, Value};

/// What is known of a column before there is a row.
#[derive(Clone, Copy, Debug)]
pub struct Heading {
    /// In CSV and JSON; `None`: only in tables.
    pub name: Option<&'static str>,
    /// In tables; `None`: only in CSV and JSON.
    pub title: Option<&'static str>,
    pub unit: Unit,
    /// For the reference. The backticks of a name are Markdown's.
    pub meaning: &'static str,
    /// 0: always in the table. Of the others the highest is left out first where there is no room.
    pub rank: u8,
    /// Less than 0: among the first of a table; more: among the last.
    pub place: i8,
    pub style: Style,
    /// Only where it differs from the row above.
    pub is_once: bool,
    /// Cut to so many columns even where there is room.
    pub widest: Option<usize>,
    /// Not cut where there is none.
    pub is_whole: bool,
}

/// One row, whose values lie where its table has them.
pub trait Row {
    fn value(&self, column: usize) -> Value<'_>;
}

/// Rows of which there may be millions: none need be kept.
pub trait Rows {
    /// Hands over every row, in order, until `take` fails. An error of the profile is inside of the error of the system.
    fn each(&self, take: &mut dyn FnMut(&dyn Row) -> io::Result<()>) -> io::Result<()>;
}

/// Formats that have the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience {
    pub table: bool,
    pub csv: bool,
    pub json: bool,
}

impl Audience {
    pub const ALL: Audience = Audience { table: true, csv: true, json: true };
    pub const RECORDS: Audience = Audience { table: false, csv: true, json: true };
    pub const PEOPLE: Audience = Audience { table: true, csv: false, json: false };
    pub const JSON: Audience = Audience { table: false, csv: false, json: true };
    pub const BESIDE: Audience = Audience { table: true, csv: false, json: true };
}

/// How many rows a table for people shows, and what it says of the others: `more place`, `: through --in-flight`.
#[derive(Clone, Copy, Debug)]
pub struct More {
    pub most: usize,
    pub one: &'static str,
    pub hint: &'static str,
}

pub struct Table {
    /// The array in JSON.
    pub name: &'static str,
    pub headings: Vec<Heading>,
    /// Columns of the table for people, in their order.
    pub shown: Vec<usize>,
    pub rows: Box<dyn Rows>,
    pub audience: Audience,
    /// Stands above the others in a table for people.
    pub is_above: bool,
    pub title: Option<&'static str>,
    /// Parts under headings of their own; nothing: the whole is one.
    pub sections: Vec<Section>,
    pub more: Option<More>,
    /// Below the rows, indented.
    pub after: Vec<String>,
    /// What columns mean, for people.
    pub legend: Vec<String>,
}

/// Rows under a heading, such as those of a communicator.
#[derive(Default)]
pub struct Section {
    pub name: String,
    /// At the other end of the heading's line.
    pub weight: String,
    /// Pieces, separated by dots: a text, and a list which may be cut.
    pub about: Vec<(String, String)>,
    pub lines: Vec<String>,
    pub rows: usize,
    pub after: Option<String>,
    pub warning: Option<String>,
}
