//! Finds a profile and opens it without ever writing: not the file, and nothing beside it.

use std::ffi::c_int;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use commsee::bench::schema;
use commsee::profile::SCHEMA_VERSION;
use commsee::profile::messages::{Message, matched};
use rusqlite::limits::Limit;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Row, params_from_iter};

use super::{Error, mpisee};
use crate::text::message::plain;

/// Why a file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("there is no such file: name a profile, or make one with `through run`")]
    Missing,
    #[error("is a directory: name the profile in it")]
    Directory,
    #[error("is not a regular file: name a profile")]
    Special,
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is empty: name a profile, or make one with `through run`")]
    Empty,
    #[error("is not a commsee profile: name a file that the profiler wrote")]
    Foreign,
    #[error("is a file of measurements; see `through bench`")]
    Measurements,
    #[error(
        "was written by another version of commsee (schema version {0}, not {SCHEMA_VERSION}): use the `through` of that version"
    )]
    Version(i64),
    #[error(
        "was written by another version of commsee (it has no column {0}): run the program again, or use the `through` of that version"
    )]
    OtherColumns(String),
    #[error("is cut off ({is} of {wanted} bytes are there): copy it again, or run the program again")]
    Truncated { is: u64, wanted: u64 },
    #[error("is damaged ({0}): copy it again, or run the program again")]
    Damaged(String),
}

impl Problem {
    /// Whether nobody would take the file for a profile.
    fn is_no_profile(&self) -> bool {
        matches!(self, Problem::Foreign | Problem::Measurements | Problem::Empty | Problem::Special)
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Problem {
        Problem::Damaged(match error {
            rusqlite::Error::SqliteFailure(code, _) if code.code == rusqlite::ErrorCode::OperationInterrupted => {
                "a query of it takes too long".to_owned()
            }
            rusqlite::Error::SqliteFailure(code, message) => message.unwrap_or_else(|| code.to_string()),
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            other => other.to_string(),
        })
    }
}

/// A profile, open for reading.
pub struct Profile {
    pub path: PathBuf,
    /// Whether names that it lacks are looked up in the binaries of the job, which may take long.
    pub are_binaries_read: bool,
    db: Connection,
    most_rows: u64,
}

impl Profile {
    /// Opens a file after it was found to be a whole profile of this version.
    pub fn open(path: &Path) -> Result<Profile, Error> {
        let problem = |problem| Error::Profile { path: path.to_owned(), problem };
        check_file(path).map_err(problem)?;
        let bytes = bytes_there(path);
        let db = connect(path, bytes).map_err(problem)?;
        match check_schema(&db) {
            Err(Problem::Foreign) if schema::is_bench(&db).unwrap_or(false) => {
                return Err(problem(Problem::Measurements));
            }
            Err(Problem::Foreign) if of_mpisee(&db).map_err(problem)? => {}
            checked => checked.map_err(problem)?,
        }
        Ok(Profile { path: path.to_owned(), are_binaries_read: true, db, most_rows: ROWS + bytes / BYTES_PER_ROW })
    }

    /// The newest profile in a directory, and a remark where a newer one had to be passed over.
    pub fn newest(directory: &Path) -> Result<(Profile, Option<String>), Error> {
        let mut remark = None;
        for path in databases(directory) {
            match Profile::open(&path) {
                Ok(profile) => return Ok((profile, remark)),
                Err(Error::Profile { problem, .. }) if problem.is_no_profile() => {}
                Err(error) => _ = remark.get_or_insert_with(|| format!("skipped: {error}")),
            }
        }
        Err(Error::NoProfile)
    }

    /// The token of the `through run` that the profile stems from, or nothing.
    pub fn launch(&self) -> Result<String, Error> {
        let sql = "SELECT value FROM metadata WHERE key = 'launch'";
        Ok(self
            .query::<_, Vec<Option<String>>>(sql, vec![], |row| row.get(0))?
            .into_iter()
            .flatten()
            .next()
            .unwrap_or_default())
    }

    /// All rows of a query. Whatever it runs into means that the file is damaged: its schema was checked.
    pub fn query<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        values: Vec<Value>,
        mut read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<C, Error> {
        let mut left = self.most_rows;
        let bounded = |row: &Row| {
            left = left.checked_sub(1).ok_or_else(endless)?;
            read(row)
        };
        let collect = || self.db.prepare(sql)?.query_map(params_from_iter(values), bounded)?.collect::<Result<C, _>>();
        collect().map_err(|error: rusqlite::Error| self.problem(error))
    }

