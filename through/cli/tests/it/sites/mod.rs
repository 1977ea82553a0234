//! Where in the code: birthplaces, call sites, and the line where a rank hangs.

mod named;
mod shipped;

pub use shipped::{shipped, shipped_with_code};

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::common::{Folder, heat};

/// A frame: function, file and line.
type Code = (&'static str, &'static str, i64);

const MAIN: Code = ("main", "/home/me/heat/main.c", 41);
const STEP: Code = ("step", "/home/me/heat/solver.c", 88);
const REPORT: Code = ("report", "/home/me/heat/output.c", 19);

/// Which calls are made where, with the callers from the inside.
const CALLS: &[(&str, &str, &[Code])] = &[
    ("W0.0", "MPI_Init", &[("main", "/home/me/heat/main.c", 14)]),
    ("W0.0", "MPI_Bcast", &[("read_input", "/home/me/heat/main.c", 20), ("main", "/home/me/heat/main.c", 31)]),
    ("W0.0", "MPI_Cart_create", &[("make_grid", "/home/me/heat/grid.c", 71), ("main", "/home/me/heat/main.c", 33)]),
    ("W0.0", "MPI_Comm_dup", &[("open_output", "/home/me/heat/output.c", 12), ("main", "/home/me/heat/main.c", 36)]),
    ("a0.1", "MPI_Isend", &[("exchange", "/home/me/heat/halo.c", 57), STEP, MAIN]),
    ("a0.1", "MPI_Irecv", &[("exchange", "/home/me/heat/halo.c", 52), STEP, MAIN]),
    ("a0.1", "MPI_Waitall", &[("exchange", "/home/me/heat/halo.c", 63), STEP, MAIN]),
    ("a0.1", "MPI_Allreduce", &[("residual", "/home/me/heat/solver.c", 212), STEP, MAIN]),
    ("b0.2", "MPI_Allreduce", &[("smooth", "/home/me/heat/solver.c", 231), STEP, MAIN]),
    ("b4.2", "MPI_Allreduce", &[("smooth", "/home/me/heat/solver.c", 231), STEP, MAIN]),
    ("d0.3", "MPI_Gather", &[REPORT, MAIN]),
];

const BIRTHPLACES: &[(&str, Code)] = &[
    ("a0.1", ("make_grid", "/home/me/heat/grid.c", 71)),
    ("b0.2", ("make_rows", "/home/me/heat/grid.c", 88)),
    ("b4.2", ("make_rows", "/home/me/heat/grid.c", 88)),
    ("d0.3", ("open_output", "/home/me/heat/output.c", 12)),
];

/// Adds what a profile knows of the code.
pub struct Coder {
    db: Connection,
    sites: BTreeMap<(i64, Option<i64>), i64>,
    frames: BTreeMap<Code, i64>,
}

impl Coder {
    pub fn open(path: &Path) -> Coder {
        let db = Connection::open(path).unwrap();
        db.execute_batch("PRAGMA foreign_keys = OFF; INSERT INTO module (id, path) VALUES (1, '/home/me/heat/heat')")
            .unwrap();
        Coder { db, sites: BTreeMap::new(), frames: BTreeMap::new() }
    }

    fn open_again(path: &Path) -> Coder {
        let db = Connection::open(path).unwrap();
        db.pragma_update(None, "foreign_keys", false).unwrap();
        Coder { db, sites: BTreeMap::new(), frames: BTreeMap::new() }
    }

    fn frame(&mut self, code: Code) -> i64 {
        if let Some(number) = self.frames.get(&code) {
            return *number;
        }
        let address = 0x1000 + 16 * self.frames.len() as i64;
        self.db.execute("INSERT INTO frame (module, address) VALUES (1, ?)", [address]).unwrap();
        let number = self.db.last_insert_rowid();
        let (function, file, line) = code;
        self.db
            .execute("INSERT INTO frame_name VALUES (?, 0, ?, ?, ?)", params![number, function, file, line])
            .unwrap();
        self.frames.insert(code, number);
        number
    }

