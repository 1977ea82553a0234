//! Waiting from a timeline, by Scalasca's definitions, up to the error of the clocks.

use std::collections::{BTreeMap, HashMap};

use commsee::shard::Event;

use super::{State, all_to_all, named};
use crate::query::Error;
use crate::query::catalog::{Catalog, unsigned};
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::source::{Relation, Source};
use crate::query::timeline::{CALL, Clock, Messages, RECEIVED, SENT, clocks};
use crate::text::units;

/// What a rank waited in calls of one kind, for one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub comm: i64,
    pub op: i64,
    pub rank: i64,
    pub state: State,
    /// Who came last.
    pub late_rank: i64,
    /// The call's.
    pub site: Option<i64>,
    pub times: u64,
    pub wait_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Timed {
    pub waited: Vec<Waited>,
    /// Of any two clocks, at most.
    pub error_ns: i64,
    /// Events that are missing since later ones took their place.
    pub lost_events: i64,
    /// The size of `COMMSEE_TRACE` that keeps all of them.
    pub bytes_for_all: u64,
    /// Messages whose other end is not known.
    pub unmatched: u64,
    /// Calls with a root that is not known, since several ranks were root, by communicator and operation.
    pub rootless: BTreeMap<(i64, i64), u64>,
}

impl Timed {
    /// Whether it tells of the whole run. Else its times are at least those that ranks waited.
    pub fn is_whole(&self) -> bool {
        self.lost_events == 0
    }

    /// `7 events of the timeline were overwritten`
    pub fn lost(&self) -> String {
        format!("{} of the timeline were overwritten", units::count(self.lost_events.max(0) as u64, "event"))
    }
}

#[derive(Clone, Copy, Debug)]
struct Call {
    rank: i64,
    comm: i64,
    op: i64,
    begin_ns: i64,
    end_ns: i64,
    site: Option<i64>,
}

/// The sending end of a message, and the call that received it.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    sent: Option<usize>,
    received: Option<usize>,
}

/// Nothing: there is no timeline.
pub fn timed(profile: &Profile, catalog: &Catalog) -> Result<Option<Timed>, Error> {
    let clocks = clocks(profile)?;
    if clocks.is_empty() {
        return Ok(None);
    }
    let messages = Messages::read(profile, catalog)?;
    let events = Events::read(profile, &messages)?;
    let mut errors: Vec<i64> = clocks.iter().filter_map(|clock| clock.error_ns).collect();
    errors.sort_unstable();
    let mut sums = Sums::default();
    events.point_to_point(catalog, &mut sums);
    let rootless = events.collectives(catalog, &roots(profile, catalog)?, &mut sums);
    Ok(Some(Timed {
        waited: sums.list(),
        error_ns: errors.iter().rev().take(2).fold(0, |sum, error_ns| sum.saturating_add(*error_ns)),
        lost_events: clocks.iter().fold(0, |sum, clock| sum.saturating_add(clock.lost_events)),
        bytes_for_all: clocks.iter().map(room).max().unwrap_or_default(),
        unmatched: messages.unmatched,
        rootless,
    }))
}

/// With a quarter more, since another run differs, and to a power of two.
fn room(clock: &Clock) -> u64 {
    let events = clock.events.max(0).saturating_add(clock.lost_events.max(0)) as u64;
    (events.saturating_mul(size_of::<Event>() as u64) / 4)
        .saturating_mul(5)
        .clamp(1, 1 << 60)
        .next_power_of_two()
        .max(1 << 20)
}

/// Communicator, operation, rank, state, the rank that came last, and the site of the call.
type Key = (i64, i64, i64, State, i64, Option<i64>);

/// How often, and how long.
#[derive(Default)]
struct Sums(HashMap<Key, (u64, i64)>);

impl Sums {
    fn add(&mut self, call: &Call, state: State, late_rank: i64, wait_ns: i64) {
        if wait_ns <= 0 {
            return;
        }
        let sum = self.0.entry((call.comm, call.op, call.rank, state, late_rank, call.site)).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(wait_ns));
    }

    fn list(self) -> Vec<Waited> {
        let waited = |((comm, op, rank, state, late_rank, site), (times, wait_ns))| Waited {
            comm,
            op,
            rank,
            state,
            late_rank,
            site,
            times,
            wait_ns,
        };
        let mut list: Vec<Waited> = self.0.into_iter().map(waited).collect();
        list.sort_by_key(|waited| (waited.comm, waited.op, waited.rank, waited.state, waited.late_rank, waited.site));
        list
    }
}

