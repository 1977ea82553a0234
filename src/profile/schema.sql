-- The schema of a profile. docs/reference/profile.md explains every table and view. A line @of a table@ stands for the columns that
-- follow from the table of counters (src/counters.rs); schema.rs writes them.

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
    state   TEXT NOT NULL,
    ran_ns   INTEGER, -- of the run time, its main thread on a processor (null: not known)
    ready_ns INTEGER, -- and ready to run, without a processor
    cpus     TEXT,    -- processors that it may run on, such as 0-3 (null: not known)
    numa     TEXT     -- NUMA nodes that they belong to
);

-- What the first letter of a communicator's name stands for.
CREATE TABLE creator (
    letter TEXT PRIMARY KEY,
    call   TEXT NOT NULL
) WITHOUT ROWID;

-- World ranks, as text such as 0-3,8: stored once for all communicators with the same members.
CREATE TABLE members (
    id    INTEGER PRIMARY KEY,
    ranks TEXT NOT NULL
);

-- Where in the code calls are made. Files of code, wherever they were loaded: those of one build id (in hexadecimal digits, null where the
-- file has none) are one, else those of one path.
CREATE TABLE module (
    id       INTEGER PRIMARY KEY,
    path     TEXT NOT NULL,
    build_id TEXT
);

-- Calls in a module: address is the file's own, inside of the call instruction. Both null: a line that an interpreter runs.
CREATE TABLE frame (
    id      INTEGER PRIMARY KEY,
    module  INTEGER REFERENCES module(id),
    address INTEGER
);

-- What a frame is called. depth 0 is the innermost of the functions that were inlined there. Frames of an interpreter have their rows from the
-- start, others after `through export db`.
CREATE TABLE frame_name (
    frame    INTEGER NOT NULL REFERENCES frame(id),
    depth    INTEGER NOT NULL,
    function TEXT,
    file     TEXT,
    line     INTEGER,
    PRIMARY KEY (frame, depth)
) WITHOUT ROWID;

-- A frame and the site of the frames outside of it (null: none is known), whose id is lower. So a stack is one number.
CREATE TABLE site (
    id    INTEGER PRIMARY KEY,
    frame INTEGER NOT NULL REFERENCES frame(id),
    outer INTEGER REFERENCES site(id)
);

-- Communicators. 0 and 1 are no communicators but the rows '-' and '*'. The time_ and rank_ columns sum up the MPI time of its ranks
-- (without MPI_Init and MPI_Finalize): of how many, of all, of the one that spent least and the one that spent most (null: there is one
-- rank, or rank_max is rank_min). layer: whose communicator it is, null for MPI's; letter is then what the layer's module tells of its
-- making, and root_rank may be null. site: where it was made, null where that is not known. Names are unique; no index says so, since
-- nothing is looked up by them. Columns that are often null are the last ones.
CREATE TABLE communicator (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    letter      TEXT,
    size        INTEGER,
    remote_size INTEGER,
    parent      INTEGER REFERENCES communicator(id),
    root_rank   INTEGER,
    freed       INTEGER,
    members     INTEGER REFERENCES members(id),
    site        INTEGER REFERENCES site(id),
    time_ranks  INTEGER NOT NULL,
    time_ns     INTEGER NOT NULL,
    rank_min    INTEGER,
    rank_min_ns INTEGER,
    rank_max_ns INTEGER,
    rank_max    INTEGER,
    label       TEXT,
    layer       TEXT
);

CREATE TABLE operation (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE,
    class TEXT NOT NULL
);

-- Message sizes: more than lo, at most hi bytes. The first bucket holds 0 as well; the last has no hi. From 64 on they are the same once
-- more, of operations in own_size.
CREATE TABLE bucket (
    id INTEGER PRIMARY KEY,
    lo INTEGER NOT NULL,
    hi INTEGER
);

-- Operations with calls in which each rank may give and take another number of bytes. The bucket of such a call is 64 and that of the
-- bytes that the rank gave or took, whichever were more. The view profile shows the first bucket.
CREATE TABLE own_size (
    op INTEGER PRIMARY KEY REFERENCES operation(id)
);

