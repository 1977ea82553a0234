//! Profiles that somebody made to do harm, and files that are none.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rusqlite::Connection;

use crate::common::{Answer, Builder, Did, Folder, TRANSFER_SUMS};

const VIEWS: [&str; 6] = ["--top=0", "-a", "-u", "-e", "--phases", "--datatypes"];
const FORMATS: [&str; 3] = ["table", "csv", "json"];

/// One line and status 2, whatever is asked.
#[track_caller]
fn refused(folder: &Folder, name: &str, why: &str) {
    for words in VIEWS.iter().flat_map(|view| FORMATS.map(|format| [*view, "--format", format])) {
        let answer = folder.through(&[&[name], &words[..]].concat());
        assert_eq!((answer.status, answer.out.as_str()), (2, ""), "{words:?}: {}", answer.err);
        assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
        assert!(answer.err.contains(why) && !answer.err.contains("panicked"), "{}", answer.err);
    }
}

fn is_harmless(character: char) -> bool {
    let turns_or_hides = matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
    character == '\n' || !(character.is_control() || turns_or_hides)
}

#[test]
fn names_do_no_harm_in_any_view_or_format() {
    let long = "long ".repeat(100_000);
    let names = [
        "'; DROP TABLE cell; --",
        "\"quoted\", and, commas",
        "two\r\nlines\ttab\0zero",
        "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{8}\u{7f}",
        "\u{202e}desrever\u{2066}\u{61c}\u{200f}\u{feff}\u{ad}\u{e0041}",
        "=cmd|' /C calc'!A0",
        "ok, really: Grüße 日本語",
        &long,
    ];
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 1);
    for (number, name) in names.iter().enumerate() {
        let comm = format!("s0.{number}");
        profile.comm(&comm, Some(name), None, 1, "0");
        profile.phase(name);
        profile.cell(&comm, "MPI_Bcast", 0, 0, Did(1, 8, 8, 5));
        profile.used(&comm, "MPI_Bcast", (name, true), 0, 1, 8);
    }
    profile.finish(|_| 100);
    let before = fs::read(folder.path("a.db")).unwrap();
    for (view, format) in VIEWS.iter().flat_map(|view| FORMATS.map(|format| (*view, format))) {
        let out = folder.through(&[view, "--format", format]).ok();
        assert!(out.chars().all(is_harmless), "{view} {format}");
        match format {
            "csv" => {
                let rows = csv::Reader::from_reader(out.as_bytes()).into_records().map(Result::unwrap).count();
                assert_eq!(rows + 1, out.lines().count(), "{view}: a row is a line");
            }
            "json" => _ = serde_json::from_str::<serde_json::Value>(&out).unwrap(),
            _ => {}
        }
    }
    // Each is still found by its exact name, and written exactly in JSON.
    for (number, name) in names.iter().enumerate().filter(|(_, name)| !name.contains('\0') && name.len() < 1000) {
        let found = folder.through(&["-u", "--comm", name, "--format", "json"]).json();
        assert_eq!(found["communicators"][0]["comm"], format!("s0.{number}"));
        assert_eq!(found["communicators"][0]["label"], *name);
    }
    assert!(fs::read(folder.path("a.db")).unwrap() == before);
}

#[test]
fn text_that_is_no_utf_8_is_refused() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    for table in ["communicator SET label", "metadata SET value", "process SET host"] {
        db.execute_batch(&format!("UPDATE {table} = CAST(x'61ff1b5b' AS TEXT)")).unwrap();
        refused(&folder, "sample.db", "is damaged");
        db.execute_batch(&format!("UPDATE {table} = 'fine'")).unwrap();
        folder.through(&[]).ok();
    }
}

#[test]
fn a_path_may_hold_any_bytes() {
    let folder = Folder::with_sample();
    let name = OsStr::from_bytes(b"a\xff\x1b[31m\n.db");
    fs::rename(folder.path("sample.db"), folder.0.path().join(name)).unwrap();
    for format in FORMATS {
        let out = Answer::of(folder.command(&["--format", format]).output().unwrap()).ok();
        assert!(out.chars().all(is_harmless), "{out:?}");
    }
    fs::write(folder.0.path().join(name), "no profile").unwrap();
    let answer = Answer::of(folder.command(&["-i"]).arg(name).output().unwrap());
    assert_eq!((answer.status, answer.err.lines().count()), (2, 1));
    assert!(answer.err.chars().all(is_harmless), "{:?}", answer.err);
}

