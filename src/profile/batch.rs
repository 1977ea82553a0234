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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_they_were_added() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE numbers (id INTEGER PRIMARY KEY, a, b)").unwrap();
        let row = |number: i64| [(number % 3 > 0).then_some(number), (number % 7 > 0).then_some(5)];
        let rows = 2 * ROWS as i64 + 7;
        let mut batch = Batch::new(&db, "numbers", "NULL, ", 2);
        (1..=rows).try_for_each(|number| batch.add(row(number))).unwrap();
        batch.finish().unwrap();
        let mut statement = db.prepare("SELECT a, b FROM numbers ORDER BY id").unwrap();
        let written = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?])).unwrap();
        let written: Vec<[Option<i64>; 2]> = written.collect::<Result<_, _>>().unwrap();
        assert_eq!(written, (1..=rows).map(row).collect::<Vec<_>>());
    }
}