-- Parts of the program that it named by MPI_Pcontrol. 0 is no phase, with an empty name.
CREATE TABLE phase (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Sums over the ranks, one row per communicator, operation, bucket and phase. In a run with phases there is one more row
-- with phase -1: over all phases. What follows from other columns is null: the view summary has all of it. Columns that are often null
-- are the last ones, because there null takes no room.
CREATE TABLE total (
    id            INTEGER PRIMARY KEY,
    comm          INTEGER NOT NULL REFERENCES communicator(id),
    op            INTEGER NOT NULL REFERENCES operation(id),
    @sums@,
    rank_min      INTEGER,          -- the rank that spent least; null: 0
    ranks         INTEGER,          -- that made such calls; null: 1
    rank_min_ns   INTEGER,          -- time of the rank that spent least; null: there is one rank
    rank_max_ns   INTEGER,
    rank_max      INTEGER,          -- null: rank_min
    bucket        INTEGER REFERENCES bucket(id), -- null: 0
    phase         INTEGER,          -- null: 0
    last_rank     INTEGER,          -- its cells are id to id + last_rank; null: ranks - 1, or of one rank it is the cell; -1: it has none
    @extremes@ -- of single calls (null: follows from the columns above), and their ranks (null: rank_min or rank_max)
);

-- Totals in which calls failed, or ranks differ in calls or bytes: the most of one rank, and what most cells have.
CREATE TABLE uneven_total (
    id INTEGER PRIMARY KEY REFERENCES total(id),
    @uneven totals@
);

-- What each rank counted (or each node: docs/reference/profile.md, detail). The rank is id - total.id. Calls and bytes are what
-- most cells of the total have; extremes are null where there was one call, or none.
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    @cell@
);

-- Cells that have other calls or bytes.
CREATE TABLE uneven_cell (
    id INTEGER PRIMARY KEY REFERENCES cell(id),
    @uneven cell@
);

-- Messages between ranks, or nodes; dst -1 is a rank of another MPI_COMM_WORLD.
CREATE TABLE edge (
    comm  INTEGER NOT NULL REFERENCES communicator(id),
    op    INTEGER NOT NULL REFERENCES operation(id),
    src   INTEGER NOT NULL,
    dst   INTEGER NOT NULL,
    @messages@,
    PRIMARY KEY (comm, op, src, dst)
) WITHOUT ROWID;

-- Calls by the site that made them, where COMMSEE_SITES asked for it. site 0 is not known. Rank -1 is all ranks together.
CREATE TABLE call_site (
    site   INTEGER NOT NULL,
    comm   INTEGER NOT NULL REFERENCES communicator(id),
    op     INTEGER NOT NULL REFERENCES operation(id),
    bucket INTEGER NOT NULL REFERENCES bucket(id),
    phase  INTEGER NOT NULL REFERENCES phase(id),
    rank   INTEGER NOT NULL,
    @site calls@,
    PRIMARY KEY (site, comm, op, bucket, phase, rank)
) WITHOUT ROWID;

-- Requests that completion calls completed: comm, op and phase are those of the calls, started is the operation of the requests (65535: not
-- known), bucket that of their size, peer the rank that they came from (-1: none, or not known; -2: of another MPI_COMM_WORLD). time_ns is that of
-- the calls which waited for them; what is charged to none has started 65535 and no requests. Rank -1 is all ranks together.
CREATE TABLE completed (
    comm    INTEGER NOT NULL REFERENCES communicator(id),
    op      INTEGER NOT NULL REFERENCES operation(id),
    phase   INTEGER NOT NULL REFERENCES phase(id),
    rank    INTEGER NOT NULL,
    started INTEGER NOT NULL REFERENCES operation(id),
    bucket  INTEGER NOT NULL REFERENCES bucket(id),
    peer    INTEGER NOT NULL,
    @completions@,
    PRIMARY KEY (comm, op, phase, rank, started, bucket, peer)
) WITHOUT ROWID;

