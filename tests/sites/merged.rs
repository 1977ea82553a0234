//! Several ranks become one profile: what is the same place in the code has one number, wherever it was loaded and in whatever order
//! ranks were merged.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use commsee::calls::op;
use commsee::profile::parts::unpack;
use commsee::profile::recover::{self, Part};
use commsee::profile::{SCHEMA_VERSION, Writer};
use commsee::shard::{BUCKET_FAILED, BUCKET_PENDING, Cell, FIRST_COMM, NO_SITE, Shard, shard_name};
use commsee::stream::{Detail, Merge, MergedShards, ProcessStream};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::process::{MODULE_BYTES, Process, number};

const SEND: u64 = Cell::key(FIRST_COMM, op::MPI_Send, 0);

/// What a profile of these shards says: one row of each as text.
struct Profile {
    db: Connection,
    _directory: tempfile::TempDir,
}

impl Profile {
    fn of(shards: impl IntoIterator<Item = Shard>, detail: Detail) -> Profile {
        let mut all = MergedShards::new(detail, false);
        shards.into_iter().for_each(|shard| all.add(shard));
        let directory = tempfile::tempdir().unwrap();
        let writer = Writer::create(&directory.path().join("a.db")).unwrap();
        let written = writer.write(detail, &mut all.stream()).unwrap();
        Profile { db: Connection::open(written.path).unwrap(), _directory: directory }
    }

    fn at(path: &Path) -> Profile {
        Profile { db: Connection::open(path).unwrap(), _directory: tempfile::tempdir().unwrap() }
    }

    fn rows(&self, sql: &str) -> Vec<String> {
        let mut statement = self.db.prepare(sql).unwrap();
        let columns = statement.column_count();
        let text = |value: Value| match value {
            Value::Null => "-".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => text,
            Value::Blob(bytes) => format!("{bytes:?}"),
        };
        let rows = statement.query_map([], |row| (0..columns).map(|at| Ok(text(row.get(at)?))).collect()).unwrap();
        rows.map(|row: rusqlite::Result<Vec<String>>| row.unwrap().join("|")).collect()
    }

    /// All that stands in the tables.
    fn all(&self) -> Vec<String> {
        let tables = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1");
        tables.iter().flat_map(|table| self.rows(&format!("SELECT '{table}', * FROM {table}"))).collect()
    }
}

/// The main program of all ranks but the last, and of that one.
const SOLVER: ([u8; 20], &str) = ([0xab; 20], "/home/me/solver");
const COUPLER: ([u8; 20], &str) = ([0xcd; 20], "/home/me/coupler");
const RANKS: u32 = 5;

/// Ranks load their modules at different addresses, and meet sites in a different order. The last one runs another program.
fn ranks() -> Vec<Shard> {
    let one = |rank: u32| {
        let process = Process::new(rank, RANKS);
        let program = if rank + 1 == RANKS { COUPLER } else { SOLVER };
        let base = 0x5555_0000_0000 + u64::from(rank) * 0x10_0000;
        // Copies of a file on local disks; and a library without a build id, whose path is the same everywhere.
        let load = |which: u32| match which {
            0 => process.module(&format!("{}-{}", program.1, rank % 2), &program.0, base),
            _ => process.module("/lib/libgrid.so", &[], base + 2 * MODULE_BYTES),
        };
        let (main, library) = if rank.is_multiple_of(2) {
            let main = load(0);
            (main, load(1))
        } else {
            let library = load(1);
            (load(0), library)
        };
        // Nothing refers to it.
        process.module("/lib/libc.so.6", &[3; 20], base + 4 * MODULE_BYTES);
        if rank == 2 {
            process.site(process.frame(main, 0x999), NO_SITE);
        }
        let in_main = process.site(process.frame(main, 0x100), NO_SITE);
        let in_library = process.site(process.frame(library, 0x20), in_main);
        let alone = process.site(process.frame(library, 0x20), NO_SITE);
        let in_python = process.site(process.python("step", "/home/me/run.py", 12), in_library);
        for site in [in_main, in_library, alone, in_python, NO_SITE] {
            process.count(SEND, site, u64::from(rank) + 1);
        }
        process.communicator(2, b'd', in_library);
        process.communicator(3, b's', if rank == 0 { NO_SITE } else { in_main });
        process.count(Cell::key(number(2), op::MPI_Barrier, 1), alone, 7);
        process.shard()
    };
    (0..RANKS).map(one).collect()
}

