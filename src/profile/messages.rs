//! Which message arrived where, on a timeline.

use std::collections::{HashSet, TryReserveError};

use bytemuck::{Pod, Zeroable};
use rusqlite::{Connection, Error, Row, ffi};

use super::batch::Batch;
use super::error;

/// In the metadata: messages of which one end is not known.
pub const NOT_MATCHED: &str = "messages_not_matched";

/// Both ends of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Numbers of events.
    pub sent: i64,
    pub received: i64,
}

/// One end of a message: a channel, then its place among those of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct End {
    pub comm: u32,
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The world rank that it goes to; below zero in another world.
    pub to: i32,
    pub tag: i32,
    /// 1: received.
    pub is_received: u32,
    /// The world rank that has the event.
    pub rank: u32,
    /// When it was sent, or its receive posted.
    pub order: i64,
    /// The number of the event.
    pub event: i64,
    pub bytes: i64,
}

/// Held in memory until they are more bytes; then they go to a temporary file.
const HELD_BYTES: usize = 8 << 20;
/// In that file; SQLite copies a row several times.
const ENDS_OF_A_ROW: usize = 1024;
/// Parts that are matched one after the other, each in memory as a whole: by receiver, for senders are known by their rank in the communicator,
/// which is small in all small ones.
const PARTS: usize = 64;

/// Ends of messages, until all are there.
pub struct Ends {
    parts: [Vec<End>; PARTS],
    held: usize,
    file: Option<Connection>,
}

impl Ends {
    pub fn none() -> Ends {
        Ends { parts: std::array::from_fn(|_| Vec::new()), held: 0, file: None }
    }

    /// Those that the events of a profile tell. A number that does not fit, which no profile has that is whole, is left out.
    fn of(db: &Connection) -> Result<Ends, Error> {
        let mut ends = Ends::none();
        let sql = "SELECT comm, source, CASE kind WHEN 2 THEN peer ELSE rank END, tag, kind = 3, rank, \
                   CASE kind WHEN 2 THEN begin_ns ELSE posted END, rowid, bytes FROM event WHERE kind IN (2, 3)";
        let mut events = db.prepare(sql)?;
        let mut rows = events.query([])?;
        while let Some(row) = rows.next()? {
            end(row).map_or(Ok(()), |end| ends.add(end))?;
        }
        Ok(ends)
    }

    pub fn add(&mut self, end: End) -> Result<(), Error> {
        // What goes to other worlds is one part.
        let part = usize::try_from(end.to).map_or(0, |to| to % PARTS);
        self.parts[part].push(end);
        self.held += size_of::<End>();
        if self.held < HELD_BYTES { Ok(()) } else { self.put_aside() }
    }

    fn put_aside(&mut self) -> Result<(), Error> {
        if self.file.is_none() {
            // Without a name: <https://sqlite.org/inmemorydb.html#temp_db>.
            let file = Connection::open("")?;
            file.execute_batch(
                "PRAGMA journal_mode = OFF; PRAGMA cache_size = -1024; CREATE TABLE aside (part, ends)",
            )?;
            self.file = Some(file);
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut insert = file.prepare_cached("INSERT INTO aside VALUES (?, ?)")?;
        for (part, ends) in self.parts.iter_mut().enumerate().filter(|(_, ends)| !ends.is_empty()) {
            for some in ends.chunks(ENDS_OF_A_ROW) {
                insert.execute((part as i64, bytemuck::cast_slice::<End, u8>(some)))?;
            }
            *ends = Vec::new();
        }
        self.held = 0;
        Ok(())
    }

    /// All of one part.
    fn part(&mut self, part: usize) -> Result<Vec<End>, Error> {
        let mut ends = std::mem::take(&mut self.parts[part]);
        if let Some(file) = &self.file {
            let mut aside = file.prepare_cached("SELECT ends FROM aside WHERE part = ?")?;
            let mut rows = aside.query([part as i64])?;
            while let Some(row) = rows.next()? {
                let bytes = row.get_ref(0)?.as_blob()?;
                ends.try_reserve(bytes.len() / size_of::<End>()).map_err(no_memory)?;
                ends.extend(bytes.chunks_exact(size_of::<End>()).map(bytemuck::pod_read_unaligned::<End>));
            }
        }
        Ok(ends)
    }

    /// Hands over all messages of which both ends are known; returns how many there are of which one is not.
    fn matched(mut self, db: &Connection, mut take: impl FnMut(Message) -> Result<(), Error>) -> Result<u64, Error> {
        let told = Told::by(db)?;
        let mut unmatched = 0;
        for part in 0..PARTS {
            let mut ends = self.part(part)?;
            ends.sort_unstable();
            let mut messages = Vec::new();
            messages.try_reserve(ends.len() / 2).map_err(no_memory)?;
            for channel in ends.chunk_by(|a, b| (a.comm, a.source, a.to, a.tag) == (b.comm, b.source, b.to, b.tag)) {
                unmatched += told.add_matched(channel, &mut messages);
            }
            messages.sort_unstable_by_key(|message| message.sent);
            messages.into_iter().try_for_each(&mut take)?;
        }
        Ok(unmatched)
    }
}

/// Room for them is a wish: a program that has little memory left keeps it.
fn no_memory(_: TryReserveError) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOMEM), None)
}

/// What is told of ranks.
struct Told {
    /// Whose early events made room for later ones.
    losers: HashSet<i64>,
    finished: HashSet<i64>,
}

