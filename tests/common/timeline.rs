//! The timeline of a profile against its counters.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

/// What a query gives: numbers only.
pub fn rows(path: &Path, sql: &str) -> Vec<Vec<i64>> {
    let db = Connection::open(path).expect("the profile");
    let mut query = db.prepare(sql).expect("a query");
    let columns = query.column_count();
    let row = |row: &rusqlite::Row| (0..columns).map(|index| row.get(index)).collect();
    query.query_map([], row).expect("rows").collect::<Result<_, _>>().expect("numbers")
}

/// Calls on the timeline against calls in the counters. Begin and end of MPI are on none, nor is what takes no time.
pub fn check_calls(path: &Path) {
    let sql = |from: &str| {
        format!(
            "SELECT rank, comm, op, {from} GROUP BY 1, 2, 3 HAVING op NOT IN (SELECT id FROM operation WHERE name IN \
             ('MPI_Init', 'MPI_Init_thread', 'MPI_Finalize', 'MPI_Pcontrol')) ORDER BY 1, 2, 3"
        )
    };
    let counted = rows(path, &sql("sum(calls) FROM cells"));
    assert!(!counted.is_empty());
    assert_eq!(rows(path, &sql("count(*) FROM event WHERE kind = 0")), counted);
}

/// Collective calls of one number on a communicator are one operation: all its ranks made the same call.
pub fn check_sequences(path: &Path) {
    let collective = "kind = 0 AND op IN (SELECT id FROM operation WHERE class IN ('collective', 'neighborhood'))";
    let calls = |condition: &str| rows(path, &format!("SELECT count(*) FROM event WHERE {condition}"))[0][0];
    assert!(calls(collective) > 0);
    assert_eq!(calls(&format!("{collective} AND sequence IS NULL")), 0);
    assert_eq!(calls(&format!("sequence IS NOT NULL AND NOT ({collective})")), 0);
    // From 1 on, in the order of their begin.
    let numbered = "SELECT sequence, row_number() OVER (PARTITION BY rank, comm ORDER BY begin_ns) AS number FROM event WHERE sequence IS NOT NULL";
    assert_eq!(rows(path, &format!("SELECT * FROM ({numbered}) WHERE sequence <> number")), Vec::<Vec<i64>>::new());
    let shared = "SELECT e.comm, e.sequence, count(DISTINCT e.op), count(*), c.size + c.remote_size FROM event e \
                  JOIN communicator c ON c.id = e.comm WHERE e.sequence IS NOT NULL GROUP BY 1, 2";
    for row in rows(path, shared) {
        assert_eq!((row[2], row[3]), (1, row[4]), "{row:?}");
    }
}

/// Each message that was sent against the one that arrived: the same communicator, sender, receiver and tag, in the same order.
pub fn check_messages(path: &Path) {
    let mut sent: BTreeMap<Vec<i64>, Vec<(i64, i64)>> = BTreeMap::new();
    for row in rows(path, "SELECT comm, source, peer, tag, bytes, begin_ns FROM event WHERE kind = 2 ORDER BY begin_ns")
    {
        sent.entry(row[..4].to_vec()).or_default().push((row[4], row[5]));
    }
    let mut received: BTreeMap<Vec<i64>, Vec<(i64, i64)>> = BTreeMap::new();
    let arrivals = "SELECT m.comm, m.source, m.rank, m.tag, m.bytes, c.end_ns FROM event m JOIN event c ON c.rank = m.rank AND \
                    c.thread = m.thread AND c.kind = 0 AND c.begin_ns = m.cause_ns WHERE m.kind = 3 ORDER BY m.rank, m.posted";
    for row in rows(path, arrivals) {
        received.entry(row[..4].to_vec()).or_default().push((row[4], row[5]));
    }
    let [[begin_error, end_error]] = &rows(path, "SELECT max(begin_error_ns), max(end_error_ns) FROM clock")[..]
        .iter()
        .map(|row| [row[0], row[1]])
        .collect::<Vec<_>>()[..]
    else {
        panic!("no clocks")
    };
    let error_ns = 2 * begin_error.max(end_error);
    assert_eq!(sent.keys().collect::<Vec<_>>(), received.keys().collect::<Vec<_>>());
    for (key, messages) in &sent {
        let arrived = &received[key];
        assert_eq!(messages.len(), arrived.len(), "{key:?}");
        for ((bytes, begin_ns), (arrived_bytes, end_ns)) in messages.iter().zip(arrived) {
            assert_eq!(bytes, arrived_bytes, "{key:?}");
            assert!(begin_ns <= &(end_ns + error_ns), "{key:?}: arrived before it was sent: {begin_ns} {end_ns}");
        }
    }
    let edges = rows(path, "SELECT comm, src, dst, sum(calls), sum(bytes) FROM edge GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
    let events =
        "SELECT comm, rank, peer, count(*), sum(bytes) FROM event WHERE kind = 2 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
    assert_eq!(rows(path, events), edges);
}
