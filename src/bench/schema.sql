-- The schema of a file of measurements: what groupbench writes and `through bench` reads. docs/reference/groupbench.md explains it.

-- Launches of the benchmark, in the order in which they were written. seed: of the order of cases. group_by: node, numa, socket, g=4 or a file.
-- clock_error_s: how far the clocks of two ranks may be apart after correction. state: running, complete or interrupted.
CREATE TABLE bench_run (
    id             INTEGER PRIMARY KEY,
    launch         INTEGER NOT NULL,
    started        TEXT NOT NULL,
    command        TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,
    state          TEXT NOT NULL,
    seed           INTEGER NOT NULL,
    ranks          INTEGER NOT NULL,
    hosts          INTEGER NOT NULL,
    group_by       TEXT NOT NULL,
    sync           TEXT NOT NULL,
    clock_error_s  REAL,
    oversubscribed INTEGER NOT NULL
);

-- What a launch ran in: keys such as mpi, cpu, kernel, compiler, and environment variables that steer transports.
CREATE TABLE bench_environment (
    run   INTEGER NOT NULL REFERENCES bench_run(id),
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, key)
) WITHOUT ROWID;

-- Its ranks: place is the group and the index in it, null for ranks that take no part. cpus: those that the rank may run on, such as 0-3.
CREATE TABLE bench_rank (
    run        INTEGER NOT NULL REFERENCES bench_run(id),
    rank       INTEGER NOT NULL,
    host       TEXT NOT NULL,
    cpus       TEXT NOT NULL,
    group_no   INTEGER,
    group_rank INTEGER,
    PRIMARY KEY (run, rank)
) WITHOUT ROWID;

-- What was measured in a launch: one pattern, one size, one library. bytes: the count that the pattern divides over its messages; message_bytes: its
-- largest message; total_bytes: all messages of one execution; group_bytes: what the busiest group sends to others, or receives from them if that is
-- more; rank_bytes: the same of the busiest rank, messages inside its group included. step: of its steps the one that was measured alone, from 1;
-- 0: the whole pattern. steps: those that depend on each other.
-- crosses_hosts: whether a message of the whole pattern leaves its host. executions: how often the pattern ran, with warm-up and verification.
-- _s: seconds of the slowest rank (min_s to max_s); of the span from the first start to the last end (span_s); between the first start and
-- the last (skew_s): medians. ci_: bounds of the median at 95 %, null under six samples. stopped: interval, reps, time or interrupted.
-- half_trip_s: half the round trip of the pattern's first pair, where it was measured. flag: null, or why the numbers are not to be believed:
-- skew, if the median is below half the round trip, or ranks began further apart than half of it.
CREATE TABLE bench_result (
    id             INTEGER PRIMARY KEY,
    run            INTEGER NOT NULL REFERENCES bench_run(id),
    family         TEXT NOT NULL,
    direction      TEXT NOT NULL,
    n              INTEGER NOT NULL,
    g              INTEGER NOT NULL,
    k              INTEGER NOT NULL,
    library        TEXT NOT NULL,
    bytes          INTEGER NOT NULL,
    step           INTEGER NOT NULL DEFAULT 0,
    steps          INTEGER NOT NULL,
    messages       INTEGER NOT NULL,
    message_bytes  INTEGER NOT NULL,
    total_bytes    INTEGER NOT NULL,
    group_bytes    INTEGER NOT NULL,
    rank_bytes     INTEGER NOT NULL,
    crosses_hosts  INTEGER NOT NULL,
    buffers        TEXT NOT NULL,
    min_s          REAL NOT NULL,
    median_s       REAL NOT NULL,
    ci_lo_s        REAL,
    ci_hi_s        REAL,
    mean_s         REAL NOT NULL,
    p95_s          REAL NOT NULL,
    p99_s          REAL NOT NULL,
    max_s          REAL NOT NULL,
    span_s         REAL NOT NULL,
    skew_s         REAL NOT NULL,
    reps           INTEGER NOT NULL,
    executions     INTEGER NOT NULL,
    stopped        TEXT NOT NULL,
    oversubscribed INTEGER NOT NULL,
    wrong          INTEGER NOT NULL,
    half_trip_s    REAL,
    flag           TEXT
);

-- Every timed execution. slowest: the rank that took longest.
CREATE TABLE bench_sample (
    result  INTEGER NOT NULL REFERENCES bench_result(id),
    launch  INTEGER NOT NULL,
    rep     INTEGER NOT NULL,
    time_s  REAL NOT NULL,
    span_s  REAL NOT NULL,
    skew_s  REAL NOT NULL,
    slowest INTEGER NOT NULL,
    PRIMARY KEY (result, rep)
) WITHOUT ROWID;

-- Medians of each rank's own time.
CREATE TABLE bench_rank_time (
    result   INTEGER NOT NULL REFERENCES bench_result(id),
    rank     INTEGER NOT NULL,
    median_s REAL NOT NULL,
    PRIMARY KEY (result, rank)
) WITHOUT ROWID;
