//! The page that shows a run: its data against SQL, what it may not contain, how large it gets; and, where Chromium is installed, what it shows.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rusqlite::Connection;
use serde_json::Value;

use crate::common::{Builder, Did, Folder, MS, heat};
use crate::golden::golden;

pub fn page(folder: &Folder, words: &[&str]) -> String {
    assert_eq!(folder.through(&[&["report"], words, &["-o", "page.html"]].concat()).ok(), "");
    std::fs::read_to_string(folder.path("page.html")).unwrap()
}

pub fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"commsee-data\">").unwrap();
    let mut data = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    open(&mut data);
    data
}

/// Opens what is packed.
fn open(part: &mut Value) {
    let Some(object) = part.as_object_mut() else { return };
    let (Some(encoding), Some(packed)) = (object.get("encoding").cloned(), object.get("data").and_then(Value::as_str))
    else {
        return object.values_mut().for_each(open);
    };
    let mut bytes = Vec::new();
    flate2::read::ZlibDecoder::new(&STANDARD.decode(packed).unwrap()[..]).read_to_end(&mut bytes).unwrap();
    if encoding.as_str().unwrap().starts_with("json") {
        *part = serde_json::from_slice(&bytes).unwrap();
    } else if encoding.as_str().unwrap().starts_with("zigzag") {
        *part = columns(object, &bytes);
    }
}

fn columns(part: &serde_json::Map<String, Value>, bytes: &[u8]) -> Value {
    let mut bytes = bytes.iter();
    let mut number = || {
        let (mut number, mut shift) = (0u64, 0);
        for byte in bytes.by_ref() {
            number |= u64::from(byte & 127) << shift;
            shift += 7;
            if *byte < 128 {
                break;
            }
        }
        (number >> 1) as i64 ^ -((number & 1) as i64)
    };
    let mut columns = serde_json::Map::new();
    for name in part["columns"].as_array().unwrap() {
        let is_difference = part["differences"].as_array().unwrap().contains(name);
        let mut before = 0i64;
        let rows = (0..part["rows"].as_u64().unwrap()).map(|_| {
            let told = number();
            before = if is_difference { before.wrapping_add(told) } else { told };
            before
        });
        columns.insert(name.as_str().unwrap().to_owned(), rows.collect::<Vec<_>>().into());
    }
    Value::Object(columns)
}

fn numbers(column: &Value) -> Vec<i64> {
    column.as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
}

/// What the page has of one communicator and operation, over some ranks: calls, sent, received, nanoseconds.
fn told(data: &Value, comm: &str, op: &str, ranks: std::ops::RangeInclusive<i64>) -> [i64; 4] {
    let kinds = numbers(&data["cells"]["kinds"]);
    let cells = &data["cells"]["cells"];
    let [kind, rank] = ["kind", "rank"].map(|name| numbers(&cells[name]));
    let measures = ["calls", "bytes_sent", "bytes_recv", "time_ns"].map(|name| numbers(&cells[name]));
    let named = |list: &str, at: i64| data["lists"][list][at as usize]["name"].as_str().unwrap().to_owned();
    let is_meant = |at: &usize| {
        let kind = &kinds[4 * kind[*at] as usize..];
        named("comms", kind[0]) == comm && named("ops", kind[1]) == op && ranks.contains(&rank[*at])
    };
    let meant: Vec<usize> = (0..kind.len()).filter(is_meant).collect();
    measures.map(|measure| meant.iter().map(|at| measure[*at]).sum())
}

fn by_sql(path: &Path, condition: &str) -> [i64; 4] {
    let sql = format!(
        "SELECT coalesce(sum(calls), 0), coalesce(sum(bytes_sent), 0), coalesce(sum(bytes_recv), 0), \
         CAST(round(coalesce(sum(time_s), 0) * 1e9) AS INTEGER) FROM profile WHERE {condition}"
    );
    let db = Connection::open(path).unwrap();
    db.query_row(&sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])).unwrap()
}

#[test]
fn the_data_are_those_of_the_profile() {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    let data = data(&page(&folder, &["heat.db"]));
    for (comm, op) in [("a0.1", "MPI_Waitall"), ("b0.2", "MPI_Allreduce"), ("W0.0", "MPI_Init"), ("d0.3", "MPI_Gather")]
    {
        for ranks in [0..=7, 2..=5] {
            let condition =
                format!("comm = '{comm}' AND op = '{op}' AND rank BETWEEN {} AND {}", ranks.start(), ranks.end());
            assert_eq!(told(&data, comm, op, ranks), by_sql(&folder.path("heat.db"), &condition), "{condition}");
        }
    }
    let edges = &data["matrix"]["edges"];
    let db = Connection::open(folder.path("heat.db")).unwrap();
    let sums: [i64; 3] = db
        .query_row("SELECT count(*), sum(calls), sum(bytes) FROM matrix", [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?])
        })
        .unwrap();
    let [calls, bytes] = ["calls", "bytes"].map(|name| numbers(&edges[name]));
    assert_eq!([calls.len() as i64, calls.iter().sum(), bytes.iter().sum()], sums);
    let ranks = &data["ranks"]["processes"];
    assert_eq!(numbers(&ranks["wall_ns"]), [12_300 * MS; 8]);
}