-- Operations on files that all processes which opened a file make together.
CREATE TABLE collective_io (
    op INTEGER PRIMARY KEY REFERENCES operation(id)
);

-- Files that the program opened: the last component of the path, or the path as the program gave it (COMMSEE_FILES=path). Two files of one
-- name in different folders are two.
CREATE TABLE file (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);

-- Over which communicators: by how many ranks, how often over all ranks, and how often these set its view. file 0: those whose names are not
-- known. MPI_File_delete is on communicator 0, by ranks that need not have opened it.
CREATE TABLE file_open (
    file  INTEGER NOT NULL,
    comm  INTEGER NOT NULL REFERENCES communicator(id),
    ranks INTEGER NOT NULL,
    opens INTEGER NOT NULL,
    views INTEGER NOT NULL,
    PRIMARY KEY (file, comm)
) WITHOUT ROWID;

-- Calls on files. Rank -1 is all ranks together.
CREATE TABLE file_call (
    file   INTEGER NOT NULL,
    comm   INTEGER NOT NULL REFERENCES communicator(id),
    op     INTEGER NOT NULL REFERENCES operation(id),
    bucket INTEGER NOT NULL REFERENCES bucket(id),
    phase  INTEGER NOT NULL REFERENCES phase(id),
    rank   INTEGER NOT NULL,
    @file calls@,
    PRIMARY KEY (file, comm, op, bucket, phase, rank)
) WITHOUT ROWID;

