//! What to say of names that a profile lacks, and why nothing is shown.

use std::collections::BTreeSet;

use commsee::ranks::Ranks;

use super::Context;
use crate::document::{Document, Found};
use crate::error::Error;
use crate::query::filter::Filter;
use crate::query::hosts::compact;
use crate::query::layers::known::MODULE;
use crate::query::notes::notes;
use crate::query::routes::Route;
use crate::query::sites::counts::is_recorded;
use crate::text::units;

/// What a view is made of; or, where nothing of the kind was recorded, a document that says so.
pub type OrNothing<T> = Result<T, Box<Document>>;

/// Names of each kind that are listed.
const NAMED: usize = 12;

const WITH_SITES: &str = "run the program with `through run --sites`, or `--sites=8` for eight frames of each call";

fn with_layers() -> String {
    format!("run the program with `through run --hooks {MODULE}`")
}

/// What was named and is not there, beside what is shown.
pub fn absent(filter: &Filter) -> Vec<String> {
    match filter.absent.is_empty() {
        true => Vec::new(),
        false => vec![format!("not in this profile: {}", filter.absent.join(", "))],
    }
}

/// Why nothing is shown, and what there would be. `what` the view is made of.
pub fn no_match(context: &Context, what: &str) -> Vec<String> {
    let (filter, catalog) = (&context.filter, &context.catalog);
    let path = context.profile.path.display();
    if filter.words.is_empty() {
        return vec![format!("{path}: {what}")];
    }
    let mut lines = vec![match filter.absent.is_empty() {
        true => format!("{path}: nothing matches: {}", filter.words.join(", ")),
        false => format!("{path}: not in this profile: {}", filter.absent.join(", ")),
    }];
    if filter.comms.is_some() {
        let titled = catalog.communicators.values().map(|comm| match &comm.label {
            Some(label) => format!("{} \"{label}\"", comm.name),
            None => comm.name.clone(),
        });
        lines.push(there_is("communicators", titled.collect()));
    }
    if filter.sites.is_some() {
        match is_recorded(&context.profile) {
            Ok(false) => lines.push(format!("no call sites were recorded: {WITH_SITES}")),
            _ => lines.push(there_is("sites", catalog.sites.known().into_iter().collect())),
        }
    }
    if filter.ops.is_some() {
        // `-` stands for none.
        let names = catalog.operations.values().map(|operation| operation.name.clone()).filter(|name| name != "-");
        lines.push(there_is("operations", names.collect()));
    }
    if filter.buckets.is_some() {
        let bounds = catalog.size_classes().map(|bucket| units::bucket(bucket.lo, bucket.hi));
        lines.push(there_is("buckets", bounds.collect()));
    }
    if filter.ranks.is_some() {
        let ranks: Ranks = catalog.processes.iter().filter_map(|process| process.rank.try_into().ok()).collect();
        lines.push(there_is("ranks", vec![ranks.to_string()]));
        let hosts = catalog.processes.iter().map(|process| process.host.as_str()).filter(|host| !host.is_empty());
        lines.push(there_is("hosts", vec![compact(&hosts.collect())]));
    }
    if filter.routes.is_some() && catalog.routes.is_empty() {
        lines.push(format!("no layers below MPI were recorded: {}", with_layers()));
    } else if filter.routes.is_some() {
        let of_routes = |of: fn(&Route) -> &str| {
            let names: BTreeSet<&str> = catalog.routes.values().map(of).filter(|name| !name.is_empty()).collect();
            names.into_iter().map(str::to_owned).collect()
        };
        lines.push(there_is("layers", of_routes(|route| &route.layer)));
        lines.push(there_is("functions", of_routes(|route| &route.function)));
        lines.push(there_is("transports", of_routes(|route| &route.transport)));
        lines.push(there_is("devices", of_routes(|route| &route.device)));
        lines.push(there_is("protocols", of_routes(|route| &route.protocol)));
    }
    lines
}

/// What a profile of mpisee cannot tell.
pub fn not_of_mpisee(context: &Context, what: &str) -> Vec<String> {
    vec![format!("{}: mpisee does not record {what}; commsee does", context.profile.path.display())]
}

/// Where no call sites were recorded: how to record them.
pub fn no_sites(context: &Context, entries: &'static str) -> Document {
    Document {
        found: Found::NotRecorded,
        reasons: vec![format!("{}: has no call sites: {WITH_SITES}", context.profile.path.display())],
        ..Document::new(context.head(), entries)
    }
}

/// Where nobody knows who allocated what: how to record it.
pub fn no_objects(context: &Context, entries: &'static str) -> Document {
    let path = context.profile.path.display();
    Document {
        found: Found::NotRecorded,
        reasons: vec![format!("{path}: has no objects: run the program with `through run --hooks gpu --sites`")],
        ..Document::new(context.head(), entries)
    }
}

/// Where no layer below MPI was recorded: how to record one, and what modules say of that.
pub fn not_recorded(context: &Context, entries: &'static str) -> Result<Document, Error> {
    let path = context.profile.path.display();
    let notes = notes(&context.profile)?;
    // Modules that say something were there.
    let reason = match notes.is_empty() {
        true => format!("{path}: has no transfers: {}", with_layers()),
        false => format!("{path}: has no transfers"),
    };
    let said = notes.iter().map(|note| format!("{}: {}", note.module, note.sentence(&context.catalog)));
    Ok(Document {
        found: Found::NotRecorded,
        reasons: [reason].into_iter().chain(said).collect(),
        ..Document::new(context.head(), entries)
    })
}

fn there_is(what: &str, mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{what} in this profile: {}{rest}", names.join(", "))
}