#[test]
fn a_site_has_one_number_on_all_ranks() {
    let profile = Profile::of(ranks(), Detail::Rank);
    assert_eq!(profile.rows("PRAGMA user_version"), [SCHEMA_VERSION.to_string()]);
    let (solver, coupler) = ("ab".repeat(20), "cd".repeat(20));
    assert_eq!(
        profile.rows("SELECT path, build_id FROM module"),
        [
            format!("/home/me/coupler-0|{coupler}"),
            format!("/home/me/solver-0|{solver}"),
            "/lib/libgrid.so|-".to_owned()
        ]
    );
    assert_eq!(profile.rows("SELECT module, address FROM frame"), ["-|-", "1|256", "2|256", "3|32"]);
    assert_eq!(profile.rows("SELECT * FROM frame_name"), ["1|0|step|/home/me/run.py|12"]);
    // Of solver, then of coupler; the library alone has one site.
    assert_eq!(profile.rows("SELECT * FROM site"), ["1|3|-", "2|4|1", "3|4|-", "4|1|2", "5|2|-", "6|4|5", "7|1|6"],);
    assert_eq!(
        profile.rows(
            "SELECT site, comm, op, bucket, phase, calls, bytes_sent, bytes_recv, time_ns FROM call_site WHERE rank = 3"
        ),
        [0, 1, 2, 3]
            .map(|site| format!("{site}|{FIRST_COMM}|{}|0|0|4|32|64|400", op::MPI_Send))
            .into_iter()
            .chain([format!("3|{}|{}|1|0|7|56|112|700", number(2), op::MPI_Barrier)])
            .chain([format!("4|{FIRST_COMM}|{}|0|0|4|32|64|400", op::MPI_Send)])
            .collect::<Vec<_>>()
    );
    let calls = "SELECT site, sum(calls), count(*) FROM call_site WHERE bucket = 0 GROUP BY site";
    assert_eq!(profile.rows(calls), ["0|15|5", "1|10|4", "2|10|4", "3|15|5", "4|10|4", "5|5|1", "6|5|1", "7|5|1"]);
    let made = "SELECT comm, made_at, made_in FROM communicators";
    assert_eq!(profile.rows(made), ["W0.0|-|-", "d0.1|-|-", "s0.2|-|-"]);
    // Rank 0 does not know where the last one was made: the lowest rank that does is believed.
    assert_eq!(profile.rows("SELECT site FROM communicator WHERE letter IS NOT NULL"), ["-", "2", "1"]);
    profile
        .db
        .execute_batch(
            "INSERT INTO frame_name VALUES (4, 0, 'make_rows', '/src/lib/grid.c', 88), (4, 1, 'main', 'main.c', 9)",
        )
        .unwrap();
    assert_eq!(profile.rows(made), ["W0.0|-|-", "d0.1|grid.c:88|make_rows", "s0.2|-|-"]);
    let at =
        "SELECT DISTINCT id, site, function, bucket_lo FROM call_sites WHERE comm = 'd0.1' OR rank = 4 ORDER BY 1, 4";
    assert_eq!(
        profile.rows(at),
        [
            "-|-|-|0",
            "3|grid.c:88|make_rows|0",
            "3|grid.c:88|make_rows|128",
            "5|-|-|0",
            "6|grid.c:88|make_rows|0",
            "7|run.py:12|step|0"
        ]
    );
}