/// Calls, the messages that they sent and received, and which calls are one collective operation.
#[derive(Default)]
struct Events {
    calls: Vec<Call>,
    messages: BTreeMap<u64, Ends>,
    collectives: BTreeMap<(i64, i64), Vec<usize>>,
}

impl Events {
    fn read(profile: &Profile, messages: &Messages) -> Result<Events, Error> {
        let sql = format!(
            "SELECT rowid, rank, thread, kind, begin_ns, end_ns, comm, op, sequence, site FROM event \
             WHERE kind IN ({CALL}, {SENT}, {RECEIVED}) ORDER BY rowid"
        );
        let mut events = Events::default();
        // Messages stand behind the call of their thread that sent or received them.
        let mut latest: HashMap<(i64, i64), usize> = HashMap::new();
        profile.query::<(), ()>(&sql, vec![], |row| {
            let (rank, begin_ns): (i64, i64) = (row.get(1)?, row.get(4)?);
            let thread = (rank, row.get(2)?);
            let kind: i64 = row.get(3)?;
            if kind == CALL {
                let end_ns = row.get::<_, Option<i64>>(5)?.unwrap_or(begin_ns).max(begin_ns);
                let number = events.calls.len();
                let (comm, op) = (row.get(6)?, row.get(7)?);
                events.calls.push(Call { rank, comm, op, begin_ns, end_ns, site: row.get(9)? });
                latest.insert(thread, number);
                if let Some(sequence) = row.get::<_, Option<i64>>(8)? {
                    events.collectives.entry((comm, sequence)).or_default().push(number);
                }
                return Ok(());
            }
            let call = latest.get(&thread).copied().filter(|call| events.calls[*call].begin_ns == begin_ns);
            if let (Some(call), Some(number)) = (call, messages.number(row.get(0)?)) {
                let ends = events.messages.entry(number).or_default();
                if kind == SENT { ends.sent = Some(call) } else { ends.received = Some(call) }
            }
            Ok(())
        })?;
        Ok(events)
    }

    fn point_to_point(&self, catalog: &Catalog, sums: &mut Sums) {
        let blocking_sends = named(catalog, &["MPI_Send", "MPI_Ssend", "MPI_Rsend"]);
        let receives = named(catalog, RECEIVES);
        // Of several messages that one call received, the latest decided.
        let mut latest: BTreeMap<usize, &Call> = BTreeMap::new();
        for ends in self.messages.values() {
            let (Some(sent), Some(received)) = (ends.sent, ends.received) else { continue };
            let (send, receive) = (&self.calls[sent], &self.calls[received]);
            let decides = latest.get(&received).is_none_or(|other| other.begin_ns < send.begin_ns);
            if decides {
                latest.insert(received, send);
            }
            let overlap = send.end_ns > receive.begin_ns;
            if blocking_sends.contains(&send.op) && receives.contains(&receive.op) && overlap {
                sums.add(send, State::LateReceiver, receive.rank, receive.begin_ns - send.begin_ns);
            }
        }
        let mut by_rank: BTreeMap<i64, Vec<(usize, &Call)>> = BTreeMap::new();
        for (received, send) in latest {
            by_rank.entry(self.calls[received].rank).or_default().push((received, send));
        }
        for mut list in by_rank.into_values() {
            // The latest first: what was sent earlier than a message, and received later, was passed over.
            list.sort_by_key(|(received, _)| std::cmp::Reverse(self.calls[*received].end_ns));
            let mut earliest_ns = i64::MAX;
            for (received, send) in list {
                let receive = &self.calls[received];
                let state = if earliest_ns < send.begin_ns { State::WrongOrder } else { State::LateSender };
                let until_ns = send.begin_ns.min(receive.end_ns);
                sums.add(receive, state, send.rank, until_ns.saturating_sub(receive.begin_ns));
                earliest_ns = earliest_ns.min(send.begin_ns);
            }
        }
    }