/// A table that is a view may have no end; so may a tree of pages that leads back to itself.
#[test]
fn what_leads_to_no_end_is_given_up() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute_batch(
        "ALTER TABLE process RENAME TO former; CREATE VIEW process AS WITH RECURSIVE n(rank) AS (SELECT 0 UNION ALL \
         SELECT rank + 1 FROM n) SELECT rank, 'h' AS host, 1 AS pid, 1 AS wall_ns, 1 AS mpi_ns, 'finished' AS state \
         FROM n WHERE rank < 0",
    )
    .unwrap();
    db.close().unwrap();
    let answer = folder.through(&["-u"]);
    assert_eq!((answer.status, answer.out.as_str()), (2, ""));
    assert!(answer.err.contains("a query of it takes too long"), "{}", answer.err);
}

#[test]
fn numbers_that_cannot_be_are_shown_or_refused() {
    for number in [i64::MAX, i64::MIN, -1] {
        let folder = Folder::with_sample();
        let db = Connection::open(folder.path("sample.db")).unwrap();
        db.execute_batch(&format!(
            "UPDATE cell SET time_ns = {number}; UPDATE uneven_cell SET calls = {number}, failed = {number}, bytes_sent = {number}; \
             UPDATE process SET wall_ns = {number}, mpi_ns = {number}; UPDATE bucket SET lo = {number}; \
             UPDATE involvement SET calls = {number}"
        ))
        .unwrap();
        db.close().unwrap();
        for (view, format) in VIEWS.iter().flat_map(|view| FORMATS.map(|format| (*view, format))) {
            for filter in [&[][..], &["--bytes", "1:"], &["--time", ":1"]] {
                let answer = folder.through(&[&[view, "--format", format][..], filter].concat());
                assert!(matches!(answer.status, 0..=2), "{view} {format} {filter:?}: {answer:?}");
                assert!(!answer.err.contains("panicked"), "{view} {format} {filter:?}: {}", answer.err);
            }
        }
    }
}

/// Numbers of cells that overflow, lead nowhere or to those of others, and what is missing where something must be.
#[test]
fn sums_that_lie_about_their_cells_are_shown_or_refused() {
    let numbers = [i64::MAX.to_string(), i64::MIN.to_string(), "-3".to_owned(), "NULL".to_owned(), "1e300".to_owned()];
    let columns =
        ["total SET last_rank", "uneven_total SET calls_max", "uneven_total SET cell_calls", "total SET phase"];
    let of_all = columns.iter().flat_map(|column| numbers.iter().map(move |number| format!("{column} = {number}")));
    let others = [
        "total SET id = -9223372036854775808 WHERE id = 0",
        "total SET id = 9223372036854775807 - id, last_rank = 9223372036854775807",
        "cell SET id = 9223372036854775807 - id",
        "cell SET id = -1 - id",
        "cell SET time_ns = 'soon'",
        "cell SET time_ns = x'00ff'",
        "cell SET time_ns = 9223372036854775807",
        "uneven_cell SET calls = 9223372036854775807",
        "uneven_cell SET id = 9223372036854775807 - id",
        "total SET ranks = -1, rank_max_ns = 'x', rank_min_ns = x'00'",
        "total SET comm = 77, op = 78, bucket = -9, phase = 79",
        "communicator SET time_ranks = 9223372036854775807, rank_max_ns = NULL, members = -1",
        "communicator SET time_ranks = 1e300",
        "metadata SET key = 'detail', value = 'comm' WHERE key = 'launch'",
        "metadata SET key = 'detail', value = 'node' WHERE key = 'launch'",
        "process SET rank = 9223372036854775807 - rank",
        "phase SET id = -7 WHERE id = 0",
    ];
    let others = others.iter().map(|change| (*change).to_owned());
    for change in of_all.chain(others) {
        let folder = Folder::with_sample();
        let db = Connection::open(folder.path("sample.db")).unwrap();
        db.execute_batch("PRAGMA foreign_keys = OFF; INSERT INTO phase VALUES (5, 'solve')").unwrap();
        // What a column does not take is left as it is.
        db.execute_batch(&format!("UPDATE OR IGNORE {change}")).unwrap();
        db.close().unwrap();
        for (view, filter) in VIEWS[..5].iter().flat_map(|view| {
            [&[][..], &["--rank", "0-2"], &["--time", "0.01:"], &["--phase="], &["--phase=,solve"]]
                .map(|filter| (*view, filter))
        }) {
            let answer = folder.through(&[&[view, "--format", "csv"][..], filter].concat());
            assert!(matches!(answer.status, 0..=2), "{change}: {view} {filter:?}: {answer:?}");
            assert!(!answer.err.contains("panicked"), "{change}: {view} {filter:?}: {}", answer.err);
            assert!(answer.status != 2 || answer.err.lines().count() == 1, "{change}: {}", answer.err);
        }
    }
}

