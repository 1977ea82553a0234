//! The timeline: events one by one, and which message arrived where.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Row;
use rusqlite::types::Value;

use super::catalog::{Catalog, unsigned};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// Values of the column `kind`.
pub const CALL: i64 = 0;
const LAYER: i64 = 1;
pub const SENT: i64 = 2;
pub const RECEIVED: i64 = 3;

/// Something that happened on one rank; times are on the clock of rank 0.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub rank: i64,
    pub thread: i64,
    pub begin_ns: i64,
    pub comm: i64,
    pub op: i64,
    pub bytes: u64,
    /// Where the call was made, where calls were counted by call site.
    pub site: Option<i64>,
    pub what: What,
}

#[derive(Clone, Copy, Debug)]
pub enum What {
    Call {
        end_ns: i64,
    },
    /// What a layer below MPI did.
    Layer {
        end_ns: i64,
        route: i64,
        peer: i64,
        cause_ns: Option<i64>,
    },
    /// A message that the call beginning now sent: its number, if it is known where it arrived.
    Sent(Option<u64>),
    /// One that came with the call beginning now.
    Received(Option<u64>),
}

/// Processes with a timeline.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub rank: i64,
    /// The larger of both errors; none where the clock was never compared.
    pub error_ns: Option<i64>,
    /// Whether it was compared at the end, too.
    pub is_compared_twice: bool,
    pub events: i64,
    pub lost_events: i64,
}

pub fn clocks(profile: &Profile) -> Result<Vec<Clock>, Error> {
    if !profile.has_transfers() {
        return Ok(Vec::new());
    }
    let sql = "SELECT rank, begin_error_ns, end_error_ns, events, lost_events FROM clock ORDER BY rank";
    profile.query(sql, vec![], |row| {
        let (begin, end): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
        Ok(Clock {
            rank: row.get(0)?,
            error_ns: begin.max(end),
            is_compared_twice: begin.is_some() && end.is_some(),
            events: row.get(3)?,
            lost_events: row.get(4)?,
        })
    })
}

/// Which messages arrived where.
#[derive(Debug, Default)]
pub struct Messages {
    /// The number of a message by the event of its sending, and by that of its arrival.
    numbers: HashMap<i64, u64>,
    pub matched: u64,
    pub unmatched: u64,
}

/// Of one communicator: from which rank of it, to which world rank, with which tag.
type Channel = (i64, i64, i64, i64);

/// The events of a channel, in the order in which messages were sent, or their receives posted, with their bytes.
#[derive(Default)]
struct Ends {
    sent: Vec<(i64, i64, i64)>,
    received: Vec<(i64, i64, i64)>,
    sender: i64,
}

impl Messages {
    /// The number of the message that an event sent, or received, if both ends are known.
    pub fn number(&self, event: i64) -> Option<u64> {
        self.numbers.get(&event).copied()
    }

