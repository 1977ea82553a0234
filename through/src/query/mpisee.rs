//! Profiles of mpisee 4.x: what is in its tables is brought into those of a profile, in memory. It counts what it calls volume, which is
//! sent, or received by receives; it knows no members, no matrix, no phases, and no shortest and longest calls.
//! <https://github.com/variemai/mpisee>

use std::collections::BTreeMap;

use commsee::calls::CALLS;
use commsee::creators;
use commsee::profile::SCHEMA;
use commsee::ranks::format_ranges;
use rusqlite::{Connection, params};

/// Whether the file has the tables of mpisee 4.
pub fn is_one(db: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' \
               AND name IN ('metadata', 'mappings', 'exectimes', 'operations', 'comms', 'data')";
    Ok(db.query_row(sql, [], |row| row.get::<_, u32>(0))? == 6)
}

/// Makes the tables that queries ask. Nothing is written to the file, which is open for reading only.
pub fn adopt(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch("PRAGMA foreign_keys = OFF")?;
    db.execute_batch(&SCHEMA.replace("CREATE TABLE", "CREATE TEMP TABLE").replace("CREATE VIEW", "CREATE TEMP VIEW"))?;
    db.execute_batch(STEPS)?;
    db.execute_batch(&format!(
        "INSERT OR IGNORE INTO temp.metadata SELECT {KEY}, value FROM main.metadata WHERE key IS NOT NULL; \
         INSERT OR REPLACE INTO temp.metadata VALUES ('written_by', 'mpisee');"
    ))?;
    operations(db)?;
    buckets(db)?;
    db.execute_batch(CELLS)?;
    db.execute_batch(PROCESSES)?;
    communicators(db)?;
    db.execute_batch(SPREADS)
}

/// Names of its metadata where ours says the same.
const KEY: &str = "CASE key WHEN 'Run command' THEN 'command' WHEN 'MPI Library' THEN 'mpi_library' WHEN 'Processes' THEN 'ranks' ELSE key END";

/// What is needed on the way: each number of theirs with the operation that has its name, the bucket of each lower edge, what each rank
/// counted, and how long it was in MPI on each communicator.
const STEPS: &str = "
CREATE TEMP TABLE known (id INTEGER PRIMARY KEY, op INTEGER, is_receive INTEGER, is_outside INTEGER);
CREATE TEMP TABLE lower_edge (lo INTEGER PRIMARY KEY, bucket INTEGER);
CREATE TEMP TABLE counted (comm INTEGER, op INTEGER, bucket INTEGER, rank INTEGER, calls INTEGER, bytes_sent INTEGER,
    bytes_recv INTEGER, time_ns INTEGER, mpi_ns INTEGER, PRIMARY KEY (comm, op, bucket, rank)) WITHOUT ROWID;
CREATE TEMP TABLE spent (comm INTEGER, rank INTEGER, time_ns INTEGER, PRIMARY KEY (comm, rank)) WITHOUT ROWID;
INSERT INTO temp.phase VALUES (0, '');
";

/// The numbers 0 and 1 of communicators are those of the rows `-` and `*`. Several communicators of one name are one row of `comms`, so that a rank may have several rows for one cell. Numbers that lead
/// nowhere have no cell. Seconds are at most some centuries. No machine has more than 2²⁴ ranks: so many numbers of cells has each sum.
const CELLS: &str = "
INSERT INTO temp.counted
SELECT comm, op, bucket, rank, calls, iif(is_receive, 0, bytes), iif(is_receive, bytes, 0), time_ns, iif(is_outside, 0, time_ns)
FROM (
    SELECT d.comm_id + 2 AS comm, o.op AS op, b.bucket AS bucket, d.rank AS rank, cast(total(d.calls) AS INTEGER) AS calls,
        cast(total(d.volume) AS INTEGER) AS bytes, o.is_receive AS is_receive, o.is_outside AS is_outside,
        cast(min(total(iif(d.time BETWEEN 0 AND 9e9, d.time, 0)), 9e9) * 1e9 AS INTEGER) AS time_ns
    FROM main.data d
    JOIN main.comms c ON c.id = d.comm_id
    JOIN temp.known o ON o.id = d.operation_id
    JOIN temp.lower_edge b ON b.lo = max(coalesce(d.buffer_size_min, 0), 0)
    WHERE d.rank >= 0 AND d.rank < 1 << 24
    GROUP BY d.comm_id, o.op, b.bucket, d.rank
);
INSERT INTO temp.spent SELECT comm, rank, cast(total(mpi_ns) AS INTEGER) FROM temp.counted GROUP BY comm, rank;
INSERT INTO temp.total (id, comm, op, calls, bytes_sent, bytes_recv, time_ns, ranks, rank_min_ns, rank_max_ns, bucket, phase, last_rank,
    rank_min, rank_max)
SELECT row_number() OVER () << 24, comm, op, cast(total(calls) AS INTEGER), cast(total(bytes_sent) AS INTEGER),
    cast(total(bytes_recv) AS INTEGER), cast(total(time_ns) AS INTEGER), count(*), min(time_ns), max(time_ns), bucket, 0, max(rank),
    (SELECT rank FROM temp.counted y WHERE (y.comm, y.op, y.bucket) = (x.comm, x.op, x.bucket) ORDER BY time_ns, rank LIMIT 1),
    (SELECT rank FROM temp.counted y WHERE (y.comm, y.op, y.bucket) = (x.comm, x.op, x.bucket) ORDER BY time_ns DESC, rank LIMIT 1)
