//! The file of measurements, which `through bench` reads. Every result is in it when it is finished, so that an interrupted run loses nothing.

use std::path::{Path, PathBuf};

use commsee::bench::schema;
use rusqlite::{Connection, OptionalExtension, params};

use crate::record::{Key, Outcome, Run};

pub struct Database {
    connection: Connection,
    path: PathBuf,
    run: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("{path}: {error}")]
    Sql { path: String, error: rusqlite::Error },
    #[error("{0} is there and is no file of measurements; it is left as it is: choose another name by -o")]
    Foreign(String),
    #[error(
        "{path} was written by another version of groupbench (its tables have version {version}); choose another name by -o"
    )]
    Version { path: String, version: i32 },
    #[error(
        "{path} has measurements of {there}, and this is {here}: their launches are not to be taken together; choose another name by -o"
    )]
    Different { path: String, there: String, here: String },
    #[error("{0}: no interrupted run with these options to go on with; leave --resume out")]
    NothingToResume(String),
}

/// A run that goes on.
pub struct Resumed {
    pub seed: u64,
    pub launch: u64,
    pub done: Vec<Key>,
}

impl Database {
    /// A new file, or one that further launches are added to.
    pub fn open(path: &Path) -> Result<Database, DatabaseError> {
        let said = |error| DatabaseError::Sql { path: path.display().to_string(), error };
        let is_new = !path.exists() || std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
        let connection = Connection::open(path).map_err(said)?;
        if is_new {
            schema::create(&connection).map_err(said)?;
        } else {
            if !schema::is_bench(&connection).unwrap_or(false) {
                return Err(DatabaseError::Foreign(path.display().to_string()));
            }
            let version: i32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(said)?;
            if version != schema::VERSION {
                return Err(DatabaseError::Version { path: path.display().to_string(), version });
            }
        }
        Ok(Database { connection, path: path.to_owned(), run: 0 })
    }

    fn said(&self) -> impl Fn(rusqlite::Error) -> DatabaseError + use<> {
        let path = self.path.display().to_string();
        move |error| DatabaseError::Sql { path: path.clone(), error }
    }

    /// Whether what the file has may be taken together with this run: the same MPI library, begun together in the same way.
    pub fn is_alike(&self, run: &Run) -> Result<(), DatabaseError> {
        let query = "SELECT value || ', begun together by ' || sync FROM bench_run JOIN bench_environment ON run = id
                     WHERE key = 'mpi' ORDER BY id DESC LIMIT 1";
        let there =
            self.connection.query_row(query, [], |row| row.get::<_, String>(0)).optional().map_err(self.said())?;
        let here = format!("{}, begun together by {}", run.environment.get("mpi").map_or("", String::as_str), run.sync);
        match there {
            Some(there) if there != here => {
                Err(DatabaseError::Different { path: self.path.display().to_string(), there, here })
            }
            _ => Ok(()),
        }
    }

    /// The number that the next launch with these options has.
    pub fn next_launch(&self, fingerprint: &str) -> Result<u64, DatabaseError> {
        let query = "SELECT coalesce(max(launch), -1) + 1 FROM bench_run WHERE fingerprint = ?";
        let next: i64 = self.connection.query_row(query, [fingerprint], |row| row.get(0)).map_err(self.said())?;
        Ok(next as u64)
    }

    /// The last run with these options, if it did not end.
    pub fn resume(&mut self, fingerprint: &str) -> Result<Resumed, DatabaseError> {
        let query = "SELECT id, seed, launch FROM bench_run WHERE fingerprint = ? AND state <> 'complete' ORDER BY id DESC LIMIT 1";
        let columns = |row: &rusqlite::Row| Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let found = self.connection.query_row(query, [fingerprint], columns).optional().map_err(self.said())?;
        let Some((run, seed, launch)) = found else {
            return Err(DatabaseError::NothingToResume(self.path.display().to_string()));
        };
        self.run = run;
        // What was interrupted is measured anew.
        let parts = [
            "DELETE FROM bench_sample WHERE result IN (SELECT id FROM bench_result WHERE run = ?1 AND stopped = 'interrupted')",
            "DELETE FROM bench_rank_time WHERE result IN (SELECT id FROM bench_result WHERE run = ?1 AND stopped = 'interrupted')",
            "DELETE FROM bench_result WHERE run = ?1 AND stopped = 'interrupted'",
        ];
        for part in parts {
            self.connection.execute(part, [run]).map_err(self.said())?;
        }
        let done = self.done().map_err(self.said())?;
        Ok(Resumed { seed: seed as u64, launch: launch as u64, done })
    }

    fn done(&self) -> rusqlite::Result<Vec<Key>> {
        let query = "SELECT family, direction, n, g, k, library, bytes, step FROM bench_result WHERE run = ?";
        let mut statement = self.connection.prepare(query)?;
        let rows = statement.query_map([self.run], |row| {
            Ok(Key {
                family: row.get(0)?,
                direction: row.get(1)?,
                n: row.get::<_, i64>(2)? as usize,
                g: row.get::<_, i64>(3)? as usize,
                k: row.get::<_, i64>(4)? as usize,
                library: row.get(5)?,
                bytes: row.get::<_, i64>(6)? as u64,
                step: row.get::<_, i64>(7)? as usize,
            })
        })?;
        rows.collect()
    }