#[test]
fn the_order_of_ranks_does_not_matter() {
    for detail in [Detail::Rank, Detail::Node, Detail::Comm] {
        let whole = Profile::of(ranks(), detail).all();
        assert!(whole.iter().any(|row| row.starts_with("call_site|7|")));
        for turn in 1..RANKS as usize {
            let mut turned = ranks();
            turned.rotate_left(turn);
            turned[1..].reverse();
            assert_eq!(Profile::of(turned, detail).all(), whole, "{detail:?} {turn}");
        }
        // Up a tree, as in MPI_Finalize.
        let mut streams: Vec<_> = ranks().into_iter().map(|shard| ProcessStream::new(shard, detail, false)).collect();
        let last = streams.split_off(2);
        let mut tree = Merge::new(vec![Merge::new(streams), Merge::new(last)]);
        let directory = tempfile::tempdir().unwrap();
        let writer = Writer::create(&directory.path().join("a.db")).unwrap();
        let written = writer.write(detail, &mut tree).unwrap();
        assert_eq!(Profile::at(&written.path).all(), whole, "{detail:?}");
    }
}

#[test]
fn details_tell_sums_over_nodes_and_over_all() {
    let of = |detail, sql: &str| Profile::of(ranks(), detail).rows(sql);
    let calls = "SELECT rank, calls, time_ns FROM call_site WHERE site = 3 AND bucket = 0";
    assert_eq!(of(Detail::Node, calls), ["0|3|300", "2|7|700", "4|5|500"]);
    assert_eq!(of(Detail::Comm, calls), ["-1|15|1500"]);
    assert_eq!(of(Detail::Comm, "SELECT count(*), sum(rank IS NULL) FROM call_sites"), ["9|9"]);
}

/// As for the cells without sites.
#[test]
fn failed_and_pending_calls_are_in_the_lowest_bucket() {
    let process = Process::new(0, 1);
    let site = process.site(process.frame(process.module("a.out", &[], 4096), 4), NO_SITE);
    for (bucket, calls) in [(0, 5), (1, 10), (BUCKET_FAILED, 3), (BUCKET_PENDING, 2)] {
        process.count(Cell::key(FIRST_COMM, op::MPI_Irecv, bucket), site, calls);
    }
    // A process that was ended between two additions.
    process.count(Cell::key(FIRST_COMM, op::MPI_Recv, 0), site, u64::MAX);
    let profile = Profile::of([process.shard()], Detail::Rank);
    assert_eq!(profile.rows("SELECT bucket, calls FROM call_site"), ["0|10", "1|10"]);
}

#[test]
fn what_threads_counted_is_added_up() {
    let process = Process::new(0, 1);
    process.phase(1, "solve");
    let site = process.site(process.frame(process.module("a.out", &[], 4096), 4), NO_SITE);
    let key = SEND | Cell::phase_bits(1);
    process.count(key, site, 5);
    process.another_thread_counts(key, site, 6);
    process.count(SEND, site, 1);
    let profile = Profile::of([process.shard()], Detail::Rank);
    assert_eq!(profile.rows("SELECT phase, calls, bytes_sent FROM call_site"), ["0|1|8", "1|11|88"]);
}

/// What the ranks were calling from that were killed.
fn killed() -> Vec<Vec<u8>> {
    let one = |rank: u32| {
        let process = if rank == 2 { Process::new(rank, 4) } else { Process::killed(rank, 4) };
        let base = 0x10_0000 * u64::from(rank + 1);
        // A plugin was unloaded, and something else has its place now.
        process.module("/lib/plugin.so", &[], base);
        let program = process.module("/home/me/solver", &[0xab; 20], base);
        let known = process.site(process.frame(program, 0x100 - 1), NO_SITE);
        process.count(SEND, known, 1);
        let caller = match rank {
            // The last instruction of a module: it returns behind it.
            1 => base + MODULE_BYTES,
            3 => 0x77,
            _ => base + 0x100,
        };
        process.is_inside(op::MPI_Recv, 500, caller);
        process.image()
    };
    (0..4).map(one).collect()
}

