//! What the run was, and what the profile says of itself.

use commsee::profile::SCHEMA_VERSION;
use serde_json::{Value, json};
use through_core::query::catalog::Detail;
use through_core::text::escape::path;
use through_core::text::path::relative;
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
