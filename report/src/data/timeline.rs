//! The timeline of a window: calls of every rank, messages between them, and what layers did, which other pictures show of a part of it.

use std::collections::HashMap;

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::flows::has_peer;
use through_core::query::hosts::Ends;
use through_core::query::open::Profile;
use through_core::query::range::TimeRange;
use through_core::query::timeline::{Event, Messages, What, clocks, each};
use through_core::query::transfers::End;

use super::cells::part_of;
use super::flows::{AtEnds, number};
use super::layers::places;
use super::lists::Lists;
use crate::pack::Columns;

/// Calls, and operations of layers in the page: in all at most some 5 MB of it. A longer window ends where they are used up.
/// A call takes 3 to 8 bytes of the page, and a message less.
const MOST_CALLS: usize = 200_000;
const MOST_OPERATIONS: usize = 100_000;
const MOST_MESSAGES: usize = 300_000;

pub fn timeline(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    window: Option<TimeRange>,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    if clocks(profile)?.is_empty() {
        return Ok(None);
    }
    let none = Messages::default();
    let read = |messages: &Messages, take: &mut dyn FnMut(Event)| {
        each(profile, &Filter::default(), catalog, messages, |event| {
            take(event);
            true
        })
    };
    let (mut begins, mut operations): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut all = 0;
    let low = window.map_or(i64::MIN, |window| window.low_ns);
    let high = window.map_or(i64::MAX, |window| window.high_ns);
    read(&none, &mut |event| {
        if let What::Call { end_ns } = event.what {
            all += 1;
            if end_ns >= low && event.begin_ns <= high {
                begins.push(event.begin_ns);
            }
        }
        if matches!(event.what, What::Layer { .. }) && event.begin_ns >= low && event.begin_ns <= high {
            operations.push(event.begin_ns);
        }
    })?;
    if all == 0 {
        return Ok(None);
    }
    // Up to when there is room for all of them.
    let mut until = high;
    for (begins, most) in [(&mut begins, MOST_CALLS), (&mut operations, MOST_OPERATIONS)] {
        if begins.len() > most {
            let (_, last, _) = begins.select_nth_unstable(most);
            until = (*last).min(until);
        }
    }
    let is_shown = |event: &Event, end_ns: i64| {
        end_ns >= low && event.begin_ns <= high && (event.begin_ns < until || until == high)
    };
    let messages = Messages::read(profile, catalog)?;
    let mut calls: Vec<Call> = Vec::new();
    let mut begun = Begun::default();
    // Ends of messages: the calls that sent and received them.
    let mut sent: HashMap<u64, (Place, u64)> = HashMap::new();
    let mut received: Vec<(u64, Place)> = Vec::new();
    let has_begun =
        |event: &Event| event.begin_ns >= low && event.begin_ns <= high && (event.begin_ns < until || until == high);
    read(&messages, &mut |event| {
        if has_begun(&event) {
            begun.add(&event);
        }
        match event.what {
            What::Call { end_ns } if is_shown(&event, end_ns) && calls.len() < 2 * MOST_CALLS => {
                calls.push((event, end_ns));
            }
            What::Sent { number: Some(number), .. } => {
                sent.insert(number, (place(&event), event.bytes));
            }
            What::Received(Some(number)) => received.push((number, place(&event))),
            _ => {}
        }
    })?;
    if calls.len() < all {
        caps.push(format!(
            "The timeline has {}: {}. --window BEGIN:END chooses another part; `through export perfetto` has everything.",
            part_of(calls.len(), all, "call"),
            if window.is_some() { "those in the window" } else { "the first ones" }
        ));
    }
    calls.sort_by_key(|(event, _)| place(event));
    if calls.is_empty() {
        return Ok(None);
    }
    let (sends, moved, memories, far) = begun.columns(profile, catalog, lists)?;
    Ok(Some(json!({
        "calls": calls_json(&calls, lists),
        "messages": messages_json(&calls, &sent, &received),
        "sent": sends,
        "moved": moved,
        "far": far,
        "memories": memories,
        "until_ns": (until != high).then_some(until),
        "all": all,
        "shown": calls.len(),
    })))
}

/// What a call is found by: its rank, its thread, and when it began.
type Place = (i64, i64, i64);

fn place(event: &Event) -> Place {
    (event.rank, event.thread, event.begin_ns)
}

/// A call, and its end.
type Call = (Event, i64);