    /// The site of a stack, the innermost frame first.
    pub fn site(&mut self, stack: &[Code]) -> i64 {
        let mut outer = None;
        for code in stack.iter().rev() {
            let frame = self.frame(*code);
            let db = &self.db;
            outer = Some(*self.sites.entry((frame, outer)).or_insert_with(|| {
                db.execute("INSERT INTO site (frame, outer) VALUES (?, ?)", params![frame, outer]).unwrap();
                db.last_insert_rowid()
            }));
        }
        outer.unwrap()
    }

    pub fn born(&mut self, comm: &str, code: Code) {
        let site = self.site(&[code]);
        self.db.execute("UPDATE communicator SET site = ? WHERE name = ?", params![site, comm]).unwrap();
    }

    /// All calls of an operation on a communicator.
    fn called(&mut self, comm: &str, op: &str, stack: &[Code]) {
        let site = self.site(stack);
        let sql = "INSERT INTO call_site (site, comm, op, bucket, phase, rank, calls, bytes_sent, bytes_recv, time_ns) \
                   SELECT ?1, x.comm, x.op, x.bucket, x.phase, x.rank, x.calls, x.bytes_sent, x.bytes_recv, x.time_ns FROM cells x \
                   JOIN communicator c ON c.id = x.comm JOIN operation o ON o.id = x.op WHERE c.name = ?2 AND o.name = ?3";
        assert!(self.db.execute(sql, params![site, comm, op]).unwrap() > 0, "{comm} {op}");
    }
}

/// The profile of the page on lines of code; `depth` callers of each call.
pub fn heat_with_code(path: &Path, depth: usize) {
    heat(path);
    let mut coder = Coder::open(path);
    for (comm, code) in BIRTHPLACES {
        coder.born(comm, *code);
    }
    for (comm, op, stack) in CALLS.iter().filter(|_| depth > 0) {
        coder.called(comm, op, &stack[..depth.min(stack.len())]);
    }
}

pub fn folder(depth: usize) -> Folder {
    let folder = Folder::empty();
    heat_with_code(&folder.path("heat.db"), depth);
    folder
}

fn rows(folder: &Folder, words: &[&str], array: &str) -> Vec<Value> {
    let document = folder.through(&[words, &["--format", "json"]].concat()).json();
    document[array].as_array().unwrap().clone()
}

fn strings(rows: &[Value], key: &str) -> Vec<String> {
    rows.iter().map(|row| row[key].as_str().unwrap_or("null").to_owned()).collect()
}

#[test]
fn communicators_tell_where_they_were_made() {
    let folder = folder(0);
    for row in rows(&folder, &["-u"], "communicators") {
        let wanted = BIRTHPLACES.iter().find(|(comm, _)| row["comm"] == *comm).map(|(_, (function, file, line))| {
            (json!(format!("{}:{line}", file.rsplit('/').next().unwrap())), json!(function))
        });
        assert_eq!((row["made_at"].clone(), row["made_in"].clone()), wanted.unwrap_or_default(), "{row}");
    }
    let csv = folder.through(&["-u", "--format", "csv"]).csv();
    assert!(
        csv.iter().any(|row| row["comm"] == "b0.2" && row["made_at"] == "grid.c:88" && row["made_in"] == "make_rows")
    );
    let text = folder.through(&["--comm", "b0.2"]).ok();
    assert!(text.contains("made at grid.c:88 in make_rows"), "{text}");
    let db = Connection::open(folder.path("heat.db")).unwrap();
    let view = "SELECT made_at || ' ' || made_in FROM communicators WHERE comm = 'b4.2'";
    assert_eq!(db.query_row(view, [], |row| row.get::<_, String>(0)).unwrap(), "grid.c:88 make_rows");
}

