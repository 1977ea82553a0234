//! `through recover` and `through clean`.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Stdio;

use bytemuck::{Zeroable, bytes_of};
use commsee::calls::{TABLE_HASH, op};
use commsee::job::Job;
use commsee::profile::debris::State;
use commsee::profile::locks;
use commsee::profile::recover::{self, host_name, process_start, shard_name};
use commsee::profile::{boot, namespaces};
use commsee::shard::{
    BLOCK_HEADER_BYTES, BLOCK_MAGIC, BUCKET_INVOLVED, BlockHeader, Bound, CELLS, COMMUNICATORS, CONTIGUOUS, Cell,
    Communicator, DATATYPES, Edge, FILE_CELLS, FILES, FINISHED, FIRST_COMM, FORMAT, File, FileCell, HEADER_BYTES,
    Header, LOCKED, MAGIC, Moment, OLDEST_FORMAT, PHASES, RUNNING, Text, UNLOCKED, USES, Use, set_text,
};

use crate::common::{Answer, Folder, once_released};

/// Writes the shard of a process that was interrupted after three barriers.
pub fn write(folder: &Path, launch: &str, rank: u32, ranks: u32, pid: u32) {
    write_with(folder, launch, rank, ranks, pid, Vec::new());
}

/// The same with further blocks.
pub fn write_with(folder: &Path, launch: &str, rank: u32, ranks: u32, pid: u32, more: Vec<u8>) {
    write_as(folder, launch, rank, ranks, pid, more, |_| ());
}

/// The same of a process that said something else of itself.
fn write_as(folder: &Path, launch: &str, rank: u32, ranks: u32, pid: u32, more: Vec<u8>, say: impl Fn(&mut Header)) {
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
        handle_mask: u64::MAX,
        boot: boot(),
        namespaces: namespaces(),
        local_ranks: ranks,
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
        ticks_min: Bound::below(5),
        ticks_max: Bound::above(15),
        ..Cell::zeroed()
    };
    let mut blocks = block(COMMUNICATORS, bytes_of(&world));
    blocks.extend(block(CELLS, bytes_of(&cell)));
    blocks.extend(more);
    say(&mut header);
    header.seal();
    header.used_bytes = (size_of::<Header>() + blocks.len()) as u64;
    let bytes = [bytes_of(&header), &blocks].concat();
    fs::write(folder.join(shard_name(header.run, rank)), bytes).unwrap();
}

/// The run of such shards.
pub fn run(pid: u32) -> String {
    recover::run_name([0xabcd_ef01, u64::from(pid)])
}

pub fn path(folder: &Path, rank: u32, pid: u32) -> std::path::PathBuf {
    folder.join(shard_name([0xabcd_ef01, u64::from(pid)], rank))
}

/// Of another process, in the run of this one.
pub fn write_of_run(folder: &Path, pid: u32, of: u32) {
    write_as(folder, "", 0, 1, of, Vec::new(), |header| header.run = [0xabcd_ef01, u64::from(pid)]);
}

/// Writes another header in front of a shard.
pub fn change(folder: &Path, rank: u32, pid: u32, change: impl Fn(&mut Header)) {
    let path = folder.join(shard_name([0xabcd_ef01, u64::from(pid)], rank));
    let mut bytes = fs::read(&path).unwrap();
    let header: &mut Header = bytemuck::from_bytes_mut(&mut bytes[..size_of::<Header>()]);
    change(header);
    header.seal();
    fs::write(path, bytes).unwrap();
}

pub fn block(kind: u32, entry: &[u8]) -> Vec<u8> {
    let bytes = (BLOCK_HEADER_BYTES + entry.len()) as u32;
    let header = BlockHeader { magic: BLOCK_MAGIC, kind, bytes, used: 1, ..BlockHeader::zeroed() };
    [bytes_of(&header), entry].concat()
}

pub const DEAD: u32 = u32::MAX / 2;

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

