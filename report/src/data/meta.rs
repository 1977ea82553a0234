//! What the run was, and what the profile says of itself.

use commsee::profile::SCHEMA_VERSION;
use serde_json::{Value, json};
use through_core::query::catalog::Detail;
use through_core::text::escape::path;
use through_core::text::path::relative;
use through_core::text::units;
use through_core::views::Context;

use super::lists::text;

pub fn profile(context: &Context) -> Value {
    let detail = match context.catalog.detail {
        Detail::Rank => "rank",
        Detail::Node => "node",
        Detail::Comm => "comm",
    };
    json!({
        "path": path(&relative(&context.profile.path)),
        "schema": SCHEMA_VERSION,
        "detail": detail,
        "through": env!("CARGO_PKG_VERSION"),
    })
}

/// `heat.db: ./heat --grid 4x2`.
pub fn title(context: &Context) -> String {
    let name = context.profile.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match context.catalog.meta("command") {
        Some(command) => format!("{}: {}", text(&name), text(command)),
        None => text(&name),
    }
}

pub fn lines(context: &Context) -> Vec<(&'static str, String)> {
    context.head().lines.into_iter().map(|line| (line.name, text(&line.text))).collect()
}

/// The same in sentences, for whoever reads the page first.
pub fn about(context: &Context) -> Vec<String> {
    let catalog = &context.catalog;
    let known = |key: &str| catalog.meta(key).map(text).filter(|value| !value.is_empty());
    let time = |key: &str| known(key).map(|time| time.replace('T', " ").replace('Z', " UTC"));
    let number = |key: &str, one: &str| known(key).and_then(|value| Some(units::count(value.parse().ok()?, one)));
    let mut sentences = Vec::new();
    let mut where_it_ran: Vec<String> = [number("ranks", "rank").map(|ranks| format!(" with {ranks}"))]
        .into_iter()
        .chain([number("hosts", "host").map(|hosts| format!(" on {hosts}"))])
        .chain([number("processors", "processor").map(|processors| format!(" with {processors}"))])
        .flatten()
        .collect();
    where_it_ran.extend(time("start_time").map(|start| format!(", from {start}")));
    where_it_ran.extend(time("end_time").map(|end| format!(" to {end}")));
    sentences.push(format!(
        "{} ran{}.",
        known("command").unwrap_or_else(|| "The program".to_owned()),
        where_it_ran.concat()
    ));
    if let Some(library) = known("mpi_library") {
        let standard =
            known("mpi_version").map(|version| format!(", of the MPI standard {version}")).unwrap_or_default();
        let threads = known("thread_level").map(|level| format!(", with {level}")).unwrap_or_default();
        sentences.push(format!("Its MPI library is {library}{standard}{threads}."));
    }
    let detail = match catalog.detail {
        Detail::Rank => "each rank",
        Detail::Node => "each host, not each rank",
        Detail::Comm => "each communicator, over all ranks",
    };
    if let Some(version) = known("commsee_version") {
        sentences.push(format!("commsee {version} counted for {detail}."));
    }
    // Names of the environment; own keys are small letters.
    let is_setting = |key: &str| key.starts_with(|first: char| first.is_ascii_uppercase());
    let settings = catalog.meta.iter().filter(|(key, _)| is_setting(key));
    let settings: Vec<String> =
        settings.take(MOST).map(|(key, value)| format!("{}={}", text(key), text(value))).collect();
    if !settings.is_empty() {
        sentences.push(format!("Set for the run: {}.", settings.join(", ")));
    }
    sentences
}

/// Longer values are cut.
pub fn meta(context: &Context) -> Vec<(String, String)> {
    let own = [
        ("profile".to_owned(), path(&context.profile.path)),
        ("schema version".to_owned(), SCHEMA_VERSION.to_string()),
    ];
    let all = context.catalog.meta.iter().take(MOST).map(|(key, value)| (text(key), text(value)));
    own.into_iter().chain(all).collect()
}

const MOST: usize = 200;
