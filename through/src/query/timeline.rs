//! The timeline: events one by one, and which message arrived where.

use std::collections::HashMap;

use commsee::profile::messages::{Message, NOT_MATCHED};
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
    /// Of a collective call: its number on its communicator, the same on all ranks.
    pub sequence: Option<i64>,
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
    /// A message that the call beginning now sent: the rank it went to, and its number, if it is known where it arrived.
    Sent {
        peer: i64,
        number: Option<u64>,
    },
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

impl Messages {
    /// The number of the message that an event sent, or received, if both ends are known.
    pub fn number(&self, event: i64) -> Option<u64> {
        self.numbers.get(&event).copied()
    }

    /// As the profile has them, or, in one that has only their ends, as these belong together.
    pub fn read(profile: &Profile, catalog: &Catalog) -> Result<Messages, Error> {
        let mut messages = Messages::default();
        match catalog.meta(NOT_MATCHED) {
            Some(unmatched) => {
                let sql = "SELECT sent, received FROM message";
                profile.query::<(), ()>(sql, vec![], |row| {
                    messages.add(Message { sent: row.get(0)?, received: row.get(1)? });
                    Ok(())
                })?;
                messages.unmatched = unmatched.parse().unwrap_or(0);
            }
            None => messages.unmatched = profile.match_messages(|message| messages.add(message))?,
        }
        Ok(messages)
    }

    fn add(&mut self, Message { sent, received }: Message) {
        self.numbers.extend([sent, received].map(|event| (event, self.matched)));
        self.matched += 1;
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
    let sql = format!(
        "SELECT x.rowid, x.rank, x.thread, x.kind, x.begin_ns, x.end_ns, x.cause_ns, x.comm, x.op, x.bytes, x.way, x.peer, x.site, x.sequence \
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
        SENT => What::Sent { peer: row.get::<_, Option<i64>>(11)?.unwrap_or(-1), number },
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
        sequence: row.get(13)?,
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
