//! Which message arrived where, on a timeline.

use std::collections::HashSet;
use std::iter::Peekable;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Row, Rows};

use super::error;

/// Of one communicator: from which rank of it, to which world rank, with which tag. Null, which no profile has that is whole, is less than any number.
type Channel = [Option<i64>; 4];

/// One end of a message, among those of its channel in the order in which they were sent, or their receives posted.
struct End {
    channel: Channel,
    event: i64,
    bytes: i64,
    rank: i64,
}

/// In the metadata: messages of which one end is not known.
pub const NOT_MATCHED: &str = "messages_not_matched";

/// Both ends of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Numbers of events.
    pub sent: i64,
    pub received: i64,
}

/// Hands over all messages of which both ends are known, channel by channel; returns how many there are of which one is not.
///
/// MPI delivers the messages of a channel in the order in which they were sent, to receives in the order in which they were
/// posted (MPI-4.1, 3.5). Where early events made room for later ones, the last ones belong together, if both ranks finished: then
/// nothing was left on the way. SQLite sorts the ends, on the disk where they are many: one channel is in memory.
pub fn matched(db: &Connection, mut take: impl FnMut(Message) -> Result<(), Error>) -> Result<u64, Error> {
    let ranks = |sql: &str| db.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<HashSet<i64>, Error>>();
    let losers = ranks("SELECT rank FROM clock WHERE lost_events > 0")?;
    let finished = ranks("SELECT rank FROM process WHERE state = 'finished'")?;
    let mut sent = db.prepare(
        "SELECT comm, source, peer, tag, rowid, bytes, rank FROM event WHERE kind = 2 ORDER BY 1, 2, 3, 4, begin_ns, rowid",
    )?;
    let mut received = db.prepare(
        "SELECT comm, source, rank, tag, rowid, bytes, rank FROM event WHERE kind = 3 ORDER BY 1, 2, 3, 4, posted, rowid",
    )?;
    let (mut sent, mut received) = (ends(sent.query([])?), ends(received.query([])?));
    let mut unmatched = 0u64;
    loop {
        let next = [sent.peek(), received.peek()].map(|next| next.map(channel));
        let Some(channel) = next.into_iter().flatten().min() else { return Ok(unmatched) };
        let (sent, received) = (of_channel(&mut sent, channel)?, of_channel(&mut received, channel)?);
        let ranks = [sent.last().map(|end| end.rank), channel[2]];
        let are_among = |set: &HashSet<i64>| ranks.map(|rank| rank.is_some_and(|rank| set.contains(&rank)));
        let have_lost = are_among(&losers).contains(&true);
        let are_finished = !are_among(&finished).contains(&false);
        let pairs = sent.len().min(received.len());
        let (skipped_sent, skipped_received, is_known) = match have_lost {
            true => (sent.len() - pairs, received.len() - pairs, are_finished),
            // What was not received when the program ended comes last.
            false => (0, 0, sent.len() == received.len() || !are_finished),
        };
        let both = sent[skipped_sent..].iter().zip(&received[skipped_received..]);
        let most = sent.len().max(received.len());
        // A message arrives with the bytes it was sent with: else something is missing between, as where counting paused.
        if !is_known || both.clone().any(|(sent, received)| sent.bytes != received.bytes) {
            unmatched += most as u64;
            continue;
        }
        unmatched += (most - pairs) as u64;
        for (sent, received) in both {
            take(Message { sent: sent.event, received: received.event })?;
        }
    }
}

/// Fills the table of messages. Where there is no room to sort them in, it is left empty: `through` then matches them when it is asked.
pub(super) fn store(db: &Connection) -> Result<(), error::Error> {
    if !db.query_row("SELECT EXISTS (SELECT * FROM clock)", [], |row| row.get(0))? {
        return Ok(());
    }
    let mut insert = db.prepare("INSERT INTO message VALUES (?, ?)")?;
    let mut failed = None;
    let matched = matched(db, |message| {
        insert.execute([message.sent, message.received]).map(drop).map_err(|error| {
            failed = Some(error);
            Error::QueryReturnedNoRows
        })
    });
    match (failed, matched) {
        (Some(error), _) => return Err(error.into()),
        (None, Ok(unmatched)) => {
            let sql = "INSERT INTO metadata VALUES (?, ?)";
            db.execute(sql, [NOT_MATCHED, &unmatched.to_string()])?;
        }
        (None, Err(_)) => _ = db.execute("DELETE FROM message", [])?,
    }
    Ok(())
}

fn ends(rows: Rows<'_>) -> Peekable<impl Iterator<Item = Result<End, Error>>> {
    rows.mapped(end).peekable()
}

fn end(row: &Row) -> Result<End, Error> {
    let number = |at: usize| match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        _ => row.get(at).map(Some),
    };
    Ok(End {
        channel: [number(0)?, number(1)?, number(2)?, number(3)?],
        event: row.get(4)?,
        bytes: row.get(5)?,
        rank: row.get(6)?,
    })
}

/// Of an error the first one: it is told when it is taken.
fn channel(next: &Result<End, Error>) -> Channel {
    next.as_ref().map_or([None; 4], |end| end.channel)
}

fn of_channel(
    ends: &mut Peekable<impl Iterator<Item = Result<End, Error>>>,
    channel: Channel,
) -> Result<Vec<End>, Error> {
    let mut found = Vec::new();
    while let Some(end) = ends.next_if(|end| end.as_ref().map_or(true, |end| end.channel == channel)) {
        found.push(end?);
    }
    Ok(found)
}
