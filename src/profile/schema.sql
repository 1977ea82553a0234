-- The schema of a profile. docs/reference/profile.md explains every table and view.

CREATE TABLE metadata (
    key   TEXT PRIMARY KEY,
    value TEXT
) WITHOUT ROWID;

-- Processes, by their rank in MPI_COMM_WORLD.
CREATE TABLE process (
    rank    INTEGER PRIMARY KEY,
    host    TEXT NOT NULL,
    pid     INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    mpi_ns  INTEGER NOT NULL,
    state   TEXT NOT NULL
);

-- What the first letter of a communicator's name stands for.
CREATE TABLE creator (
    letter TEXT PRIMARY KEY,
    call   TEXT NOT NULL
) WITHOUT ROWID;

-- Communicators. 0 and 1 are no communicators but the rows '-' and '*'.
CREATE TABLE communicator (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    letter      TEXT,
    size        INTEGER,
    remote_size INTEGER,
    parent      INTEGER REFERENCES communicator(id),
    root_rank   INTEGER,
    label       TEXT,
    freed       INTEGER,
    ranks       TEXT
);

CREATE TABLE operation (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE,
    class TEXT NOT NULL
);

-- Message sizes: more than lo, at most hi bytes. The first bucket holds 0 as well; the last has no hi.
CREATE TABLE bucket (
    id INTEGER PRIMARY KEY,
    lo INTEGER NOT NULL,
    hi INTEGER
);

-- Parts of the program that it named by MPI_Pcontrol. 0 is no phase, with an empty name.
CREATE TABLE phase (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE cell (
    comm        INTEGER NOT NULL REFERENCES communicator(id),
    op          INTEGER NOT NULL REFERENCES operation(id),
    bucket      INTEGER NOT NULL REFERENCES bucket(id),
    rank        INTEGER NOT NULL REFERENCES process(rank),
    phase       INTEGER NOT NULL REFERENCES phase(id),
    calls       INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    bytes_sent  INTEGER NOT NULL,
    bytes_recv  INTEGER NOT NULL,
    time_ns     INTEGER NOT NULL,
    time_min_ns INTEGER,
    time_max_ns INTEGER,
    PRIMARY KEY (comm, op, bucket, rank, phase)
) WITHOUT ROWID;

-- Messages between ranks; dst -1 is a rank of another MPI_COMM_WORLD.
CREATE TABLE edge (
    comm  INTEGER NOT NULL REFERENCES communicator(id),
    op    INTEGER NOT NULL REFERENCES operation(id),
    src   INTEGER NOT NULL,
    dst   INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (comm, op, src, dst)
) WITHOUT ROWID;

-- How often a communicator took part in completion calls that are charged to the row '*'.
CREATE TABLE involvement (
    comm  INTEGER NOT NULL REFERENCES communicator(id),
    op    INTEGER NOT NULL REFERENCES operation(id),
    rank  INTEGER NOT NULL REFERENCES process(rank),
    phase INTEGER NOT NULL REFERENCES phase(id),
    calls INTEGER NOT NULL,
    PRIMARY KEY (comm, op, rank, phase)
) WITHOUT ROWID;

-- Datatypes by their structure: two that are built alike are one.
CREATE TABLE datatype (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    contiguous INTEGER NOT NULL,
    UNIQUE (name, contiguous)
);

-- Datatype arguments of calls, where COMMSEE_DATATYPES asked for them.
CREATE TABLE datatype_use (
    comm     INTEGER NOT NULL REFERENCES communicator(id),
    op       INTEGER NOT NULL REFERENCES operation(id),
    datatype INTEGER NOT NULL REFERENCES datatype(id),
    rank     INTEGER NOT NULL REFERENCES process(rank),
    calls    INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    PRIMARY KEY (comm, op, datatype, rank)
) WITHOUT ROWID;

-- Where the threads of processes stood that had not finished: op null is in the program, since_ns null is not known.
CREATE TABLE standing (
    rank     INTEGER NOT NULL REFERENCES process(rank),
    thread   INTEGER NOT NULL,
    comm     INTEGER REFERENCES communicator(id),
    op       INTEGER REFERENCES operation(id),
    since_ns INTEGER,
    for_ns   INTEGER,
    PRIMARY KEY (rank, thread)
) WITHOUT ROWID;

CREATE VIEW profile AS
SELECT c.name AS comm,
       c.size + c.remote_size AS comm_size,
       r.call AS creator,
       o.name AS op,
       o.class AS class,
       b.lo AS bucket_lo,
       b.hi AS bucket_hi,
       x.rank AS rank,
       x.calls AS calls,
       x.failed AS failed,
       x.bytes_sent AS bytes_sent,
       x.bytes_recv AS bytes_recv,
       x.time_ns / 1e9 AS time_s,
       x.time_min_ns / 1e9 AS time_min_s,
       x.time_max_ns / 1e9 AS time_max_s,
       h.name AS phase
FROM cell x
JOIN communicator c ON c.id = x.comm
JOIN operation o ON o.id = x.op
JOIN bucket b ON b.id = x.bucket
JOIN phase h ON h.id = x.phase
LEFT JOIN creator r ON r.letter = c.letter;

CREATE VIEW communicators AS
SELECT c.name AS comm,
       r.call AS creator,
       c.size + c.remote_size AS size,
       p.name AS parent,
       c.root_rank AS root_rank,
       c.label AS label,
       c.freed AS freed,
       c.ranks AS ranks,
       c.remote_size AS remote_size
FROM communicator c
JOIN creator r ON r.letter = c.letter
LEFT JOIN communicator p ON p.id = c.parent;

CREATE VIEW matrix AS
SELECT c.name AS comm, o.name AS op, e.src AS src, nullif(e.dst, -1) AS dst, e.calls AS calls, e.bytes AS bytes
FROM edge e
JOIN communicator c ON c.id = e.comm
JOIN operation o ON o.id = e.op;

CREATE VIEW involved AS
SELECT c.name AS comm, o.name AS op, i.rank AS rank, sum(i.calls) AS calls
FROM involvement i
JOIN communicator c ON c.id = i.comm
JOIN operation o ON o.id = i.op
GROUP BY i.comm, i.op, i.rank;

CREATE VIEW datatypes AS
SELECT c.name AS comm,
       o.name AS op,
       d.name AS datatype,
       d.contiguous AS contiguous,
       u.rank AS rank,
       u.calls AS calls,
       u.bytes AS bytes
FROM datatype_use u
JOIN communicator c ON c.id = u.comm
JOIN operation o ON o.id = u.op
JOIN datatype d ON d.id = u.datatype;

CREATE VIEW running AS
SELECT c.name AS comm, o.name AS op, s.rank AS rank, s.thread AS thread, s.since_ns / 1e9 AS since_s, s.for_ns / 1e9 AS for_s
FROM standing s
JOIN communicator c ON c.id = s.comm
JOIN operation o ON o.id = s.op;

CREATE VIEW ranks AS
SELECT rank, host, pid, wall_ns / 1e9 AS wall_s, mpi_ns / 1e9 AS mpi_s, state
FROM process;

CREATE VIEW meta AS
SELECT key, value FROM metadata;