    /// MPI delivers the messages of a channel in the order in which they were sent, to receives in the order in which they were
    /// posted (MPI-4.1, 3.5). Where early events made room for later ones, the last ones belong together, if both ranks finished: then
    /// nothing was left on the way.
    pub fn read(profile: &Profile, catalog: &Catalog, clocks: &[Clock]) -> Result<Messages, Error> {
        let mut channels: BTreeMap<Channel, Ends> = BTreeMap::new();
        let sql = "SELECT rowid, kind, comm, source, CASE kind WHEN 2 THEN peer ELSE rank END, tag, \
                   CASE kind WHEN 2 THEN begin_ns ELSE posted END, rank, bytes FROM event WHERE kind IN (2, 3)";
        profile.query::<(), ()>(sql, vec![], |row| {
            let channel = (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
            let ends = channels.entry(channel).or_default();
            let end = (row.get(6)?, row.get(0)?, row.get(8)?);
            match row.get(1)? {
                SENT => {
                    ends.sender = row.get(7)?;
                    ends.sent.push(end);
                }
                _ => ends.received.push(end),
            }
            Ok(())
        })?;
        let losers: HashSet<i64> =
            clocks.iter().filter(|clock| clock.lost_events > 0).map(|clock| clock.rank).collect();
        let finished = catalog.processes.iter().filter(|process| process.state == "finished");
        let finished: HashSet<i64> = finished.map(|process| process.rank).collect();
        let mut messages = Messages::default();
        for ((_, _, receiver, _), mut ends) in channels {
            ends.sent.sort_unstable();
            ends.received.sort_unstable();
            let (sent, received) = (ends.sent.len(), ends.received.len());
            let pairs = sent.min(received);
            let are_finished = finished.contains(&ends.sender) && finished.contains(&receiver);
            let (skipped_sent, skipped_received, is_known) =
                match losers.contains(&ends.sender) || losers.contains(&receiver) {
                    true => (sent - pairs, received - pairs, are_finished),
                    // What was not received when the program ended comes last.
                    false => (0, 0, sent == received || !are_finished),
                };
            let both = ends.sent[skipped_sent..].iter().zip(&ends.received[skipped_received..]);
            // A message arrives with the bytes it was sent with: else something is missing between, as where counting paused.
            if !is_known || both.clone().any(|((.., sent_bytes), (.., bytes))| sent_bytes != bytes) {
                messages.unmatched += sent.max(received) as u64;
                continue;
            }
            messages.unmatched += (sent.max(received) - pairs) as u64;
            for ((_, sent, _), (_, received, _)) in both {
                messages.numbers.insert(*sent, messages.matched);
                messages.numbers.insert(*received, messages.matched);
                messages.matched += 1;
            }
        }
        Ok(messages)
    }
}

/// Hands over every event that the filter leaves, rank by rank in the order of their begin, until `take` wants no more.
pub fn each(
    profile: &Profile,
    filter: &Filter,
    catalog: &Catalog,
    messages: &Messages,
    mut take: impl FnMut(Event) -> bool,
) -> Result<(), Error> {
    let (condition, values): (String, Vec<Value>) = filter.event_condition();
    let site = if profile.has_sites() { "x.site" } else { "NULL" };
    let sql = format!(
        "SELECT x.rowid, x.rank, x.thread, x.kind, x.begin_ns, x.end_ns, x.cause_ns, x.comm, x.op, x.bytes, x.way, x.peer, {site} \
         FROM event x WHERE {condition} ORDER BY x.rowid"
    );
    let mut goes_on = true;
    profile.query::<(), ()>(&sql, values, |row| {
        if goes_on && let Some(event) = event(row, messages)?.filter(|event| is_left(event, filter, catalog)) {
            goes_on = take(event);
        }
        Ok(())
    })
}

fn event(row: &Row, messages: &Messages) -> rusqlite::Result<Option<Event>> {
    let begin_ns = row.get(4)?;
    let end_ns = row.get::<_, Option<i64>>(5)?.unwrap_or(begin_ns).max(begin_ns);
    let number = messages.number(row.get(0)?);
    let what = match row.get(3)? {
        CALL => What::Call { end_ns },
        LAYER => What::Layer {
            end_ns,
            route: row.get::<_, Option<i64>>(10)?.unwrap_or(0),
            peer: row.get::<_, Option<i64>>(11)?.unwrap_or(-1),
            cause_ns: row.get(6)?,
        },
        SENT => What::Sent(number),
        RECEIVED => What::Received(number),
        _ => return Ok(None),
    };
    Ok(Some(Event {
        rank: row.get(1)?,
        thread: row.get(2)?,
        begin_ns,
        comm: row.get(7)?,
        op: row.get(8)?,
        bytes: unsigned(row.get(9)?),
        site: row.get(12)?,
        what,
    }))
}

/// Whether the filters by size and route leave it.
fn is_left(event: &Event, filter: &Filter, catalog: &Catalog) -> bool {
    let route = match event.what {
        What::Layer { route, .. } => Some(route),
        _ => None,
    };
    let holds = |bucket: &i64| {
        let bounds = catalog.buckets.get(bucket);
        bounds.is_some_and(|bucket| {
            (event.bytes > bucket.lo || bucket.lo == 0) && bucket.hi.is_none_or(|high| event.bytes <= high)
        })
    };
    filter.buckets.as_ref().is_none_or(|buckets| buckets.iter().any(holds))
        && route.is_none_or(|route| filter.routes.as_ref().is_none_or(|routes| routes.contains(&route)))
}