/// The answer of `through` where it may take 768 MiB of addresses and 20 seconds of a processor: what takes more ends by a signal.
fn answer_in_bounds(folder: &Folder, words: &[&str]) -> Answer {
    let mut command = folder.command(words);
    let limits = [(libc::RLIMIT_AS, 768 << 20), (libc::RLIMIT_CPU, 20)];
    // SAFETY: between fork and exec only this one system call is made.
    unsafe {
        command.pre_exec(move || {
            for (resource, value) in limits {
                libc::setrlimit(resource, &libc::rlimit { rlim_cur: value, rlim_max: value });
            }
            Ok(())
        });
    }
    let answer = Answer::of(command.output().unwrap());
    assert!(matches!(answer.status, 0..=2) && !answer.err.contains("panicked"), "{words:?}: {answer:?}");
    assert!(answer.status != 2 || answer.err.lines().count() == 1, "{words:?}: {}", answer.err);
    answer
}

/// The sample after such changes, with something in every table, of a job whose ranks stood somewhere when it ended.
fn damaged(changes: &str) -> Folder {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN").unwrap();
    db.execute_batch(
        "UPDATE process SET state = 'ended before MPI_Finalize' WHERE rank < 3; \
         INSERT INTO standing SELECT 0, 0, c.id, o.id, 5, 7, NULL FROM communicator c, operation o WHERE c.name = 's0.1' AND \
         o.name = 'MPI_Allreduce'; INSERT INTO standing VALUES (1, 0, NULL, NULL, 6, NULL, NULL), (2, 0, NULL, NULL, NULL, NULL, NULL); \
         INSERT INTO datatype VALUES (0, 'MPI_INT', 1); \
         INSERT INTO datatype_use SELECT comm, op, 0, 0, calls, 8 FROM total; \
         INSERT OR IGNORE INTO completed SELECT comm, op, 0, 0, op, 0, 1, calls, 8, 7 FROM total; \
         INSERT INTO file VALUES (1, 'a.nc'); INSERT INTO file_open VALUES (1, 2, 4, 4, 1), (0, 2, 1, 1, 0); \
         INSERT OR IGNORE INTO file_call SELECT 1, comm, op, 0, 0, 1, calls, 0, 5, 7, 9 FROM total; \
         INSERT OR IGNORE INTO file_call SELECT 0, comm, op, 0, 0, 2, calls, 0, 5, 7, 9 FROM total; INSERT INTO collective_io VALUES (3); \
         INSERT INTO edge SELECT c.id, o.id, 0, 1, 10, 1000 FROM communicator c, operation o WHERE c.name = 'W0.0' AND \
         o.name = 'MPI_Send'; \
         INSERT INTO way VALUES (1, 'ucp', 'put', 'eager', '', '', '', '', 0, 'message', ''), (2, 'uct', 'am', 'eager', 'tcp', 'eth0', \
         'network', '', 0, 'wire', ''); INSERT INTO transfer SELECT comm, op, 0, 1, src, dst, calls, bytes, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0 FROM edge; \
         INSERT INTO transfer SELECT comm, op, 0, 2, src, dst, calls, bytes, calls, 9, 1, 3, 0, 0, 0, 0, 0 FROM edge; \
         INSERT INTO note VALUES ('ucx', '1.13', 4); INSERT INTO clock VALUES (0, 0, 5, 0, 5, 4, 0), (1, 3, 5, NULL, NULL, 4, 0); \
         INSERT INTO event SELECT NULL, src, 0, 0, 10, 20, NULL, comm, op, bytes, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL FROM edge; \
         INSERT INTO event SELECT NULL, src, 0, 1, 11, 19, 10, comm, op, bytes, 2, dst, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM edge; \
         INSERT INTO event SELECT NULL, src, 0, 2, 10, NULL, 10, comm, op, bytes, NULL, dst, 0, 1, NULL, NULL, NULL, NULL, NULL FROM edge; \
         INSERT INTO event SELECT NULL, dst, 0, 3, 15, NULL, 15, comm, op, bytes, NULL, NULL, 0, 1, 0, NULL, NULL, NULL, NULL FROM edge; \
         INSERT INTO message SELECT s.id, r.id FROM event s, event r WHERE s.kind = 2 AND r.kind = 3; \
         INSERT INTO metadata VALUES ('messages_not_matched', '0')",
    )
    .unwrap();
    db.execute_batch(TRANSFER_SUMS).unwrap();
    db.execute_batch(changes).unwrap();
    db.execute_batch("COMMIT").unwrap();
    folder
}

