//! `through sql --schema [PROFILE]`: what can be asked by SQL.

use std::io;

use commsee::profile::SCHEMA_VERSION;
use serde_json::json;

use super::opened;
use crate::cli::{Input, Sql};
use crate::document::Format;
use crate::error::Error;
use crate::query::schema::{Relation, relations};
use crate::render::{output, relations as drawn};

/// `name`: that of the only view or table that is asked for.
pub fn schema(arguments: &Sql, input: &Input, name: Option<&str>) -> Result<(), Error> {
    let format = arguments.format();
    if !matches!(format, Format::Table | Format::Json) {
        return Err(Error::Argument("--schema is written as --format table or json".to_owned()));
    }
    let profile = opened(input)?;
    let mut all = relations(&profile)?;
    if let Some(name) = name {
        let names: Vec<String> = all.iter().map(|relation| relation.name.clone()).collect();
        all.retain(|relation: &Relation| relation.name.eq_ignore_ascii_case(name));
        if all.is_empty() {
            let there = names.join(", ");
            return Err(Error::Argument(format!("this profile has no view or table '{name}': there are {there}")));
        }
    }
    output::write(arguments.output.as_deref(), |terminal, out| match format {
        Format::Json => {
            let all = json!({"profile": profile.path.to_string_lossy(), "version": SCHEMA_VERSION, "relations": all});
            serde_json::to_writer_pretty(&mut *out, &all).map_err(io::Error::from)?;
            writeln!(out)
        }
        _ => drawn::relations(&all, terminal, out),
    })
}