    /// Returns how many calls have a root that is not known.
    fn collectives(
        &self,
        catalog: &Catalog,
        roots: &BTreeMap<(i64, i64), i64>,
        sums: &mut Sums,
    ) -> BTreeMap<(i64, i64), u64> {
        let all_to_all = all_to_all(catalog);
        let to_root = named(catalog, TO_ROOT);
        let from_root = named(catalog, FROM_ROOT);
        let mut rootless: BTreeMap<(i64, i64), u64> = BTreeMap::new();
        for ((comm, _), calls) in &self.collectives {
            let size = catalog.communicators.get(comm).and_then(|comm| comm.size.filter(|_| comm.remote_size == 0));
            let calls: Vec<&Call> = calls.iter().map(|call| &self.calls[*call]).collect();
            let is_one = calls.iter().all(|call| call.op == calls[0].op);
            if size != Some(calls.len() as u64) || calls.len() < 2 || !is_one {
                continue;
            }
            let op = calls[0].op;
            let root = roots.get(&(*comm, op)).and_then(|root| calls.iter().find(|call| call.rank == *root));
            if let Some(state) = all_to_all.get(&op) {
                let last = calls.iter().max_by_key(|call| call.begin_ns).expect("there are two");
                for call in &calls {
                    sums.add(call, *state, last.rank, last.begin_ns.min(call.end_ns).saturating_sub(call.begin_ns));
                }
            } else if to_root.contains(&op) || from_root.contains(&op) {
                let Some(root) = root else {
                    *rootless.entry((*comm, op)).or_default() += 1;
                    continue;
                };
                let others = calls.iter().filter(|call| call.rank != root.rank);
                if from_root.contains(&op) {
                    for call in others {
                        let until_ns = root.begin_ns.min(call.end_ns);
                        sums.add(call, State::LateBroadcast, root.rank, until_ns.saturating_sub(call.begin_ns));
                    }
                } else if let Some(first) = others.min_by_key(|call| call.begin_ns) {
                    let until_ns = first.begin_ns.min(root.end_ns);
                    sums.add(root, State::EarlyReduce, first.rank, until_ns.saturating_sub(root.begin_ns));
                }
            }
        }
        rootless
    }
}

/// Calls in which a receiver becomes ready, also for what was posted before: a long message moves while the library is in a call.
const RECEIVES: &[&str] = &[
    "MPI_Recv",
    "MPI_Mrecv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Wait",
    "MPI_Waitany",
    "MPI_Waitall",
    "MPI_Waitsome",
];
const TO_ROOT: &[&str] = &["MPI_Reduce", "MPI_Gather", "MPI_Gatherv"];
const FROM_ROOT: &[&str] = &["MPI_Bcast", "MPI_Scatter", "MPI_Scatterv"];

/// The root of each rooted operation on a communicator, where it was always the same: the one rank that received, or that sent.
fn roots(profile: &Profile, catalog: &Catalog) -> Result<BTreeMap<(i64, i64), i64>, Error> {
    let to_root = named(catalog, TO_ROOT);
    let ops = to_root.union(&named(catalog, FROM_ROOT)).copied().collect();
    let filter = Filter { ops: Some(ops), is_phased: catalog.phases.len() > 1, ..Filter::default() };
    let source = Source::new(profile, catalog, &filter);
    // Nothing: several.
    let mut roots: BTreeMap<(i64, i64), Option<i64>> = BTreeMap::new();
    if source.has_single_ranks() {
        let Relation { sql, values } = source.rows()?;
        let sql = format!("SELECT comm, op, rank, bytes_sent, bytes_recv FROM ({sql})");
        profile.query::<(), ()>(&sql, values, |row| {
            let (op, rank): (i64, i64) = (row.get(1)?, row.get(2)?);
            if unsigned(row.get(if to_root.contains(&op) { 4 } else { 3 })?) > 0 {
                let known = roots.entry((row.get(0)?, op)).or_insert(Some(rank));
                *known = known.filter(|known| *known == rank);
            }
            Ok(())
        })?;
    }
    Ok(roots.into_iter().filter_map(|(key, root)| Some((key, root?))).collect())
}