#[test]
fn what_a_profile_says_of_ranks_costs_no_more_than_its_words() {
    let folder = damaged(
        "UPDATE members SET ranks = '0-4294967295'; UPDATE metadata SET value = '9000000000000000000' WHERE key = 'ranks'",
    );
    let rows = answer_in_bounds(&folder, &["--in-flight", "--format=csv"]).csv();
    let of = |row: usize| ["place", "ranks", "threads", "absent"].map(|key| rows[row][key].as_str());
    assert_eq!(of(0), ["call", "0", "1", "1-4294967295"]);
    assert_eq!(of(rows.len() - 1), ["missing", "4-2147483647", "2147483644", ""]);
    for words in [&[][..], &["--format=json"], &["--in-flight"], &["-u"], &["--in-flight", "--rank", "0-2"]] {
        answer_in_bounds(&folder, words).ok();
    }
    assert!(answer_in_bounds(&folder, &[]).ok().contains("4 of 9000000000000000000 recorded"));
}

#[test]
fn what_many_share_is_kept_once() {
    let members: Vec<String> = (0..20_000).map(|rank| (2 * rank).to_string()).collect();
    let folder = damaged(&format!(
        "INSERT INTO members VALUES (1000, '{}'); INSERT INTO communicator (name, letter, size, remote_size, root_rank, freed, \
         members, time_ranks, time_ns) WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) \
         SELECT 'd0.' || (n + 9), 'd', 9, 0, 0, 0, 1000, 0, 0 FROM n",
        members.join(",")
    ));
    for words in [&[][..], &["-u"], &["--in-flight", "--format=json"]] {
        answer_in_bounds(&folder, words).ok();
    }
}

#[test]
fn rows_that_belong_to_all_others_are_given_up() {
    let folder = damaged(
        "INSERT INTO total (id, comm, op, bucket, phase, ranks, calls, bytes_sent, bytes_recv, time_ns, rank_min, last_rank) \
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 3000) SELECT 100000 + n, 2, 1, 0, 0, 1, 1, 0, \
         0, 1, 0, 9000 FROM n; INSERT OR IGNORE INTO cell SELECT id, 1, NULL, NULL FROM total WHERE id > 100000",
    );
    let answer = answer_in_bounds(&folder, &["sample.db", "-a"]);
    assert!(
        answer.status == 2 && answer.err.contains("sample.db: is damaged (a query of it takes too long)"),
        "{answer:?}"
    );
}

#[test]
fn versions_that_cannot_be_are_refused() {
    for (version, why) in
        [(-1, "schema version -1"), (i32::MIN, "schema version -2147483648"), (0, "is not a commsee profile")]
    {
        refused(&damaged(&format!("PRAGMA user_version = {version}")), "sample.db", why);
    }
    refused(&damaged("PRAGMA user_version = 2147483647"), "sample.db", "use the `through` of that version");
}

