//! What a selection means in one profile: the numbers of its communicators, operations, buckets and ranks.

mod resolve;

use std::collections::BTreeSet;

use rusqlite::types::Value;

use crate::query::range::TimeRange;

/// Which cells are shown. `None` lets everything through.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub comms: Option<BTreeSet<i64>>,
    pub ops: Option<BTreeSet<i64>>,
    pub buckets: Option<BTreeSet<i64>>,
    pub ranks: Option<BTreeSet<i64>>,
    pub phases: Option<BTreeSet<i64>>,
    /// Where in the code calls were made.
    pub sites: Option<BTreeSet<i64>>,
    /// How layers below MPI moved data.
    pub routes: Option<BTreeSet<i64>>,
    /// Routes of functions on communicators of layers that are selected as operations, where any are. Beside `ops`, not in place of them.
    pub functions: Option<BTreeSet<i64>>,
    /// Whether the profile has communicators of layers.
    pub has_layer_comms: bool,
    /// Whether what layers did is told apart by the site of the program's call.
    pub by_site: bool,
    /// Whether there are cells that differ in their phase only.
    pub is_phased: bool,
    pub time: Option<TimeRange>,
    /// Of the timeline. What is counted was chosen when the profile was opened.
    pub window: Option<TimeRange>,
    /// The filters in words, for people.
    pub words: Vec<String>,
    /// What was named and is not in the profile.
    pub absent: Vec<String>,
}

impl Filter {
    /// Whether it selects among the cells of a rank, not only ranks.
    pub fn selects_cells(&self) -> bool {
        let lists = [&self.comms, &self.ops, &self.buckets, &self.phases, &self.sites];
        lists.into_iter().any(|list| list.is_some()) || self.time.is_some()
    }

    /// Whether it selects among the calls on a communicator.
    pub fn selects_calls(&self) -> bool {
        let lists = [&self.ops, &self.buckets, &self.phases, &self.sites];
        lists.into_iter().any(|list| list.is_some()) || self.time.is_some()
    }

    pub fn has_comm(&self, comm: i64) -> bool {
        self.comms.as_ref().is_none_or(|comms| comms.contains(&comm))
    }

    pub fn has_op(&self, op: i64) -> bool {
        self.ops.as_ref().is_none_or(|ops| ops.contains(&op))
    }

    pub fn has_bucket(&self, bucket: i64) -> bool {
        self.buckets.as_ref().is_none_or(|buckets| buckets.contains(&bucket))
    }

    pub fn has_site(&self, site: Option<i64>) -> bool {
        self.sites.as_ref().is_none_or(|sites| site.is_some_and(|site| sites.contains(&site)))
    }

    pub fn has_rank(&self, rank: i64) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank))
    }

    /// A condition over the table `involvement` (as `x`), whose calls have no size and whose time is in the row `*`, and the
    /// values of its parameters.
    pub fn involvement_condition(&self) -> (String, Vec<Value>) {
        let phases = if self.is_phased { &self.phases } else { &None };
        membership(&[("op", &self.ops), ("rank", &self.ranks), ("phase", phases)])
    }

    /// The same over the table `datatype_use`, which knows neither sizes nor times nor phases.
    pub fn use_condition(&self) -> (String, Vec<Value>) {
        membership(&[("comm", &self.comms), ("op", &self.ops), ("rank", &self.ranks)])
    }

    /// The same over the table `completed`: operations are those of the calls or of the requests, sizes those of the requests.
    pub fn completed_condition(&self) -> (String, Vec<Value>) {
        let phases = if self.is_phased { &self.phases } else { &None };
        let key = [("comm", &self.comms), ("bucket", &self.buckets), ("rank", &self.ranks), ("phase", phases)];
        let (mut condition, mut values) = membership(&key);
        if self.buckets.is_some() {
            condition += " AND x.started < 65535";
        }
        if self.ops.is_some() {
            let (of_calls, list) = membership(&[("op", &self.ops)]);
            let (of_requests, again) = membership(&[("started", &self.ops)]);
            condition += &format!(" AND ({of_calls} OR {of_requests})");
            values.extend(list.into_iter().chain(again));
        }
        (condition, values)
    }

    /// The same over the table `file_call`.
    pub fn file_condition(&self) -> (String, Vec<Value>) {
        let phases = if self.is_phased { &self.phases } else { &None };
        let key = [("comm", &self.comms), ("op", &self.ops), ("bucket", &self.buckets), ("rank", &self.ranks)];
        membership(&[&key[..], &[("phase", phases)]].concat())
    }

    /// The same over the table `transfer`.
    pub fn transfer_condition(&self) -> (String, Vec<Value>) {
        let key = [("bucket", &self.buckets), ("way", &self.routes), ("rank", &self.ranks), ("site", &self.sites)];
        self.on_comms(self.of_operations(membership(&key)))
    }

    /// The same over the table `event`; its sizes and routes are the caller's.
    pub fn event_condition(&self) -> (String, Vec<Value>) {
        let (mut condition, values) = membership(&[("rank", &self.ranks)]);
        if let Some(TimeRange { low_ns, high_ns }) = self.window {
            condition += &format!(" AND x.begin_ns BETWEEN {low_ns} AND {high_ns}");
        }
        self.on_comms(self.of_operations((condition, values)))
    }

    /// And that the MPI call is one of the operations, or the layer's own function.
    fn of_operations(&self, (mut condition, mut values): (String, Vec<Value>)) -> (String, Vec<Value>) {
        if self.ops.is_some() {
            let (of_ops, list) = membership(&[("op", &self.ops)]);
            let (of_functions, own) = membership(&[("way", &self.functions)]);
            let beside = if self.functions.is_some() { format!(" OR {of_functions}") } else { String::new() };
            condition += &format!(" AND ({of_ops}{beside})");
            values.extend(list.into_iter().chain(own));
        }
        (condition, values)
    }

    /// And that it is on one of the communicators: in the MPI call, or beside it on a communicator of a layer.
    fn on_comms(&self, (mut condition, mut values): (String, Vec<Value>)) -> (String, Vec<Value>) {
        if self.comms.is_some() {
            let (on_comm, list) = membership(&[("comm", &self.comms)]);
            let beside = if self.has_layer_comms { " OR x.layer_comm IN (SELECT value FROM json_each(?))" } else { "" };
            condition += &format!(" AND ({on_comm}{beside})");
            values.extend(if self.has_layer_comms { [list.clone(), list].concat() } else { list });
        }
        (condition, values)
    }

    pub fn edge_condition(&self) -> (String, Vec<Value>) {
        membership(&[("comm", &self.comms), ("op", &self.ops), ("src", &self.ranks)])
    }
}

/// That each column is among its numbers. A list is one parameter, because SQLite limits how many there may be.
fn membership(columns: &[(&str, &Option<BTreeSet<i64>>)]) -> (String, Vec<Value>) {
    let mut condition = "true".to_owned();
    let mut values = Vec::new();
    for (column, numbers) in columns.iter().filter_map(|(column, numbers)| Some((column, numbers.as_ref()?))) {
        let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
        condition += &format!(" AND x.{column} IN (SELECT value FROM json_each(?))");
        values.push(Value::from(format!("[{}]", words.join(","))));
    }
    (condition, values)
}