#[test]
fn a_family_is_selected_by_its_birthplace() {
    let folder = folder(0);
    let comms = |list: &str| {
        let answer = folder.through(&["-u", "--comm", list, "--format", "csv"]);
        csv::Reader::from_reader(answer.out.as_bytes())
            .records()
            .map(|row| row.unwrap()[0].to_owned())
            .collect::<BTreeSet<_>>()
    };
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(comms("made@grid.c:88"), set(&["b0.2", "b4.2"]));
    assert_eq!(comms("made@make_rows"), set(&["b0.2", "b4.2"]));
    assert_eq!(comms("made@grid.c"), set(&["a0.1", "b0.2", "b4.2"]));
    assert_eq!(comms("made@heat/grid.c:71,output"), set(&["a0.1", "d0.3"]));
    assert_eq!(comms("made@make_*"), set(&["a0.1", "b0.2", "b4.2"]));
    let answer = folder.through(&["-u", "--comm", "made@grid.c:89"]);
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("not in this profile: communicator made@grid.c:89"), "{}", answer.err);
}

#[test]
fn birthplaces_add_up_their_communicators() {
    let folder = folder(0);
    let families = rows(&folder, &["comms", "--by", "line"], "birthplaces");
    assert_eq!(strings(&families, "made_at"), ["grid.c:71", "grid.c:88", "output.c:12", "null"]);
    let rows_of = &families[1];
    assert_eq!((&rows_of["communicators"], &rows_of["comms"]), (&json!(2), &json!("b0.2,b4.2")));
    let sum = |rows: &[Value], key: &str| rows.iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
    let single = rows(&folder, &["-u"], "communicators");
    for key in ["calls", "bytes_sent", "bytes_recv", "time_s", "mpi_s"] {
        assert!((sum(&families, key) - sum(&single, key)).abs() < 1e-6 * sum(&single, key).max(1.0), "{key}");
    }
    let some = rows(&folder, &["comms", "--by", "line", "--op", "gather"], "birthplaces");
    assert_eq!(strings(&some, "made_at"), ["output.c:12"]);
}