/// Whoever recovers may be outside of the job, or in another one.
#[test]
fn recovered_profiles_are_named_after_the_job_of_the_shards() {
    let folder = Folder::empty();
    for rank in 0..2 {
        write(folder.0.path(), "", rank, 2, DEAD);
        change(folder.0.path(), rank, DEAD, |header| {
            let words = ["Slurm", "16_3", "0", "3"].map(str::to_owned);
            let [system, id, step, task] = words;
            header.set_job(&Job { system, id, step, task, nodes: 2 });
        });
    }
    let through = |words: &[&str]| {
        Answer::of(folder.command(words).env("SLURM_JOB_ID", "99").env("SLURM_STEP_ID", "7").output().unwrap()).ok()
    };
    let out = through(&["recover", "--keep"]);
    assert!(out.starts_with("commsee-recovered-16_3.0.db: run 00000000 of job 16_3.0, started "), "{out}");
    let head = folder.through(&[]).ok();
    assert!(head.contains("\njob        16_3.0 of Slurm, 2 nodes\n"), "{head}");
    through(&["recover", "-o", "%j-%s-%p-%t-%%.db"]);
    let names = ["16_3-0-2147483647-19700101T000000-%.db", "commsee-recovered-16_3.0.db"];
    assert_eq!(folder.names(), names);
}

