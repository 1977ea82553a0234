//! Where in the code calls were made.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::open::Profile;
use through_core::query::sites::Spot;
use through_core::query::sites::counts::{Count, by_rank, is_recorded};

use super::cells::part_of;
use super::lists::{Lists, text};
use crate::pack::{Columns, list};

/// With more rows ranks are added up; then the heaviest are kept.
const MOST_ROWS: usize = 20_000;
/// Deeper stacks are cut, at the outer end.
const DEEPEST: usize = 64;

pub fn sites(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    if !is_recorded(profile)? {
        return Ok(None);
    }
    let counts = by_rank(profile, catalog, &Filter::default())?;
    let rank = |count: &Count| count.ranks.ranges().first().map_or(-1, |(first, _)| i64::from(*first));
    let mut rows: Vec<(Count, i64)> = Vec::new();
    let are_ranks_told = counts.len() <= MOST_ROWS;
    for count in counts {
        let key = |count: &Count| (count.site, count.comm, count.op);
        match rows.last_mut() {
            Some((sum, _)) if !are_ranks_told && key(sum) == key(&count) => sum.add(&count),
            _ => {
                let rank = if are_ranks_told { rank(&count) } else { -1 };
                rows.push((count, rank));
            }
        }
    }
    if !are_ranks_told {
        caps.push(format!("Call sites are added up over the ranks, to keep the page below {MOST_ROWS} numbers."));
    }
    if rows.len() > MOST_ROWS {
        rows.sort_by_key(|(count, _)| std::cmp::Reverse(count.time_ns));
        caps.push(format!("Only the heaviest call sites are in the page: {}.", part_of(MOST_ROWS, rows.len(), "row")));
        rows.truncate(MOST_ROWS);
        rows.sort_by_key(|(count, _)| (count.site, count.comm, count.op));
    }
    let (mut spots, mut places): (Vec<Value>, HashMap<Rc<Spot>, usize>) = (Vec::new(), HashMap::new());
    let (mut stacks, mut of_site): (Vec<Vec<usize>>, HashMap<i64, usize>) = (Vec::new(), HashMap::new());
    for (count, _) in &rows {
        of_site.entry(count.site).or_insert_with(|| {
            let stack = catalog.sites.stack(count.site).into_iter().take(DEEPEST).map(|spot| {
                *places.entry(Rc::clone(spot)).or_insert_with(|| {
                    spots.push(json!([text(&spot.text), spot.function.as_deref().map(text)]));
                    spots.len() - 1
                })
            });
            stacks.push(stack.collect());
            stacks.len() - 1
        });
    }
    let mut columns = Columns::default();
    columns.add_differences("site", rows.iter().map(|(count, _)| of_site[&count.site] as i64));
    columns.add_differences("comm", rows.iter().map(|(count, _)| lists.comm(count.comm) as i64));
    columns.add_differences("op", rows.iter().map(|(count, _)| lists.op(count.op) as i64));
    columns.add_differences("rank", rows.iter().map(|(_, rank)| *rank));
    columns.add("calls", rows.iter().map(|(count, _)| count.calls));
    columns.add("bytes_sent", rows.iter().map(|(count, _)| count.bytes_sent.min(i64::MAX as u64) as i64));
    columns.add("bytes_recv", rows.iter().map(|(count, _)| count.bytes_recv.min(i64::MAX as u64) as i64));
    columns.add("time_ns", rows.iter().map(|(count, _)| count.time_ns));
    Ok((!rows.is_empty()).then(|| {
        json!({
            "spots": list(Value::Array(spots)),
            // Innermost first.
            "stacks": list(json!(stacks)),
            "ranks": are_ranks_told,
            "counts": columns.finish(),
        })
    }))
}