#[test]
fn call_sites_are_told_by_line_heaviest_first() {
    let folder = folder(1);
    let sites = rows(&folder, &["sites"], "sites");
    assert_eq!(sites.len(), CALLS.len());
    for row in &sites {
        let (_, _, stack) = CALLS.iter().find(|(comm, op, _)| row["comm"] == *comm && row["op"] == *op).unwrap();
        let (function, file, line) = stack[0];
        assert_eq!(row["site"], json!(format!("{}:{line}", file.rsplit('/').next().unwrap())));
        assert_eq!((&row["function"], &row["frames"]), (&json!(function), &Value::Null));
        let db = Connection::open(folder.path("heat.db")).unwrap();
        let sql =
            "SELECT sum(calls), sum(bytes_sent), sum(bytes_recv), sum(time_s) FROM profile WHERE comm = ? AND op = ?";
        let key = params![row["comm"].as_str(), row["op"].as_str()];
        let sums = db.query_row(sql, key, |sum| {
            Ok((sum.get::<_, i64>(0)?, sum.get::<_, i64>(1)?, sum.get::<_, i64>(2)?, sum.get::<_, f64>(3)?))
        });
        let sums = sums.unwrap();
        assert_eq!(
            (&row["calls"], &row["bytes_sent"], &row["bytes_recv"]),
            (&json!(sums.0), &json!(sums.1), &json!(sums.2))
        );
        assert!((row["time_s"].as_f64().unwrap() - sums.3).abs() < 1e-9);
    }
    let times: Vec<f64> =
        sites.iter().filter(|row| row["op"] != "MPI_Init").map(|row| row["time_s"].as_f64().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    assert_eq!(strings(&sites, "ranks")[0], "0-7");

    let by_rank = rows(&folder, &["sites", "-a", "--site", "solver.c:231"], "sites");
    assert_eq!(by_rank.iter().map(|row| row["rank"].as_i64().unwrap()).collect::<BTreeSet<_>>(), (0..8).collect());
    assert_eq!(by_rank.len(), 8);
    assert!(by_rank.iter().all(|row| row["calls"] == 400 && row["site"] == "solver.c:231"));
    let csv = folder.through(&["sites", "-a", "--rank", "3", "--sort", "calls", "--format", "csv"]).csv();
    assert!(csv.iter().all(|row| row["rank"] == "3") && csv[0]["calls"] == "8000");
}

#[test]
fn stacks_are_told_with_their_callers() {
    let folder = folder(8);
    let sites = rows(&folder, &["sites", "--op", "waitall"], "sites");
    let frames = json!([
        { "site": "halo.c:63", "function": "exchange" },
        { "site": "solver.c:88", "function": "step" },
        { "site": "main.c:41", "function": "main" },
    ]);
    assert_eq!(sites[0]["frames"], frames);
    let csv = folder.through(&["sites", "--op", "waitall", "--format", "csv"]).csv();
    assert_eq!(csv[0]["frames"], "halo.c:63 < solver.c:88 < main.c:41");
    // A filter takes callers as well.
    let ops = |site: &str| {
        strings(&rows(&folder, &["sites", "--site", site], "sites"), "op").into_iter().collect::<BTreeSet<_>>()
    };
    assert_eq!(ops("report"), BTreeSet::from(["MPI_Gather".to_owned()]));
    assert_eq!(ops("solver.c:88").len(), 4);
    assert_eq!(ops("output.c:12,halo.c:57").len(), 2);
}

/// Each view shows, of the calls of one site, what its cells say.
#[test]
fn a_site_is_a_filter_in_every_view() {
    let folder = folder(1);
    let site = ["--site", "halo.c:57"];
    let only = |words: &[&str], array: &str| rows(&folder, &[words, &site].concat(), array);
    let operations = only(&[], "operations");
    assert_eq!(
        (operations.len(), &operations[0]["op"], &operations[0]["calls"]),
        (1, &json!("MPI_Isend"), &json!(64_000))
    );
    assert_eq!(
        (&operations[0]["ranks"], &operations[0]["failed"], &operations[0]["time_max_s"]),
        (&json!(8), &Value::Null, &Value::Null)
    );
    let cells = only(&["-a"], "rows");
    assert_eq!(cells.len(), 8);
    assert!(cells.iter().all(|row| row["calls"] == 8000 && row["time_s"] == 0.121 && row["failed"].is_null()));
    let comms = only(&["-u"], "communicators");
    assert_eq!((comms.len(), &comms[0]["comm"], &comms[0]["rank_max_s"]), (1, &json!("a0.1"), &json!(0.121)));
    let ranks = only(&["-e"], "ranks");
    assert!(ranks.len() == 8 && ranks.iter().all(|row| row["selected_s"] == 0.121));
    assert_eq!(only(&["--phases"], "phases")[0]["calls"], 64_000);
    assert_eq!(only(&["--hosts"], "hosts")[0]["mpi_s"], 0.242);
    assert_eq!(only(&["comms", "--by", "line"], "birthplaces")[0]["made_at"], "grid.c:71");
    assert_eq!(only(&["--rank", "0-1", "--time", "0.1:0.2"], "operations")[0]["calls"], 16_000);
    assert_eq!(folder.through(&["--site", "halo.c:57", "--time", "1:"]).status, 1);

    let refused = folder.through(&["--datatypes", "--site", "halo.c:57"]);
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("cannot be used with"), "{}", refused.err);
    let absent = folder.through(&["--site", "halo.c:58"]);
    assert_eq!(absent.status, 1);
    assert!(absent.err.contains("site halo.c:58") && absent.err.contains("halo.c:57"), "{}", absent.err);
}