-- How often a communicator took part in completion calls that are charged to the row '*'. Rank -1 is all ranks together.
CREATE TABLE involvement (
    comm  INTEGER NOT NULL REFERENCES communicator(id),
    op    INTEGER NOT NULL REFERENCES operation(id),
    rank  INTEGER NOT NULL,
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

-- Datatype arguments of calls, where COMMSEE_DATATYPES asked for them. Rank -1 is all ranks together.
CREATE TABLE datatype_use (
    comm     INTEGER NOT NULL REFERENCES communicator(id),
    op       INTEGER NOT NULL REFERENCES operation(id),
    datatype INTEGER NOT NULL REFERENCES datatype(id),
    rank     INTEGER NOT NULL,
    @arguments@,
    PRIMARY KEY (comm, op, datatype, rank)
) WITHOUT ROWID;

-- Where the threads of processes stood that had not finished: op null is in the program, since_ns null is not known. site: where in the
-- code the call was made, of one frame; null is not known.
CREATE TABLE standing (
    rank     INTEGER NOT NULL REFERENCES process(rank),
    thread   INTEGER NOT NULL,
    comm     INTEGER REFERENCES communicator(id),
    op       INTEGER REFERENCES operation(id),
    since_ns INTEGER,
    for_ns   INTEGER,
    site     INTEGER REFERENCES site(id),
    PRIMARY KEY (rank, thread)
) WITHOUT ROWID;

-- How layers below MPI moved data. kind is that of the device; scope the layer's own group of processes; what a layer has no name for
-- is empty. arrives 1: data that came from the peer. memory: where the data lie in the process itself.
CREATE TABLE way (
    id        INTEGER PRIMARY KEY,
    layer     TEXT NOT NULL,
    function  TEXT NOT NULL,
    protocol  TEXT NOT NULL,
    transport TEXT NOT NULL,
    device    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    scope     TEXT NOT NULL,
    arrives   INTEGER NOT NULL,
    role      TEXT NOT NULL DEFAULT '',
    memory    TEXT NOT NULL DEFAULT ''
);

-- What layers below MPI did for an operation on a communicator, both as in cells; outside of MPI they are the rows '-'. bucket is of
-- the layer's own operation. Rank -1 is all ranks together. peer -1 is not known or none, -2 a process of another MPI_COMM_WORLD.
-- later: how many were not complete when their call returned; the times are theirs, null without any. layer_comm: a communicator of the
-- layer that they were counted on, 0 is none; within: the layer's call that they happened in, by a way that has its function, 0 is none.
-- site: where the program made the call that they belong to, 0 where that was not counted, or is not known. source_object,
-- target_object: where it allocated the memory that was read, and written; as site.
CREATE TABLE transfer (
    comm        INTEGER NOT NULL REFERENCES communicator(id),
    op          INTEGER NOT NULL REFERENCES operation(id),
    bucket      INTEGER NOT NULL REFERENCES bucket(id),
    way         INTEGER NOT NULL REFERENCES way(id),
    rank        INTEGER NOT NULL,
    peer        INTEGER NOT NULL,
    calls       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    later       INTEGER NOT NULL,
    time_ns     INTEGER,
    time_min_ns INTEGER,
    time_max_ns INTEGER,
    layer_comm  INTEGER NOT NULL DEFAULT 0 REFERENCES communicator(id),
    within      INTEGER NOT NULL DEFAULT 0,
    site        INTEGER NOT NULL DEFAULT 0,
    source_object INTEGER NOT NULL DEFAULT 0,
    target_object INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (comm, op, bucket, way, rank, peer, layer_comm, within, site, source_object, target_object)
) WITHOUT ROWID;

-- Sums of transfers over ranks, peers, communicators of layers, layer calls, sites and objects.
CREATE TABLE transfer_total (
    comm        INTEGER NOT NULL REFERENCES communicator(id),
    op          INTEGER NOT NULL REFERENCES operation(id),
    bucket      INTEGER NOT NULL REFERENCES bucket(id),
    way         INTEGER NOT NULL REFERENCES way(id),
    calls       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    later       INTEGER NOT NULL,
    time_ns     INTEGER,
    time_min_ns INTEGER,
    time_max_ns INTEGER,
    PRIMARY KEY (comm, op, bucket, way)
) WITHOUT ROWID;

-- World ranks of a layer's communicator in the order of its own ranks, such as 0-3,0-3, where these do not ascend.
CREATE TABLE rank_order (
    comm  INTEGER PRIMARY KEY REFERENCES communicator(id),
    ranks TEXT NOT NULL
);

-- What hook modules say of themselves: so many ranks said it.
CREATE TABLE note (
    module TEXT NOT NULL,
    text   TEXT NOT NULL,
    ranks  INTEGER NOT NULL,
    PRIMARY KEY (module, text)
) WITHOUT ROWID;

-- Processes with a timeline: what was added to their clock to have that of rank 0, at the begin and at the end, and by how much it may
-- be wrong. events are in the table event; lost_events were overwritten (ring buffer full).
CREATE TABLE clock (
    rank            INTEGER PRIMARY KEY,
    begin_offset_ns INTEGER,
    begin_error_ns  INTEGER,
    end_offset_ns   INTEGER,
    end_error_ns    INTEGER,
    events          INTEGER NOT NULL,
    lost_events     INTEGER NOT NULL
);

-- The timeline, where COMMSEE_TRACE asked for it, rank by rank in the order of begin_ns: nanoseconds since its begin, on the clock of
-- rank 0. kind 0: an MPI call. 1: what a layer below MPI did; peer as in transfer. 2: a message that the call beginning at cause_ns
-- sent; peer is the rank it went to (-2: of another MPI_COMM_WORLD). 3: a message that came with the call beginning at cause_ns; posted
-- counts the receives of its rank as they were posted. source is the sender's rank in the communicator. sequence is the number of a
-- collective call among those on its communicator, the same on all ranks. site is that of the program's call.
CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    rank     INTEGER NOT NULL REFERENCES process(rank),
    thread   INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    begin_ns INTEGER NOT NULL,
    end_ns   INTEGER,
    cause_ns INTEGER,
    comm     INTEGER NOT NULL REFERENCES communicator(id),
    op       INTEGER NOT NULL REFERENCES operation(id),
    bytes    INTEGER NOT NULL,
    way      INTEGER REFERENCES way(id),
    peer     INTEGER,
    source   INTEGER,
    tag      INTEGER,
    posted   INTEGER,
    sequence INTEGER,
    layer_comm INTEGER REFERENCES communicator(id),
    within   INTEGER REFERENCES way(id),
    site     INTEGER REFERENCES site(id)
);

