//! A profile as its views show it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};

/// A row of the view `profile`.
#[derive(Clone, Debug)]
pub struct Call {
    pub comm: String,
    pub comm_size: Option<u32>,
    pub creator: Option<String>,
    pub op: String,
    pub class: String,
    pub bucket_lo: u64,
    pub bucket_hi: Option<u64>,
    pub rank: u32,
    pub calls: u64,
    pub failed: u64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_s: f64,
    pub time_min_s: Option<f64>,
    pub time_max_s: Option<f64>,
    pub phase: String,
}

/// A row of the view `datatypes`.
#[derive(Clone, Debug)]
pub struct Use {
    pub comm: String,
    pub op: String,
    pub datatype: String,
    pub contiguous: bool,
    pub rank: u32,
    pub calls: u64,
    pub bytes: u64,
}

/// A row of the view `communicators`.
#[derive(Clone, Debug)]
pub struct Communicator {
    pub comm: String,
    pub creator: String,
    pub size: u32,
    pub parent: Option<String>,
    pub root_rank: Option<u32>,
    pub label: Option<String>,
    pub freed: bool,
    pub ranks: Vec<u32>,
    pub remote_size: u32,
}

/// A row of the view `matrix`.
#[derive(Clone, Debug)]
pub struct Edge {
    pub comm: String,
    pub op: String,
    pub src: u32,
    pub dst: Option<u32>,
    pub calls: u64,
    pub bytes: u64,
}

/// Rows of the view `cells` of one rank whose bucket is that of the rank's own bytes.
#[derive(Clone, Debug)]
pub struct OwnSize {
    pub comm: String,
    pub op: String,
    pub bucket_lo: u64,
    pub rank: u32,
    pub calls: u64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
}

/// A row of the view `completions` with requests.
#[derive(Clone, Debug)]
pub struct Completed {
    pub comm: String,
    pub op: String,
    pub started: Option<String>,
    pub bucket_lo: Option<u64>,
    pub peer: Option<u32>,
    pub rank: u32,
    pub requests: u64,
    pub bytes: u64,
}

/// A row of the view `files`.
#[derive(Clone, Debug)]
pub struct OnFile {
    pub file: Option<String>,
    /// Its number in the profile.
    pub id: Option<u32>,
    pub comm: String,
    pub op: String,
    pub rank: Option<u32>,
    pub is_collective: bool,
    pub bucket_lo: u64,
    pub calls: u64,
    pub failed: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub time_s: f64,
    pub phase: String,
}

/// A row of the view `opened_files`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenedFile {
    pub file: Option<String>,
    pub comm: String,
    pub id: Option<u32>,
    pub ranks: u64,
    pub opens: u64,
    pub views: u64,
}

/// A row of the view `involved`.
#[derive(Clone, Debug)]
pub struct Involved {
    pub comm: String,
    pub op: String,
    pub rank: u32,
    pub calls: u64,
}

/// A row of the view `ranks`.
#[derive(Clone, Debug)]
pub struct Rank {
    pub rank: u32,
    pub host: String,
    pub pid: u32,
    pub wall_s: f64,
    pub mpi_s: f64,
    pub state: String,
}

pub struct Profile {
    pub calls: Vec<Call>,
    pub communicators: Vec<Communicator>,
    pub matrix: Vec<Edge>,
    pub involved: Vec<Involved>,
    pub datatypes: Vec<Use>,
    pub own_sizes: Vec<OwnSize>,
    pub completed: Vec<Completed>,
    pub files: Vec<OnFile>,
    pub opened: Vec<OpenedFile>,
    /// Completing calls of a communicator, rank and phase whose times are not those of what they completed together.
    pub unbalanced: u64,
    pub ranks: Vec<Rank>,
    pub meta: BTreeMap<String, String>,
    pub schema_version: u32,
    /// What SQLite itself thinks of the file.
    pub integrity: String,
    by_name: HashMap<String, usize>,
}