/// Of calls sorted by their place.
fn calls_json(calls: &[Call], lists: &Lists) -> Value {
    let mut columns = Columns::default();
    columns.add_differences("rank", calls.iter().map(|(event, _)| event.rank));
    columns.add_differences("thread", calls.iter().map(|(event, _)| event.thread));
    columns.add_differences("begin_ns", calls.iter().map(|(event, _)| event.begin_ns));
    columns.add("length_ns", calls.iter().map(|(event, end_ns)| end_ns.saturating_sub(event.begin_ns)));
    columns.add("comm", calls.iter().map(|(event, _)| lists.comm(event.comm) as i64));
    columns.add("op", calls.iter().map(|(event, _)| lists.op(event.op) as i64));
    columns.add("bytes", calls.iter().map(|(event, _)| event.bytes.min(i64::MAX as u64) as i64));
    // Of communicators that are added up the numbers would meet.
    let sequence = |event: &Event| event.sequence.filter(|_| lists.is_single(event.comm)).unwrap_or(0);
    columns.add_differences("sequence", calls.iter().map(|(event, _)| sequence(event)));
    columns.finish()
}

/// Messages of which both calls are among these: where in the list they are.
fn messages_json(calls: &[Call], sent: &HashMap<u64, (Place, u64)>, received: &[(u64, Place)]) -> Value {
    let at = |end: &Place| calls.binary_search_by_key(end, |(event, _)| place(event)).ok().map(|at| at as i64);
    let mut messages: Vec<[i64; 3]> = received
        .iter()
        .filter_map(|(number, receiver)| {
            let (sender, bytes) = sent.get(number)?;
            Some([at(receiver)?, at(sender)?, (*bytes).min(i64::MAX as u64) as i64])
        })
        .take(MOST_MESSAGES)
        .collect();
    messages.sort_unstable();
    let mut columns = Columns::default();
    for (at, name) in ["receive", "send", "bytes"].into_iter().enumerate() {
        columns.add_differences(name, messages.iter().map(|message| message[at]));
    }
    columns.finish()
}

/// Messages and operations of layers that began in the window: what other pictures show of it.
#[derive(Default)]
struct Begun {
    sent: Vec<(Event, i64)>,
    moved: Vec<(Event, i64, i64)>,
}

impl Begun {
    fn add(&mut self, event: &Event) {
        match event.what {
            What::Sent { peer, .. } => self.sent.push((*event, number(End::of_peer(peer)))),
            What::Layer { route, peer, .. } => self.moved.push((*event, route, number(End::of_peer(peer)))),
            _ => {}
        }
    }

    /// Both, and the names of devices at other ends.
    fn columns(
        &self,
        profile: &Profile,
        catalog: &Catalog,
        lists: &Lists,
    ) -> Result<(Value, Value, Value, Value), Error> {
        let places = places(catalog);
        let moved: Vec<_> = self.moved.iter().filter(|(_, route, _)| places.contains_key(route)).collect();
        let bytes = |event: &Event| event.bytes.min(i64::MAX as u64) as i64;
        let ends = Ends::of_memories(profile, catalog)?;
        let mut at_ends = AtEnds::read(profile, catalog, &ends)?;
        let (mut sends, mut moves) = (Columns::default(), Columns::default());
        sends.add_differences("src", self.sent.iter().map(|(event, _)| event.rank));
        sends.add_differences("dst", self.sent.iter().map(|(_, peer)| *peer));
        sends.add_differences("begin_ns", self.sent.iter().map(|(event, _)| event.begin_ns));
        sends.add("comm", self.sent.iter().map(|(event, _)| lists.comm(event.comm) as i64));
        sends.add("op", self.sent.iter().map(|(event, _)| lists.op(event.op) as i64));
        sends.add("bytes", self.sent.iter().map(|(event, _)| bytes(event)));
        moves.add_differences("route", moved.iter().map(|(_, route, _)| places[route] as i64));
        moves.add_differences("rank", moved.iter().map(|(event, ..)| event.rank));
        moves.add_differences("peer", moved.iter().map(|(.., peer)| *peer));
        moves.add_differences("far", moved.iter().map(|(_, route, peer)| at_ends.place(*route, *peer)));
        let of = |(event, route, peer): &&(Event, i64, i64)| at_ends.memories_of(*route, event.rank, *peer);
        let memories: Vec<[i64; 2]> = moved.iter().map(of).collect();
        moves.add_differences("from_memory", memories.iter().map(|[from, _]| *from));
        moves.add_differences("to_memory", memories.iter().map(|[_, to]| *to));
        moves.add_differences("begin_ns", moved.iter().map(|(event, ..)| event.begin_ns));
        moves.add("comm", moved.iter().map(|(event, ..)| lists.comm(event.comm) as i64));
        moves.add("op", moved.iter().map(|(event, ..)| lists.op(event.op) as i64));
        moves.add("bytes", moved.iter().map(|(event, ..)| bytes(event)));
        let is_paired = |route: &i64| catalog.routes.get(route).is_some_and(|route| !route.arrives && has_peer(route));
        moves.add("paired", moved.iter().map(|(_, route, _)| is_paired(route).into()));
        let memories = json!(at_ends.memories());
        Ok((sends.finish(), moves.finish(), memories, json!(at_ends.names())))
    }
}
