//! What completion calls waited for, in a line or two beside the operations of a communicator.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::Context;
use super::communicator::OnCommunicator;
use crate::error::Error;
use crate::query::completed::{Completed, UNKNOWN, completed};
use crate::query::families::{Families, Family};
use crate::text::escape::visible;
use crate::text::units;

/// Of the communicator's time, in completion calls of one operation.
const WAITS: f64 = 0.1;
/// Of that, for requests of one operation and size.
const WAITED: f64 = 0.05;
const NAMED: usize = 3;
const LINES: usize = 2;

/// What completion calls waited for, by the communicator, or the first of its family.
#[derive(Default)]
pub struct Waited(HashMap<i64, Vec<Completed>>);

impl Waited {
    /// Nothing where a filter is about what the profile does not tell of completed requests.
    pub fn of(context: &Context, list: &[OnCommunicator]) -> Result<Waited, Error> {
        let Context { profile, catalog, filter, .. } = context;
        let mut waited = Waited::default();
        if filter.time.is_some() || filter.sites.is_some() || filter.buckets.is_some() {
            return Ok(waited);
        }
        let folded: HashSet<i64> = list.iter().filter(|part| part.family.is_some()).map(|part| part.comm.id).collect();
        let families = if folded.is_empty() { Families::default() } else { Families::of(catalog) };
        for row in completed(profile, catalog, filter)? {
            let first = families.find(row.comm).map(Family::first).filter(|first| folded.contains(first));
            waited.0.entry(first.unwrap_or(row.comm)).or_default().push(row);
        }
        Ok(waited)
    }

    /// `Waitall waited for Irecv of 1K-8K (88 %), Irecv of 128-1K (9 %)`, of completion calls that matter on the communicator.
    pub fn lines(&self, context: &Context, part: &OnCommunicator) -> Vec<String> {
        let Some(completed) = self.0.get(&part.comm.id) else { return Vec::new() };
        let mut ops: Vec<i64> = part.rows.iter().map(|row| row.op).collect();
        ops.dedup();
        let line = |op: i64| {
            let rows = part.rows.iter().filter(|row| row.op == op);
            let time_ns = rows.fold(0i64, |sum, row| sum.saturating_add(row.time_ns));
            if (time_ns as f64) < WAITS * part.total.mpi_ns as f64 {
                return None;
            }
            let completed = added_up(completed.iter().filter(|row| row.op == op));
            let of_time = |ns: i64| units::percent(ns as f64, time_ns as f64);
            let mut words: Vec<String> = Vec::new();
            for row in completed.iter().filter(|row| row.time_ns as f64 >= WAITED * time_ns as f64).take(NAMED) {
                let share = of_time(row.time_ns);
                if row.started != UNKNOWN {
                    let peer = row.peer.filter(|(_, most_ns)| most_ns.saturating_mul(2) > row.time_ns);
                    let from = peer.map(|(rank, _)| format!(", mostly from rank {rank}")).unwrap_or_default();
                    words.push(format!("{} ({share}{from})", kind(context, row)));
                    continue;
                }
                // A call that tests may have found nothing.
                let most = completed.iter().max_by_key(|row| row.bytes).filter(|row| row.bytes > 0);
                if let Some(most) = most.filter(|_| !context.op(op).starts_with("MPI_Test")) {
                    let most = if words.is_empty() {
                        format!(", most bytes by {}", kind(context, most))
                    } else {
                        String::new()
                    };
                    words.push(format!("several at once ({share}{most})"));
                }
            }
            (!words.is_empty()).then(|| format!("{} waited for {}", short(context, op), words.join(", ")))
        };
        ops.into_iter().filter_map(line).take(LINES).collect()
    }
}

/// Of one communicator or several, by operation and size; what was waited for longest first.
fn added_up<'a>(rows: impl Iterator<Item = &'a Completed>) -> Vec<Completed> {
    let mut sums: BTreeMap<(i64, i64), Completed> = BTreeMap::new();
    for row in rows {
        match sums.get_mut(&(row.started, row.bucket)) {
            Some(sum) => {
                sum.requests = sum.requests.saturating_add(row.requests);
                sum.bytes = sum.bytes.saturating_add(row.bytes);
                sum.time_ns = sum.time_ns.saturating_add(row.time_ns);
                sum.peer = [sum.peer, row.peer].into_iter().flatten().max_by_key(|(rank, ns)| (*ns, Reverse(*rank)));
            }
            None => _ = sums.insert((row.started, row.bucket), row.clone()),
        }
    }
    let mut sums: Vec<Completed> = sums.into_values().collect();
    sums.sort_by_key(|row| Reverse(row.time_ns));
    sums
}

/// `Irecv of 1K-8K`, or `Ibarrier`.
fn kind(context: &Context, row: &Completed) -> String {
    let size = context.sizes(row.started, row.bucket).map(|it| format!(" of {}", units::bucket(it.lo, it.hi)));
    format!("{}{}", short(context, row.started), size.unwrap_or_default())
}

fn short<'a>(context: &'a Context, op: i64) -> Cow<'a, str> {
    let name = context.op(op);
    visible(name.strip_prefix("MPI_").unwrap_or(name))
}