#[test]
fn names_stay_text_and_nothing_comes_from_elsewhere() {
    let hostile = "</script><img src=x onerror=alert(1)>&<!--\u{202e}";
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 2);
    profile.meta("command", hostile);
    profile.comm("W0.0", Some(hostile), None, 2, "0-1");
    profile.phase(hostile);
    for rank in 0..2 {
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(9, 0, 0, (1 + rank as i64) * 1000 * MS));
    }
    profile.finish(|_| 3000 * MS);
    let page = page(&folder, &["a.db"]);
    assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains('\u{202e}'));
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("default-src 'none'") && !page.contains("unsafe-inline"));
    for way in ["http://", "https://", "src=", "url(", "@import", "fetch(", "style=\""] {
        // What a label says is text of the page.
        let shown = page.replace("http://www.w3.org/2000/svg", "").replace("src=x", "");
        assert!(!shown.contains(way), "{way}");
    }
    let data = data(&page);
    assert!(data["lists"]["comms"][0]["label"].as_str().unwrap().starts_with("</script><img"));
}

#[test]
fn golden_profiles_have_a_page() {
    let mut pages = 0;
    for file in std::fs::read_dir(golden("")).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "db") {
            let folder = Folder::empty();
            std::fs::copy(&file, folder.path("run.db")).unwrap();
            let page = page(&folder, &["run.db"]);
            assert!(page.contains("data-view=\"overview\"") && data(&page)["version"] == 1, "{}", file.display());
            pages += 1;
        }
    }
    assert_eq!(pages, 2);
}

/// Only what there is to show is shown.
#[test]
fn views_without_data_are_hidden() {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    let page = page(&folder, &["heat.db"]);
    let hidden = |name: &str| {
        let (_, rest) = page.split_once(&format!("data-view=\"{name}\"")).unwrap();
        rest.split_once('>').unwrap().0.contains(" hidden")
    };
    for name in ["overview", "findings", "communicators", "tree", "matrix", "ranks", "sizes", "graph", "meta"] {
        assert!(!hidden(name), "{name}");
    }
    for name in ["devices", "sites", "timeline", "standing", "layers", "diff"] {
        assert!(hidden(name), "{name}");
    }
}

#[test]
fn two_runs_are_compared() {
    let folder = Folder::empty();
    heat(&folder.path("a.db"));
    heat(&folder.path("b.db"));
    let db = Connection::open(folder.path("b.db")).unwrap();
    db.execute_batch("UPDATE edge SET bytes = bytes + 7 WHERE src = 3").unwrap();
    db.close().unwrap();
    let data = data(&page(&folder, &["a.db", "b.db"]));
    assert_eq!(data["diff"]["runs"].as_array().unwrap().len(), 2);
    let changes = &data["diff"]["pairs"]["changes"];
    assert!(numbers(&changes["src"]).iter().all(|src| *src == 3) && !numbers(&changes["src"]).is_empty());
    let [a, b] = ["bytes_a", "bytes_b"].map(|name| numbers(&changes[name]));
    assert!(a.iter().zip(&b).all(|(a, b)| a + 7 == *b));
}

#[test]
fn the_page_says_that_processors_were_too_few() {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    let why = "a rank was ready to run and had no processor for 50.0 % of the run";
    assert!(!page(&folder, &["heat.db"]).contains(why));
    let db = Connection::open(folder.path("heat.db")).unwrap();
    db.execute_batch("UPDATE process SET ran_ns = wall_ns / 2, ready_ns = wall_ns / 2").unwrap();
    db.close().unwrap();
    assert!(page(&folder, &["heat.db"]).contains(why));
}

/// A profile of so many ranks, in which every rank sends to some.
pub fn many(folder: &Folder, ranks: usize, bytes: impl Fn(usize, usize) -> Option<i64>) {
    let mut profile = Builder::new(&folder.path("many.db"), ranks);
    profile.comm("W0.0", None, None, ranks as u32, &format!("0-{}", ranks - 1));
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 40) as i64
    };
    for rank in 0..ranks {
        for op in ["MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Bcast"] {
            profile.cell("W0.0", op, 1, rank, Did(100, 51200, 51200, 1000 * MS + random()));
        }
        for peer in 0..ranks {
            if let Some(bytes) = bytes(rank, peer) {
                profile.edge("W0.0", "MPI_Isend", (rank as i64, peer as i64), 1 + random() % 4000, bytes);
            }
        }
    }
    profile.finish(|_| 20_000 * MS);
}

#[test]
fn a_halo_of_a_thousand_ranks_is_small() {
    let folder = Folder::empty();
    let is_near = |a: usize, b: usize| [1, 32, 1023, 992].contains(&((a + 1024 - b) % 1024));
    many(&folder, 1024, |a, b| is_near(a, b).then_some(3_276_800));
    let length = page(&folder, &["many.db"]).len();
    assert!(length < 360_000, "{length}");
}