    /// What a query of ours ran into. Until the first release, the number of the schema stays where columns are added: a profile that lacks one was written
    /// before.
    fn problem(&self, error: rusqlite::Error) -> Error {
        let problem = match Problem::from(error) {
            Problem::Damaged(what) => match what.strip_prefix("no such column: ") {
                Some(column) => Problem::OtherColumns(column.to_owned()),
                None => Problem::Damaged(what),
            },
            other => other,
        };
        Error::Profile { path: self.path.clone(), problem }
    }

    /// Which messages arrived where, from the events of their ends. Returns how many are not known.
    pub fn match_messages(&self, mut take: impl FnMut(Message)) -> Result<u64, Error> {
        let mut left = self.most_rows;
        let bounded = |message| {
            left = left.checked_sub(1).ok_or_else(endless)?;
            take(message);
            Ok(())
        };
        matched(&self.db, bounded).map_err(|error| self.problem(error))
    }

    /// The database for what the user asks: by their own words it may take as long, and give as much, as it does.
    pub(super) fn unbounded(&mut self) -> rusqlite::Result<&mut Connection> {
        self.db.progress_handler(0, None::<fn() -> bool>)?;
        self.db.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::MAX)?;
        Ok(&mut self.db)
    }

    /// Makes tables in memory that stand for those of the same name in the file.
    pub(super) fn stand_in(&self, sql: &str) -> Result<(), Error> {
        let made = self.db.execute_batch(&format!("PRAGMA query_only = OFF; {sql} PRAGMA query_only = ON"));
        made.map_err(|error| self.problem(error))
    }

    /// How SQLite would find the rows of a query: <https://sqlite.org/eqp.html>. For tests and benchmarks.
    #[allow(dead_code)]
    pub fn plan(&self, sql: &str, values: Vec<Value>) -> Result<String, Error> {
        let steps: Vec<String> = self.query(&format!("EXPLAIN QUERY PLAN {sql}"), values, |row| row.get("detail"))?;
        Ok(steps.join("\n"))
    }
}

/// The files `*.db` of a directory, the newest first.
pub fn databases(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| Path::new(&entry.file_name()).extension().is_some_and(|extension| extension == "db"))
        .filter_map(|entry| {
            let path = entry.path();
            Some((path.metadata().ok()?.modified().ok()?, path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Whether the file starts as a SQLite database does.
pub fn is_sqlite(path: &Path) -> bool {
    let mut start = [0; SQLITE_MAGIC.len()];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *SQLITE_MAGIC
}

/// <https://sqlite.org/fileformat.html#the_database_header>
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What can be said without SQLite, which would answer "disk image is malformed" to most of it, or nothing at all.
pub fn check_file(path: &Path) -> Result<(), Problem> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Problem::Missing,
        _ => Problem::Unreadable(plain(&error)),
    };
    let metadata = path.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Problem::Directory);
    }
    if !metadata.is_file() {
        return Err(Problem::Special);
    }
    let mut file = File::open(path).map_err(unreadable)?;
    if metadata.len() == 0 {
        return Err(Problem::Empty);
    }
    let mut header = [0; 100];
    if file.read_exact(&mut header).is_err() || !header.starts_with(SQLITE_MAGIC) {
        return Err(Problem::Foreign);
    }
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65536,
        bytes => u64::from(bytes),
    };
    // The size in the header counts only where the change counter and "version valid for" agree.
    let wanted = u64::from(word(28)) * page_bytes;
    if word(24) == word(92) && wanted > metadata.len() {
        return Err(Problem::Truncated { is: metadata.len(), wanted });
    }
    Ok(())
}

/// Steps of SQLite's virtual machine that a profile may take, and so many for each byte of it. A row takes some 20 bytes and
/// each view some hundred steps for it; a damaged tree whose pages lead back to themselves, or a table that is a view without
/// end, would take for ever.
const STEPS: u64 = 200_000_000;
const STEPS_PER_BYTE: u64 = 1000;
/// Between two looks at how many there were.
const STEPS_AT_A_TIME: c_int = 1_000_000;
/// What a view shows is a row of the file, which takes some ten bytes. More rows than these, and one for each 8 bytes of the
/// file, are there only where rows were told to belong to several others.
const ROWS: u64 = 1 << 20;
const BYTES_PER_ROW: u64 = 8;
/// No text of a file is longer than the file; of an empty one SQLite's own are.
const TEXT_BYTES: u64 = 1 << 20;