/// Every node is the sum of what is below it, and the roots are all there is.
#[test]
fn trees_add_up_in_both_directions() {
    let folder = folder(8);
    let all = rows(&folder, &["sites", "--top", "0"], "sites");
    let total: f64 = all.iter().map(|row| row["time_s"].as_f64().unwrap()).sum();
    for direction in ["--callees", "--callers"] {
        let tree = rows(&folder, &["sites", direction], "tree");
        let time = |row: &Value| row["time_s"].as_f64().unwrap();
        for row in &tree {
            let below: Vec<&Value> = tree.iter().filter(|child| child["parent"] == row["id"]).collect();
            let sum: f64 = below.iter().map(|row| time(row)).sum();
            assert!(below.is_empty() || (sum - time(row)).abs() < 1e-9, "{row}");
            assert!(below.iter().all(|child| child["depth"].as_i64() == Some(row["depth"].as_i64().unwrap() + 1)));
            assert_eq!(row["op"].is_null(), row["site"].is_string(), "{row}");
        }
        let roots: f64 = tree.iter().filter(|row| row["parent"].is_null()).map(time).sum();
        assert!((roots - total).abs() < 1e-9);
        let is_down = direction == "--callees";
        assert_eq!(tree[0]["function"].is_string(), is_down);
        assert_eq!(tree[0]["op"].is_string(), !is_down);
    }
    let short = folder.through(&["sites", "--callees", "--top", "3"]).ok();
    assert!(
        short.contains("  main") && short.contains("    step") && short.contains("more lines are not shown"),
        "{short}"
    );
}

#[test]
fn flame_graphs_have_whole_stacks_in_nanoseconds() {
    let folder = folder(8);
    let folded = folder.through(&["sites", "--callees", "--format", "folded"]).ok();
    assert!(folded.contains("main;step;residual;MPI_Allreduce 248000000\n"), "{folded}");
    let up = folder.through(&["sites", "--callers", "--format", "folded", "--op", "gather"]).ok();
    assert_eq!(up, "MPI_Gather;report;main 720000000\n");
    let scope = folder.through(&["sites", "--callees", "--format", "speedscope"]).json();
    let (profile, frames) = (&scope["profiles"][0], scope["shared"]["frames"].as_array().unwrap());
    assert_eq!(scope["$schema"], "https://www.speedscope.app/file-format-schema.json");
    assert_eq!(profile["samples"].as_array().unwrap().len(), profile["weights"].as_array().unwrap().len());
    let weights: i64 = profile["weights"].as_array().unwrap().iter().map(|weight| weight.as_i64().unwrap()).sum();
    assert_eq!(profile["endValue"], weights);
    let sum: i64 = folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!(sum, weights);
    assert!(frames.contains(&json!({ "name": "step", "file": "/home/me/heat/solver.c", "line": 88 })));
    let refused = folder.through(&["-u", "--format", "folded"]);
    assert_eq!(refused.status, 2);
}

#[test]
fn without_sites_it_is_said_how_to_record_them() {
    for folder in [Folder::with_sample(), folder(0)] {
        for words in [&["sites"][..], &["sites", "-a"], &["sites", "--callers"]] {
            let answer = folder.through(words);
            assert_eq!((answer.status, answer.out.as_str()), (1, ""), "{words:?}");
            assert!(answer.err.contains("through run --sites"), "{}", answer.err);
        }
    }
}

#[test]
fn without_debug_data_it_is_said_how_to_have_lines() {
    let folder = folder(8);
    let told = |words: &[&str]| folder.through(words).ok().split_whitespace().collect::<Vec<_>>().join(" ");
    let (down, sites) = (["sites", "--callees"], ["sites"]);
    assert!(!told(&down).contains("debug data") && !told(&sites).contains("debug data"));
    let db = Connection::open(folder.path("heat.db")).unwrap();
    let without_line = "UPDATE frame_name SET file = NULL, line = NULL, function = function || '+0x1f'";
    db.execute(&format!("{without_line} WHERE function = 'exchange'"), []).unwrap();
    drop(db);
    for words in [&down[..], &["sites", "--callers"], &sites] {
        let text = told(words);
        let why = "exchange+0x1f has no line, because its binary has no debug data: build it with -g";
        assert!(text.contains(why), "{text}");
    }
}