impl Profile {
    pub fn read(path: &Path) -> Profile {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let calls = rows(&db, "profile", |row| {
            Ok(Call {
                comm: row.get("comm")?,
                comm_size: row.get("comm_size")?,
                creator: row.get("creator")?,
                op: row.get("op")?,
                class: row.get("class")?,
                bucket_lo: count(row, "bucket_lo")?,
                bucket_hi: row.get::<_, Option<i64>>("bucket_hi")?.map(|edge| edge as u64),
                rank: row.get("rank")?,
                calls: count(row, "calls")?,
                failed: count(row, "failed")?,
                bytes_sent: count(row, "bytes_sent")?,
                bytes_recv: count(row, "bytes_recv")?,
                time_s: row.get("time_s")?,
                time_min_s: row.get("time_min_s")?,
                time_max_s: row.get("time_max_s")?,
                phase: row.get("phase")?,
            })
        });
        let communicators: Vec<Communicator> = rows(&db, "communicators", |row| {
            let ranks: String = row.get("ranks")?;
            Ok(Communicator {
                comm: row.get("comm")?,
                creator: row.get("creator")?,
                size: row.get("size")?,
                parent: row.get("parent")?,
                root_rank: row.get("root_rank")?,
                label: row.get("label")?,
                freed: row.get("freed")?,
                ranks: members(&ranks),
                remote_size: row.get("remote_size")?,
            })
        });
        let matrix = rows(&db, "matrix", |row| {
            Ok(Edge {
                comm: row.get("comm")?,
                op: row.get("op")?,
                src: row.get("src")?,
                dst: row.get("dst")?,
                calls: count(row, "calls")?,
                bytes: count(row, "bytes")?,
            })
        });
        let involved = rows(&db, "involved", |row| {
            Ok(Involved {
                comm: row.get("comm")?,
                op: row.get("op")?,
                rank: row.get("rank")?,
                calls: count(row, "calls")?,
            })
        });
        let datatypes = rows(&db, "datatypes", |row| {
            Ok(Use {
                comm: row.get("comm")?,
                op: row.get("op")?,
                datatype: row.get("datatype")?,
                contiguous: row.get("contiguous")?,
                rank: row.get("rank")?,
                calls: count(row, "calls")?,
                bytes: count(row, "bytes")?,
            })
        });
        let own_sizes = "(SELECT c.name AS comm, o.name AS op, b.lo AS bucket_lo, x.rank, sum(x.calls) AS calls, \
                         sum(x.bytes_sent) AS bytes_sent, sum(x.bytes_recv) AS bytes_recv FROM cells x \
                         JOIN communicator c ON c.id = x.comm JOIN operation o ON o.id = x.op JOIN bucket b ON b.id = x.bucket \
                         WHERE x.bucket >= 64 GROUP BY x.comm, x.op, x.bucket, x.rank)";
        let own_sizes = rows(&db, own_sizes, |row| {
            Ok(OwnSize {
                comm: row.get("comm")?,
                op: row.get("op")?,
                bucket_lo: count(row, "bucket_lo")?,
                rank: row.get("rank")?,
                calls: count(row, "calls")?,
                bytes_sent: count(row, "bytes_sent")?,
                bytes_recv: count(row, "bytes_recv")?,
            })
        });
        let completed = rows(&db, "completions WHERE requests > 0", |row| {
            Ok(Completed {
                comm: row.get("comm")?,
                op: row.get("op")?,
                started: row.get("started")?,
                bucket_lo: row.get::<_, Option<i64>>("bucket_lo")?.map(|edge| edge as u64),
                peer: row.get("peer")?,
                rank: row.get("rank")?,
                requests: count(row, "requests")?,
                bytes: count(row, "bytes")?,
            })
        });
        let (files, opened) = Profile::files_of(&db);
        let unbalanced = "SELECT count(*) FROM (SELECT comm, op, phase, rank, sum(time_ns) AS ns FROM completed GROUP BY 1, 2, 3, 4) d \
                          LEFT JOIN (SELECT comm, op, phase, coalesce(rank, -1) AS rank, sum(time_ns) AS ns FROM cells \
                          GROUP BY 1, 2, 3, 4) c USING (comm, op, phase, rank) WHERE c.ns IS NOT d.ns";
        let ranks = rows(&db, "ranks", |row| {
            Ok(Rank {
                rank: row.get("rank")?,
                host: row.get("host")?,
                pid: row.get("pid")?,
                wall_s: row.get("wall_s")?,
                mpi_s: row.get("mpi_s")?,
                state: row.get("state")?,
            })
        });
        let meta = rows(&db, "meta", |row| Ok((row.get("key")?, row.get("value")?))).into_iter().collect();
        let by_name = communicators.iter().enumerate().map(|(place, one)| (one.comm.clone(), place)).collect();
        Profile {
            by_name,
            calls,
            communicators,
            matrix,
            involved,
            datatypes,
            own_sizes,
            completed,
            files,
            opened,
            unbalanced: db.query_row(unbalanced, [], |row| row.get::<_, i64>(0)).expect("times") as u64,
            ranks,
            meta,
            schema_version: db.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("user_version"),
            integrity: db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("integrity_check"),
        }
    }