-- Messages of which both ends are events: kinds 2 and 3.
CREATE TABLE message (
    sent     INTEGER PRIMARY KEY REFERENCES event(id),
    received INTEGER NOT NULL REFERENCES event(id)
);

-- The shards of a profile that lacks ranks and may be joined with them: of so many bytes, compressed by zlib.
CREATE TABLE part (
    rank  INTEGER PRIMARY KEY,
    bytes INTEGER NOT NULL,
    shard BLOB NOT NULL
);

-- Sums over the ranks, with all their numbers, and where their cells lie. only_rank: it is the cell of this rank.
CREATE VIEW summary AS
SELECT t.id AS id,
       t.comm AS comm,
       t.op AS op,
       coalesce(t.bucket, 0) AS bucket,
       nullif(coalesce(t.phase, 0), -1) AS phase,
       coalesce(t.ranks, 1) AS ranks,
       @summed@,
       coalesce(t.rank_min_ns, t.time_ns) AS rank_min_ns,
       coalesce(t.rank_min, 0) AS rank_min,
       coalesce(t.rank_max_ns, t.time_ns) AS rank_max_ns,
       coalesce(t.rank_max, t.rank_min, 0) AS rank_max,
       @summed extremes@,
       @of most cells@,
       CASE WHEN coalesce(t.phase, 0) >= 0 AND coalesce(t.last_rank, t.ranks, -1) >= 0 THEN t.id END AS first_cell,
       CASE WHEN coalesce(t.phase, 0) >= 0 THEN t.id + nullif(coalesce(t.last_rank, t.ranks - 1), -1) END AS last_cell,
       CASE WHEN coalesce(t.phase, 0) >= 0 AND coalesce(t.ranks, t.last_rank) IS NULL THEN coalesce(t.rank_min, 0) END AS only_rank
FROM total t
LEFT JOIN uneven_total u ON u.id = t.id;

-- Cells with all their numbers. Without cells, the sums: those of one rank are its cell, those over all ranks have rank null.
CREATE VIEW cells AS
SELECT s.comm AS comm,
       s.op AS op,
       s.bucket AS bucket,
       coalesce(x.id - s.first_cell, s.only_rank) AS rank,
       s.phase AS phase,
       @of a cell@
FROM summary s
LEFT JOIN cell x ON x.id BETWEEN s.first_cell AND s.last_cell
LEFT JOIN uneven_cell u ON u.id = x.id
WHERE s.phase IS NOT NULL;

CREATE VIEW profile AS
SELECT c.name AS comm,
       c.size + c.remote_size AS comm_size,
       r.call AS creator,
       o.name AS op,
       o.class AS class,
       b.lo AS bucket_lo,
       b.hi AS bucket_hi,
       x.rank AS rank,
       @shown@,
       h.name AS phase
FROM (
    SELECT comm, op, bucket, rank, phase, @cell counters@ FROM cells WHERE op NOT IN (SELECT op FROM own_size)
    UNION ALL
    SELECT comm, op, CASE WHEN bucket < 64 THEN bucket ELSE 0 END AS size, rank, phase, @merged cells@
    FROM cells
    WHERE op IN (SELECT op FROM own_size)
    GROUP BY comm, op, size, rank, phase
) x
JOIN communicator c ON c.id = x.comm
JOIN operation o ON o.id = x.op
JOIN bucket b ON b.id = x.bucket
JOIN phase h ON h.id = x.phase
LEFT JOIN creator r ON r.letter = c.letter;

-- Sums over the ranks, with the ranks that had the extremes. Where there are phases, phase null is over all of them.
CREATE VIEW summaries AS
SELECT c.name AS comm,
       o.name AS op,
       b.lo AS bucket_lo,
       b.hi AS bucket_hi,
       h.name AS phase,
       s.ranks AS ranks,
       @shown sums@,
       s.rank_min_ns / 1e9 AS rank_min_s,
       s.rank_min AS rank_min,
       s.rank_max_ns / 1e9 AS rank_max_s,
       s.rank_max AS rank_max,
       @shown extremes@