/// Three ranks in one call on two lines, a fourth in another call.
#[test]
fn ranks_that_hang_are_told_by_line() {
    let folder = folder(0);
    let mut coder = Coder::open_again(&folder.path("heat.db"));
    let solver = coder.site(&[("solve", "/home/me/heat/solver.f90", 212)]);
    let other = coder.site(&[("solve", "/home/me/heat/solver.f90", 230)]);
    let halo = coder.site(&[("halo::receive", "/home/me/heat/halo.f90", 57)]);
    let world: i64 =
        coder.db.query_row("SELECT id FROM communicator WHERE name = 'W0.0'", [], |row| row.get(0)).unwrap();
    let op = |name: &str| commsee::calls::CALLS.iter().position(|call| call.name == name).unwrap() as i64;
    for (name, class) in [("MPI_Barrier", "collective"), ("MPI_Recv", "p2p")] {
        coder.db.execute("INSERT OR IGNORE INTO operation VALUES (?, ?, ?)", params![op(name), name, class]).unwrap();
    }
    for (rank, name, site) in
        [(0, "MPI_Barrier", solver), (1, "MPI_Barrier", solver), (2, "MPI_Barrier", other), (3, "MPI_Recv", halo)]
    {
        let sql = "INSERT INTO standing (rank, thread, comm, op, since_ns, for_ns, site) VALUES (?, 0, ?, ?, 5, 9, ?)";
        coder.db.execute(sql, params![rank, world, op(name), site]).unwrap();
        coder.db.execute("UPDATE process SET state = 'ended before MPI_Finalize' WHERE rank = ?", [rank]).unwrap();
    }
    drop(coder);
    let stood = rows(&folder, &["--in-flight"], "stood");
    let told: BTreeSet<(String, String, String, String)> = stood
        .iter()
        .filter(|row| row["place"] == "call")
        .map(|row| {
            let word = |key: &str| row[key].as_str().unwrap().to_owned();
            (word("ranks"), word("site"), word("function"), word("absent"))
        })
        .collect();
    let wanted = [
        ("0-1", "solver.f90:212", "solve", "3-7"),
        ("2", "solver.f90:230", "solve", "3-7"),
        ("3", "halo.f90:57", "halo::receive", ""),
    ];
    assert_eq!(told, wanted.map(|(a, b, c, d)| (a.into(), b.into(), c.into(), d.into())).into());
    assert!(stood.iter().all(|row| row["place"] == "call" || row["site"].is_null()));
    for words in [&["--in-flight"][..], &[]] {
        let text = folder.through(words).ok();
        assert!(text.contains("ranks 0-1 in MPI_Barrier at solver.f90:212 in solve"), "{text}");
        assert!(text.contains("rank 3 in MPI_Recv at halo.f90:57 in halo::receive"), "{text}");
    }
    let one = rows(&folder, &["--in-flight", "--site", "halo.f90"], "stood");
    assert_eq!(strings(&one, "ranks"), ["3"]);
}

/// Two lines make the calls of a cell: each takes half of its time.
#[test]
fn times_select_the_same_calls_as_in_other_views() {
    let folder = Folder::empty();
    heat_with_code(&folder.path("heat.db"), 3);
    let halved = "UPDATE call_site SET calls = calls / 2, time_ns = time_ns / 2; \
        INSERT INTO call_site (site, comm, op, bucket, phase, rank, calls, bytes_sent, bytes_recv, time_ns) \
        SELECT (SELECT min(id) FROM site), comm, op, bucket, phase, rank, calls, bytes_sent, bytes_recv, time_ns FROM call_site \
        WHERE site > (SELECT min(id) FROM site)";
    Connection::open(folder.path("heat.db")).unwrap().execute_batch(halved).unwrap();
    for range in ["0.03:0.035", "0.1:0.2", ":0.3"] {
        let calls = |words: &[&str]| -> i64 {
            let words = [words, &["heat.db", "--time", range, "--op", "Allreduce,Isend", "--format", "csv"]].concat();
            folder.through(&words).csv().iter().map(|row| row["calls"].parse::<i64>().unwrap()).sum()
        };
        assert_eq!(calls(&["sites"]), calls(&["-a"]), "{range}");
    }
}