    /// The rows of `files` and `opened_files`, in any detail.
    pub fn files_of(db: &Connection) -> (Vec<OnFile>, Vec<OpenedFile>) {
        let files = rows(db, "files", |row| {
            Ok(OnFile {
                file: row.get("file")?,
                id: row.get("id")?,
                comm: row.get("comm")?,
                op: row.get("op")?,
                rank: row.get("rank")?,
                is_collective: row.get("is_collective")?,
                bucket_lo: count(row, "bucket_lo")?,
                calls: count(row, "calls")?,
                failed: count(row, "failed")?,
                bytes_read: count(row, "bytes_read")?,
                bytes_written: count(row, "bytes_written")?,
                time_s: row.get("time_s")?,
                phase: row.get("phase")?,
            })
        });
        let opened = rows(db, "opened_files", |row| {
            Ok(OpenedFile {
                file: row.get("file")?,
                comm: row.get("comm")?,
                id: row.get("id")?,
                ranks: count(row, "ranks")?,
                opens: count(row, "opens")?,
                views: count(row, "views_set")?,
            })
        });
        (files, opened)
    }

    /// How often an operation was called, over all communicators, buckets and ranks.
    pub fn total(&self, op: &str) -> u64 {
        self.calls.iter().filter(|call| call.op == op).map(|call| call.calls).sum()
    }

    pub fn communicator(&self, name: &str) -> Option<&Communicator> {
        self.by_name.get(name).map(|place| &self.communicators[*place])
    }
}

fn rows<T>(db: &Connection, view: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> Vec<T> {
    let mut statement = db.prepare(&format!("SELECT * FROM {view}")).unwrap_or_else(|error| panic!("{view}: {error}"));
    let rows = statement.query_map([], read).unwrap_or_else(|error| panic!("{view}: {error}"));
    rows.collect::<rusqlite::Result<Vec<T>>>().unwrap_or_else(|error| panic!("{view}: {error}"))
}

/// SQLite has no unsigned integers; a count below zero would be a fault of the profile.
fn count(row: &Row, column: &str) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    Ok(u64::try_from(value).unwrap_or_else(|_| panic!("{column} is {value}")))
}

/// Reads a list such as `0-3,8`.
fn members(text: &str) -> Vec<u32> {
    let number = |word: &str| word.parse::<u32>().unwrap_or_else(|_| panic!("'{text}' is no list of ranks"));
    let range = |word: &str| match word.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(word)..=number(word),
    };
    text.split(',').filter(|word| !word.is_empty()).flat_map(range).collect()
}
