//! A profile that is made, and then spoiled as the bytes of the input say: first values in its tables, then bytes of the file.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use bytemuck::{Zeroable, bytes_of};
use commsee::calls::{TABLE_HASH, op};
use commsee::profile::Writer;
use commsee::shard::{
    BLOCK_HEADER_BYTES, BLOCK_MAGIC, BUCKET_INVOLVED, BlockHeader, Bound, CELLS, CODE_TEXTS, COMMUNICATORS, CONTIGUOUS,
    Cell, Communicator, DATATYPES, EDGES, Edge, FILE_CELLS, FILES, FINISHED, FIRST_COMM, FIRST_SETTING, FORMAT, File,
    FileCell, Frame, HEADER_BYTES, Header, IN_FLIGHT_CALLS, InFlightCall, LABELS, MAGIC, MODULES, Module, Moment,
    NO_SITE, PHASES, PLACES, PROCESSORS, Place, RUNNING, SEVERAL_COMMS, SITE_CELLS, SITES, SURROUNDINGS, Shard, Site,
    SiteCell, Text, USES, Use, set_text,
};
use commsee::stream::{Detail, MergedShards};
use rusqlite::Connection;
use rusqlite::types::Value;

/// A change takes so many bytes of the input.
const CHANGE_BYTES: usize = 6;

/// Writes a spoiled profile. The first byte chooses the profile to begin with, the second how many values are changed.
pub fn write(data: &[u8], path: &Path) {
    let (kind, values) = (data.first().copied().unwrap_or(0), usize::from(data.get(1).copied().unwrap_or(0) % 8));
    let whole: Vec<u8> = match kind % 4 {
        0 => include_bytes!("../../tests/golden/version-1.db").to_vec(),
        1 => include_bytes!("../../tests/golden/version-1-layers.db").to_vec(),
        2 => made(FINISHED).clone(),
        _ => made(RUNNING).clone(),
    };
    fs::write(path, &whole).unwrap();
    let mut changes = data.get(2..).unwrap_or_default().chunks_exact(CHANGE_BYTES);
    let in_tables: Vec<&[u8]> = changes.by_ref().take(values).collect();
    if !in_tables.is_empty() {
        let db = Connection::open(path).unwrap();
        db.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA writable_schema = ON; BEGIN")
            .unwrap();
        in_tables.into_iter().for_each(|change| change_value(&db, change));
        db.execute_batch("COMMIT").unwrap();
    }
    let mut bytes = fs::read(path).unwrap();
    changes.for_each(|change| change_bytes(&mut bytes, change));
    fs::write(path, bytes).unwrap();
}

/// Texts that mean something in some column. No mutation of bytes finds a list of ranks or a number that is far too large.
const TEXTS: [&str; 24] = [
    "MPI_Init",
    "collective",
    "*",
    "-",
    "W0.0",
    "ü",
    "finished",
    "0-3,8",
    "0-4294967295",
    "9000000000000000000",
    "18446744073709551616",
    "4294967295",
    "-1",
    "5-2,,1-,-",
    "nan",
    "1e400",
    "running",
    "rank",
    "node",
    "comm",
    "network",
    "uct",
    "ranks",
    "detail",
];

