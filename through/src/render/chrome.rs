//! The timeline as Chrome and Perfetto read it: the Trace Event Format
//! (<https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>). A process is a rank. Its threads come first,
//! then what each layer did: operations that overlap lie in lanes, because slices of one line must not.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::io::{self, Write};
use std::rc::Rc;

use commsee::ccl;
use serde::Serialize;
use serde_json::json;

use crate::document::{Document, Drawing};
use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::timeline::{Event, Messages, What, each};
use crate::text::escape::visible;
use crate::text::terminal::Terminal;

/// Lines of layers come behind those of threads.
const FIRST_LANE: i64 = 100_000;
const LANES_OF_LAYER: i64 = 10_000;

#[derive(Serialize)]
struct Record<'a> {
    name: &'a str,
    cat: &'a str,
    ph: &'a str,
    /// Microseconds.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: i64,
    tid: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// An arrow ends at the slice around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<serde_json::Value>,
}

/// The events that a filter leaves, drawn as they are read.
pub struct Timeline {
    pub profile: Rc<Profile>,
    pub catalog: Rc<Catalog>,
    pub filter: Rc<Filter>,
    pub messages: Messages,
    /// What stands beside the events.
    pub notes: serde_json::Value,
    /// Set when there was one.
    pub any: Rc<Cell<bool>>,
}

impl Drawing for Timeline {
    fn draw(&self, _: &Document, _: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        let mut chrome = Chrome::begin(&self.catalog, &self.notes, out)?;
        let mut written: io::Result<()> = Ok(());
        let read = each(&self.profile, &self.filter, &self.catalog, &self.messages, |event| {
            self.any.set(true);
            written = chrome.event(&event);
            written.is_ok()
        });
        written?;
        read.map_err(io::Error::other)?;
        chrome.end()
    }
}

struct Chrome<'a, 'b> {
    catalog: &'a Catalog,
    out: &'b mut dyn Write,
    is_first: bool,
    /// Begin and end of the call that each thread was in last.
    last_calls: HashMap<(i64, i64), (i64, i64)>,
    /// Of each rank and layer.
    lanes: HashMap<(i64, usize), Lanes>,
    layers: Vec<&'a str>,
    lines: BTreeMap<(i64, i64), String>,
    causes: u64,
}

/// Operations that come in the order of their begin, each in the first lane where nothing lies any more.
#[derive(Default)]
struct Lanes {
    /// The end of what lies in a lane.
    busy: BinaryHeap<Reverse<(i64, i64)>>,
    free: BTreeSet<i64>,
}