/// The launcher said nothing of other hosts, or that there are some: then the rest may be there, and be joined.
#[test]
fn shards_of_parts_are_kept_until_they_are_whole() {
    for (local_ranks, said) in [
        (0, "without rank 2: no shard on this host; other hosts may have some"),
        (1, "without rank 2: no shard on this host; other hosts may have some"),
        (2, "without rank 2, which ran on other hosts"),
    ] {
        // With 1: of the two ranks that were on host a one is there.
        let folder = Folder::empty();
        let say = |header: &mut Header| {
            header.local_ranks = local_ranks;
            if local_ranks == 1 {
                header.local_ranks = 2 - header.world_rank;
                set_text(&mut header.host, if header.world_rank == 0 { "a" } else { "b" });
                header.lock = LOCKED;
            }
        };
        write_as(folder.0.path(), "", 0, 3, DEAD, Vec::new(), say);
        write_as(folder.0.path(), "", 1, 3, DEAD, Vec::new(), say);
        let out = folder.through(&["recover", "-o", "a.db"]).ok();
        assert!(out.contains(&format!("  {said}\n  the shards here are kept; ")), "{out}");
        assert!(out.ends_with("through recover a.db OTHER.db\n"), "{out}");
        assert_eq!(folder.names().len(), 3);
        let head = folder.through(&["a.db"]).ok();
        assert!(head.contains(" 2 of 3 recorded, on "), "{head}");
    }
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

/// As when each task of a node runs `through recover`.
#[test]
fn many_who_recover_at_once_make_one_profile() {
    let folder = Folder::empty();
    for rank in 0..4 {
        write(folder.0.path(), "", rank, 4, u32::MAX / 2);
    }
    let recover = || folder.command(&["recover", "-o", "a.db"]).stderr(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (0..8).map(|_| recover()).collect();
    let answers: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    assert_eq!(folder.names(), ["a.db"], "{answers:?}");
    let said = |answer: &std::process::Output| String::from_utf8_lossy(&answer.stderr).into_owned();
    // Those that come when all is done find nothing.
    let is_true =
        |answer: &std::process::Output| answer.status.success() || said(answer).contains("nothing to recover");
    assert!(
        answers.iter().all(is_true) && !answers.iter().any(|answer| said(answer).contains("still runs")),
        "{answers:?}"
    );
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

/// The shard of a rank of the run that `write` makes with this process number.
fn shard(folder: &Folder, pid: u32, rank: u32) -> std::path::PathBuf {
    folder.path(&shard_name([0xabcd_ef01, u64::from(pid)], rank))
}

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
    assert!(folder.through(&["clean"]).ok().starts_with("removed run "));
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
fn shards_of_different_runs_are_never_mixed() {
    let folder = Folder::empty();
    for pid in [DEAD, DEAD - 1] {
        (0..2).for_each(|rank| write(folder.0.path(), "", rank, 2, pid));
    }
    // Even where somebody has exchanged their names.
    let (one, other) = (shard(&folder, DEAD, 1), shard(&folder, DEAD - 1, 1));
    fs::rename(&one, folder.path("aside")).unwrap();
    fs::rename(&other, &one).unwrap();
    fs::rename(folder.path("aside"), &other).unwrap();
    folder.through(&["recover"]).ok();
    let names = folder.names();
    assert_eq!(names.len(), 2, "{names:?}");
    let pids = |name: &str| {
        let rows = folder.through(&[name, "-e", "--format", "csv"]).csv();
        rows.iter().map(|row| row["pid"].clone()).collect::<Vec<_>>()
    };
    let mut both = [pids(&names[0]), pids(&names[1])];
    both.sort();
    assert_eq!(both, [DEAD - 1, DEAD].map(|pid| vec![pid.to_string(); 2]));
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

#[test]
fn shards_of_the_formats_before_stay_readable() {
    for format in OLDEST_FORMAT..FORMAT {
        let folder = Folder::empty();
        write(folder.0.path(), "", 0, 1, DEAD);
        let path = shard(&folder, DEAD, 0);
        let mut bytes = fs::read(&path).unwrap();
        let mut header: Header = *bytemuck::from_bytes(&bytes[..HEADER_BYTES]);
        header.format = format;
        header.seal();
        bytes[..HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&header));
        fs::write(path, bytes).unwrap();
        let answer = folder.through(&["recover"]);
        assert_eq!(answer.status, 0, "{format}: {}", answer.err);
    }
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

/// The name that something of the run has which `write` makes with this process number.
fn of_run(pid: u32, end: &str) -> String {
    format!("commsee-{:016x}{pid:016x}{end}", 0xabcd_ef01u64)
}

const LEFT: [&str; 5] = ["-0.snapshot-1.claim", "-1.part", "-1.joined", ".node", ".decision"];

/// All that a run that was killed may leave beside its shards: files, links to somewhere else, folders.
fn write_debris(folder: &Folder, pid: u32) {
    LEFT.iter().for_each(|end| fs::write(folder.path(&of_run(pid, end)), "").unwrap());
    std::os::unix::fs::symlink(folder.path("precious"), folder.path(&of_run(pid, "-2.joined"))).unwrap();
    let hidden = folder.path(&format!(".{}", of_run(pid, "")));
    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("part"), "").unwrap();
    fs::create_dir_all(folder.path("precious")).unwrap();
    fs::write(folder.path("precious/data"), "").unwrap();
    // No run is named by these.
    fs::write(folder.path("commsee-notes.txt"), "").unwrap();
    fs::write(folder.path(&of_run(pid, ".db")), "").unwrap();
}

#[test]
fn what_else_a_dead_run_left_goes_with_its_shards() {
    let kept = |pid| vec![of_run(pid, ".db"), "commsee-notes.txt".to_owned(), "precious".to_owned()];
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    write_debris(&folder, DEAD);
    assert!(folder.through(&["clean"]).ok().starts_with("removed run "));
    assert_eq!(folder.names(), kept(DEAD));
    assert!(folder.path("precious/data").exists());

    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    write_debris(&folder, DEAD);
    folder.through(&["recover", "--keep", "-o", "a.db"]).ok();
    assert_eq!(folder.names().len(), 12);
    folder.through(&["recover", "-o", "a.db"]).ok();
    assert_eq!(folder.names(), [&["a-1.db".to_owned(), "a.db".to_owned()], &kept(DEAD)[..]].concat());
}

#[test]
fn what_a_run_left_that_goes_on_stays() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, std::process::id());
    write_debris(&folder, std::process::id());
    let before = folder.names();
    for command in ["recover", "clean"] {
        let answer = folder.through(&[command, folder.0.path().to_str().unwrap()]);
        assert!(answer.status == 1 && answer.err.contains("left alone, it still runs"), "{answer:?}");
        assert_eq!(folder.names(), before);
    }
    // Its shards lie where they do by default, and this beside the profile.
    let beside = folder.path("precious");
    fs::create_dir(beside.join(format!(".{}", of_run(std::process::id(), "")))).unwrap();
    let answer = folder.through(&["clean", "--force", "precious"]);
    assert!(answer.status == 1 && answer.err.contains("left alone, its job still runs"), "{answer:?}");
    fs::remove_file(shard(&folder, std::process::id(), 0)).unwrap();
    let answer = folder.through(&["clean", "precious"]);
    assert!(answer.err.contains("left alone, unknown whether its job has ended (--force)"), "{answer:?}");
    folder.through(&["clean", "--force", "precious"]).ok();
    assert_eq!(fs::read_dir(beside).unwrap().count(), 1);
}

/// Of a process that was killed when it had removed the shards.
#[test]
fn a_claim_without_shards_is_judged_by_its_holder() {
    for command in ["clean", "recover"] {
        let folder = Folder::empty();
        let path = folder.path(&of_run(DEAD, "-0.snapshot-1.claim"));
        let claim = commsee::profile::Claim::take(&path).unwrap();
        assert_eq!(folder.through(&[command]).status, 1);
        assert!(path.exists(), "{command}: it is held");
        drop(claim);
        for end in ["-0.snapshot-1.claim", "-1.part"] {
            fs::write(folder.path(&of_run(DEAD, end)), "").unwrap();
        }
        let said = |answer: &Answer| format!("{}{}", answer.out, answer.err);
        let is_removed = |answer: &Answer| said(answer).contains("removed files");
        let said = said(&once_released(|| folder.through(&[command]), is_removed));
        assert!(said.contains("removed files of run 00000000: ") && said.contains(" and 1 more"), "{said}");
        assert_eq!(folder.names(), Vec::<String>::new());
    }
}

/// Of a process that no number tells of here nobody says that it is dead, and where it may be is said.
#[test]
fn runs_of_which_nobody_knows_are_left_alone() {
    type Say = fn(&mut Header);
    let in_container: Say = |header| header.namespaces += 1;
    let on_namesake: Say = |header| header.boot = [1, 2];
    let away: Say = |header| {
        header.boot = [1, 2];
        set_text(&mut header.host, "far\u{1b}away");
    };
    let unknown = "it ran in another container, or on another host of this name, and may still run there (--force)";
    let elsewhere = "it ran on far\\u{1b}away and may still run there (--force)";
    for (say, why) in [(in_container, unknown), (on_namesake, unknown), (away, elsewhere)] {
        for pid in [DEAD, std::process::id()] {
            for command in ["recover", "clean"] {
                let folder = Folder::empty();
                write_as(folder.0.path(), "", 0, 1, pid, Vec::new(), say);
                let answer = folder.through(&[command]);
                assert!(answer.status == 1 && answer.err.contains(&format!("left alone, {why}")), "{}", answer.err);
                assert_eq!(folder.names().len(), 1);
                folder.through(&[command, "--force"]).ok();
            }
        }
    }
}

/// Shards whose lock nobody holds are of the dead, whatever else they say.
#[test]
fn the_lock_decides_before_the_number() {
    let folder = Folder::empty();
    let say = |header: &mut Header| {
        header.lock = LOCKED;
        header.boot = [1, 2];
        set_text(&mut header.host, "far.away");
    };
    let pid = std::process::id();
    write_as(folder.0.path(), "", 0, 1, pid, Vec::new(), say);
    let path = shard(&folder, pid, 0);
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    assert!(locks::take(file.as_raw_fd()).unwrap());
    for words in [["recover", "--force"], ["clean", "--force"]] {
        let answer = folder.through(&words);
        assert!(answer.err.contains("left alone, it still runs (on far.away)"), "{}", answer.err);
        assert_eq!(folder.names().len(), 1);
    }
    drop(file);
    once_released(|| folder.through(&["recover", "-o", "a.db"]), |answer| answer.status == 0).ok();
    assert_eq!(folder.names(), ["a.db"]);
}

/// The header of a shard that the version wrote which had the same format, but knew of no locks. Its numbers of operations are made
/// this version's: the table of calls grows.
#[test]
fn shards_of_format_5_without_a_lock_are_judged_by_number() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/shard-5-unlocked.header");
    let mut header: Header = bytemuck::pod_read_unaligned(&fs::read(golden).unwrap());
    assert!(header.is_intact() && header.format == OLDEST_FORMAT);
    assert_eq!((header.lock, header.boot, header.namespaces, header.local_ranks), (UNLOCKED, [0, 0], 0, 0));
    header.table_hash = TABLE_HASH;
    header.used_bytes = size_of::<Header>() as u64;
    for (host, pid, state) in [
        (host_name(), DEAD, State::Dead),
        (host_name(), std::process::id(), State::Alive),
        ("far.away".to_owned(), DEAD, State::Elsewhere),
    ] {
        let folder = Folder::empty();
        (header.pid, header.process_start) = (pid, process_start(pid).unwrap_or(1));
        set_text(&mut header.host, &host);
        header.seal();
        fs::write(folder.path(&shard_name(header.run, header.world_rank)), bytes_of(&header)).unwrap();
        assert_eq!(recover::find(&[folder.0.path().to_owned()])[0].state(), state, "{host} {pid}");
        if state == State::Dead {
            folder.through(&["recover"]).ok();
        }
    }
}