/// What SQLite says where it was stopped.
fn endless() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT), None)
}

/// The size of a file without its holes, which cost nothing to make.
pub fn bytes_there(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len().min(metadata.blocks().saturating_mul(512)))
}

pub fn connect(path: &Path, bytes: u64) -> Result<Connection, Problem> {
    // Absolute, so that no name can be taken for an option, and a leading `//` for a host.
    let whole = path.canonicalize().map_err(|error| Problem::Unreadable(plain(&error)))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Immutable: no locks, which parallel file systems are bad at, and no look at a journal beside the file.
    let mut db = Connection::open_with_flags(format!("file:{}?mode=ro&immutable=1", escaped(&whole)), flags)?;
    // Names in a damaged or hostile schema must not reach further than the file.
    db.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
    )?;
    let text_bytes = i32::try_from(bytes.saturating_add(TEXT_BYTES)).unwrap_or(i32::MAX);
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, text_bytes)?;
    let mut left = bytes.saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS) / STEPS_AT_A_TIME as u64;
    let is_too_much = move || {
        left = left.saturating_sub(1);
        left == 0
    };
    db.progress_handler(STEPS_AT_A_TIME, Some(is_too_much))?;
    Ok(db)
}

/// Whether it is a profile of mpisee, which then can be asked as one of ours.
fn of_mpisee(db: &Connection) -> Result<bool, Problem> {
    if !mpisee::is_one(db).unwrap_or(false) {
        return Ok(false);
    }
    db.execute_batch("PRAGMA query_only = OFF")?;
    mpisee::adopt(db)?;
    db.execute_batch("PRAGMA query_only = ON")?;
    Ok(true)
}

pub fn check_schema(db: &Connection) -> Result<(), Problem> {
    let version: i64 = match db.query_row("PRAGMA user_version", [], |row| row.get(0)) {
        Ok(version) => version,
        Err(rusqlite::Error::SqliteFailure(code, _)) if code.code == rusqlite::ErrorCode::NotADatabase => {
            return Err(Problem::Foreign);
        }
        Err(error) => return Err(error.into()),
    };
    let views: u32 = db.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND name IN ('profile', 'communicators', 'ranks')",
        [],
        |row| row.get(0),
    )?;
    match version {
        _ if views < 3 || version == 0 => Err(Problem::Foreign),
        _ if version != i64::from(SCHEMA_VERSION) => Err(Problem::Version(version)),
        _ => Ok(()),
    }
}

/// Percent-escapes a path for a URI, byte by byte: paths need not be UTF-8.
fn escaped(path: &Path) -> String {
    let mut uri = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_for_a_uri() {
        assert_eq!(escaped(Path::new("/a b/100%?#x.db")), "/a%20b/100%25%3F%23x.db");
    }

    #[test]
    fn names_that_mean_something_in_a_uri_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a?mode=rwc.db", "b#c.db", "100%41.db", "d e.db", "ü.db", "e&immutable=0.db"] {
            let path = folder.path().join(name);
            let db = Connection::open(&path).unwrap();
            db.execute_batch(&commsee::profile::SCHEMA).unwrap();
            db.pragma_update(None, "user_version", SCHEMA_VERSION).unwrap();
            db.close().unwrap();
            assert!(Profile::open(&path).is_ok(), "{name}");
        }
    }

    /// A mapped file would end the program by a signal.
    #[test]
    fn what_is_cut_off_while_it_is_read_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(&commsee::profile::SCHEMA).unwrap();
        db.execute_batch(
            "PRAGMA user_version = 1; INSERT INTO cell (id, time_ns) WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 \
             FROM n WHERE n < 9999) SELECT n, n FROM n",
        )
        .unwrap();
        db.close().unwrap();
        let profile = Profile::open(&path).unwrap();
        let pages = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        pages.set_len(path.metadata().unwrap().len() - 65536).unwrap();
        let sum = profile.query::<i64, Vec<_>>("SELECT sum(time_ns) FROM cell", vec![], |row| row.get(0));
        assert!(matches!(sum, Err(Error::Profile { problem: Problem::Damaged(_), .. })), "{sum:?}");
    }
}
