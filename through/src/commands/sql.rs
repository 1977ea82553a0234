//! `through sql "SELECT …" [PROFILE]`: what SQLite answers.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{opened, schema};
use crate::cli::{Input, Sql};
use crate::document::Format;
use crate::error::Error;
use crate::query::open::is_sqlite;
use crate::query::sql;
#[cfg(feature = "parquet")]
use crate::render::parquet::{Kinds, Rows};
use crate::render::{answer, output};

pub fn sql(arguments: &Sql) -> Result<(), Error> {
    if let Some(name) = &arguments.schema {
        // What stands first is the profile then.
        let first = arguments.statement.as_ref().map(PathBuf::from);
        let input = Input { profile: first.or(arguments.input.profile.clone()), input: arguments.input.input.clone() };
        return schema::schema(arguments, &input, name.as_deref());
    }
    let format = arguments.format();
    output::is_for_terminal(format, arguments.output.as_deref())?;
    let (statement, input) = in_order(arguments)?;
    let mut profile = opened(&input)?;
    let statement = match statement {
        "-" => read()?,
        statement => statement.to_owned(),
    };
    output::write(arguments.output.as_deref(), |terminal, out| {
        #[cfg(feature = "parquet")]
        if format == Format::Parquet {
            let mut kinds = Kinds::default();
            sql::ask(&mut profile, &statement, &mut kinds)?;
            return sql::ask(&mut profile, &statement, &mut Rows::begin(kinds, out)?);
        }
        sql::ask(&mut profile, &statement, &mut *answer::answer(format, terminal, out)?)
    })
}

/// Other commands take the profile first.
fn in_order(arguments: &Sql) -> Result<(&str, Input), Error> {
    let (statement, input) = (arguments.statement.as_deref().unwrap_or_default(), &arguments.input);
    if !is_sqlite(Path::new(statement)) {
        return Ok((statement, input.clone()));
    }
    match input.profile.as_deref().and_then(Path::to_str) {
        Some(other) => Ok((other, Input { profile: Some(PathBuf::from(statement)), input: None })),
        None => {
            Err(Error::Argument(format!("the statement is missing: through sql 'SELECT … FROM profile' {statement}")))
        }
    }
}

fn read() -> Result<String, Error> {
    let mut statement = String::new();
    io::stdin().read_to_string(&mut statement).map_err(|error| Error::Argument(format!("standard input: {error}")))?;
    Ok(statement)
}
