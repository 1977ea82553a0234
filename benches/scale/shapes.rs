//! Shards of runs that nobody made: what each rank of a program would have counted, for programs whose communicators are known
//! from the literature.

use bytemuck::{Pod, Zeroable, bytes_of};
use commsee::calls::{TABLE_HASH, op};
use commsee::settings::TRACE_BYTES;
use commsee::shard::{
    BLOCK_HEADER_BYTES, BLOCK_MAGIC, BlockHeader, Bound, CALL, CELLS, COMMUNICATORS, Cell, Communicator, EDGES, EVENTS,
    Edge, Event, FINISHED, FIRST_COMM, FORMAT, HEADER_BYTES, Header, MAGIC, Moment, NO_COMM, RECEIVED, SENT, Shard,
    set_text,
};

/// How a program divides its ranks over communicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The world and 102 duplicates of it, with 4.5 (operation, bucket) pairs each.
    Nekbone,
    /// The world halved ten times: 2046 communicators, of which each rank is in ten.
    MiniAmr,
    /// Rows and columns of blocks of 32 × 32 ranks, the world and one duplicate: 66 communicators for 1024 ranks.
    Snap,
    /// Rows and columns of √ranks, and messages to four neighbours over the world.
    Grid,
    /// The world and a duplicate of it, and a timeline of so many steps, with a message around the ranks in each.
    Ring(u64),
}

pub const SHAPES: [(&str, Shape); 5] = [
    ("nekbone", Shape::Nekbone),
    ("miniamr", Shape::MiniAmr),
    ("snap", Shape::Snap),
    ("grid", Shape::Grid),
    ("ring", Shape::Ring(STEPS)),
];

/// As many as fill the usual ring buffer, with 6 events each.
const STEPS: u64 = TRACE_BYTES / size_of::<Event>() as u64 / 6;

const RANKS_PER_NODE: u32 = 64;

/// A communicator as one rank is in it.
struct Part {
    /// The same on all its members, and on no other communicator.
    mark: u64,
    letter: u8,
    root: u32,
    /// The second part of its name.
    counter: u32,
    size: u32,
    rank: u32,
}

impl Shape {
    fn parts(self, rank: u32, ranks: u32) -> Vec<Part> {
        let part = |mark: (u32, u32), letter, counter, first: u32, stride: u32, size: u32| Part {
            mark: u64::from(mark.0) << 32 | u64::from(mark.1),
            letter,
            root: first,
            counter,
            size,
            rank: (rank - first) / stride,
        };
        let mut parts = vec![part((0, 0), b'W', 0, 0, 1, ranks)];
        match self {
            Shape::Ring(_) => parts.push(part((1, 0), b'd', 1, 0, 1, ranks)),
            Shape::Nekbone => parts.extend((1..=102).map(|n| part((n, 0), b'd', n, 0, 1, ranks))),
            Shape::MiniAmr => parts.extend((1..=10).take_while(|level| ranks >> level > 0).map(|level| {
                let size = ranks >> level;
                part((level, rank / size), b's', level, rank / size * size, 1, size)
            })),
            Shape::Snap | Shape::Grid => {
                let side = if self == Shape::Snap { 32.min(ranks) } else { ranks.isqrt() };
                let block = side * side;
                let (begin, row, column) = (rank / block * block, rank % block / side, rank % side);
                parts.push(part((1, begin + row), b's', 1, begin + row * side, 1, side));
                parts.push(part((2, begin + column), b's', 2, begin + column, side, (ranks / side).min(side)));
                if self == Shape::Snap {
                    parts.push(part((3, 0), b'd', 3, 0, 1, ranks));
                }
            }
        }
        parts
    }
}

