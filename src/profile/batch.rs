//! Rows of numbers for one table, many in one statement: beginning and ending a statement costs SQLite as much as a quarter of an event.

use rusqlite::{Connection, Statement};

/// More gain nothing.
const ROWS: usize = 50;

pub struct Batch<'a> {
    db: &'a Connection,
    /// `INSERT INTO table VALUES`, and the parameters of one row.
    insert: String,
    row: String,
    columns: usize,
    waiting: Vec<Option<i64>>,
    /// The statement for many rows, once there are as many, and what its parameters are bound to: most numbers are there again.
    many: Option<(Statement<'a>, Vec<Option<i64>>)>,
}

impl<'a> Batch<'a> {
    /// A row is so many numbers, behind a text such as `NULL, `.
    pub fn new(db: &'a Connection, table: &str, lead: &str, columns: usize) -> Batch<'a> {
        let (insert, row) =
            (format!("INSERT INTO {table} VALUES "), format!("({lead}{})", vec!["?"; columns].join(", ")));
        Batch { db, insert, row, columns, waiting: Vec::with_capacity(ROWS * columns), many: None }
    }

    pub fn add(&mut self, row: impl IntoIterator<Item = Option<i64>>) -> rusqlite::Result<()> {
        self.waiting.extend(row);
        if self.waiting.len() < ROWS * self.columns {
            return Ok(());
        }
        if self.many.is_none() {
            let statement = self.inserting(ROWS)?;
            self.many = Some((statement, vec![None; self.waiting.len()]));
        }
        let Some((statement, bound)) = &mut self.many else { return Ok(()) };
        for (at, (value, bound)) in (1..).zip(self.waiting.drain(..).zip(bound)) {
            if value != *bound {
                statement.raw_bind_parameter(at, value)?;
                *bound = value;
            }
        }
        statement.raw_execute().map(drop)
    }

    /// Writes the rows that wait.
    pub fn finish(&mut self) -> rusqlite::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut statement = self.inserting(self.waiting.len() / self.columns)?;
        for (at, value) in (1..).zip(self.waiting.drain(..)) {
            statement.raw_bind_parameter(at, value)?;
        }
        statement.raw_execute().map(drop)
    }

    fn inserting(&self, rows: usize) -> rusqlite::Result<Statement<'a>> {
        self.db.prepare(&(self.insert.clone() + &vec![self.row.as_str(); rows].join(", ")))
    }
}
