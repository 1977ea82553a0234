//! What a view is asked, and what all of its columns may need.

use std::path::PathBuf;
use std::rc::Rc;

use super::Asked;
use super::folding::Folding;
use super::head::head;
use super::nothing;
use crate::document::{Document, Format, Found, Head};
use crate::error::Error;
use crate::query::catalog::{Bucket, Catalog, Communicator, Operation};
use crate::query::filter::Filter;
use crate::query::layers::linkage::Layers;
use crate::query::open::Profile;
use crate::query::overview::{Overview, overview};
use crate::query::selection::Selection;
use crate::query::sort::SortKey;

/// What a view is asked.
#[derive(Clone)]
pub struct Question {
    pub profile: Rc<Profile>,
    pub selection: Selection,
    pub sort: Option<SortKey>,
    pub top: Option<usize>,
    pub format: Format,
    /// Of a matrix or a graph: what it is between.
    pub between: Between,
    /// Of a matrix: messages or operations in place of bytes.
    pub counts: bool,
    /// With what formulas say of collectives whose way is not known.
    pub is_modelled: bool,
    pub folding: Folding,
    /// Of advice: what was found in this one is not told again.
    pub since: Option<Rc<Profile>>,
    /// Of what the machine can do: files of measurements of it.
    pub bench: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    #[default]
    Ranks,
    Hosts,
    Devices,
}

impl Question {
    /// Everything, as a table.
    pub fn new(profile: Profile) -> Question {
        Question {
            profile: Rc::new(profile),
            selection: Selection::default(),
            sort: None,
            top: None,
            format: Format::Table,
            between: Between::Ranks,
            counts: false,
            is_modelled: false,
            folding: Folding::Usual,
            since: None,
            bench: Vec::new(),
        }
    }

    pub fn is_table(&self) -> bool {
        self.format == Format::Table
    }

    /// Whether communicators that were made alike are one entry: for people, and not where communicators are named one by one.
    pub fn folds(&self) -> bool {
        let is_read = matches!(self.format, Format::Table | Format::Summary);
        is_read && self.folding == Folding::Usual && self.selection.comm.is_empty()
    }

    /// `--top`, or how many entries a table shows unless told otherwise. 0 shows all.
    pub fn top_of_table(&self, usual: usize) -> Option<usize> {
        self.top.or(self.is_table().then_some(usual))
    }
}

impl Asked for Question {
    fn format(&self) -> Format {
        self.format
    }
}

/// What one profile is, and what is left of it.
pub struct Context {
    pub profile: Rc<Profile>,
    pub catalog: Rc<Catalog>,
    pub filter: Rc<Filter>,
    pub overview: Overview,
    /// What was recorded of layers below MPI.
    pub layers: Option<Layers>,
    /// MPI time of the ranks that the filter leaves: what shares are shares of.
    pub mpi_ns: f64,
}

impl Context {
    pub fn of(question: &Question) -> Result<Context, Error> {
        let profile = &question.profile;
        let catalog = Catalog::read(profile)?;
        let filter = Filter::resolve(&question.selection, &catalog)?;
        let layers = Layers::read(profile, &catalog)?;
        Ok(Context::new(profile, catalog, filter, layers))
    }

    pub fn new(profile: &Rc<Profile>, catalog: Catalog, filter: Filter, layers: Option<Layers>) -> Context {
        let processes = catalog.processes.iter().filter(|process| filter.has_rank(process.rank));
        let mpi_ns = processes.map(|process| process.mpi_ns as f64).sum();
        let overview = overview(&catalog);
        let (profile, catalog, filter) = (Rc::clone(profile), Rc::new(catalog), Rc::new(filter));
        Context { profile, catalog, filter, overview, layers, mpi_ns }
    }

    pub fn head(&self) -> Head {
        head(self)
    }

    /// A document without tables yet. `what` the profile has none of, if nothing is found though nothing was filtered.
    pub fn document(&self, entries: &'static str, is_empty: bool, what: &str) -> Document {
        Document {
            found: if is_empty { Found::Nothing } else { Found::Something },
            remarks: nothing::absent(&self.filter),
            reasons: nothing::no_match(self, what),
            ..Document::new(self.head(), entries)
        }
    }

    pub fn communicator(&self, number: i64) -> Option<&Communicator> {
        self.catalog.communicators.get(&number)
    }

    /// Empty where only a damaged profile leads to.
    pub fn comm(&self, number: i64) -> &str {
        self.communicator(number).map(|comm| comm.name.as_str()).unwrap_or_default()
    }

    pub fn label(&self, number: i64) -> Option<&str> {
        self.communicator(number).and_then(|comm| comm.label.as_deref())
    }

    pub fn operation(&self, number: i64) -> Option<&Operation> {
        self.catalog.operations.get(&number)
    }

    pub fn op(&self, number: i64) -> &str {
        self.operation(number).map(|operation| operation.name.as_str()).unwrap_or_default()
    }

    pub fn class(&self, number: i64) -> &str {
        self.operation(number).map(|operation| operation.class.as_str()).unwrap_or_default()
    }

    pub fn bucket(&self, number: i64) -> Option<Bucket> {
        self.catalog.buckets.get(&number).copied()
    }

    /// The message sizes that a bucket means for an operation: none where its calls have no size.
    pub fn sizes(&self, op: i64, bucket: i64) -> Option<Bucket> {
        let has_size = self.operation(op).is_none_or(Operation::has_size);
        self.bucket(bucket).filter(|_| has_size)
    }

    pub fn phase(&self, number: i64) -> &str {
        self.catalog.phases.get(&number).map(String::as_str).unwrap_or_default()
    }
}

/// Keeps the first entries and tells how many were dropped; 0 and nothing keep all.
pub fn shorten<T>(rows: &mut Vec<T>, top: Option<usize>) -> usize {
    let kept = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(rows.len());
    let hidden = rows.len() - kept;
    rows.truncate(kept);
    hidden
}

/// Sent and received together, which may be more than 64 bits hold.
pub fn both(sent: u64, received: u64) -> i128 {
    i128::from(sent) + i128::from(received)
}
