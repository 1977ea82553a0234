//! `through ucx [PROFILE]`: what the layers below MPI did.

use crate::cli::{Format, Ucx};
use crate::error::Error;
use crate::filter::Filter;
use crate::layered::Layered;
use crate::message::say;
use crate::open::Profile;
use crate::output;
use crate::query::catalog::Catalog;
use crate::query::notes::notes;
use crate::query::source::Source;
use crate::render::{layers as render, transfers};
use crate::show::{absent, no_match, opened};

/// Whether anything was there to show.
pub fn ucx(ucx: &Ucx) -> Result<bool, Error> {
    if ucx.all && ucx.output.format == Format::Table {
        return Err(Error::Argument("--all is written as --format csv or json".to_owned()));
    }
    let profile = opened(&ucx.input)?;
    let catalog = Catalog::read(&profile)?;
    let filter = Filter::of_transfers(&ucx.calls, &ucx.ways, &catalog)?;
    if !is_recorded(&profile, &catalog)? {
        return Ok(false);
    }
    if filter.ranks.is_some() {
        Source::new(&profile, &catalog, &filter).needs_single_ranks()?;
    }
    if ucx.all {
        return all(ucx, &profile, &catalog, &filter);
    }
    let report = Layered::make(&profile, catalog, filter, ucx)?;
    match report.is_empty() {
        true => no_match(&report.path, &report.filter, &report.catalog, "transfers"),
        false => absent(&report.filter),
    }
    if !report.is_empty() || ucx.output.format != Format::Table {
        output::write(ucx.output.output.as_deref(), |terminal, out| match ucx.output.format {
            Format::Table => crate::render::table::layers(&report, terminal, out),
            Format::Csv => render::csv(&report, out),
            Format::Json => render::json(&report, out),
        })?;
    }
    Ok(!report.is_empty())
}

/// Whether layers below MPI were recorded. If none was, that is said.
pub fn is_recorded(profile: &Profile, catalog: &Catalog) -> Result<bool, Error> {
    if !catalog.ways.is_empty() {
        return Ok(true);
    }
    say(format_args!("{}: has no transfers: run it with --hooks ucx", profile.path.display()));
    notes(profile)?.iter().for_each(|note| say(format_args!("{}: {}", note.module, note.sentence(catalog))));
    Ok(false)
}

/// Row by row, without keeping them.
fn all(ucx: &Ucx, profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<bool, Error> {
    let rows = transfers::Rows::new(profile, catalog, filter, ucx.output.top);
    let written = output::write(ucx.output.output.as_deref(), |_, out| match ucx.output.format {
        Format::Json => rows.json(out),
        _ => rows.csv(out),
    });
    // What the profile ran into is the reason why the output ended.
    let any = rows.finish()?;
    written?;
    match any {
        false => no_match(&profile.path, filter, catalog, "transfers"),
        true => absent(filter),
    }
    Ok(any)
}
