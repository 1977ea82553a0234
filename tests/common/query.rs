//! What a profile answers.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

/// The answer of a query as text, one line per row.
pub fn answer(path: &Path, sql: &str) -> Vec<String> {
    let db = Connection::open(path).expect("the profile");
    let mut query = db.prepare(sql).expect("a query");
    let columns = query.column_count();
    let line = |row: &Row| {
        let cell = |column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Null => "-".to_owned(),
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Blob(_) => "blob".to_owned(),
            })
        };
        Ok((0..columns).map(cell).collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
    };
    query.query_map([], line).expect("rows").collect::<Result<_, _>>().expect("rows")
}
