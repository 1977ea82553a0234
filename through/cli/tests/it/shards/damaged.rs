//! Shards that are damaged, make no sense, or are of another version.

use std::fs;

use bytemuck::{Zeroable, bytes_of};
use commsee::calls::op;
use commsee::shard::{
    BUCKET_FAILED, BUCKET_INVOLVED, BUCKET_PENDING, CELLS, COMMUNICATORS, Cell, Communicator, FILE_CELLS, FILES,
    FINISHED, FIRST_COMM, FORMAT, File, FileCell, Header, PHASES, Text, set_text,
};

use super::{DEAD, block, shard, write, write_with};
use crate::common::Folder;

/// What is intact becomes a profile, and one line tells of the rest.
#[track_caller]
fn recovered_with_one_line(folder: &Folder, said: &str, ranks: &str) {
    let answer = folder.through(&["recover", "-o", "a.db"]);
    assert_eq!((answer.status, answer.err.lines().count()), (0, 1), "{}", answer.err);
    assert!(answer.err.contains(said), "{}", answer.err);
    let rows = folder.through(&["a.db", "-a", "--format", "csv"]).csv();
    let rows: Vec<_> = rows.iter().map(|row| (row["rank"].as_str(), row["calls"].as_str())).collect();
    assert_eq!(rows, ranks.split(' ').map(|rank| (rank, "3")).collect::<Vec<_>>());
    assert_eq!(folder.names(), ["a.db"], "shards are removed with their run");
}

#[test]
fn a_torn_header_is_told_apart() {
    // Of the run, the launch, the number of ranks, the start, the library, the options, the command: whichever is torn.
    for at in [32, 52, 69, 90, 700, 1000, 3000] {
        let folder = Folder::empty();
        (0..3).for_each(|rank| write(folder.0.path(), "", rank, 3, DEAD));
        let torn = shard(&folder, DEAD, 0);
        let mut bytes = fs::read(&torn).unwrap();
        bytes[at] ^= 0x10;
        fs::write(&torn, bytes).unwrap();
        recovered_with_one_line(&folder, "left out: its header is damaged", "1 2");
    }
}

/// What the process changes while it runs is no damage.
#[test]
fn a_header_changes_while_the_process_runs() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    let path = shard(&folder, DEAD, 0);
    let mut bytes = fs::read(&path).unwrap();
    let mut header: Header = bytemuck::pod_read_unaligned(&bytes[..size_of::<Header>()]);
    (header.state, header.lost_calls, header.latest.ticks) = (FINISHED, 7, 5000);
    bytes[..size_of::<Header>()].copy_from_slice(bytes_of(&header));
    fs::write(&path, bytes).unwrap();
    folder.through(&["recover", "-o", "a.db"]).ok();
    assert_eq!(folder.through(&["a.db", "--format", "json"]).json()["meta"]["lost_calls"], "7");
}

#[test]
fn of_a_run_without_any_whole_shard_one_line_is_said() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 2, DEAD);
    write(folder.0.path(), "", 1, 2, DEAD);
    for rank in 0..2 {
        let path = shard(&folder, DEAD, rank);
        let mut bytes = fs::read(&path).unwrap();
        bytes[3000] = 1;
        fs::write(path, bytes).unwrap();
    }
    let answer = folder.through(&["recover"]);
    assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{}", answer.err);
    assert!(answer.err.contains("and one more shard: left out: its header is damaged"), "{}", answer.err);
    assert_eq!(folder.names().len(), 2, "the shards are kept");
    assert!(folder.through(&["recover", "--clean"]).ok().starts_with("removed run "));
}

#[test]
fn shards_that_are_cut_off_give_what_is_left_of_them() {
    for cut_bytes in [1, 64, 128, 200] {
        let folder = Folder::empty();
        let phase = Text { number: 1, ..Text::zeroed() };
        (0..3).for_each(|rank| write_with(folder.0.path(), "", rank, 3, DEAD, block(PHASES, bytes_of(&phase))));
        for rank in 1..3 {
            let path = shard(&folder, DEAD, rank);
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(path.metadata().unwrap().len() - cut_bytes).unwrap();
        }
        recovered_with_one_line(&folder, "and one more shard: ", "0 1 2");
    }
    // Cut within the header: nothing tells that it is a shard at all.
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 2, DEAD);
    write(folder.0.path(), "", 1, 2, DEAD);
    fs::OpenOptions::new().write(true).open(shard(&folder, DEAD, 1)).unwrap().set_len(4000).unwrap();
    assert!(folder.through(&["recover", "-o", "a.db"]).ok().contains("rank 1 left no shard"));
    assert_eq!(folder.names().len(), 2, "what is no shard is left alone");
}

/// A hole after the blocks, as large as a file may be, that the header calls used.
#[test]
fn holes_in_a_shard_are_not_read() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    let path = shard(&folder, DEAD, 0);
    let mut bytes = fs::read(&path).unwrap();
    let mut header: Header = bytemuck::pod_read_unaligned(&bytes[..size_of::<Header>()]);
    header.used_bytes = 1 << 40;
    bytes[..size_of::<Header>()].copy_from_slice(bytes_of(&header));
    fs::write(&path, bytes).unwrap();
    // Some file systems have no files so large.
    let _ = fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40);
    recovered_with_one_line(&folder, "damaged parts were left out", "0");
}