FROM temp.counted x GROUP BY comm, op, bucket;
INSERT INTO temp.uneven_total (id, calls_max, failed, failed_max)
SELECT t.id, max(x.calls), 0, 0 FROM temp.total t CROSS JOIN temp.counted x ON (x.comm, x.op, x.bucket) = (t.comm, t.op, t.bucket)
GROUP BY t.id;
INSERT INTO temp.cell (id, time_ns)
SELECT t.id + x.rank, x.time_ns FROM temp.total t CROSS JOIN temp.counted x ON (x.comm, x.op, x.bucket) = (t.comm, t.op, t.bucket);
INSERT INTO temp.uneven_cell (id, calls, failed, bytes_sent, bytes_recv)
SELECT t.id + x.rank, x.calls, 0, x.bytes_sent, x.bytes_recv
FROM temp.total t CROSS JOIN temp.counted x ON (x.comm, x.op, x.bucket) = (t.comm, t.op, t.bucket);
";

/// Its time of MPI_Init is no part of its run time.
const PROCESSES: &str = "
INSERT OR IGNORE INTO temp.process (rank, host, pid, wall_ns, mpi_ns, state)
SELECT t.id, coalesce(m.machine, ''), 0, cast(iif(t.time BETWEEN 0 AND 9e9, t.time, 0) * 1e9 AS INTEGER), 0, 'finished'
FROM main.exectimes t LEFT JOIN main.mappings m ON m.id = t.id WHERE t.id >= 0;
INSERT OR IGNORE INTO temp.process (rank, host, pid, wall_ns, mpi_ns, state) SELECT DISTINCT rank, '', 0, 0, 0, 'finished' FROM temp.spent;
UPDATE temp.process SET mpi_ns = s.time_ns
FROM (SELECT rank, cast(total(time_ns) AS INTEGER) AS time_ns FROM temp.spent GROUP BY rank) s WHERE s.rank = process.rank;
";

const SPREADS: &str = "
UPDATE temp.communicator SET time_ranks = s.ranks, time_ns = s.time_ns, rank_min_ns = s.least_ns, rank_max_ns = s.most_ns,
    rank_min = (SELECT rank FROM temp.spent WHERE comm = communicator.id ORDER BY time_ns, rank LIMIT 1),
    rank_max = (SELECT rank FROM temp.spent WHERE comm = communicator.id ORDER BY time_ns DESC, rank LIMIT 1)
FROM (
    SELECT comm, count(*) AS ranks, cast(total(time_ns) AS INTEGER) AS time_ns, min(time_ns) AS least_ns, max(time_ns) AS most_ns
    FROM temp.spent GROUP BY comm
) s
WHERE s.comm = communicator.id;
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
    let mut insert = db.prepare("INSERT OR IGNORE INTO temp.operation (name, class) VALUES (?, ?)")?;
    let mut insert_known =
        db.prepare("INSERT INTO temp.known SELECT ?, id, ?, ? FROM temp.operation WHERE name = ?")?;
    for (id, name) in known {
        let name = standard(&name);
        let call = CALLS.iter().position(|call| call.name == name);
        let class = call.map_or("control", |call| CALLS[call].class.name());
        let is_receive = matches!(name.as_str(), "MPI_Recv" | "MPI_Irecv" | "MPI_Mrecv" | "MPI_Imrecv");
        let is_outside = call.is_some_and(|call| commsee::calls::outside_span(call as u16));
        insert.execute([&name, class])?;
        insert_known.execute(params![id, is_receive, is_outside, name])?;
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
    let mut pairs = db.prepare("SELECT comm, rank FROM temp.spent ORDER BY comm, rank")?;
    let mut rows = pairs.query([])?;
    while let Some(row) = rows.next()? {
        callers.entry(row.get(0)?).or_default().extend(u32::try_from(row.get::<_, i64>(1)?).ok());
    }
    let sql = "SELECT id + 2, coalesce(name, '?'), size FROM main.comms";
    let comms: Vec<(i64, String, Option<i64>)> =
        db.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<_, _>>()?;
    let mut insert_members = db.prepare("INSERT INTO temp.members (ranks) VALUES (?)")?;
    let mut insert = db.prepare(
        "INSERT OR IGNORE INTO temp.communicator (id, name, letter, size, remote_size, root_rank, members, time_ranks, time_ns) \
         VALUES (?, ?, ?, ?, 0, ?, ?, 0, 0)",
    )?;
    for (id, name, size) in comms {
        let size = size.and_then(|size| u32::try_from(size).ok());
        let letter = name.chars().next().filter(|letter| creators::origin(*letter).is_some());
        let root = name.get(1..).and_then(|rest| rest.split('.').next()).and_then(|root| root.parse::<u32>().ok());
        let members = callers.get(&id).filter(|ranks| Some(ranks.len()) == size.map(|size| size as usize));
        let members = members.map(|ranks| insert_members.insert([format_ranges(&ranges(ranks))])).transpose()?;
        insert.execute(params![id, name, letter.map(String::from), size, root, members])?;
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
