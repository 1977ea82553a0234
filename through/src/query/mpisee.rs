//! Profiles of mpisee 4.x, read as one of version 2: its tables are brought into tables of that version, in memory. It counts what it
//! calls volume, which is sent, or received by receives; it knows no members, no matrix, no phases, and no shortest and longest calls.
//! <https://github.com/variemai/mpisee>

use std::collections::BTreeMap;

use commsee::calls::CALLS;
use commsee::creators;
use commsee::ranks::format_ranges;
use rusqlite::{Connection, params};

/// The version whose tables these are.
pub const VERSION: u32 = 2;

/// Whether the file has the tables of mpisee 4.
pub fn is_one(db: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' \
               AND name IN ('metadata', 'mappings', 'exectimes', 'operations', 'comms', 'data')";
    Ok(db.query_row(sql, [], |row| row.get::<_, u32>(0))? == 6)
}

/// Makes the tables that queries ask. Nothing is written to the file, which is open for reading only.
pub fn adopt(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(TABLES)?;
    db.execute_batch(&format!(
        "INSERT OR IGNORE INTO temp.metadata SELECT {KEY}, value FROM main.metadata WHERE key IS NOT NULL; \
         INSERT OR REPLACE INTO temp.metadata VALUES ('written_by', 'mpisee');"
    ))?;
    operations(db)?;
    buckets(db)?;
    db.execute_batch(CELLS)?;
    db.execute_batch(PROCESSES)?;
    communicators(db)
}

/// Names of its metadata where ours says the same.
const KEY: &str = "CASE key WHEN 'Run command' THEN 'command' WHEN 'MPI Library' THEN 'mpi_library' WHEN 'Processes' THEN 'ranks' ELSE key END";