/// Sets a column of one row, or of all, to what nobody expects there.
fn change_value(db: &Connection, change: &[u8]) {
    let columns: Vec<(String, String)> = db
        .prepare(
            "SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table' \
             UNION ALL SELECT 'sqlite_schema', value FROM json_each('[\"type\", \"name\", \"tbl_name\", \"rootpage\", \"sql\"]')",
        )
        .and_then(|mut query| query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .unwrap_or_default();
    let Some((table, column)) = columns.get(usize::from(change[0]) % columns.len().max(1)) else { return };
    let number = i64::from(i16::from_le_bytes([change[2], change[3]]));
    let value = match change[1] % 12 {
        0 => Value::Null,
        1 => Value::Integer(i64::MAX),
        2 => Value::Integer(i64::MIN),
        3 => Value::Integer(number),
        4 => Value::Integer(number << 40),
        5 => Value::Real(1e300),
        6 => Value::Real(f64::NEG_INFINITY),
        7 => Value::Text("\u{1b}[31m\u{202e}\"',\r\n\0".to_owned()),
        8 => Value::Text("x".repeat(usize::from(change[2]) << 8)),
        9 => Value::Blob(change.to_vec()),
        10 => Value::Text(String::new()),
        _ => Value::Text(TEXTS[usize::from(change[2]) % TEXTS.len()].to_owned()),
    };
    // Text that is no UTF-8 is a blob that is called text.
    let place = if change[5] & 1 == 0 { "?1" } else { "CAST(?1 AS TEXT)" };
    let rows = if change[4] == 0 {
        "true".to_owned()
    } else {
        format!("abs(coalesce(CAST({column} AS INTEGER), 0)) % {} = 0", u16::from(change[4]) + 1)
    };
    // What a key forbids stays as it is.
    let _ = db.execute(&format!("UPDATE OR IGNORE {table} SET {column} = {place} WHERE {rows}"), [value]);
}

fn change_bytes(bytes: &mut Vec<u8>, change: &[u8]) {
    let place = usize::from(change[1]) | usize::from(change[2]) << 8;
    match change[0] % 8 {
        // The header and the first page, where the schema is.
        0 | 1 if !bytes.is_empty() => {
            let at = place % bytes.len().min(512);
            bytes[at] ^= change[3];
        }
        2..=4 if !bytes.is_empty() => {
            let at = (place * 5) % bytes.len();
            bytes[at] = change[3];
        }
        // The header of a page: its kind, its number of cells, and where they are.
        5 if !bytes.is_empty() => {
            let at = (place % 16 * 4096 + usize::from(change[4]) % 24) % bytes.len();
            bytes[at] = change[3];
        }
        6 => bytes.truncate(bytes.len() - (place * 3) % bytes.len().max(1)),
        _ => bytes.extend_from_slice(&change.repeat(usize::from(change[3]))),
    }
}

/// A profile with something in every table, of a job that ended well, or whose ranks stood somewhere when it was ended.
fn made(state: u32) -> &'static Vec<u8> {
    static MADE: [OnceLock<Vec<u8>>; 2] = [const { OnceLock::new() }; 2];
    let make = || {
        let folder = tempfile::tempdir().unwrap();
        let mut merged = MergedShards::new(Detail::Rank, true);
        // Of one that was ended not every rank need be there.
        (0..4).filter(|rank| state == FINISHED || *rank != 2).for_each(|rank| merged.add(shard(rank, state)));
        let writer = Writer::create(&folder.path().join("a.db")).unwrap();
        fs::read(writer.write(Detail::Rank, &mut merged.stream()).unwrap().path).unwrap()
    };
    MADE[usize::from(state == FINISHED)].get_or_init(make)
}