impl Lanes {
    fn take(&mut self, begin_ns: i64, end_ns: i64) -> i64 {
        while let Some(Reverse((_, lane))) =
            self.busy.peek().copied().filter(|Reverse((end_ns, _))| *end_ns <= begin_ns)
        {
            self.busy.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or(self.busy.len() as i64).min(LANES_OF_LAYER - 1);
        self.busy.push(Reverse((end_ns.max(begin_ns.saturating_add(1)), lane)));
        lane
    }
}

impl<'a, 'b> Chrome<'a, 'b> {
    fn begin(catalog: &'a Catalog, notes: &serde_json::Value, out: &'b mut dyn Write) -> io::Result<Chrome<'a, 'b>> {
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{notes},\"traceEvents\":[")?;
        let mut layers: Vec<&str> = catalog.routes.values().map(|route| route.layer.as_str()).collect();
        layers.sort_unstable();
        layers.dedup();
        Ok(Chrome {
            catalog,
            out,
            is_first: true,
            last_calls: HashMap::new(),
            lanes: HashMap::new(),
            layers,
            lines: BTreeMap::new(),
            causes: 0,
        })
    }

    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if std::mem::take(&mut self.is_first) { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *self.out, record).map_err(io::Error::from)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let at = (event.rank, event.thread);
        match event.what {
            What::Call { end_ns } => {
                self.last_calls.insert(at, (event.begin_ns, end_ns));
                let catalog = self.catalog;
                let name = catalog.operations.get(&event.op).map_or("?", |operation| operation.name.as_str());
                let mut args = json!({ "communicator": self.communicator(event.comm), "bytes": event.bytes });
                if let Some(spot) = event.site.and_then(|site| catalog.sites.spot(site)) {
                    args["at"] = spot.sentence().into();
                }
                self.line(at, || format!("thread {}", event.thread));
                self.slice(name.strip_prefix("MPI_").unwrap_or(name), "mpi", event, end_ns, at, args)
            }
            What::Layer { end_ns, route, peer, cause_ns } => self.layer(event, end_ns, route, peer, cause_ns),
            What::Sent { number: Some(number), .. } => {
                self.arrow("s", "message", event.begin_ns, at, format!("m{number}"))
            }
            What::Received(Some(number)) => match self.last_calls.get(&at) {
                Some((begin_ns, end_ns)) if *begin_ns == event.begin_ns => {
                    let end_ns = end_ns.saturating_sub(1).max(event.begin_ns);
                    self.arrow("f", "message", end_ns, at, format!("m{number}"))
                }
                _ => Ok(()),
            },
            What::Sent { number: None, .. } | What::Received(None) => Ok(()),
        }
    }

    fn layer(&mut self, event: &Event, end_ns: i64, route: i64, peer: i64, cause_ns: Option<i64>) -> io::Result<()> {
        let catalog = self.catalog;
        let Some(route) = catalog.routes.get(&route) else { return Ok(()) };
        let number = self.layers.binary_search(&route.layer.as_str()).unwrap_or(0);
        let lane = self.lanes.entry((event.rank, number)).or_default().take(event.begin_ns, end_ns);
        let at = (event.rank, FIRST_LANE + number as i64 * LANES_OF_LAYER + lane);
        self.line(at, || if lane == 0 { route.layer.clone() } else { format!("{} ({})", route.layer, lane + 1) });
        let peer = match peer {
            -1 => "unknown".to_owned(),
            -2 => "of another MPI_COMM_WORLD".to_owned(),
            rank => format!("rank {rank}"),
        };
        let mut args = json!({
            "communicator": self.communicator(event.comm),
            "operation": catalog.operations.get(&event.op).map(|operation| &operation.name),
            "bytes": event.bytes,
            "protocol": route.protocol,
            "path": route.path(),
        });
        // The peer of a collective is its root, if it has one.
        match ccl::find(&route.function).map(|function| function.kind) {
            Some(ccl::Kind::Collective { has_root: true }) => args["root"] = peer.into(),
            Some(ccl::Kind::Collective { .. } | ccl::Kind::Control) => {}
            _ => args["peer"] = peer.into(),
        }
        self.slice(&route.function, &route.layer, event, end_ns, at, args)?;
        // The call has the same communicator and operation, so the filter leaves both or none.
        let Some(cause_ns) = cause_ns else { return Ok(()) };
        self.causes += 1;
        let id = format!("c{}", self.causes);
        self.arrow("s", "cause", cause_ns, (event.rank, event.thread), id.clone())?;
        self.arrow("f", "cause", event.begin_ns, at, id)
    }

    fn slice(
        &mut self,
        name: &str,
        cat: &str,
        event: &Event,
        end_ns: i64,
        (pid, tid): (i64, i64),
        args: serde_json::Value,
    ) -> io::Result<()> {
        let dur = Some(micros(end_ns.saturating_sub(event.begin_ns)));
        let (name, ts) = (&*visible(name), micros(event.begin_ns));
        self.record(&Record { name, cat, ph: "X", ts, dur, pid, tid, id: None, bp: None, args: Some(args) })
    }

    fn arrow(&mut self, ph: &str, name: &str, at_ns: i64, (pid, tid): (i64, i64), id: String) -> io::Result<()> {
        let bp = (ph == "f").then_some("e");
        self.record(&Record {
            name,
            cat: name,
            ph,
            ts: micros(at_ns),
            dur: None,
            pid,
            tid,
            id: Some(id),
            bp,
            args: None,
        })
    }

    fn communicator(&self, number: i64) -> String {
        let Some(comm) = self.catalog.communicators.get(&number) else { return "?".to_owned() };
        match &comm.label {
            Some(label) => format!("{} ({})", comm.name, visible(label)),
            None => comm.name.clone(),
        }
    }

    fn line(&mut self, at: (i64, i64), name: impl FnOnce() -> String) {
        self.lines.entry(at).or_insert_with(name);
    }

    /// Names of ranks and lines, and the end of the document.
    fn end(mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.lines);
        let mut last = None;
        for ((pid, tid), name) in &lines {
            if last.replace(pid) != Some(pid) {
                let process = self.catalog.processes.iter().find(|process| process.rank == *pid);
                let host = process.map(|process| format!(" on {}", visible(&process.host))).unwrap_or_default();
                let named = json!({ "name": format!("rank {pid}{host}") });
                self.record(&json!({ "name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": named }))?;
                let sorted = json!({ "sort_index": pid });
                self.record(&json!({ "name": "process_sort_index", "ph": "M", "pid": pid, "tid": 0, "args": sorted }))?;
            }
            let named = json!({ "name": visible(name) });
            self.record(&json!({ "name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": named }))?;
            let sorted = json!({ "sort_index": tid });
            self.record(&json!({ "name": "thread_sort_index", "ph": "M", "pid": pid, "tid": tid, "args": sorted }))?;
        }
        self.out.write_all(b"\n]}\n")
    }
}

fn micros(ns: i64) -> f64 {
    ns as f64 / 1000.0
}
