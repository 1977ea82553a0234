//! What a view found, complete and in order: a head, and tables of typed cells. A renderer needs nothing else.

mod format;
mod table;
mod value;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::rc::Rc;

pub use format::Format;
pub use table::{Audience, Heading, More, Row, Rows, Section, Table};
pub use value::{Record, Style, Unit, Value};

use crate::query::overview::Overview;
use crate::text::terminal::{Paint, Terminal};

pub struct Document {
    pub head: Head,
    /// What else is said of the whole, by name: `layer`.
    pub words: Vec<(&'static str, String)>,
    /// Quantities of the whole, for JSON.
    pub numbers: Vec<(&'static str, Value<'static>)>,
    /// In the order of JSON.
    pub tables: Vec<Table>,
    /// How many entries `--top` left out, and what they are: `communicators`.
    pub hidden: usize,
    /// Said of what was left out for another reason.
    pub left_out: Option<String>,
    pub entries: &'static str,
    /// What is drawn in place of tables, by format.
    pub drawings: Vec<(Format, Box<dyn Drawing>)>,
    pub found: Found,
    /// Said on standard error beside what is shown.
    pub remarks: Vec<String>,
    /// Said where nothing is: why, and what there would be.
    pub reasons: Vec<String>,
}

/// Whether anything matched.
#[derive(Clone, Debug)]
pub enum Found {
    Something,
    /// Formats that programs read still have the names of their columns.
    Nothing,
    /// Nothing of the kind was recorded, and nothing is printed.
    NotRecorded,
    /// It is known when all has been printed.
    Later(Rc<Cell<bool>>),
}

/// What every document begins with.
#[derive(Default)]
pub struct Head {
    pub subject: Subject,
    pub path: PathBuf,
    pub meta: BTreeMap<String, String>,
    pub overview: Overview,
    /// The filters in words; nothing where everything is shown.
    pub filters: Vec<String>,
    /// For people: the program, its library, what is missing.
    pub lines: Vec<Line>,
}

/// What the document is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    #[default]
    Profile,
    /// Several of them; what stands above tables is of the first.
    Profiles,
    /// Of the machine. They have no overview.
    Measurements,
}

impl Subject {
    /// In JSON.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Profile | Subject::Profiles => "profile",
            Subject::Measurements => "measurements",
        }
    }

    /// In the head of a table.
    pub fn title(self) -> &'static str {
        match self {
            Subject::Profile => "profile",
            Subject::Profiles => "first run",
            Subject::Measurements => "measured",
        }
    }
}

/// A line of the head, with its name.
pub struct Line {
    pub name: &'static str,
    pub text: String,
    pub paint: Option<Paint>,
}

impl Head {
    /// What hook modules say of themselves, and how much of what layers did is linked to no MPI call.
    pub fn layers(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| matches!(line.name, "layers" | "unlinked"))
    }
}

/// What is more than a table, in one format.
pub trait Drawing {
    fn draw(&self, document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()>;
}

impl Document {
    pub fn new(head: Head, entries: &'static str) -> Document {
        Document {
            head,
            words: Vec::new(),
            numbers: Vec::new(),
            tables: Vec::new(),
            hidden: 0,
            left_out: None,
            entries,
            drawings: Vec::new(),
            found: Found::Something,
            remarks: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// Whether there is anything to see. Of rows that are read while they are printed it is known afterwards.
    pub fn is_found(&self) -> bool {
        match &self.found {
            Found::Something => true,
            Found::Nothing | Found::NotRecorded => false,
            Found::Later(any) => any.get(),
        }
    }

    /// Whether the format has anything to print.
    pub fn is_printed(&self, format: Format) -> bool {
        match self.found {
            Found::Something | Found::Later(_) => true,
            Found::Nothing => format.is_for_programs(),
            Found::NotRecorded => false,
        }
    }

    /// The one table that CSV has.
    pub fn flat(&self) -> Option<&Table> {
        self.tables.iter().find(|table| table.audience.csv)
    }
}