#[test]
fn a_dense_random_matrix_of_a_thousand_ranks_fits() {
    let folder = Folder::empty();
    let mixed = |a: usize, b: usize| (a * 1024 + b).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
    many(&folder, 1024, |a, b| Some(1 + (mixed(a, b) as i64 & 0xfff_ffff)));
    let page = page(&folder, &["many.db"]);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.contains("are rounded in the matrix"));
    assert_eq!(data(&page)["matrix"]["dense"]["side"], 1024);
}

#[test]
fn what_a_profile_cannot_mean_harms_no_page() {
    for change in [
        "UPDATE cell SET time_ns = 9223372036854775807",
        "UPDATE OR IGNORE edge SET src = -9223372036854775808, bytes = -1, calls = -5",
        "UPDATE OR IGNORE edge SET dst = 9223372036854775807",
        "UPDATE process SET wall_ns = 9223372036854775807, mpi_ns = -9223372036854775808",
        "UPDATE OR IGNORE process SET rank = 9223372036854775807 - rank",
        "DELETE FROM operation",
        "DELETE FROM process",
        "DELETE FROM communicator",
        "INSERT INTO metadata VALUES ('detail', 'comm')",
        "INSERT INTO metadata VALUES ('detail', 'node')",
    ] {
        let folder = Folder::empty();
        heat(&folder.path("a.db"));
        let db = Connection::open(folder.path("a.db")).unwrap();
        db.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}")).unwrap();
        db.close().unwrap();
        let answer = folder.through(&["report", "a.db", "-o", "page.html"]);
        assert!(matches!(answer.status, 0 | 2) && !answer.err.contains("panicked"), "{change}: {answer:?}");
    }
}

/// The page as a browser has drawn it. Nothing where there is none.
fn drawn(folder: &Folder, fragment: &str) -> Option<String> {
    let url = format!("file://{}#{fragment}", folder.path("page.html").display());
    let home = folder.path("chromium");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", home.display()))
        .args(["--dump-dom", &url])
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: Chromium is not installed (Debian package chromium)");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let dom = String::from_utf8(output.stdout).unwrap();
    assert!(dom.contains("data-state=\"drawn\""), "{dom}");
    Some(dom)
}

fn shown(dom: &str, name: &str) -> f64 {
    let (_, rest) = dom.split_once(&format!("data-number=\"{name}\" data-value=\"")).unwrap();
    rest.split_once('"').unwrap().0.parse().unwrap()
}

#[test]
fn filters_change_the_numbers_to_those_of_the_profile() {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    page(&folder, &["heat.db"]);
    for (fragment, condition) in [
        ("", "op <> 'MPI_Init'"),
        ("comm=a0.1", "comm = 'a0.1'"),
        ("comm=b0.2,b4.2&op=MPI_Allreduce", "comm IN ('b0.2', 'b4.2') AND op = 'MPI_Allreduce'"),
        ("family=b4.2", "comm IN ('b0.2', 'b4.2')"),
        ("op=init", "op = 'MPI_Init'"),
        ("class=collective&rank=0-3", "class = 'collective' AND rank <= 3"),
        ("bucket=3&rank=2,5", "bucket_lo = 8192 AND rank IN (2, 5)"),
    ] {
        let Some(dom) = drawn(&folder, fragment) else { return };
        let names = ["calls", "bytes_sent", "bytes_recv", "time_ns"];
        let numbers = names.map(|name| shown(&dom, name) as i64);
        assert_eq!(numbers, by_sql(&folder.path("heat.db"), condition), "{fragment}");
    }
}

#[test]
fn all_views_are_drawn_and_names_stay_text_in_the_browser() {
    let folder = Folder::empty();
    let hostile = "</script><img src=x onerror=console.log(1)>";
    heat(&folder.path("heat.db"));
    let db = Connection::open(folder.path("heat.db")).unwrap();
    db.execute("UPDATE communicator SET label = ? WHERE name = 'a0.1'", [hostile]).unwrap();
    db.close().unwrap();
    page(&folder, &["heat.db", "heat.db"]);
    let Some(dom) = drawn(&folder, "view=matrix") else { return };
    assert!(!dom.contains("<img"));
    for name in ["communicators", "tree", "matrix", "ranks", "sizes", "graph", "diff"] {
        let (_, rest) = dom.split_once(&format!("data-view=\"{name}\"")).unwrap();
        let section = rest.split_once("</section>").unwrap().0;
        assert!(section.contains("<table"), "{name} has no table behind it");
    }
    // Every picture says what it is.
    for picture in ["<svg ", "<canvas "] {
        for element in dom.split(picture).skip(1) {
            let tag = element.split_once('>').unwrap().0;
            assert!(tag.contains("aria-label") || tag.contains("aria-hidden"), "{picture}{tag}");
        }
    }
}

#[test]
fn a_window_needs_a_timeline() {
    let folder = Folder::with_sample();
    let answer = folder.through(&["report", "--window", "1:2"]);
    assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{}", answer.err);
    assert!(
        answer.err.contains("sample.db: has no timeline") && answer.err.contains("through run --trace"),
        "{}",
        answer.err
    );
    assert_eq!(folder.names(), ["sample.db"]);
}
