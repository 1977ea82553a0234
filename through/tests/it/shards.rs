//! `through recover` and `through clean`.

use std::fs;
use std::path::Path;

use bytemuck::{Zeroable, bytes_of};
use commsee::calls::{TABLE_HASH, op};
use commsee::profile::recover::{host_name, process_start, shard_name};
use commsee::shard::{
    BLOCK_HEADER_BYTES, BLOCK_MAGIC, BlockHeader, CELLS, COMMUNICATORS, CONTIGUOUS, Cell, Communicator, DATATYPES,
    Edge, FIRST_COMM, FORMAT, Header, MAGIC, Moment, PHASES, RUNNING, Text, USES, Use, set_text,
};

use crate::common::Folder;

/// Writes the shard of a process that was interrupted after three barriers.
pub fn write(folder: &Path, launch: &str, rank: u32, ranks: u32, pid: u32) {
    write_with(folder, launch, rank, ranks, pid, Vec::new());
}

/// The same with further blocks.
fn write_with(folder: &Path, launch: &str, rank: u32, ranks: u32, pid: u32, more: Vec<u8>) {
    let word = |half: &str| u64::from_str_radix(half, 16).unwrap_or(0);
    let launch = if launch.is_empty() { [0; 2] } else { [word(&launch[..16]), word(&launch[16..])] };
    let mut header = Header {
        magic: MAGIC,
        format: FORMAT,
        state: RUNNING,
        table_hash: TABLE_HASH,
        run: [0xabcd_ef01, u64::from(pid)],
        launch,
        world_rank: rank,
        world_size: ranks,
        pid,
        process_start: process_start(pid).unwrap_or(1),
        latest: Moment { ticks: 1000, monotonic_ns: 2000 },
        edge_count: 1,
        ..Header::zeroed()
    };
    header.edges_bytes[0] = 128;
    set_text(&mut header.host, &host_name());
    set_text(&mut header.command, "./crashed");
    let world =
        Communicator { identity: [1, 1], number: FIRST_COMM, letter: b'W', size: ranks, ..Communicator::zeroed() };
    let cell = Cell {
        key: Cell::key(FIRST_COMM, op::MPI_Barrier, 0),
        calls: 3,
        ticks: 30,
        ticks_min: 5,
        ticks_max: 15,
        ..Cell::zeroed()
    };
    let mut blocks = block(COMMUNICATORS, bytes_of(&world));
    blocks.extend(block(CELLS, bytes_of(&cell)));
    blocks.extend(more);
    header.seal();
    header.used_bytes = (size_of::<Header>() + blocks.len()) as u64;
    let bytes = [bytes_of(&header), &blocks].concat();
    fs::write(folder.join(shard_name(header.run, rank)), bytes).unwrap();
}

fn block(kind: u32, entry: &[u8]) -> Vec<u8> {
    let bytes = (BLOCK_HEADER_BYTES + entry.len()) as u32;
    let header = BlockHeader { magic: BLOCK_MAGIC, kind, bytes, used: 1, ..BlockHeader::zeroed() };
    [bytes_of(&header), entry].concat()
}

const DEAD: u32 = u32::MAX / 2;

#[test]
fn dead_runs_become_profiles() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 3, DEAD);
    write(folder.0.path(), "", 2, 3, DEAD);
    let out = folder.through(&["recover"]).ok();
    assert!(out.starts_with("commsee-recovered-00000000.db: run 00000000, started "), "{out}");
    assert!(out.contains("2 shards of 3 ranks: ./crashed") && out.contains("  rank 1 left no shard"), "{out}");
    assert_eq!(folder.names(), ["commsee-recovered-00000000.db"]);
    assert!(folder.through(&[]).ok().contains("2 ranks ended before MPI_Finalize: 0,2"));
    let again = folder.through(&["recover"]);
    assert_eq!(again.status, 1);
    assert!(again.err.contains("nothing to recover in"));
}

/// What stands in a shard of phases and datatypes is there after a crash, too; what refers to nothing is left out.
#[test]
fn phases_and_datatypes_survive() {
    let folder = Folder::empty();
    let text = |number, flags, words: &str| {
        let mut entry = Text { number, flags, ..Text::zeroed() };
        set_text(&mut entry.text, words);
        entry
    };
    let cell = |phase| Cell {
        key: Cell::key(FIRST_COMM, op::MPI_Barrier, 0) | Cell::phase_bits(phase),
        calls: 2,
        ..Cell::zeroed()
    };
    let used = |datatype| Use { key: Edge::key(FIRST_COMM, op::MPI_Send, datatype), calls: 5, bytes: 40 };
    let blocks = [
        block(PHASES, bytes_of(&text(7, 0, "solve"))),
        block(CELLS, bytes_of(&cell(7))),
        block(CELLS, bytes_of(&cell(8))),
        block(DATATYPES, bytes_of(&text(3, CONTIGUOUS, "MPI_INT"))),
        block(USES, bytes_of(&used(3))),
        block(USES, bytes_of(&used(3))),
        block(USES, bytes_of(&used(4))),
    ];
    write_with(folder.0.path(), "", 0, 1, DEAD, blocks.concat());
    folder.through(&["recover", "-o", "a.db"]);
    let rows = folder.through(&["a.db", "--phases", "--format", "csv"]).csv();
    let phases: Vec<_> = rows.iter().map(|row| (row["phase"].as_str(), row["calls"].as_str())).collect();
    assert_eq!(phases, [("", "3"), ("solve", "2")]);
    let rows = folder.through(&["a.db", "--datatypes", "--format", "csv"]).csv();
    assert_eq!(rows.len(), 1);
    let row = ["datatype", "contiguous", "calls", "bytes"].map(|key| rows[0][key].as_str());
    assert_eq!(row, ["MPI_INT", "true", "10", "80"]);
    let document = folder.through(&["a.db", "--format", "json"]).json();
    assert_eq!(document["meta"]["damaged_entries"], "2");
}

#[test]
fn names_are_never_taken_twice_and_shards_may_be_kept() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    folder.through(&["recover", "--keep", "-o", "a.db"]).ok();
    folder.through(&["recover", "--keep", "-o", "a.db"]).ok();
    assert_eq!(folder.names()[..2], ["a-1.db", "a.db"]);
    assert_eq!(folder.names().len(), 3);
}

#[test]
fn live_runs_are_left_alone() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, std::process::id());
    for command in ["recover", "clean"] {
        let answer = folder.through(&[command, folder.0.path().to_str().unwrap()]);
        assert_eq!(answer.status, 1);
        assert!(answer.err.contains("left alone, it still runs"), "{}", answer.err);
    }
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn cleaning_removes_shards_only() {
    let folder = Folder::with_sample();
    write(folder.0.path(), "", 0, 1, DEAD);
    assert!(folder.through(&["clean", "--dry-run"]).ok().starts_with("would remove run "));
    assert_eq!(folder.names().len(), 2);
    assert!(folder.through(&["clean"]).ok().starts_with("removed run "));
    assert_eq!(folder.names(), ["sample.db"]);
    assert_eq!(folder.through(&["clean"]).status, 1);
}
