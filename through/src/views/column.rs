//! Columns of rows of one kind: what is called how, and where its value comes from.

use std::io;
use std::rc::Rc;

use super::Context;
use crate::document::{Audience, Heading, Row, Rows, Style, Table, Unit, Value};

/// How the value of a column follows from a row, and from what all rows have in common.
pub type Of<R, D> = for<'a> fn(&'a D, &'a R) -> Value<'a>;

/// A column of rows `R`, which may need something that all of them share.
pub struct Column<R: 'static, D: 'static = Context> {
    pub heading: Heading,
    value: Of<R, D>,
    /// Whether a table for people has it.
    when: fn(&D, &[R]) -> bool,
}

impl<R, D> Column<R, D> {
    /// In all formats.
    pub const fn new(
        name: &'static str,
        title: &'static str,
        unit: Unit,
        meaning: &'static str,
        value: Of<R, D>,
    ) -> Column<R, D> {
        Column::with(Some(name), Some(title), unit, meaning, value)
    }

    /// Only in CSV and JSON.
    pub const fn record(name: &'static str, unit: Unit, meaning: &'static str, value: Of<R, D>) -> Column<R, D> {
        Column::with(Some(name), None, unit, meaning, value)
    }

    /// Only in tables for people, which say the same in fewer columns.
    pub const fn shown(title: &'static str, unit: Unit, value: Of<R, D>) -> Column<R, D> {
        Column::with(None, Some(title), unit, "", value)
    }

    const fn with(
        name: Option<&'static str>,
        title: Option<&'static str>,
        unit: Unit,
        meaning: &'static str,
        value: Of<R, D>,
    ) -> Column<R, D> {
        let style = Style::Usual;
        let (is_once, is_whole) = (false, false);
        let heading = Heading { name, title, unit, meaning, rank: 0, place: 0, style, is_once, widest: None, is_whole };
        Column { heading, value, when: |_, _| true }
    }

    /// May be left out where there is no room: the highest rank first.
    pub const fn optional(mut self, rank: u8) -> Self {
        self.heading.rank = rank;
        self
    }

    /// Stands among the first columns of a table.
    pub const fn first(mut self) -> Self {
        self.heading.place = -1;
        self
    }

    /// Stands among the last columns of a table.
    pub const fn last(mut self) -> Self {
        self.heading.place = 1;
        self
    }

    pub const fn style(mut self, style: Style) -> Self {
        self.heading.style = style;
        self
    }

    /// Written only where it differs from the row above.
    pub const fn once(mut self) -> Self {
        self.heading.is_once = true;
        self
    }

    pub const fn widest(mut self, columns: usize) -> Self {
        self.heading.widest = Some(columns);
        self
    }

    /// Other texts are cut in its place where there is no room.
    pub const fn whole(mut self) -> Self {
        self.heading.is_whole = true;
        self
    }

    /// A table for people has it only then.
    pub const fn when(mut self, when: fn(&D, &[R]) -> bool) -> Self {
        self.when = when;
        self
    }
}

pub fn headings<R, D>(columns: &[Column<R, D>]) -> Vec<Heading> {
    columns.iter().map(|column| column.heading).collect()
}

/// Rows that are there.
pub struct Listed<R: 'static, D: 'static = Context> {
    data: Rc<D>,
    columns: &'static [Column<R, D>],
    rows: Vec<R>,
}

/// One row with its columns.
pub struct Typed<'a, R: 'static, D: 'static> {
    pub data: &'a D,
    pub columns: &'static [Column<R, D>],
    pub row: &'a R,
}

impl<R, D> Row for Typed<'_, R, D> {
    fn value(&self, column: usize) -> Value<'_> {
        (self.columns[column].value)(self.data, self.row)
    }
}

impl<R, D> Rows for Listed<R, D> {
    fn each(&self, take: &mut dyn FnMut(&dyn Row) -> io::Result<()>) -> io::Result<()> {
        self.rows.iter().try_for_each(|row| take(&Typed { data: &*self.data, columns: self.columns, row }))
    }
}

/// A table of rows that are there.
pub fn table<R, D>(name: &'static str, columns: &'static [Column<R, D>], data: &Rc<D>, rows: Vec<R>) -> Table {
    let is_shown = |column: &Column<R, D>| column.heading.title.is_some() && (column.when)(data, &rows);
    let mut shown: Vec<usize> = (0..columns.len()).filter(|at| is_shown(&columns[*at])).collect();
    shown.sort_by_key(|at| columns[*at].heading.place);
    let rows = Box::new(Listed { data: Rc::clone(data), columns, rows });
    Table { shown, ..bare(name, headings(columns), rows) }
}

/// A table without anything for people.
pub fn bare(name: &'static str, headings: Vec<Heading>, rows: Box<dyn Rows>) -> Table {
    Table {
        name,
        headings,
        shown: Vec::new(),
        rows,
        audience: Audience::ALL,
        is_above: false,
        title: None,
        sections: Vec::new(),
        more: None,
        after: Vec::new(),
        legend: Vec::new(),
    }
}