impl Told {
    fn by(db: &Connection) -> Result<Told, Error> {
        let ranks = |sql: &str| db.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, Error>>();
        Ok(Told {
            losers: ranks("SELECT rank FROM clock WHERE lost_events > 0")?,
            finished: ranks("SELECT rank FROM process WHERE state = 'finished'")?,
        })
    }

    /// MPI delivers the messages of a channel in the order in which they were sent, to receives in the order in which they were
    /// posted (MPI-4.1, 3.5). Where early events made room for later ones, the last ones belong together, if both ranks finished: then
    /// nothing was left on the way. Returns how many messages lack an end.
    fn add_matched(&self, channel: &[End], messages: &mut Vec<Message>) -> u64 {
        let (sent, received) = channel.split_at(channel.partition_point(|end| end.is_received == 0));
        let ranks = [sent.last().map(|end| end.rank.into()), Some(i64::from(channel[0].to))];
        let are_among = |set: &HashSet<i64>| ranks.map(|rank| rank.is_some_and(|rank| set.contains(&rank)));
        let have_lost = are_among(&self.losers).contains(&true);
        let are_finished = !are_among(&self.finished).contains(&false);
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
            return most as u64;
        }
        messages.extend(both.map(|(sent, received)| Message { sent: sent.event, received: received.event }));
        (most - pairs) as u64
    }
}

/// The same of a profile, from its events.
pub fn matched(db: &Connection, take: impl FnMut(Message) -> Result<(), Error>) -> Result<u64, Error> {
    Ends::of(db)?.matched(db, take)
}

/// Fills the table of messages. Where there is no room for their ends, it is left empty: `through` then matches them when it is asked.
pub(super) fn store(db: &Connection, ends: Ends) -> Result<(), error::Error> {
    let mut batch = Batch::new(db, "message", "", 2);
    let mut failed = None;
    let matched = ends.matched(db, |message| {
        batch.add([message.sent, message.received].map(Some)).map_err(|error| {
            failed = Some(error);
            Error::QueryReturnedNoRows
        })
    });
    match (failed, matched) {
        (Some(error), _) => return Err(error.into()),
        (None, Ok(unmatched)) => {
            batch.finish()?;
            let sql = "INSERT INTO metadata VALUES (?, ?)";
            db.execute(sql, [NOT_MATCHED, &unmatched.to_string()])?;
        }
        (None, Err(_)) => _ = db.execute("DELETE FROM message", [])?,
    }
    Ok(())
}

fn end(row: &Row) -> Option<End> {
    Some(End {
        comm: row.get(0).ok()?,
        source: row.get(1).ok()?,
        to: row.get(2).ok()?,
        tag: row.get(3).ok()?,
        is_received: row.get(4).ok()?,
        rank: row.get(5).ok()?,
        order: row.get(6).ok()?,
        event: row.get(7).ok()?,
        bytes: row.get(8).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::SCHEMA;

    /// Ranks that sent each other some messages each; the receives were posted from the last to the first.
    fn ends(ranks: u32, each: i64, put_aside_after: i64) -> Ends {
        let mut ends = Ends::none();
        let mut event = 0;
        let of = |source, to, is_received, rank, order, event, bytes| End {
            comm: 2,
            source,
            to,
            tag: 1,
            is_received,
            rank,
            order,
            event,
            bytes,
        };
        for rank in 0..ranks {
            for other in 0..ranks {
                for number in 0..each {
                    let (sent, received) = (number, each - 1 - number);
                    ends.add(of(rank, other as i32, 0, rank, sent, event + 1, sent)).unwrap();
                    ends.add(of(other, rank as i32, 1, rank, received, event + 2, received)).unwrap();
                    event += 2;
                    if event == put_aside_after {
                        ends.put_aside().unwrap();
                    }
                }
            }
        }
        ends
    }

    fn all(ends: Ends) -> (Vec<(i64, i64)>, u64) {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(&SCHEMA).unwrap();
        let mut messages = Vec::new();
        let unmatched = ends.matched(&db, |message| {
            messages.push((message.sent, message.received));
            Ok(())
        });
        (messages, unmatched.unwrap())
    }

    /// Rows of a grid: the same two ranks of each communicator, all over the world.
    #[test]
    fn small_communicators_fill_all_parts() {
        let mut ends = Ends::none();
        for to in 0..1024 {
            let end = End {
                comm: 2 + to / 2,
                source: 0,
                to: to as i32,
                tag: 0,
                is_received: 0,
                rank: to,
                order: 0,
                event: 1,
                bytes: 8,
            };
            ends.add(end).unwrap();
        }
        assert!(ends.parts.iter().all(|part| part.len() == 1024 / PARTS));
    }

    #[test]
    fn ends_that_were_put_aside_are_matched_with_those_in_memory() {
        let (ranks, each) = (5, 3);
        let (messages, unmatched) = all(ends(ranks, each, 0));
        assert_eq!((messages.len(), unmatched), (5 * 5 * 3, 0));
        // The first message of rank 1 to rank 0 came with the last receive that rank 0 has of it.
        let (first_sent, last_received) = (1 + 2 * i64::from(ranks) * each, 2 + 2 * each + 2 * (each - 1));
        assert!(messages.contains(&(first_sent, last_received)), "{messages:?}");
        for put_aside_after in [2, 60, 100, 150] {
            assert_eq!(all(ends(ranks, each, put_aside_after)), (messages.clone(), 0));
        }
    }
}