FROM summary s
JOIN communicator c ON c.id = s.comm
JOIN operation o ON o.id = s.op
JOIN bucket b ON b.id = s.bucket
LEFT JOIN phase h ON h.id = s.phase;

-- Sites by the innermost function of their frame: site is grid.c:88, or solve+0x1f where the line is not known. Null is not known, or only
-- after `through export db`.
CREATE VIEW sites AS
SELECT s.id AS id,
       coalesce(replace(n.file, rtrim(n.file, replace(n.file, '/', '')), '') || coalesce(':' || n.line, ''), n.function) AS site,
       CASE WHEN n.line IS NULL AND instr(n.function, '+0x') THEN substr(n.function, 1, instr(n.function, '+0x') - 1)
            ELSE n.function END AS function,
       n.file AS file,
       n.line AS line,
       m.path AS module,
       f.address AS address,
       s.outer AS outer
FROM site s
JOIN frame f ON f.id = s.frame
LEFT JOIN module m ON m.id = f.module
LEFT JOIN frame_name n ON n.frame = f.id AND n.depth = 0;

-- Calls by the site that made them.
CREATE VIEW call_sites AS
SELECT c.name AS comm,
       o.name AS op,
       b.lo AS bucket_lo,
       b.hi AS bucket_hi,
       h.name AS phase,
       nullif(x.rank, -1) AS rank,
       @of site calls@,
       nullif(x.site, 0) AS id,
       s.site AS site,
       s.function AS function
FROM call_site x
JOIN communicator c ON c.id = x.comm
JOIN operation o ON o.id = x.op
JOIN bucket b ON b.id = x.bucket
JOIN phase h ON h.id = x.phase
LEFT JOIN sites s ON s.id = x.site;

CREATE VIEW communicators AS
SELECT c.name AS comm,
       coalesce(r.call, c.letter) AS creator,
       c.size + c.remote_size AS size,
       p.name AS parent,
       c.root_rank AS root_rank,
       c.label AS label,
       c.freed AS freed,
       m.ranks AS ranks,
       c.remote_size AS remote_size,
       coalesce(c.layer, 'mpi') AS layer,
       s.site AS made_at,
       s.function AS made_in
FROM communicator c
LEFT JOIN creator r ON r.letter = c.letter AND c.layer IS NULL
LEFT JOIN members m ON m.id = c.members
LEFT JOIN communicator p ON p.id = c.parent
LEFT JOIN sites s ON s.id = c.site
WHERE c.letter IS NOT NULL;

CREATE VIEW matrix AS
SELECT c.name AS comm, o.name AS op, e.src AS src, nullif(e.dst, -1) AS dst, @of messages@
FROM edge e
JOIN communicator c ON c.id = e.comm
JOIN operation o ON o.id = e.op;

-- What completion calls completed, and waited for. started null: not known, or none; then there is no bucket either.
CREATE VIEW completions AS
SELECT c.name AS comm,
       o.name AS op,
       h.name AS phase,
       nullif(x.rank, -1) AS rank,
       s.name AS started,
       CASE WHEN s.id IS NOT NULL THEN b.lo END AS bucket_lo,
       CASE WHEN s.id IS NOT NULL THEN b.hi END AS bucket_hi,
       CASE WHEN x.peer >= 0 THEN x.peer END AS peer,
       @of completions@
FROM completed x
JOIN communicator c ON c.id = x.comm
JOIN operation o ON o.id = x.op
JOIN bucket b ON b.id = x.bucket
JOIN phase h ON h.id = x.phase
LEFT JOIN operation s ON s.id = x.started AND x.started < 65535;

