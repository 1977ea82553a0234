//! The timeline of one process, on the clock of rank 0.

use super::item::{Clock, Context, Event, Item};
use super::layers::Numbers;
use super::resolved::Resolved;
use crate::shard::{self, CALL, Header, LAYER, RECEIVED};

/// Events in the order of their begin, made into items when they are asked for.
pub struct Timeline {
    clock: Option<Clock>,
    converted: Converted,
    events: Vec<(u32, shard::Event)>,
    order: std::vec::IntoIter<u32>,
    numbers: Numbers,
    next: u32,
}

impl Timeline {
    pub fn of(resolved: &mut Resolved) -> Timeline {
        let mut events = resolved.take_events();
        // Not the events themselves: sorting them in place takes half their memory again.
        let mut order: Vec<u32> = (0..events.len() as u32).collect();
        order.sort_by_key(|at| {
            let (thread, event) = &events[*at as usize];
            (position_ticks(event), *thread, event.kind)
        });
        move_to_causes(&mut events, &order);
        let header = &resolved.shard().header;
        let sync = |sync: &shard::Sync| (sync.monotonic_ns > 0).then_some((sync.offset_ns, sync.error_ns));
        let clock = Clock {
            rank: resolved.rank(),
            syncs: [sync(&header.syncs[0]), sync(&header.syncs[1])],
            events: events.len() as u64,
            lost_events: header.lost_events,
        };
        Timeline {
            clock: (header.trace_begin_ns > 0).then_some(clock),
            converted: Converted::of(header, resolved.ns_per_tick()),
            events,
            order: order.into_iter(),
            numbers: Numbers::of(resolved),
            next: 0,
        }
    }

    pub fn next(&mut self, resolved: &Resolved) -> Option<Item> {
        if let Some(clock) = self.clock.take() {
            return Some(Item::Clock(clock));
        }
        let Some(at) = self.order.next() else {
            // Others' are still to come, and their messages to be matched.
            self.events = Vec::new();
            return None;
        };
        let (thread, event) = self.events[at as usize];
        self.next += 1;
        let (begin_ns, end_ns, message) = if event.is_message() {
            let posted = if event.kind == RECEIVED { event.begin_ticks as u32 } else { 0 };
            let message = (event.source(), event.tag(), event.peer, posted);
            (self.converted.ns(event.cause_ticks), None, Some(message))
        } else {
            (self.converted.ns(event.begin_ticks), Some(self.converted.ns(event.end_ticks)), None)
        };
        Some(Item::Event(Event {
            rank: resolved.rank(),
            number: self.next - 1,
            thread,
            kind: event.kind,
            identity: resolved.identity(event.comm),
            operation: event.operation,
            begin_ns,
            end_ns,
            sequence: event.sequence(),
            cause_ns: (event.cause_ticks > 0).then(|| self.converted.ns(event.cause_ticks)),
            bytes: event.bytes,
            route: if event.kind == LAYER { self.numbers.route(event.route) } else { 0 },
            context: if event.kind == LAYER { self.numbers.context(event.route) } else { Context::NONE },
            peer: if event.kind == LAYER { self.numbers.peer(event.peer) } else { 0 },
            message,
            site: match event.kind {
                LAYER => self.numbers.context(event.route).site,
                _ => event.site().map_or(0, |site| resolved.site(site)),
            },
        }))
    }
}

/// Receives have no begin: they follow the call that completed them.
fn position_ticks(event: &shard::Event) -> u64 {
    if event.kind == RECEIVED { event.cause_ticks } else { event.begin_ticks }
}

/// What a layer did was written down by the thread that completed it, and belongs to the one whose call began it.
fn move_to_causes(events: &mut [(u32, shard::Event)], order: &[u32]) {
    for at in 0..events.len() {
        let (thread, event) = events[at];
        if event.kind != LAYER || event.cause_ticks == 0 {
            continue;
        }
        let first = order.partition_point(|at| position_ticks(&events[*at as usize].1) < event.cause_ticks);
        let behind = order[first..].iter().map(|at| &events[*at as usize]);
        let begun = behind.take_while(|(_, other)| position_ticks(other) == event.cause_ticks);
        let mut causes = begun.filter(|(_, other)| other.kind == CALL).map(|(thread, _)| *thread).peekable();
        let Some(other) = causes.peek().copied() else { continue };
        if !causes.any(|cause| cause == thread) {
            events[at].0 = other;
        }
    }
}

/// Quartz drifts by 10⁻⁴ at most, and NTP turns a clock by 5·10⁻⁴ at most. What seems to be more is the error of two comparisons that
/// lie close together.
const MOST_DRIFT: f64 = 1e-3;

/// Ticks of a process as nanoseconds since the begin of the timeline, on the clock of rank 0.
struct Converted {
    started: shard::Moment,
    ns_per_tick: f64,
    begin_ns: u64,
    /// What is added at one moment, and how that changes with each nanosecond from there.
    from_ns: u64,
    offset_ns: f64,
    drift: f64,
}

impl Converted {
    fn of(header: &Header, ns_per_tick: f64) -> Converted {
        let [first, last] = header.syncs;
        let span_ns = last.monotonic_ns.saturating_sub(first.monotonic_ns);
        // Clocks that are compared once only are taken to go alike.
        let (drift, best) = match first.monotonic_ns > 0 && span_ns > 0 {
            true => match last.offset_ns.wrapping_sub(first.offset_ns) as f64 / span_ns as f64 {
                drift if drift.abs() <= MOST_DRIFT => (drift, first),
                _ if first.error_ns <= last.error_ns => (0.0, first),
                _ => (0.0, last),
            },
            false => (0.0, first),
        };
        Converted {
            started: header.started,
            ns_per_tick,
            begin_ns: header.trace_begin_ns,
            from_ns: best.monotonic_ns,
            offset_ns: best.offset_ns as f64,
            drift,
        }
    }

    fn ns(&self, ticks: u64) -> i64 {
        let since_start_ns = ticks.wrapping_sub(self.started.ticks) as i64 as f64 * self.ns_per_tick;
        let since_sync_ns = self.started.monotonic_ns.wrapping_sub(self.from_ns) as i64 as f64 + since_start_ns;
        let base_ns = self.started.monotonic_ns.wrapping_sub(self.begin_ns) as i64;
        base_ns.wrapping_add((since_start_ns + self.offset_ns + self.drift * since_sync_ns).round() as i64)
    }
}
