//! `through recover` and `through recover --clean`.

mod damaged;
mod left;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use bytemuck::{Zeroable, bytes_of};
use commsee::calls::{TABLE_HASH, op};
use commsee::job::Job;
use commsee::profile::recover::{host_name, process_start, shard_name};
use commsee::profile::{boot, namespaces};
use commsee::shard::{
    BLOCK_HEADER_BYTES, BLOCK_MAGIC, BlockHeader, Bound, CELLS, COMMUNICATORS, CONTIGUOUS, Cell, Communicator,
    DATATYPES, Edge, FIRST_COMM, FORMAT, Header, LOCKED, MAGIC, Moment, PHASES, RUNNING, Text, USES, Use, set_text,
};

use crate::common::{Answer, Folder};

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
    assert!(folder.through(&["recover", "--clean", "--dry-run"]).ok().starts_with("would remove run "));
    assert_eq!(folder.names().len(), 2);
    assert!(folder.through(&["recover", "--clean"]).ok().starts_with("removed run "));
    assert_eq!(folder.names(), ["sample.db"]);
    assert_eq!(folder.through(&["recover", "--clean"]).status, 1);
}

/// What was looked up of binaries stays, unless that is asked for.
#[test]
fn cleaning_removes_the_cache_when_asked() {
    let folder = Folder::empty();
    let cache = folder.path("cache/commsee/symbols");
    fs::create_dir_all(&cache).unwrap();
    ["00.json", "01.json", ".1.new"].iter().for_each(|name| fs::write(cache.join(name), [b' '; 512]).unwrap());
    let clean = |words: &[&str]| {
        let mut command = folder.command(&[&["recover", "--clean"], words].concat());
        Answer::of(command.env("XDG_CACHE_HOME", folder.path("cache")).output().unwrap())
    };
    let all =
        format!("{}: 3 files with names of functions and lines, 1.50 KiB\n", folder.path("cache/commsee").display());
    assert_eq!(clean(&[]).status, 1);
    assert_eq!(clean(&["--cache", "-n"]).ok(), format!("would remove {all}"));
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 3);
    assert_eq!(clean(&["--cache"]).ok(), format!("removed {all}"));
    assert!(!folder.path("cache/commsee").exists() && folder.path("cache").exists());
    let nothing = clean(&["--cache"]);
    assert_eq!((nothing.status, nothing.err.contains("cache/commsee")), (1, true), "{nothing:?}");
}

/// The shard of a rank of the run that `write` makes with this process number.
fn shard(folder: &Folder, pid: u32, rank: u32) -> std::path::PathBuf {
    folder.path(&shard_name([0xabcd_ef01, u64::from(pid)], rank))
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