-- Calls on files, by the communicator that the file was opened over. file null: its name is not known.
CREATE VIEW files AS
SELECT f.name AS file,
       c.name AS comm,
       o.name AS op,
       nullif(x.rank, -1) AS rank,
       x.op IN (SELECT op FROM collective_io) AS is_collective,
       b.lo AS bucket_lo,
       b.hi AS bucket_hi,
       @of file calls@,
       h.name AS phase,
       nullif(x.file, 0) AS id
FROM file_call x
JOIN communicator c ON c.id = x.comm
JOIN operation o ON o.id = x.op
JOIN bucket b ON b.id = x.bucket
JOIN phase h ON h.id = x.phase
LEFT JOIN file f ON f.id = x.file;

-- Files, and the communicators that they were opened over.
CREATE VIEW opened_files AS
SELECT f.name AS file, c.name AS comm, x.ranks AS ranks, x.opens AS opens, x.views AS views_set, nullif(x.file, 0) AS id
FROM file_open x
JOIN communicator c ON c.id = x.comm
LEFT JOIN file f ON f.id = x.file;

CREATE VIEW involved AS
SELECT c.name AS comm, o.name AS op, nullif(i.rank, -1) AS rank, sum(i.calls) AS calls
FROM involvement i
JOIN communicator c ON c.id = i.comm
JOIN operation o ON o.id = i.op
GROUP BY i.comm, i.op, i.rank;

CREATE VIEW datatypes AS
SELECT c.name AS comm,
       o.name AS op,
       d.name AS datatype,
       d.contiguous AS contiguous,
       nullif(u.rank, -1) AS rank,
       @of arguments@
FROM datatype_use u
JOIN communicator c ON c.id = u.comm
JOIN operation o ON o.id = u.op
JOIN datatype d ON d.id = u.datatype;

CREATE VIEW running AS
SELECT c.name AS comm, o.name AS op, s.rank AS rank, s.thread AS thread, s.since_ns / 1e9 AS since_s, s.for_ns / 1e9 AS for_s,
       w.site AS site, w.function AS function
FROM standing s
JOIN communicator c ON c.id = s.comm
JOIN operation o ON o.id = s.op
LEFT JOIN sites w ON w.id = s.site;

-- Where src or dst is null, the process is not known; with remote 1 it belongs to another MPI_COMM_WORLD.
CREATE VIEW transfers AS
SELECT c.name AS comm,
       o.name AS op,
       w.layer AS layer,
       w.function AS function,
       w.protocol AS protocol,
       w.transport AS transport,
       w.device AS device,
       w.kind AS kind,
       w.scope AS scope,
       CASE WHEN w.arrives THEN x.peer ELSE x.rank END AS src,
       CASE WHEN w.arrives THEN x.rank ELSE x.peer END AS dst,
       x.remote AS remote,
       b.lo AS bucket_lo,
       b.hi AS bucket_hi,
       x.calls AS calls,
       x.bytes AS bytes,
       x.later AS later,
       x.time_ns / 1e9 AS time_s,
       x.time_min_ns / 1e9 AS time_min_s,
       x.time_max_ns / 1e9 AS time_max_s,
       w.role AS role,
       l.name AS layer_comm,
       nullif(v.function, '') AS within,
       w.memory AS memory,
       s.site AS site,
       f.site AS source_object,
       t.site AS target_object
FROM (
    SELECT comm, op, bucket, way, CASE WHEN rank >= 0 THEN rank END AS rank, CASE WHEN peer >= 0 THEN peer END AS peer,
           peer = -2 AS remote, calls, bytes, later, time_ns, time_min_ns, time_max_ns, nullif(layer_comm, 0) AS layer_comm, within, site,
           source_object, target_object
    FROM transfer
) x
JOIN communicator c ON c.id = x.comm
JOIN operation o ON o.id = x.op
JOIN bucket b ON b.id = x.bucket
JOIN way w ON w.id = x.way
LEFT JOIN way v ON v.id = x.within
LEFT JOIN communicator l ON l.id = x.layer_comm
LEFT JOIN sites s ON s.id = x.site
LEFT JOIN sites f ON f.id = x.source_object
LEFT JOIN sites t ON t.id = x.target_object;