#[test]
fn the_caller_of_a_killed_rank_is_known() {
    let expected = ["0|1|solver:255|8", "1|2|solver:65535|8", "3|-|-|8"];
    let standing = "SELECT t.rank, t.site, replace(s.module, '/home/me/', '') || ':' || s.address, length(o.name) \
                    FROM standing t JOIN operation o ON o.id = t.op LEFT JOIN sites s ON s.id = t.site ORDER BY 1";
    let images = killed();
    let shards = || images.iter().map(|image| Shard::parse(image).unwrap());
    let profile = Profile::of(shards(), Detail::Rank);
    assert_eq!(profile.rows(standing), expected);
    assert_eq!(profile.rows("SELECT * FROM module"), [format!("1|/home/me/solver|{}", "ab".repeat(20))]);
    assert_eq!(Profile::of(shards().rev(), Detail::Rank).all(), profile.all());
    profile
        .db
        .execute_batch("INSERT INTO frame_name SELECT id, 0, 'exchange', 'halo.c', 57 FROM frame WHERE address = 255")
        .unwrap();
    assert_eq!(
        profile.rows("SELECT rank, site, function FROM running ORDER BY 1"),
        ["0|halo.c:57|exchange", "1|-|-", "3|-|-"]
    );
    // The same of their files.
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Profile::at(&recovered(folder.path(), &images, 0..4)).rows(standing), expected);
}

/// The profile of the shards of some of these ranks, made as where a job was killed.
fn recovered(folder: &Path, images: &[Vec<u8>], ranks: Range<u32>) -> PathBuf {
    let folder = folder.join(format!("{ranks:?}"));
    fs::create_dir(&folder).unwrap();
    for rank in ranks {
        fs::write(folder.join(shard_name([1, 2], rank)), &images[rank as usize]).unwrap();
    }
    let runs = recover::find(std::slice::from_ref(&folder));
    recover::recover(&runs[0], &folder.join("a.db")).unwrap().path
}

/// A profile that lacks ranks carries their shards: joined with the rest they make the whole, sites included.
#[test]
fn parts_make_the_whole() {
    let (images, folder) = (killed(), tempfile::tempdir().unwrap());
    let whole = recovered(folder.path(), &images, 0..4);
    let mut runs = Vec::new();
    for ranks in [0..1, 1..4] {
        let path = recovered(folder.path(), &images, ranks.clone());
        let db = Connection::open(&path).unwrap();
        for rank in ranks {
            let of_part = |row: &rusqlite::Row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?));
            let (bytes, data) = db.query_row("SELECT bytes, shard FROM part WHERE rank = ?", [rank], of_part).unwrap();
            let shard = unpack(&data, bytes as u64).unwrap();
            let part = Part { profile: path.clone(), rank, read: Box::new(move || Ok(shard.clone())) };
            recover::add_parts(&mut runs, vec![part]).unwrap();
        }
    }
    let joined = recover::recover(&runs[0], &folder.path().join("joined.db")).unwrap();
    assert_eq!(Profile::at(&joined.path).all(), Profile::at(&whole).all());
}

/// Bytes of the profile of a process that makes so many communicators at a handful of sites, or nowhere.
fn profile_bytes(communicators: u32, with_birthplaces: bool) -> u64 {
    let process = Process::new(0, 1);
    let program = process.module("a.out", &[1; 20], 4096);
    let sites: Vec<u32> = (0..5).map(|at| process.site(process.frame(program, at * 8), NO_SITE)).collect();
    for number in 2..2 + communicators {
        process.communicator(number, b'd', if with_birthplaces { sites[number as usize % 5] } else { NO_SITE });
    }
    let profile = Profile::of([process.shard()], Detail::Rank);
    let bytes = profile.rows("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    bytes[0].parse().unwrap()
}

#[test]
fn a_birthplace_takes_few_bytes_of_a_profile() {
    let cost = |with| (profile_bytes(3000, with) - profile_bytes(1000, with)) / 2000;
    let (with, without) = (cost(true), cost(false));
    assert!(without < with && with <= without + 10, "{with} and {without}");
}
