//! `through [PROFILE]`: one view of one profile.

use std::collections::BTreeSet;
use std::path::Path;

use commsee::ranks::Ranks;

use crate::cli::{Format, Input, Show};
use crate::error::Error;
use crate::filter::Filter;
use crate::message::say;
use crate::open::Profile;
use crate::output;
use crate::query::catalog::Catalog;
use crate::query::ways::Way;
use crate::report::{Body, Report};

/// Whether anything was there to show.
pub fn show(show: &Show) -> Result<bool, Error> {
    let profile = opened(&show.input)?;
    let report = Report::make(&profile, show)?;
    if report.is_empty() {
        nothing(&report);
    } else {
        absent(&report.filter);
    }
    if !report.is_empty() || show.output.format != Format::Table {
        output::print(&report, show.output.format, show.output.output.as_deref())?;
    }
    Ok(!report.is_empty())
}

/// The profile that is named, or the newest one here.
pub fn opened(input: &Input) -> Result<Profile, Error> {
    if let Some(path) = input.path() {
        return Profile::open(path);
    }
    let (profile, remark) = Profile::newest(Path::new("."))?;
    remark.into_iter().for_each(say);
    Ok(profile)
}

/// Says what was named and is not there, beside what is shown.
pub fn absent(filter: &Filter) {
    if !filter.absent.is_empty() {
        say(format_args!("not in this profile: {}", filter.absent.join(", ")));
    }
}

/// Says why nothing is shown, and what there would be.
fn nothing(report: &Report) {
    let filter = &report.filter;
    let path = report.path.display();
    if let (Body::Datatypes(_), true) = (&report.body, filter.words.is_empty()) {
        let how = "set COMMSEE_DATATYPES=1 and run the program again";
        return say(format_args!("{path}: no datatypes were recorded: {how}"));
    }
    if let (Body::Stood(_), true) = (&report.body, filter.words.is_empty()) {
        return say(format_args!("{path}: all ranks finished: nobody stood anywhere"));
    }
    no_match(&report.path, filter, &report.catalog, "calls");
}

/// The same where it follows from the filter alone. `what` the view is made of.
pub fn no_match(path: &Path, filter: &Filter, catalog: &Catalog, what: &str) {
    let path = path.display();
    if filter.words.is_empty() {
        return say(format_args!("{path}: the profile holds no {what}"));
    }
    match filter.absent.is_empty() {
        true => say(format_args!("{path}: nothing matches all of: {}", filter.words.join(", "))),
        false => say(format_args!("{path}: not in this profile: {}", filter.absent.join(", "))),
    }
    if filter.comms.is_some() {
        let titled = catalog.communicators.values().map(|comm| match &comm.label {
            Some(label) => format!("{} \"{label}\"", comm.name),
            None => comm.name.clone(),
        });
        there_is("communicators", titled.collect());
    }
    if filter.ops.is_some() {
        there_is("operations", catalog.operations.values().map(|operation| operation.name.clone()).collect());
    }
    if filter.buckets.is_some() {
        let bounds = catalog.buckets.values().map(|bucket| crate::units::bucket(bucket.lo, bucket.hi));
        there_is("buckets", bounds.collect());
    }
    if filter.ranks.is_some() {
        let ranks: Ranks = catalog.processes.iter().filter_map(|process| process.rank.try_into().ok()).collect();
        there_is("ranks", vec![ranks.to_string()]);
    }
    if filter.ways.is_some() {
        let of_ways = |of: fn(&Way) -> &str| {
            let names: BTreeSet<&str> = catalog.ways.values().map(of).filter(|name| !name.is_empty()).collect();
            names.into_iter().map(str::to_owned).collect()
        };
        there_is("layers", of_ways(|way| &way.layer));
        there_is("transports", of_ways(|way| &way.transport));
        there_is("devices", of_ways(|way| &way.device));
        there_is("protocols", of_ways(|way| &way.protocol));
    }
}

fn there_is(what: &str, mut names: Vec<String>) {
    const NAMED: usize = 12;
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    say(format_args!("it has the {what} {}{rest}", names.join(", ")));
}
