//! `through [PROFILE]`: one view of one profile.

use std::path::Path;

use crate::cli::{Format, Show};
use crate::error::Error;
use crate::message::say;
use crate::open::Profile;
use crate::output;
use crate::report::{Body, Report};

/// Whether anything was there to show.
pub fn show(show: &Show) -> Result<bool, Error> {
    let profile = match show.profile.as_ref().or(show.input.as_ref()) {
        Some(path) => Profile::open(path)?,
        None => {
            let (profile, remark) = Profile::newest(Path::new("."))?;
            remark.into_iter().for_each(say);
            profile
        }
    };
    let report = Report::make(&profile, show)?;
    if report.is_empty() {
        nothing(&report);
    } else if !report.filter.absent.is_empty() {
        say(format_args!("not in this profile: {}", report.filter.absent.join(", ")));
    }
    if !report.is_empty() || show.output.format != Format::Table {
        output::print(&report, show.output.format, show.output.output.as_deref())?;
    }
    Ok(!report.is_empty())
}

/// Says why nothing is shown, and what there would be.
fn nothing(report: &Report) {
    let (filter, catalog) = (&report.filter, &report.catalog);
    let path = report.path.display();
    if let (Body::Datatypes(_), true) = (&report.body, filter.words.is_empty()) {
        let how = "set COMMSEE_DATATYPES=1 and run the program again";
        return say(format_args!("{path}: no datatypes were recorded: {how}"));
    }
    if let (Body::Stood(_), true) = (&report.body, filter.words.is_empty()) {
        return say(format_args!("{path}: all ranks finished: nobody stood anywhere"));
    }
    if filter.words.is_empty() {
        return say(format_args!("{path}: the profile holds no calls"));
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
        let ranks: Vec<u32> = catalog.processes.iter().filter_map(|process| process.rank.try_into().ok()).collect();
        there_is("ranks", vec![commsee::ranks::format(&ranks)]);
    }
}

fn there_is(what: &str, mut names: Vec<String>) {
    const NAMED: usize = 12;
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    say(format_args!("it has the {what} {}{rest}", names.join(", ")));
}
