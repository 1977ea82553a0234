//! `through sql "SELECT …" [PROFILE]`: what SQLite answers.

use std::io::{self, Read};

use super::opened;
use crate::cli::Sql;
use crate::document::Format;
use crate::error::Error;
use crate::query::sql;
#[cfg(feature = "parquet")]
use crate::render::parquet::{Kinds, Rows};
use crate::render::{answer, output};

pub fn sql(arguments: &Sql) -> Result<(), Error> {
    let format = arguments.format();
    output::is_for_terminal(format, arguments.output.as_deref())?;
    let mut profile = opened(&arguments.input)?;
    let statement = match arguments.statement.as_str() {
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
        sql::ask(&mut profile, &statement, &mut *answer::answer(format, terminal, out))
    })
}

fn read() -> Result<String, Error> {
    let mut statement = String::new();
    io::stdin().read_to_string(&mut statement).map_err(|error| Error::Argument(format!("standard input: {error}")))?;
    Ok(statement)
}
