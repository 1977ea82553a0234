//! What was done with files, by file and by what the filters know.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::files::{FileCalls, FileKey, file_calls, file_names};
use through_core::query::open::Profile;

use super::cells::part_of;
use super::lists::{Lists, text};
use crate::pack::{Columns, list};

/// With more rows ranks are added up; then the heaviest are kept.
const MOST_ROWS: usize = 20_000;

pub fn files(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    let all = file_calls(profile)?;
    if all.is_empty() {
        return Ok(None);
    }
    let are_ranks_told = all.len() <= MOST_ROWS;
    let mut sums: BTreeMap<FileKey, FileCalls> = BTreeMap::new();
    for (key, calls) in all {
        let sum = sums.entry(if are_ranks_told { key } else { FileKey { rank: -1, ..key } }).or_default();
        sum.calls = sum.calls.saturating_add(calls.calls);
        sum.bytes_read = sum.bytes_read.saturating_add(calls.bytes_read);
        sum.bytes_written = sum.bytes_written.saturating_add(calls.bytes_written);
        sum.time_ns = sum.time_ns.saturating_add(calls.time_ns);
    }
    if !are_ranks_told {
        caps.push(format!("Files are added up over the ranks, to keep the page below {MOST_ROWS} numbers."));
    }
    let mut rows: Vec<(FileKey, FileCalls)> = sums.into_iter().collect();
    if rows.len() > MOST_ROWS {
        rows.sort_by_key(|(_, calls)| std::cmp::Reverse(calls.time_ns));
        caps.push(format!(
            "Only the heaviest calls on files are in the page: {}.",
            part_of(MOST_ROWS, rows.len(), "row")
        ));
        rows.truncate(MOST_ROWS);
        rows.sort_by_key(|(key, _)| *key);
    }
    let mut numbers: Vec<i64> = rows.iter().map(|(key, _)| key.file).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let names = file_names(profile)?;
    let named = numbers.iter().map(|file| names.get(file).map(|name| text(name)));
    let kinds = named.collect::<Vec<_>>();
    let mut columns = Columns::default();
    let file = |key: &FileKey| numbers.binary_search(&key.file).unwrap_or_default() as i64;
    columns.add_differences("file", rows.iter().map(|(key, _)| file(key)));
    columns.add_differences("comm", rows.iter().map(|(key, _)| lists.comm(key.comm) as i64));
    columns.add_differences("op", rows.iter().map(|(key, _)| lists.op(key.op) as i64));
    columns.add_differences("bucket", rows.iter().map(|(key, _)| lists.bucket(key.bucket) as i64));
    columns.add_differences("phase", rows.iter().map(|(key, _)| lists.phase(key.phase) as i64));
    columns.add_differences("rank", rows.iter().map(|(key, _)| key.rank));
    columns.add("calls", rows.iter().map(|(_, calls)| calls.calls));
    columns.add("bytes_read", rows.iter().map(|(_, calls)| calls.bytes_read.min(i64::MAX as u64) as i64));
    columns.add("bytes_written", rows.iter().map(|(_, calls)| calls.bytes_written.min(i64::MAX as u64) as i64));
    columns.add("time_ns", rows.iter().map(|(_, calls)| calls.time_ns));
    let is_by_rank = are_ranks_told && catalog.detail == through_core::query::catalog::Detail::Rank;
    Ok(Some(json!({ "names": list(json!(kinds)), "ranks": is_by_rank, "calls": columns.finish() })))
}