/// Every column with values that nobody expects there, in one row and in all; and without each table and view.
#[test]
fn any_value_may_be_damaged() {
    const VALUES: [&str; 10] = [
        "NULL",
        "9223372036854775807",
        "-9223372036854775807 - 1",
        "-1",
        "4294967296",
        "9e999",
        "'0-4294967295'",
        "'9000000000000000000'",
        "CAST(x'61ff1b' AS TEXT)",
        "x'00ff'",
    ];
    const ASKED: [&[&str]; 32] = [
        &["--top=0"],
        &["--in-flight"],
        &["-a", "--format=json"],
        &["-u", "--format=csv"],
        &["-e"],
        &["--phases"],
        &["--datatypes"],
        &["--completed"],
        &["--files"],
        &["--files", "--rank=0-2", "--format=json"],
        &["--format=json"],
        &["--in-flight", "--format=json", "--rank=0-2"],
        &["--time=0:1"],
        &["layers", "--by=comm"],
        &["layers", "--all", "--format=json"],
        &["traffic", "--layer=uct"],
        &["traffic", "--layer=uct", "--window=0:"],
        &["layers", "--by=transport", "--window=0:"],
        &["traffic", "--by=device", "--modelled"],
        &["traffic", "--graph", "--by=device"],
        &["export", "perfetto"],
        &["show", "--efficiency", "--format=json"],
        &["waits", "--format=json"],
        &["advise", "--format=json"],
        &["waits", "--imbalance"],
        &["waits", "--imbalance", "--format=json"],
        &["traffic", "--patterns", "--format=json"],
        &["traffic", "--reorder", "--nodes=2x4", "--format=json"],
        &["comms", "--tree", "--format=json"],
        &["show", "--flat", "--sort=bytes"],
        &["show", "--sizes"],
        &["show", "--hosts"],
    ];
    let whole = damaged("");
    let list = |sql: &str| -> Vec<(String, String)> {
        let db = Connection::open(whole.path("sample.db")).unwrap();
        let mut query = db.prepare(sql).unwrap();
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let columns =
        list("SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table'");
    let changes = columns
        .iter()
        .flat_map(|(table, column)| VALUES.map(|value| format!("UPDATE OR IGNORE {table} SET {column} = {value}")));
    let drops = list("SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view')");
    let empty = drops.iter().filter(|(kind, _)| kind == "table").map(|(_, name)| format!("DELETE FROM {name}"));
    let without = drops.iter().map(|(kind, name)| format!("DROP {kind} {name}"));
    let circle = ["UPDATE communicator SET parent = id".to_owned()];
    let mut turn = 0;
    for change in changes.chain(empty).chain(without).chain(circle) {
        let path = whole.path("damaged.db");
        fs::copy(whole.path("sample.db"), &path).unwrap();
        let db = Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").unwrap();
        // What a table's own rules forbid stays as it is.
        let is_changed = db.execute_batch(&change).is_ok();
        drop(db);
        // All of them for each change take minutes.
        for words in ASKED.iter().cycle().skip(turn).take(usize::from(is_changed)) {
            let place = match words[0] {
                "export" => 2,
                word => usize::from(!word.starts_with('-')),
            };
            let mut words = words.to_vec();
            words.insert(place, "damaged.db");
            let answer = answer_in_bounds(&whole, &words);
            assert!(answer.status != 2 || answer.err.contains("damaged.db"), "{change}: {words:?}: {}", answer.err);
        }
        turn = (turn + 1) % ASKED.len();
    }
}

/// No more ranks are listed, nor is room made for more, than there are shards.
#[test]
fn what_a_shard_says_of_ranks_costs_no_more_than_its_words() {
    for detail in ["rank", "node", "comm"] {
        let folder = Folder::empty();
        crate::shards::write(folder.0.path(), "", 5, 1 << 24, crate::shards::DEAD);
        let mut command = folder.command(&["recover", "-o", "a.db"]);
        let answer = Answer::of(command.env("COMMSEE_DETAIL", detail).output().unwrap()).ok();
        assert!(answer.contains("ranks 0-4,6-16777215 left no shard"), "{answer}");
        assert!(answer_in_bounds(&folder, &["a.db", "--in-flight"]).ok().contains("0-4,6-16777215"), "{detail}");
    }
    for ranks in [(1 << 24) + 1, u32::MAX] {
        let folder = Folder::empty();
        crate::shards::write(folder.0.path(), "", 5, ranks, crate::shards::DEAD);
        let answer = answer_in_bounds(&folder, &["recover"]);
        assert_eq!(answer.status, 2);
        assert!(answer.err.contains("-5.shard: left out: its header is damaged"), "{}", answer.err);
    }
}

#[test]
fn files_with_holes_cost_nothing() {
    let folder = Folder::with_sample();
    let grow = |name: &str| {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(folder.path(name)).unwrap();
        file.set_len(1 << 40).is_ok()
    };
    // Some file systems have no files so large.
    if grow("hole.db") && grow("sample.db") {
        refused(&folder, "hole.db", "is not a commsee profile");
        folder.through(&["sample.db"]).ok();
    }
}

#[test]
fn pipes_and_devices_are_not_waited_for() {
    let folder = Folder::with_sample();
    for name in ["pipe.db", "newer.db"] {
        assert!(Command::new("mkfifo").arg(folder.path(name)).status().unwrap().success());
    }
    std::os::unix::fs::symlink("/dev/zero", folder.path("zero.db")).unwrap();
    for name in ["pipe.db", "zero.db", "/dev/zero", "/dev/random", "/proc/self/mem"] {
        let answer = folder.through(&[name]);
        assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{name}: {}", answer.err);
    }
    assert!(folder.through(&[]).ok().starts_with("profile    sample.db\n"));
}

/// Runs as a user who may do little, also where the tests run as root.
fn as_nobody(folder: &Folder, words: &[&str]) -> Answer {
    let program = folder.path("through");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_through"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = Command::new(program);
    command.args(words).current_dir(folder.0.path()).env_remove("COLUMNS");
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(65534).gid(65534);
    }
    // A child that another test has just started may still hold the copy open for writing.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.unwrap(),
        }
    };
    let answer = Answer::of(output);
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    answer
}

