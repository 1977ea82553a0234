//! Opens files of measurements, without ever writing to them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use commsee::bench::schema;
use rusqlite::Connection;
use through_core::query::{Error, open};

use super::results::{self, Measured};

/// What cannot be read.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("{}: {problem}", path.display())]
    File { path: PathBuf, problem: Problem },
    #[error("there is no file of measurements (*.db) in the current directory: name one, or make one with groupbench")]
    None,
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Error {
        Error::Beside(Box::new(unread))
    }
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("there is no such file: name a file that groupbench wrote")]
    Missing,
    #[error("is a directory: name a file of measurements in it")]
    Directory,
    #[error("is empty: name a file that groupbench wrote")]
    Empty,
    #[error("is a profile of a program, not a file of measurements: see it with `through`")]
    Profile,
    #[error("is not a file of measurements: name one that groupbench wrote")]
    Foreign,
    #[error("was written by another version of groupbench (version {0} of measurements, not {known}): use the `through` of that version", known = schema::VERSION)]
    Version(i64),
    #[error(transparent)]
    File(open::Problem),
}

impl From<open::Problem> for Problem {
    fn from(problem: open::Problem) -> Problem {
        match problem {
            open::Problem::Missing => Problem::Missing,
            open::Problem::Directory => Problem::Directory,
            open::Problem::Empty => Problem::Empty,
            open::Problem::Foreign => Problem::Foreign,
            other => Problem::File(other),
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Problem {
        Problem::File(error.into())
    }
}

/// One start of groupbench, and what it ran in.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    pub started: String,
    pub command: String,
    pub state: String,
    pub ranks: u64,
    pub hosts: u64,
    pub group_by: String,
    pub sync: String,
    pub clock_error_s: Option<f64>,
    pub is_oversubscribed: bool,
    pub environment: BTreeMap<String, String>,
    /// Names of its hosts.
    pub host_names: BTreeSet<String>,
}

/// Files of measurements, whose launches are taken together.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    pub paths: Vec<PathBuf>,
    pub launches: Vec<Launch>,
    /// By pattern, library and size.
    pub results: Vec<Measured>,
}

impl Measurements {
    pub fn open(paths: &[PathBuf]) -> Result<Measurements, Error> {
        let mut launches = Vec::new();
        let mut parts = Vec::new();
        for path in paths {
            let wrong = |problem| Unread::File { path: path.clone(), problem };
            let db = connect(path).map_err(wrong)?;
            let first = launches.len();
            launches.extend(launches_of(&db).map_err(|error| wrong(error.into()))?);
            parts.extend(results::parts(&db, first).map_err(|error| wrong(error.into()))?);
        }
        let launches = launches.into_iter().map(|(_, launch)| launch).collect();
        Ok(Measurements { paths: paths.to_vec(), launches, results: results::merged(parts) })
    }

    /// The newest in a directory.
    pub fn newest(directory: &Path) -> Result<Measurements, Error> {
        let newest = open::databases(directory).into_iter().find(|path| connect(path).is_ok());
        Measurements::open(&[newest.ok_or(Unread::None)?])
    }

    /// What the launches ran in; where they differ, all values.
    pub fn environment(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for launch in &self.launches {
            let hosts: Vec<&str> = launch.host_names.iter().map(String::as_str).collect();
            let own = [
                ("ranks", launch.ranks.to_string()),
                ("hosts", launch.hosts.to_string()),
                ("host_names", hosts.join(" ")),
                ("group_by", launch.group_by.clone()),
                ("sync", launch.sync.clone()),
            ];
            // The load before a launch differs always.
            let recorded = launch.environment.iter().filter(|(key, _)| *key != "load");
            let recorded = recorded.map(|(key, value)| (key.as_str(), value.clone()));
            for (key, value) in own.into_iter().chain(recorded) {
                all.entry(key.to_owned()).or_default().insert(value);
            }
        }
        all
    }
}

fn connect(path: &Path) -> Result<Connection, Problem> {
    open::check_file(path)?;
    let db = open::connect(path, open::bytes_there(path))?;
    if !schema::is_bench(&db)? {
        let is_profile = open::check_schema(&db).is_ok();
        return Err(if is_profile { Problem::Profile } else { Problem::Foreign });
    }
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == i64::from(schema::VERSION) { Ok(db) } else { Err(Problem::Version(version)) }
}

fn launches_of(db: &Connection) -> rusqlite::Result<Vec<(i64, Launch)>> {
    let mut launches = db
        .prepare(
            "SELECT id, started, command, state, ranks, hosts, group_by, sync, clock_error_s, oversubscribed FROM bench_run ORDER BY id",
        )?
        .query_map([], |row| {
            let count = |column| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(column)?.max(0).unsigned_abs());
            let launch = Launch {
                started: row.get(1)?,
                command: row.get(2)?,
                state: row.get(3)?,
                ranks: count(4)?,
                hosts: count(5)?,
                group_by: row.get(6)?,
                sync: row.get(7)?,
                clock_error_s: row.get(8)?,
                is_oversubscribed: row.get(9)?,
                ..Launch::default()
            };
            Ok((row.get(0)?, launch))
        })?
        .collect::<rusqlite::Result<Vec<(i64, Launch)>>>()?;
    let numbers: BTreeMap<i64, usize> = launches.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
    let mut each = |sql: &str, take: fn(&mut Launch, String, String)| -> rusqlite::Result<()> {
        let mut statement = db.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(at) = numbers.get(&row.get(0)?) {
                take(&mut launches[*at].1, row.get(1)?, row.get(2)?);
            }
        }
        Ok(())
    };
    each("SELECT run, key, value FROM bench_environment", |launch, key, value| {
        launch.environment.insert(key, value);
    })?;
    each("SELECT DISTINCT run, host, '' FROM bench_rank", |launch, host, _| {
        launch.host_names.insert(host);
    })?;
    Ok(launches)
}