const TABLES: &str = "
CREATE TEMP TABLE metadata (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TEMP TABLE process (rank INTEGER PRIMARY KEY, host TEXT, pid INTEGER, wall_ns INTEGER, mpi_ns INTEGER, state TEXT);
CREATE TEMP TABLE creator (letter TEXT PRIMARY KEY, call TEXT) WITHOUT ROWID;
CREATE TEMP TABLE communicator (id INTEGER PRIMARY KEY, name TEXT, letter TEXT, size INTEGER, remote_size INTEGER, parent INTEGER,
    root_rank INTEGER, label TEXT, freed INTEGER, ranks TEXT);
CREATE TEMP TABLE operation (id INTEGER PRIMARY KEY, name TEXT, class TEXT, is_receive INTEGER, is_outside INTEGER);
CREATE TEMP TABLE bucket (id INTEGER PRIMARY KEY, lo INTEGER, hi INTEGER, UNIQUE (lo));
CREATE TEMP TABLE lower_edge (lo INTEGER PRIMARY KEY, bucket INTEGER);
CREATE TEMP TABLE phase (id INTEGER PRIMARY KEY, name TEXT);
CREATE TEMP TABLE cell (comm INTEGER, op INTEGER, bucket INTEGER, rank INTEGER, phase INTEGER, calls INTEGER, failed INTEGER,
    bytes_sent INTEGER, bytes_recv INTEGER, time_ns INTEGER, time_min_ns INTEGER, time_max_ns INTEGER,
    PRIMARY KEY (comm, op, bucket, rank, phase)) WITHOUT ROWID;
CREATE TEMP TABLE edge (comm INTEGER, op INTEGER, src INTEGER, dst INTEGER, calls INTEGER, bytes INTEGER);
CREATE TEMP TABLE involvement (comm INTEGER, op INTEGER, rank INTEGER, phase INTEGER, calls INTEGER);
CREATE TEMP TABLE datatype (id INTEGER PRIMARY KEY, name TEXT, contiguous INTEGER);
CREATE TEMP TABLE datatype_use (comm INTEGER, op INTEGER, datatype INTEGER, rank INTEGER, calls INTEGER, bytes INTEGER);
CREATE TEMP TABLE standing (rank INTEGER, thread INTEGER, comm INTEGER, op INTEGER, since_ns INTEGER, for_ns INTEGER);
INSERT INTO temp.phase VALUES (0, '');
";

/// The numbers 0 and 1 of communicators are those of the rows `-` and `*`. Several communicators of one name are one row of `comms`, so that a rank may have several rows for one cell. Numbers that lead
/// nowhere have no cell. Seconds are at most some centuries.
const CELLS: &str = "
INSERT INTO temp.cell
SELECT d.comm_id + 2, d.operation_id, b.bucket, d.rank, 0, cast(total(d.calls) AS INTEGER), 0,
    iif(o.is_receive, 0, cast(total(d.volume) AS INTEGER)), iif(o.is_receive, cast(total(d.volume) AS INTEGER), 0),
    cast(min(total(iif(d.time BETWEEN 0 AND 9e9, d.time, 0)), 9e9) * 1e9 AS INTEGER), NULL, NULL
FROM main.data d
JOIN main.comms c ON c.id = d.comm_id
JOIN temp.operation o ON o.id = d.operation_id
JOIN temp.lower_edge b ON b.lo = max(coalesce(d.buffer_size_min, 0), 0)
WHERE d.rank >= 0
GROUP BY d.comm_id, d.operation_id, b.bucket, d.rank;
";

/// Its time of MPI_Init is no part of its run time.
const PROCESSES: &str = "
INSERT OR IGNORE INTO temp.process
SELECT t.id, coalesce(m.machine, ''), 0, cast(iif(t.time BETWEEN 0 AND 9e9, t.time, 0) * 1e9 AS INTEGER), 0, 'finished'
FROM main.exectimes t LEFT JOIN main.mappings m ON m.id = t.id WHERE t.id >= 0;
INSERT OR IGNORE INTO temp.process SELECT DISTINCT rank, '', 0, 0, 0, 'finished' FROM temp.cell;
UPDATE temp.process SET mpi_ns = s.time_ns FROM (
    SELECT x.rank AS rank, cast(total(x.time_ns) AS INTEGER) AS time_ns FROM temp.cell x
    JOIN temp.operation o ON o.id = x.op WHERE NOT o.is_outside GROUP BY x.rank) s
WHERE s.rank = process.rank;
";

/// The standard name of what it calls `Send` or `Fence`.
fn standard(name: &str) -> String {
    match name {
        "Fence" => "MPI_Win_fence".to_owned(),
        name if name.starts_with("MPI_") => name.to_owned(),
        name => format!("MPI_{name}"),
    }
}

fn operations(db: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT id, max(operation) FROM main.operations WHERE operation IS NOT NULL GROUP BY id";
    let known: Vec<(i64, String)> =
        db.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut insert = db.prepare("INSERT INTO temp.operation VALUES (?, ?, ?, ?, ?)")?;
    for (id, name) in known {
        let name = standard(&name);
        let call = CALLS.iter().position(|call| call.name == name);
        let class = call.map_or("control", |call| CALLS[call].class.name());
        let is_receive = matches!(name.as_str(), "MPI_Recv" | "MPI_Irecv" | "MPI_Mrecv" | "MPI_Imrecv");
        let is_outside = call.is_some_and(|call| commsee::calls::outside_span(call as u16));
        insert.execute(params![id, name, class, is_receive, is_outside])?;
    }
    Ok(())
}

/// Size classes that a profile can have; mpisee has eight.
const MOST_BUCKETS: usize = 64;

/// By their lower edges. The last one has no upper edge, for which it says the largest `int`. What has no edge is in the first one, and what are more
/// edges than there may be in the last one.
fn buckets(db: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT max(coalesce(buffer_size_min, 0), 0) AS lo, max(buffer_size_max) FROM main.data GROUP BY lo ORDER BY lo";
    let edges: Vec<(i64, Option<i64>)> =
        db.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut insert = db.prepare("INSERT INTO temp.bucket VALUES (?, ?, ?)")?;
    let mut edge = db.prepare("INSERT INTO temp.lower_edge VALUES (?, ?)")?;
    for (number, (lo, hi)) in edges.into_iter().enumerate() {
        let bucket = number.min(MOST_BUCKETS - 1) as i64;
        if number < MOST_BUCKETS {
            let is_last = number + 1 == MOST_BUCKETS;
            insert.execute(params![bucket, lo, hi.filter(|hi| !is_last && *hi < i64::from(i32::MAX))])?;
        }
        edge.execute(params![lo, bucket])?;
    }
    Ok(())
}

fn communicators(db: &Connection) -> rusqlite::Result<()> {
    let mut insert = db.prepare("INSERT INTO temp.creator VALUES (?, ?)")?;
    for (letter, call) in creators::all() {
        insert.execute(params![letter.to_string(), call])?;
    }
    // Who called something on it. These are its members if they are as many as it has.
    let mut callers: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    let mut pairs = db.prepare("SELECT DISTINCT comm, rank FROM temp.cell ORDER BY comm, rank")?;
    let mut rows = pairs.query([])?;
    while let Some(row) = rows.next()? {
        callers.entry(row.get(0)?).or_default().extend(u32::try_from(row.get::<_, i64>(1)?).ok());
    }
    let sql = "SELECT id + 2, coalesce(name, '?'), size FROM main.comms";
    let comms: Vec<(i64, String, Option<i64>)> =
        db.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<_, _>>()?;
    let mut insert =
        db.prepare("INSERT OR IGNORE INTO temp.communicator VALUES (?, ?, ?, ?, 0, NULL, ?, NULL, NULL, ?)")?;
    for (id, name, size) in comms {
        let size = size.and_then(|size| u32::try_from(size).ok());
        let letter = name.chars().next().filter(|letter| creators::origin(*letter).is_some());
        let root = name.get(1..).and_then(|rest| rest.split('.').next()).and_then(|root| root.parse::<u32>().ok());
        let members = callers.get(&id).filter(|ranks| Some(ranks.len()) == size.map(|size| size as usize));
        let ranks = members.map(|ranks| format_ranges(&ranges(ranks)));
        insert.execute(params![id, name, letter.map(String::from), size, root, ranks])?;
    }
    Ok(())
}

/// Of ranks in their order.
fn ranges(ranks: &[u32]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
            _ => ranges.push((*rank, *rank)),
        }
    }
    ranges
}
