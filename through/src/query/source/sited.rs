//! The counters of call sites, in the form of cells. What sites do not count is unknown, or where it is a sum 0.

use commsee::counters::Calls;

use super::{Parameters, Relation};
use crate::query::Error;
use crate::query::catalog::{Catalog, Detail};
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::range::TimeRange;

/// The counters that a site has.
const COUNTED: [&str; 4] = ["calls", "bytes_sent", "bytes_recv", "time_ns"];

/// The cells of the sites that are left: of each phase, or with `phase` null over those that are left.
pub fn cells(filter: &Filter, by_phase: bool) -> Relation {
    let mut parameters = Parameters::default();
    let condition = condition(filter, &mut parameters);
    let (phase, key) = if by_phase { ("x.phase", ", x.phase") } else { ("NULL", "") };
    let counters: Vec<String> = Calls::TABLE
        .iter()
        .map(|counter| match (COUNTED.contains(&counter.name), counter.is_sum()) {
            (true, _) => format!("sum(x.{0}) AS {0}", counter.name),
            (false, true) => format!("0 AS {}", counter.name),
            (false, false) => format!("NULL AS {}", counter.name),
        })
        .collect();
    let in_time = in_time(filter, &mut parameters);
    let sql = format!(
        "SELECT x.comm AS comm, x.op AS op, x.bucket AS bucket, x.rank AS rank, {}, {phase} AS phase FROM call_site x \
         WHERE {condition} GROUP BY x.comm, x.op, x.bucket, x.rank{key}{in_time}",
        counters.join(", ")
    );
    Relation { sql, values: parameters.0 }
}

/// `site`, `comm`, `op`, `rank` and what sites count, in this order.
pub fn by_site(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Relation, Error> {
    let asked = [("--rank or --host", filter.ranks.is_some()), ("--time", filter.time.is_some())];
    if let Some((asked, _)) = asked.into_iter().find(|(_, is_asked)| *is_asked && catalog.detail != Detail::Rank) {
        return Err(Error::Coarse { path: profile.path.clone(), detail: catalog.detail, asked });
    }
    let mut parameters = Parameters::default();
    let mut condition = condition(filter, &mut parameters);
    let in_time = in_time(filter, &mut parameters);
    // Cells, as everywhere, and not what one site has of them.
    if filter.time.is_some() {
        condition += &format!(
            " AND (x.comm, x.op, x.bucket, x.rank) IN (SELECT x.comm, x.op, x.bucket, x.rank FROM call_site x WHERE {condition} \
             GROUP BY x.comm, x.op, x.bucket, x.rank{in_time})"
        );
    }
    let sums: Vec<String> = COUNTED.iter().map(|name| format!("sum(x.{name})")).collect();
    let sql = format!(
        "SELECT x.site, x.comm, x.op, x.rank, {} FROM call_site x WHERE {condition} GROUP BY x.site, x.comm, x.op, x.rank \
         ORDER BY x.site, x.comm, x.op, x.rank",
        sums.join(", ")
    );
    Ok(Relation { sql, values: parameters.0 })
}

fn condition(filter: &Filter, parameters: &mut Parameters) -> String {
    let columns = [
        ("x.site", &filter.sites),
        ("x.comm", &filter.comms),
        ("x.op", &filter.ops),
        ("x.bucket", &filter.buckets),
        ("x.rank", &filter.ranks),
        ("x.phase", &filter.phases),
    ];
    columns.into_iter().fold("true".to_owned(), |whole, (column, numbers)| whole + &parameters.among(column, numbers))
}

/// That the rows of a cell took such a time together.
fn in_time(filter: &Filter, parameters: &mut Parameters) -> String {
    let Some(TimeRange { low_ns, high_ns }) = filter.time else { return String::new() };
    format!(" HAVING sum(x.time_ns) BETWEEN {} AND {}", parameters.bind(low_ns), parameters.bind(high_ns))
}