#[test]
fn a_profile_is_shown_where_its_reader_may_only_read() {
    let folder = Folder::with_sample();
    fs::set_permissions(folder.path("sample.db"), fs::Permissions::from_mode(0o444)).unwrap();
    for words in [&["sample.db"][..], &["-a", "--format", "json"], &[]] {
        as_nobody(&folder, words).ok();
    }
    fs::set_permissions(folder.path("sample.db"), fs::Permissions::from_mode(0o000)).unwrap();
    let answer = as_nobody(&folder, &["sample.db"]);
    assert_eq!((answer.status, answer.err.lines().count()), (2, 1));
    assert!(answer.err.contains("cannot be read: Permission denied"), "{}", answer.err);
}

/// Whoever may write into the directory of shards could put one of another run there. Needs root, to be two users.
#[test]
fn shards_of_other_users_are_passed_over() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let folder = Folder::empty();
    crate::shards::write(folder.0.path(), "", 0, 1, u32::MAX / 2);
    let shard = folder.path(&folder.names()[0]);
    fs::set_permissions(&shard, fs::Permissions::from_mode(0o644)).unwrap();
    let directory = folder.0.path().to_str().unwrap();
    let of_nobody = || as_nobody(&folder, &["recover", "--clean", "-n", directory]);
    assert!(of_nobody().err.contains("nothing"), "{:?}", of_nobody());
    std::os::unix::fs::chown(&shard, Some(65534), None).unwrap();
    assert!(of_nobody().ok().starts_with("would remove run "));
}

/// Neither a journal, nor what SQLite calls a write-ahead log, nor a lock.
#[test]
fn nothing_is_written_to_a_profile_or_beside_it() {
    for mode in ["DELETE", "WAL", "PERSIST", "TRUNCATE"] {
        let folder = Folder::with_sample();
        let db = Connection::open(folder.path("sample.db")).unwrap();
        db.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
        db.execute_batch("UPDATE metadata SET value = 'x' WHERE key = 'command'").unwrap();
        db.close().unwrap();
        // Beside it lies what a crash of some other program may have left.
        fs::write(folder.path("sample.db-wal"), "somebody else's").unwrap();
        fs::write(folder.path("sample.db-journal"), "somebody else's").unwrap();
        let state = || -> Vec<(String, Vec<u8>, i64, i64)> {
            let names = folder.names().into_iter();
            names
                .map(|name| {
                    let (bytes, facts) =
                        (fs::read(folder.path(&name)).unwrap(), folder.path(&name).metadata().unwrap());
                    (name, bytes, facts.mtime(), facts.mtime_nsec())
                })
                .collect()
        };
        let before = state();
        for words in VIEWS.iter().flat_map(|view| FORMATS.map(|format| [*view, "--format", format])) {
            let answer = folder.through(&[&["sample.db"], &words[..]].concat());
            assert!(answer.status < 2, "{mode} {words:?}: {}", answer.err);
        }
        assert!(state() == before, "{mode}");
    }
}
