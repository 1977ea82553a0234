//! SQL of the user, on one profile, read only: nothing is written, attached or loaded, and one statement is run.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, Statement};

use super::Error;
use super::open::Profile;

/// What SQL gave, in one cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Blob(&'a [u8]),
}

/// What a statement is refused for.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("there is no statement: write a SELECT")]
    Empty,
    #[error("{what}, at character {}{}", at + 1, near(rest))]
    Wrong { what: String, at: usize, rest: String },
    #[error("there is a second statement at character {}{}: run one at a time", at + 1, near(rest))]
    Several { at: usize, rest: String },
    #[error("profiles are read only: write SELECT, WITH, VALUES, EXPLAIN or PRAGMA table_info(NAME)")]
    Writes,
    #[error("the parameter {0} has no value: write the value instead")]
    Parameter(String),
    #[error("{0}")]
    Other(String),
}

const SHOWN: usize = 40;

fn near(rest: &str) -> String {
    match rest {
        "" => ", its end".to_owned(),
        rest if rest.chars().count() > SHOWN => format!(" ({}…)", rest.chars().take(SHOWN).collect::<String>()),
        rest => format!(" ({rest})"),
    }
}

/// Pragmas that tell something of the schema or the file.
const PRAGMAS: [&str; 14] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "function_list",
    "user_version",
    "application_id",
    "page_count",
    "page_size",
    "quick_check",
    "integrity_check",
];
/// Those whose value is what they tell of, rather than what they set.
const ASKING: usize = 8;

fn permitted(context: AuthContext) -> Authorization {
    let is_read = match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let found = PRAGMAS.iter().position(|known| known.eq_ignore_ascii_case(pragma_name));
            found.is_some_and(|at| at < ASKING || pragma_value.is_none())
        }
        _ => false,
    };
    if is_read { Authorization::Allow } else { Authorization::Deny }
}

/// Whoever takes rows one by one.
pub trait Answer {
    /// What the columns are called, each by a name of its own.
    fn names(&mut self, names: Vec<String>) -> io::Result<()>;
    fn row(&mut self, row: &[Cell]) -> io::Result<()>;
    fn end(&mut self) -> io::Result<()>;
}

/// The names of the columns, and then every row. Rows are read one by one, so that millions take no memory; it takes as long as it takes.
pub fn ask(profile: &mut Profile, sql: &str, answer: &mut dyn Answer) -> io::Result<()> {
    let failed = |sql: &str, error| io::Error::other(failed(sql, error));
    let db = profile.unbounded().map_err(|error| failed(sql, error))?;
    db.authorizer(Some(permitted)).map_err(|error| failed(sql, error))?;
    let mut statement = prepared(db, sql).map_err(io::Error::other)?;
    answer.names(distinct(statement.column_names().collect()))?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(read) = rows.next().map_err(|error| failed(sql, error))? {
        let mut cells = Vec::with_capacity(columns);
        for column in 0..columns {
            cells.push(match read.get_ref(column).map_err(|error| failed(sql, error))? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(number) => Cell::Integer(number),
                ValueRef::Real(number) => Cell::Real(number),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text)),
                ValueRef::Blob(bytes) => Cell::Blob(bytes),
            });
        }
        answer.row(&cells)?;
    }
    answer.end()
}

fn prepared<'db>(db: &'db Connection, sql: &str) -> Result<Statement<'db>, Error> {
    let mut batch = Batch::new(db, sql);
    let first = batch.next().map_err(|error| failed(sql, error))?;
    let Some(statement) = first else { return Err(Error::Sql(Refusal::Empty)) };
    let end = statement.expanded_sql().map_or(sql.len(), |own| own.len());
    // Whatever follows: if it is wrong, that is said of it.
    if !matches!(batch.next(), Ok(None)) {
        let spaces = sql[end.min(sql.len())..].len() - sql[end.min(sql.len())..].trim_start().len();
        return Err(Error::Sql(Refusal::Several { at: characters(sql, end + spaces), rest: rest(sql, end + spaces) }));
    }
    if statement.parameter_count() > 0 {
        let name = statement.parameter_name(1).unwrap_or("?").to_owned();
        return Err(Error::Sql(Refusal::Parameter(name)));
    }
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(Error::Sql(Refusal::Writes));
    }
    Ok(statement)
}

/// Bytes become characters, since that is what people count.
fn characters(sql: &str, bytes: usize) -> usize {
    sql.char_indices().take_while(|(at, _)| *at < bytes).count()
}

fn rest(sql: &str, bytes: usize) -> String {
    sql.get(bytes..).unwrap_or_default().trim_end().to_owned()
}

fn failed(sql: &str, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{AuthorizationForStatementDenied, ReadOnly};
    Error::Sql(match error {
        rusqlite::Error::SqlInputError { error, .. } if error.code == AuthorizationForStatementDenied => {
            Refusal::Writes
        }
        // Of a function SQLite says so in words alone.
        rusqlite::Error::SqlInputError { msg, .. } if msg.starts_with("not authorized") => Refusal::Writes,
        rusqlite::Error::SqlInputError { msg, offset, .. } => match usize::try_from(offset) {
            Ok(at) => Refusal::Wrong { what: msg, at: characters(sql, at), rest: rest(sql, at) },
            Err(_) => Refusal::Other(msg),
        },
        rusqlite::Error::SqliteFailure(code, _) if matches!(code.code, AuthorizationForStatementDenied | ReadOnly) => {
            Refusal::Writes
        }
        rusqlite::Error::SqliteFailure(code, message) => Refusal::Other(message.unwrap_or_else(|| code.to_string())),
        other => Refusal::Other(other.to_string()),
    })
}

/// Formats for programs need each name once: `time_s`, `time_s_2`.
fn distinct(names: Vec<&str>) -> Vec<String> {
    let all: HashSet<&str> = names.iter().copied().collect();
    let mut given: HashSet<String> = HashSet::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut distinct = Vec::new();
    for name in &names {
        let number = numbers.entry(name).or_insert(1);
        let mut unlike = (*name).to_owned();
        while given.contains(&unlike) || *number > 1 && all.contains(unlike.as_str()) {
            *number += 1;
            unlike = format!("{name}_{number}");
        }
        given.insert(unlike.clone());
        distinct.push(unlike);
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_once() {
        assert_eq!(distinct(vec!["a", "a", "b", "a_2", "a"]), ["a", "a_3", "b", "a_2", "a_4"]);
    }

    #[test]
    fn places_are_counted_in_characters() {
        let sql = "SELECT 'ü' FORM t";
        assert_eq!((characters(sql, 12), rest(sql, 12)), (11, "FORM t".to_owned()));
    }
}