/// What a rank of such a program leaves.
pub fn shard(shape: Shape, rank: u32, ranks: u32) -> Shard {
    let mut header = Header {
        magic: MAGIC,
        format: FORMAT,
        table_hash: TABLE_HASH,
        state: FINISHED,
        world_size: ranks,
        world_rank: rank,
        pid: 1000 + rank % RANKS_PER_NODE,
        start_realtime_ns: 1_700_000_000_000_000_000,
        started: Moment { ticks: 0, monotonic_ns: 0 },
        latest: Moment { ticks: 300_000_000_000, monotonic_ns: 100_000_000_000 },
        edge_count: 3,
        ..Header::zeroed()
    };
    header.edges_bytes[..3].copy_from_slice(&[128, 1024, 8192]);
    set_text(&mut header.host, &format!("node{:05}", rank / RANKS_PER_NODE));
    set_text(&mut header.command, "./synthetic");
    let parts = shape.parts(rank, ranks);
    let mut communicators = Vec::new();
    let mut cells = Vec::new();
    for (number, part) in (FIRST_COMM..).zip(&parts) {
        communicators.push(Communicator {
            identity: [mixed(part.mark + 1), mixed(part.mark + 0x5bd1_e995)],
            number,
            parent: if number == FIRST_COMM { NO_COMM } else { FIRST_COMM },
            letter: part.letter,
            root: part.root,
            counter: part.counter,
            size: part.size,
            rank: part.rank,
            ..Communicator::zeroed()
        });
        let operations: &[(u16, u8, u64)] = &[
            (op::MPI_Allreduce, 0, 8),
            (op::MPI_Allreduce, 1, 800),
            (op::MPI_Bcast, 0, 64),
            (op::MPI_Barrier, 0, 0),
            (op::MPI_Allgather, 2, 4000),
        ];
        for (operation, bucket, bytes) in &operations[..4 + number as usize % 2] {
            let key = Cell::key(number, *operation, *bucket);
            let calls = 100 + part.mark % 50;
            // Waiting differs from rank to rank: between 0.1 and 30 µs a call.
            let ticks = calls * (300 + mixed(key ^ u64::from(rank) << 20) % 90_000);
            let is_root = *operation != op::MPI_Bcast || part.rank == 0;
            cells.push(Cell {
                key,
                calls,
                bytes_sent: if is_root { calls * bytes } else { 0 },
                bytes_recv: if *operation != op::MPI_Bcast || part.rank > 0 { calls * bytes } else { 0 },
                ticks,
                ticks_min: Bound::below(ticks / calls / 3),
                ticks_max: Bound::above(ticks / calls * 5),
            });
        }
    }
    let mut edges = Vec::new();
    if shape == Shape::Grid {
        let side = ranks.isqrt();
        for neighbour in [rank.wrapping_sub(1), rank + 1, rank.wrapping_sub(side), rank + side] {
            if neighbour < ranks {
                let key = Edge::key(FIRST_COMM, op::MPI_Isend, neighbour);
                edges.push(Edge { key, world_rank: neighbour, reserved: 0, calls: 1000, bytes: 8_000_000 });
            }
        }
    }
    let steps = if let Shape::Ring(steps) = shape { steps } else { 0 };
    let events: Vec<Event> = (0..steps).flat_map(|step| events(step, rank, ranks)).collect();
    header.trace_begin_ns = u64::from(!events.is_empty());
    let blocks =
        [block(COMMUNICATORS, &communicators), block(CELLS, &cells), block(EDGES, &edges), block(EVENTS, &events)];
    let blocks = blocks.concat();
    header.used_bytes = (HEADER_BYTES + blocks.len()) as u64;
    header.seal();
    Shard::parse(&[bytes_of(&header), &blocks].concat()).expect("a shard")
}

/// A message to the next rank, and one from the rank before, then a collective call.
fn events(step: u64, rank: u32, ranks: u32) -> [Event; 6] {
    let ticks = |at: u64| (step * 4 + at) * 3000 + 1 + mixed((step * 4 + at) ^ (u64::from(rank) << 40)) % 900;
    let before = (rank + ranks - 1) % ranks;
    let call = |operation, at: u64, bytes| Event {
        begin_ticks: ticks(at),
        end_ticks: ticks(at) + 2000,
        bytes,
        comm: FIRST_COMM,
        operation,
        kind: CALL,
        ..Event::zeroed()
    };
    let end = |operation, at: u64, kind, source| Event {
        begin_ticks: if kind == SENT { ticks(at) } else { step },
        end_ticks: Event::message(source, 7),
        cause_ticks: ticks(at),
        peer: if kind == SENT { (rank + 1) % ranks } else { 0 },
        kind,
        ..call(operation, at, 4096)
    };
    [
        call(op::MPI_Irecv, 0, 4096),
        call(op::MPI_Send, 1, 4096),
        end(op::MPI_Send, 1, SENT, rank),
        call(op::MPI_Wait, 2, 0),
        end(op::MPI_Irecv, 2, RECEIVED, before),
        Event { comm: FIRST_COMM + 1, route: step as u32 + 1, ..call(op::MPI_Allreduce, 3, 8) },
    ]
}

fn block<T: Pod>(kind: u32, entries: &[T]) -> Vec<u8> {
    let body: &[u8] = bytemuck::cast_slice(entries);
    let bytes = (BLOCK_HEADER_BYTES + body.len()) as u32;
    let header = BlockHeader { magic: BLOCK_MAGIC, kind, bytes, used: entries.len() as u32, ..BlockHeader::zeroed() };
    [bytes_of(&header), body].concat()
}

/// SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