fn shard(rank: u32, state: u32) -> Shard {
    let mut header = Header {
        magic: MAGIC,
        format: FORMAT,
        table_hash: TABLE_HASH,
        state,
        world_size: 4,
        world_rank: rank,
        started: Moment { ticks: 0, monotonic_ns: 0 },
        latest: Moment { ticks: 1000, monotonic_ns: 1_000_000 },
        edge_count: 2,
        ..Header::zeroed()
    };
    header.edges_bytes[..2].copy_from_slice(&[128, 1024]);
    set_text(&mut header.host, "n1");
    set_text(&mut header.command, "./app -n 4");
    let text = |number, words: &str| {
        let mut text = Text { number, flags: CONTIGUOUS, ..Text::zeroed() };
        set_text(&mut text.text, words);
        text
    };
    let comm = |number, letter, counter| {
        let identity = [u64::from(number), 0];
        Communicator { identity, number, letter, counter, size: 4, rank, site_low: 2, ..Communicator::zeroed() }
    };
    let cell = |key, calls| Cell {
        key,
        calls,
        bytes_sent: calls * 8,
        bytes_recv: calls * 8,
        ticks: calls * 10,
        ticks_min: Bound::below(5),
        ticks_max: Bound::above(20),
    };
    let next = FIRST_COMM + 1;
    let phase = Cell::phase_bits(1);
    let cells = [
        cell(Cell::key(0, op::MPI_Init, 0), 1),
        cell(Cell::key(FIRST_COMM, op::MPI_Send, 0), 3),
        cell(Cell::key(FIRST_COMM, op::MPI_Send, 1), 4),
        cell(Cell::key(next, op::MPI_Allreduce, 0), 5),
        cell(Cell::key(next, op::MPI_Allreduce, 0) | phase, 6),
        cell(Cell::key(SEVERAL_COMMS, op::MPI_Waitall, 0), 2),
        cell(Cell::key(next, op::MPI_Waitall, BUCKET_INVOLVED), 2),
        cell(Cell::key(next, op::MPI_File_write_all, 1), 9),
    ];
    let mut file = File { number: 1, hash: 77, ..File::zeroed() };
    set_text(&mut file.name, "out.nc");
    let on_file = FileCell { calls: 9, bytes_written: 72, ticks: 90, ..FileCell::new(cells[7].key, 1) };
    let edge = Edge { key: Edge::key(FIRST_COMM, op::MPI_Send, 1), world_rank: 1, reserved: 0, calls: 7, bytes: 56 };
    let in_barrier = InFlightCall {
        word: InFlightCall::word(op::MPI_Allreduce, false, 500),
        comm: next.into(),
        begin_ticks: 500,
        end_ticks: 499,
        caller: 5000,
        ..InFlightCall::zeroed()
    };
    let in_program = InFlightCall { thread: 1, begin_ticks: 600, end_ticks: 700, ..InFlightCall::zeroed() };
    let in_flight = if rank == 3 { &[in_program][..] } else { &[in_barrier, in_program] };
    let used = Use { key: Edge::key(FIRST_COMM, op::MPI_Send, 3), calls: 7, bytes: 56 };
    let blocks = [
        block(COMMUNICATORS, &[comm(FIRST_COMM, b'W', 0), comm(next, b's', 1)]),
        block(LABELS, &[text(next, "rows, \"a\"")]),
        block(PHASES, &[text(1, "solve")]),
        block(DATATYPES, &[text(3, "MPI_INT")]),
        block(CELLS, &cells),
        block(EDGES, &[edge]),
        block(USES, &[used]),
        block(IN_FLIGHT_CALLS, in_flight),
        block(
            SURROUNDINGS,
            &[(PROCESSORS, "0-3,8"), (FIRST_SETTING, "UCX_TLS=self"), (FIRST_SETTING + 1, "=")]
                .map(|(number, words)| Text { flags: 0, ..text(number, words) }),
        ),
        block(
            CODE_TEXTS,
            &[1, 2, 3].map(|number| Text { flags: 0, ..text(number, ["app", "rows", "grid.py"][number as usize - 1]) }),
        ),
        block(
            MODULES,
            &[Module { start: 4096, end: 8192, bias: 4096, path: 1, build_id_bytes: 20, ..Module::zeroed() }],
        ),
        block(PLACES, &[Frame::of_module(1, 64), Frame::of_interpreter(2, 3, 88)].map(Place::from)),
        block(SITES, &[Site { frame: 1, outer: NO_SITE }, Site { frame: 2, outer: 1 }]),
        block(FILES, &[file]),
        block(FILE_CELLS, &[on_file]),
        block(SITE_CELLS, &[1, 2].map(|site| SiteCell { calls: 3, ..SiteCell::new(cells[1].key, site) })),
    ]
    .concat();
    header.used_bytes = (HEADER_BYTES + blocks.len()) as u64;
    header.seal();
    Shard::parse(&[bytes_of(&header), &blocks].concat()).unwrap()
}

fn block<T: bytemuck::Pod>(kind: u32, entries: &[T]) -> Vec<u8> {
    let body: &[u8] = bytemuck::cast_slice(entries);
    let bytes = (BLOCK_HEADER_BYTES + body.len()) as u32;
    let header = BlockHeader { magic: BLOCK_MAGIC, kind, bytes, used: entries.len() as u32, ..BlockHeader::zeroed() };
    // The number of the first entry, where that counts.
    let header = BlockHeader { reserved: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], ..header };
    [bytes_of(&header), body].concat()
}