#[test]
fn shards_of_another_version_are_named() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    let path = shard(&folder, DEAD, 0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8..12].copy_from_slice(&(FORMAT + 1).to_ne_bytes());
    fs::write(path, bytes).unwrap();
    let answer = folder.through(&["recover"]);
    assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{}", answer.err);
    assert!(answer.err.contains(&format!("(format {})", FORMAT + 1)), "{}", answer.err);
    assert_eq!(folder.names().len(), 1);
}

/// What makes no sense on files is left out and counted, and the rest is there.
#[test]
fn calls_on_files_that_make_no_sense_are_left_out() {
    let folder = Folder::empty();
    let file = |number, hash| {
        let mut file = File { number, hash, ..File::zeroed() };
        set_text(&mut file.name, "out.nc");
        file
    };
    let on = |key, file| FileCell { calls: 2, bytes_written: 7, ..FileCell::new(key, file) };
    let key = |comm, op| Cell::key(comm, op, 0);
    let blocks = [
        block(FILES, bytes_of(&file(1, 5))),
        block(FILES, bytes_of(&file(0, 6))),
        block(FILES, bytes_of(&file(3, 0))),
        // Twice, as of two threads; then without a name; on a file, a communicator and an operation that are none.
        block(FILE_CELLS, bytes_of(&on(key(FIRST_COMM, op::MPI_File_write), 1))),
        block(FILE_CELLS, bytes_of(&on(key(FIRST_COMM, op::MPI_File_write), 1))),
        block(FILE_CELLS, bytes_of(&on(key(FIRST_COMM, op::MPI_File_write), 0))),
        block(FILE_CELLS, bytes_of(&on(key(FIRST_COMM, op::MPI_File_write), 3))),
        block(FILE_CELLS, bytes_of(&on(key(99, op::MPI_File_write), 1))),
        block(FILE_CELLS, bytes_of(&on(key(FIRST_COMM, op::MPI_Send), 1))),
        block(FILE_CELLS, bytes_of(&on(key(FIRST_COMM, u16::MAX), 1))),
    ];
    write_with(folder.0.path(), "", 0, 1, DEAD, blocks.concat());
    let recovered = folder.through(&["recover", "-o", "a.db"]);
    assert!(recovered.status == 0 && recovered.err.contains("6 damaged parts"), "{}", recovered.err);
    let rows = folder.through(&["a.db", "--files", "--sort", "bytes", "--format", "csv"]).csv();
    let row = |at: usize| [&rows[at]["file"], &rows[at]["calls"], &rows[at]["bytes_written"]].map(String::as_str);
    assert_eq!((rows.len(), row(0), row(1)), (2, ["out.nc", "4", "14"], ["", "2", "7"]));
    let db = rusqlite::Connection::open(folder.path("a.db")).unwrap();
    let damaged = "SELECT value FROM meta WHERE key = 'damaged_entries'";
    assert_eq!(db.query_row(damaged, [], |row| row.get::<_, String>(0)).unwrap(), "6");
}

/// Two numbers of a process for what is one communicator or one phase to all add up.
#[test]
fn what_stands_in_a_shard_twice_is_added_up() {
    let folder = Folder::empty();
    let twin =
        Communicator { identity: [1, 1], number: FIRST_COMM + 1, letter: b'W', size: 1, ..Communicator::zeroed() };
    let involved = |comm| Cell { key: Cell::key(comm, op::MPI_Waitall, BUCKET_INVOLVED), calls: 2, ..Cell::zeroed() };
    let blocks = [
        block(COMMUNICATORS, bytes_of(&twin)),
        block(CELLS, bytes_of(&involved(FIRST_COMM))),
        block(CELLS, bytes_of(&involved(FIRST_COMM + 1))),
    ];
    write_with(folder.0.path(), "", 0, 1, DEAD, blocks.concat());
    folder.through(&["recover", "-o", "a.db"]).ok();
    assert_eq!(folder.through(&["a.db", "-u", "--format", "csv"]).csv()[0]["involved_calls"], "4");
}

/// Of two that are shown as one, each half of what a profile can hold.
#[test]
fn more_calls_than_there_can_be_are_left_out() {
    let folder = Folder::empty();
    let failed = Cell { calls: 1 << 62, ..cell(BUCKET_FAILED) };
    let pending = Cell { calls: 1 << 62, ..cell(BUCKET_PENDING) };
    let blocks = [block(CELLS, bytes_of(&failed)), block(CELLS, bytes_of(&pending))];
    write_with(folder.0.path(), "", 0, 1, DEAD, blocks.concat());
    recovered_with_one_line(&folder, "damaged parts were left out", "0");
}

fn cell(bucket: u8) -> Cell {
    Cell { key: Cell::key(FIRST_COMM, op::MPI_Barrier, bucket), ..Cell::zeroed() }
}