-- What moved over each device, where it was issued.
CREATE VIEW devices AS
SELECT w.layer AS layer,
       w.transport AS transport,
       w.device AS device,
       w.kind AS kind,
       count(DISTINCT CASE WHEN x.rank >= 0 THEN x.rank END) AS ranks,
       sum(x.calls) AS calls,
       sum(x.bytes) AS bytes
FROM transfer x
JOIN way w ON w.id = x.way
WHERE w.device <> '' AND NOT w.arrives
GROUP BY w.layer, w.transport, w.device, w.kind;

-- The timeline with names.
CREATE VIEW events AS
SELECT e.rank AS rank,
       e.thread AS thread,
       CASE e.kind WHEN 0 THEN 'call' WHEN 1 THEN 'layer' WHEN 2 THEN 'sent' ELSE 'received' END AS kind,
       e.begin_ns / 1e9 AS begin_s,
       e.end_ns / 1e9 AS end_s,
       e.cause_ns / 1e9 AS cause_s,
       c.name AS comm,
       o.name AS op,
       e.bytes AS bytes,
       w.layer AS layer,
       w.function AS function,
       w.protocol AS protocol,
       w.transport AS transport,
       w.device AS device,
       CASE WHEN e.peer >= 0 THEN e.peer END AS peer,
       e.source AS source,
       e.tag AS tag,
       e.posted AS posted,
       e.sequence AS sequence,
       l.name AS layer_comm,
       nullif(v.function, '') AS within,
       s.site AS site,
       e.id AS id
FROM event e
JOIN communicator c ON c.id = e.comm
JOIN operation o ON o.id = e.op
LEFT JOIN way w ON w.id = e.way
LEFT JOIN communicator l ON l.id = e.layer_comm
LEFT JOIN way v ON v.id = e.within
LEFT JOIN sites s ON s.id = e.site;

-- Messages of the timeline, with both their ends.
CREATE VIEW messages AS
SELECT m.sent AS sent,
       m.received AS received,
       c.name AS comm,
       s.rank AS src,
       r.rank AS dst,
       s.tag AS tag,
       s.bytes AS bytes,
       o.name AS send_op,
       s.begin_ns / 1e9 AS send_begin_s,
       p.name AS recv_op,
       r.begin_ns / 1e9 AS recv_begin_s
FROM message m
JOIN event s ON s.id = m.sent
JOIN event r ON r.id = m.received
JOIN communicator c ON c.id = s.comm
JOIN operation o ON o.id = s.op
JOIN operation p ON p.id = r.op;

CREATE VIEW clocks AS
SELECT rank,
       begin_offset_ns / 1e9 AS begin_offset_s,
       begin_error_ns / 1e9 AS begin_error_s,
       end_offset_ns / 1e9 AS end_offset_s,
       end_error_ns / 1e9 AS end_error_s,
       events,
       lost_events
FROM clock;

CREATE VIEW notes AS
SELECT module, text, ranks
FROM note;

-- The kernel does not say where a thread waited for a processor. It is estimated: in MPI and outside alike, by the time that the thread
-- ran or was ready there. In MPI that is all of the time, since libraries poll; where a thread did much less, the library sleeps, and it
-- is all of the time outside.
CREATE VIEW ranks AS
SELECT rank, host, pid, wall_ns / 1e9 AS wall_s, mpi_ns / 1e9 AS mpi_s, state,
       ran_ns / 1e9 AS ran_s,
       ready_ns / 1e9 AS ready_s,
       (wall_ns - mpi_ns - coalesce(CAST(1.0 * ready_ns * active_ns / (ran_ns + ready_ns) AS INTEGER), 0)) / 1e9 AS work_s,
       cpus, numa
FROM (
    SELECT *, max(min(wall_ns - mpi_ns, ran_ns + ready_ns - iif(ran_ns + ready_ns < 0.9 * mpi_ns, 0, mpi_ns)), 0) AS active_ns
    FROM process
);

CREATE VIEW meta AS
SELECT key, value FROM metadata;