    /// Writes the run, unless it goes on.
    pub fn begin(&mut self, run: &Run) -> Result<(), DatabaseError> {
        if self.run != 0 {
            return Ok(());
        }
        let said = self.said();
        self.insert_run(run).map_err(said)
    }

    fn insert_run(&mut self, run: &Run) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "INSERT INTO bench_run (launch, started, command, fingerprint, state, seed, ranks, hosts, group_by, sync, clock_error_s, oversubscribed)
             VALUES (?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?)",
            params![
                run.launch as i64,
                run.started,
                run.command,
                run.fingerprint,
                run.seed as i64,
                run.ranks as i64,
                run.hosts as i64,
                run.group_by,
                run.sync,
                run.clock_error_s,
                run.oversubscribed,
            ],
        )?;
        let id = transaction.last_insert_rowid();
        for (key, value) in &run.environment {
            transaction.execute("INSERT INTO bench_environment VALUES (?, ?, ?)", params![id, key, value])?;
        }
        for (rank, of) in run.rank.iter().enumerate() {
            let (group, index) = of.place.unzip();
            let number = |number: Option<usize>| number.map(|number| number as i64);
            transaction.execute(
                "INSERT INTO bench_rank VALUES (?, ?, ?, ?, ?, ?)",
                params![id, rank as i64, of.host, of.cpus, number(group), number(index)],
            )?;
        }
        transaction.commit()?;
        self.run = id;
        Ok(())
    }

    pub fn add(&mut self, outcome: &Outcome) -> Result<(), DatabaseError> {
        let said = self.said();
        self.insert(outcome).map_err(said)
    }

    fn insert(&mut self, outcome: &Outcome) -> rusqlite::Result<()> {
        let Some(summary) = outcome.summary() else { return Ok(()) };
        let Outcome { key, size, measured, .. } = outcome;
        let transaction = self.connection.transaction()?;
        let values: Vec<(&str, rusqlite::types::Value)> = vec![
            ("run", self.run.into()),
            ("family", key.family.clone().into()),
            ("direction", key.direction.clone().into()),
            ("n", (key.n as i64).into()),
            ("g", (key.g as i64).into()),
            ("k", (key.k as i64).into()),
            ("library", key.library.clone().into()),
            ("bytes", (key.bytes as i64).into()),
            ("step", (key.step as i64).into()),
            ("steps", (size.steps as i64).into()),
            ("messages", (size.messages as i64).into()),
            ("message_bytes", (size.message_bytes as i64).into()),
            ("total_bytes", (size.total_bytes as i64).into()),
            ("group_bytes", (size.group_bytes as i64).into()),
            ("rank_bytes", (size.rank_bytes as i64).into()),
            ("crosses_hosts", i64::from(size.crosses_hosts).into()),
            ("buffers", outcome.buffers().to_owned().into()),
            ("min_s", summary.min.into()),
            ("median_s", summary.median.into()),
            ("ci_lo_s", summary.interval.map(|interval| interval.low).into()),
            ("ci_hi_s", summary.interval.map(|interval| interval.high).into()),
            ("mean_s", summary.mean.into()),
            ("p95_s", summary.p95.into()),
            ("p99_s", summary.p99.into()),
            ("max_s", summary.max.into()),
            ("span_s", outcome.median_of(|sample| sample.span_s).into()),
            ("skew_s", outcome.median_of(|sample| sample.skew_s).into()),
            ("reps", (summary.samples as i64).into()),
            ("executions", (measured.executions as i64).into()),
            ("stopped", measured.stopped.name().to_owned().into()),
            ("oversubscribed", i64::from(outcome.oversubscribed).into()),
            ("wrong", (measured.wrong as i64).into()),
            ("half_trip_s", measured.half_trip_s.into()),
            ("flag", measured.flag().map(str::to_owned).into()),
        ];
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        let marks = vec!["?"; names.len()].join(", ");
        transaction.execute(
            &format!("INSERT INTO bench_result ({}) VALUES ({marks})", names.join(", ")),
            rusqlite::params_from_iter(values.into_iter().map(|(_, value)| value)),
        )?;
        let id = transaction.last_insert_rowid();
        {
            let mut insert = transaction.prepare("INSERT INTO bench_sample VALUES (?, ?, ?, ?, ?, ?, ?)")?;
            for (rep, sample) in measured.samples.iter().enumerate() {
                let (launch, rep, slowest) = (outcome.launch as i64, rep as i64, sample.slowest as i64);
                insert.execute(params![id, launch, rep, sample.time_s, sample.span_s, sample.skew_s, slowest])?;
            }
            let mut insert = transaction.prepare("INSERT INTO bench_rank_time VALUES (?, ?, ?)")?;
            for (rank, median) in measured.rank_medians_s.iter().enumerate().filter(|(_, median)| median.is_finite()) {
                insert.execute(params![id, rank as i64, median])?;
            }
        }
        transaction.commit()
    }

    pub fn end(&mut self, is_complete: bool) -> Result<(), DatabaseError> {
        let state = if is_complete { "complete" } else { "interrupted" };
        let said = self.said();
        self.connection
            .execute("UPDATE bench_run SET state = ? WHERE id = ?", params![state, self.run])
            .map(drop)
            .map_err(said)
    }
}
