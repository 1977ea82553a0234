//! Makes profiles, and runs `through` on them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use commsee::calls::{self, CALLS};
use commsee::profile::{APPLICATION_ID, SCHEMA, SCHEMA_VERSION};
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::summed::{Cells, Counted, Key};

pub const MS: i64 = 1_000_000;
const EDGES: [i64; 3] = [128, 1024, 8192];

/// A profile in the making.
pub struct Builder {
    db: Connection,
    cells: Cells,
    mpi_ns: Vec<i64>,
    phase: i64,
}

/// What one rank did: calls, bytes sent and received, time.
#[derive(Clone, Copy)]
pub struct Did(pub i64, pub i64, pub i64, pub i64);

/// How a layer moved data: layer, function, protocol, transport, device, its kind.
#[derive(Clone, Copy)]
pub struct Way(pub [&'static str; 6]);

/// Calls, bytes, how many were complete later, and the time of these.
#[derive(Clone, Copy)]
pub struct Moved(pub i64, pub i64, pub i64, pub i64);

/// Outside of MPI calls, or for none that is known.
const NO_OPERATION: i64 = 65535;
/// Peers that are no rank.
pub const UNKNOWN: i64 = -1;
pub const REMOTE: i64 = -2;

/// As the profiler writes them.
pub const TRANSFER_SUMS: &str = "INSERT INTO transfer_total SELECT comm, op, bucket, way, sum(calls), sum(bytes), sum(later), \
     sum(time_ns), min(time_min_ns), max(time_max_ns) FROM transfer GROUP BY comm, op, bucket, way";

impl Builder {
    pub fn new(path: &Path, ranks: usize) -> Builder {
        let db = Connection::open(path).unwrap();
        db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")
            .unwrap();
        db.execute_batch(&SCHEMA).unwrap();
        for (letter, call) in commsee::creators::all() {
            db.execute("INSERT INTO creator VALUES (?, ?)", params![letter.to_string(), call]).unwrap();
        }
        let lows = [0].into_iter().chain(EDGES);
        for (number, low) in lows.enumerate() {
            db.execute("INSERT INTO bucket VALUES (?, ?, ?)", params![number as i64, low, EDGES.get(number)]).unwrap();
        }
        db.execute_batch(
            "INSERT INTO communicator (id, name, time_ranks, time_ns) VALUES (0, '-', 0, 0), (1, '*', 0, 0); \
             INSERT INTO phase VALUES (0, '')",
        )
        .unwrap();
        Builder { db, cells: Cells::default(), mpi_ns: vec![0; ranks], phase: 0 }
    }

    pub fn meta(&mut self, key: &str, value: &str) {
        self.db.execute("INSERT INTO metadata VALUES (?, ?)", [key, value]).unwrap();
    }

    pub fn comm(&mut self, name: &str, label: Option<&str>, parent: Option<&str>, size: u32, ranks: &str) {
        let members = "INSERT INTO members (ranks) SELECT ?1 WHERE NOT EXISTS (SELECT * FROM members WHERE ranks = ?1)";
        self.db.execute(members, [ranks]).unwrap();
        let sql = "INSERT INTO communicator (name, letter, size, remote_size, parent, root_rank, label, freed, members, \
                   time_ranks, time_ns) VALUES (?1, substr(?1, 1, 1), ?2, 0, (SELECT id FROM communicator WHERE name = ?3), \
                   0, ?4, 0, (SELECT id FROM members WHERE ranks = ?5), 0, 0)";
        self.db.execute(sql, params![name, size, parent, label, ranks]).unwrap();
    }

    pub fn cell(&mut self, comm: &str, op: &str, bucket: i64, rank: usize, did: Did) {
        self.cell_with_failures(comm, op, bucket, rank, did, 0);
    }

    pub fn cell_with_failures(&mut self, comm: &str, op: &str, bucket: i64, rank: usize, did: Did, failed: i64) {
        let number = CALLS.iter().position(|call| call.name == op).unwrap();
        let class = CALLS[number].class.name();
        if !calls::outside_span(number as u16) {
            self.mpi_ns[rank] += did.3;
        }
        self.db.execute("INSERT OR IGNORE INTO operation VALUES (?, ?, ?)", params![number as i64, op, class]).unwrap();
        let sql = "INSERT OR IGNORE INTO bucket SELECT ?1, lo, hi FROM bucket WHERE id = ?1 & ~64";
        self.db.execute(sql, [bucket]).unwrap();
        let sql = "SELECT id FROM communicator WHERE name = ?";
        let comm = self.db.query_row(sql, [comm], |row| row.get(0)).unwrap();
        let key = Key { comm, op: number as i64, bucket, phase: Some(self.phase) };
        let Did(calls, bytes_sent, bytes_recv, time_ns) = did;
        // One call is the shortest and the longest.
        let (least, most) = if calls == 1 { (time_ns, time_ns) } else { (time_ns / calls / 2, time_ns / calls * 2) };
        let (time_min_ns, time_max_ns) = (Some(least), Some(most));
        let counted = Counted { calls, failed, bytes_sent, bytes_recv, time_ns, time_min_ns, time_max_ns };
        self.cells.add(key, rank as i64, counted);
    }

    /// A call on a file, which is a cell as well. Files are known by their numbers: two may have one name, 0 has none.
    pub fn on_file(&mut self, file: i64, comm: &str, op: &str, bucket: i64, rank: usize, did: Did) {
        self.cell(comm, op, bucket, rank, did);
        let number = CALLS.iter().position(|call| call.name == op).unwrap();
        if calls::is_collective_on_files(number as u16) {
            self.db.execute("INSERT OR IGNORE INTO collective_io VALUES (?)", [number as i64]).unwrap();
        }
        let Did(calls, written, read, time_ns) = did;
        let counts = params![file, comm, number as i64, bucket, self.phase, rank as i64, calls, read, written, time_ns];
        let sql =
            "INSERT INTO file_call SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10 FROM communicator WHERE name = ?2";
        assert_eq!(self.db.execute(sql, counts).unwrap(), 1);
        let (opens, views) = match op {
            "MPI_File_open" => (calls, 0),
            "MPI_File_set_view" => (0, calls),
            _ => (0, 0),
        };
        let sql = "INSERT INTO file_open SELECT ?1, id, ?3, ?4, ?5 FROM communicator WHERE name = ?2 \
                   ON CONFLICT DO UPDATE SET ranks = ranks + excluded.ranks, opens = opens + excluded.opens, views = views + excluded.views";
        self.db.execute(sql, params![file, comm, i64::from(opens > 0), opens, views]).unwrap();
    }

    pub fn file(&mut self, number: i64, name: &str) {
        self.db.execute("INSERT INTO file VALUES (?, ?)", params![number, name]).unwrap();
    }

    /// What is added from now on belongs to this phase.
    pub fn phase(&mut self, name: &str) {
        self.db.execute("INSERT OR IGNORE INTO phase (name) VALUES (?)", [name]).unwrap();
        let sql = "SELECT id FROM phase WHERE name = ?";
        self.phase = self.db.query_row(sql, [name], |row| row.get(0)).unwrap();
    }

    /// A datatype that one rank used so often, for so many bytes.
    pub fn used(
        &mut self,
        comm: &str,
        op: &str,
        (datatype, contiguous): (&str, bool),
        rank: usize,
        calls: i64,
        bytes: i64,
    ) {
        let number = CALLS.iter().position(|call| call.name == op).unwrap() as i64;
        let sql = "INSERT OR IGNORE INTO datatype (name, contiguous) VALUES (?, ?)";
        self.db.execute(sql, params![datatype, contiguous]).unwrap();
        let sql = "INSERT INTO datatype_use SELECT c.id, ?2, d.id, ?5, ?6, ?7 FROM communicator c, datatype d \
                   WHERE c.name = ?1 AND d.name = ?3 AND d.contiguous = ?4";
        self.db.execute(sql, params![comm, number, datatype, contiguous, rank as i64, calls, bytes]).unwrap();
    }

    /// What calls of a rank completed: requests, bytes and time of these, from a peer or [`UNKNOWN`].
    pub fn completed(
        &mut self,
        (comm, op, rank): (&str, &str, usize),
        (started, bucket, peer): (Option<&str>, i64, i64),
        (requests, bytes, time_ns): (i64, i64, i64),
    ) {
        let number = |op: &str| CALLS.iter().position(|call| call.name == op).unwrap() as i64;
        let sql =
            "INSERT INTO completed SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM communicator WHERE name = ?1";
        let started = started.map_or(NO_OPERATION, number);
        let values =
            params![comm, number(op), self.phase, rank as i64, started, bucket, peer, requests, bytes, time_ns];
        self.db.execute(sql, values).unwrap();
    }

    pub fn involved(&mut self, comm: &str, op: &str, rank: usize, calls: i64) {
        let number = CALLS.iter().position(|call| call.name == op).unwrap();
        let sql = "INSERT INTO involvement SELECT id, ?2, ?3, ?5, ?4 FROM communicator WHERE name = ?1";
        self.db.execute(sql, params![comm, number as i64, rank as i64, calls, self.phase]).unwrap();
    }

    /// A communicator of a layer, such as `nccl:i0.0`. `order`: the world ranks of its ranks, where these do not ascend.
    pub fn layer_comm(&mut self, name: &str, parent: Option<&str>, size: u32, ranks: &str, order: Option<&str>) {
        let (layer, own) = name.split_once(':').unwrap();
        self.comm(name, None, parent, size, ranks);
        let sql = "UPDATE communicator SET layer = ?2, letter = substr(?3, 1, 1) WHERE name = ?1";
        self.db.execute(sql, [name, layer, own]).unwrap();
        if let Some(order) = order {
            let sql = "INSERT INTO rank_order SELECT id, ?2 FROM communicator WHERE name = ?1";
            self.db.execute(sql, [name, order]).unwrap();
        }
    }

    /// What a rank did on a communicator of a layer by a function, with a protocol; and the MPI call that it did it in, if any.
    pub fn on_layer(
        &mut self,
        (layer_comm, call): (&str, Option<(&str, &str)>),
        [layer, function, protocol, role]: [&str; 4],
        bucket: i64,
        (rank, peer): (i64, i64),
        Moved(calls, bytes, later, time_ns): Moved,
    ) {
        let (comm, op) = call.unwrap_or((layer_comm, "-"));
        let number = CALLS.iter().position(|call| call.name == op).map_or(NO_OPERATION, |number| number as i64);
        let class = CALLS.get(number as usize).map_or("none", |call| call.class.name());
        self.db.execute("INSERT OR IGNORE INTO operation VALUES (?, ?, ?)", params![number, op, class]).unwrap();
        let is_same = "layer = ?1 AND function = ?2 AND protocol = ?3 AND role = ?4";
        let of_way = "w.layer = ?1 AND w.function = ?2 AND w.protocol = ?3 AND w.role = ?4";
        let arrives = layer.ends_with("-rx");
        let sql = format!(
            "INSERT INTO way (layer, function, protocol, transport, device, kind, scope, arrives, role) \
             SELECT ?1, ?2, ?3, '', '', '', '', ?5, ?4 WHERE NOT EXISTS (SELECT * FROM way WHERE {is_same})"
        );
        self.db.execute(&sql, params![layer, function, protocol, role, arrives]).unwrap();
        let sql = format!(
            "INSERT INTO transfer SELECT c.id, ?5, ?6, w.id, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, l.id, 0, 0, 0, 0 \
             FROM communicator c, communicator l, way w WHERE c.name = ?15 AND l.name = ?16 AND {of_way}"
        );
        let each = (later > 0).then(|| time_ns / later.max(1));
        let time = (later > 0).then_some(time_ns);
        let values = params![
            layer, function, protocol, role, number, bucket, rank, peer, calls, bytes, later, time, each, each, comm,
            layer_comm
        ];
        assert_eq!(self.db.execute(&sql, values).unwrap(), 1);
    }

    /// What a rank, with a peer, did in one way of a layer below MPI. Outside of MPI calls `comm` and `op` are `-`.
    pub fn transfer(&mut self, (comm, op, bucket): (&str, &str, i64), way: Way, (rank, peer): (i64, i64), did: Moved) {
        let number = CALLS.iter().position(|call| call.name == op).map_or(NO_OPERATION, |number| number as i64);
        let class = CALLS.get(number as usize).map_or("none", |call| call.class.name());
        self.db.execute("INSERT OR IGNORE INTO operation VALUES (?, ?, ?)", params![number, op, class]).unwrap();
        let Way([layer, function, protocol, transport, device, kind]) = way;
        let columns = [layer, function, protocol, transport, device, kind];
        let arrives = layer.ends_with("-rx");
        let role = if layer.starts_with("ucp") { "message" } else { "wire" };
        let sql = "INSERT INTO way (layer, function, protocol, transport, device, kind, scope, arrives, role) \
                   SELECT ?1, ?2, ?3, ?4, ?5, ?6, '', ?7, ?8 WHERE NOT EXISTS (SELECT * FROM way WHERE layer = ?1 AND function = ?2 \
                   AND protocol = ?3 AND transport = ?4 AND device = ?5 AND kind = ?6)";
        let values: Vec<_> =
            columns.iter().map(|column| column as &dyn rusqlite::ToSql).chain([&arrives as _, &role as _]).collect();
        self.db.execute(sql, &values[..]).unwrap();
        let Moved(calls, bytes, later, time_ns) = did;
        let times = (later > 0).then(|| (time_ns, time_ns / later / 2, time_ns / later * 2));
        let sql = "INSERT INTO transfer SELECT c.id, ?2, ?3, w.id, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, 0, 0, 0, 0 FROM communicator c, way w \
                   WHERE c.name = ?1 AND w.layer = ?12 AND w.function = ?13 AND w.protocol = ?14 AND w.transport = ?15 \
                   AND w.device = ?16";
        let (time, least, most) = (times.map(|times| times.0), times.map(|times| times.1), times.map(|times| times.2));
        let values = params![
            comm, number, bucket, rank, peer, calls, bytes, later, time, least, most, layer, function, protocol,
            transport, device
        ];
        assert_eq!(self.db.execute(sql, values).unwrap(), 1);
    }

    pub fn edge(&mut self, comm: &str, op: &str, (src, dst): (i64, i64), calls: i64, bytes: i64) {
        let number = CALLS.iter().position(|call| call.name == op).unwrap() as i64;
        let sql = "INSERT INTO edge SELECT id, ?2, ?3, ?4, ?5, ?6 FROM communicator WHERE name = ?1";
        self.db.execute(sql, params![comm, number, src, dst, calls, bytes]).unwrap();
    }

    pub fn note(&mut self, module: &str, text: &str, ranks: i64) {
        self.db.execute("INSERT INTO note VALUES (?, ?, ?)", params![module, text, ranks]).unwrap();
    }

    pub fn finish(self, wall_ns: impl Fn(usize) -> i64) {
        self.db.execute_batch(TRANSFER_SUMS).unwrap();
        let is_outside = |op: i64| calls::outside_span(op as u16);
        self.cells.store(&self.db, "rank", |rank| rank, is_outside);
        for (rank, mpi_ns) in self.mpi_ns.iter().enumerate() {
            let host = format!("node{}", rank / 2);
            let sql =
                "INSERT INTO process (rank, host, pid, wall_ns, mpi_ns, state) VALUES (?, ?, ?, ?, ?, 'finished')";
            self.db.execute(sql, params![rank as i64, host, 100 + rank as i64, wall_ns(rank), mpi_ns]).unwrap();
        }
        self.db.pragma_update(None, "user_version", SCHEMA_VERSION).unwrap();
        self.db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        self.db.execute_batch("COMMIT").unwrap();
        self.db.close().unwrap();
    }
}

/// Four ranks, three communicators, the rows `*` and `-`; every number below is small enough to add up by hand.
pub fn sample(path: &Path, launch: &str) {
    let mut profile = Builder::new(path, 4);
    profile.meta("command", "./app -n 4");
    profile.meta("mpi_library", "Open MPI v4.1.4\nand a second line");
    profile.meta("start_time", "2026-11-21T07:15:00Z");
    profile.meta("ranks", "4");
    profile.meta("launch", launch);
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.comm("s0.1", Some("row \"a\", even"), Some("W0.0"), 2, "0,2");
    profile.comm("s1.1", Some("\u{1b}[31mred\nline"), Some("W0.0"), 2, "1,3");
    profile.cell("W0.0", "MPI_Send", 0, 0, Did(10, 1000, 0, 10 * MS));
    profile.cell("W0.0", "MPI_Send", 0, 1, Did(20, 2000, 0, 30 * MS));
    profile.cell_with_failures("W0.0", "MPI_Recv", 0, 2, Did(10, 0, 1000, 5 * MS), 1);
    profile.cell("W0.0", "MPI_Recv", 0, 3, Did(20, 0, 2000, 15 * MS));
    profile.cell("s0.1", "MPI_Allreduce", 0, 0, Did(5, 20, 20, 100 * MS));
    profile.cell("s0.1", "MPI_Allreduce", 0, 2, Did(5, 20, 20, 300 * MS));
    profile.cell("s0.1", "MPI_Bcast", 2, 0, Did(3, 12_288, 0, 2 * MS));
    profile.cell("s0.1", "MPI_Bcast", 2, 2, Did(3, 0, 12_288, 4 * MS));
    profile.cell("s1.1", "MPI_Allreduce", 0, 1, Did(5, 20, 20, 50 * MS));
    profile.cell("s1.1", "MPI_Allreduce", 0, 3, Did(4, 16, 16, 70 * MS));
    for rank in 0..4 {
        profile.cell("*", "MPI_Waitall", 0, rank, Did(2, 0, 0, 8 * MS));
        profile.cell("-", "MPI_Init", 0, rank, Did(1, 0, 0, 200 * MS));
    }
    profile.involved("s0.1", "MPI_Waitall", 0, 2);
    profile.involved("s0.1", "MPI_Waitall", 2, 1);
    profile.involved("W0.0", "MPI_Waitall", 0, 2);
    profile.finish(|rank| [1000, 2000, 3000, 2000][rank] * MS);
}

/// A directory with `sample.db` in it, where `through` is run.
pub struct Folder(pub TempDir);

impl Folder {
    pub fn with_sample() -> Folder {
        let folder = Folder::empty();
        sample(&folder.path("sample.db"), "");
        folder
    }

    pub fn empty() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_through"));
        command.args(words).current_dir(self.0.path());
        // Nothing of the machine's own settings, and shards only here.
        for variable in commsee::settings::VARIABLES {
            command.env_remove(variable.name);
        }
        command.env_remove("COLUMNS").env_remove("LD_PRELOAD").env("COMMSEE_DIR", self.0.path());
        command
    }

    pub fn through(&self, words: &[&str]) -> Answer {
        Answer::of(self.command(words).output().unwrap())
    }
}

/// Asks again until the answer is as expected. A lock that a test gave back is still held by processes that other tests are just starting, until these
/// have become their programs.
pub fn once_released(ask: impl Fn() -> Answer, is_expected: impl Fn(&Answer) -> bool) -> Answer {
    std::iter::repeat_with(&ask).take(500).find(is_expected).unwrap_or_else(&ask)
}

/// What a run of `through` said.
#[derive(Debug)]
pub struct Answer {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Answer {
    pub fn of(output: Output) -> Answer {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Answer { status: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Standard output of a run in which all went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The rows of CSV, by the names of the columns.
    #[track_caller]
    pub fn csv(self) -> Vec<std::collections::HashMap<String, String>> {
        csv::Reader::from_reader(self.ok().as_bytes()).deserialize().map(|row| row.unwrap()).collect()
    }

    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// A stencil on a grid of 4 × 2 ranks, of which rank 5 computes longer than the others, who wait for it. The profile of
/// the how-to pages.
pub fn heat(path: &Path) {
    let mut profile = Builder::new(path, 8);
    profile.meta("command", "./heat --grid 4x2 --steps 2000");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    profile.meta("start_time", "2026-11-21T07:15:00Z");
    profile.meta("ranks", "8");
    profile.comm("W0.0", None, None, 8, "0-7");
    profile.comm("a0.1", Some("grid"), Some("W0.0"), 8, "0-7");
    profile.comm("b0.2", Some("row"), Some("a0.1"), 4, "0-3");
    profile.comm("b4.2", Some("row"), Some("a0.1"), 4, "4-7");
    profile.comm("d0.3", Some("output"), Some("W0.0"), 8, "0-7");
    for rank in 0..8 {
        let waits = if rank == 5 { 1 } else { 8 - (rank as i64 - 5).abs() };
        let row = if rank < 4 { "b0.2" } else { "b4.2" };
        let at_root = i64::from(rank == 0);
        profile.cell("W0.0", "MPI_Init", 0, rank, Did(1, 0, 0, 412 * MS));
        profile.cell("W0.0", "MPI_Cart_create", 0, rank, Did(1, 0, 0, 2 * MS));
        profile.cell("W0.0", "MPI_Comm_dup", 0, rank, Did(1, 0, 0, MS));
        profile.cell("W0.0", "MPI_Bcast", 1, rank, Did(1, 512 * at_root, 512 * (1 - at_root), MS));
        profile.cell("a0.1", "MPI_Isend", 3, rank, Did(8000, 8000 * 32_768, 0, 121 * MS));
        profile.cell("a0.1", "MPI_Irecv", 3, rank, Did(8000, 0, 8000 * 32_768, 44 * MS));
        profile.cell("a0.1", "MPI_Waitall", 0, rank, Did(2000, 0, 0, 260 * waits * MS));
        profile.cell("a0.1", "MPI_Allreduce", 0, rank, Did(200, 1600, 1600, 31 * MS));
        profile.cell(row, "MPI_Allreduce", 2, rank, Did(400, 400 * 4096, 400 * 4096, (180 + 30 * waits) * MS));
        profile.cell("d0.3", "MPI_Gather", 3, rank, Did(20, 20 * 262_144, 160 * 262_144 * at_root, 90 * MS));
        // Rows of four are periodic; the neighbour in the other row is the same on both sides.
        let (row_of, at) = (rank as i64 / 4 * 4, rank as i64 % 4);
        for (peer, calls) in [(row_of + (at + 1) % 4, 2000), (row_of + (at + 3) % 4, 2000), (4 - row_of + at, 4000)] {
            profile.edge("a0.1", "MPI_Isend", (rank as i64, peer), calls, calls * 32_768);
        }
    }
    profile.finish(|_| 12_300 * MS);
}
