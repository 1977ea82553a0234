//! Orders of ranks.

use serde_json::Value;

use crate::common::{Builder, Did, Folder, MS, heat};

fn between(answer: &Value, order: &str) -> f64 {
    let orders = answer["orders"].as_array().unwrap();
    orders.iter().find(|row| row["order"] == order).unwrap()["bytes_between"].as_f64().unwrap()
}

/// Four rows of 128 ranks. Between rows ranks send messages; in rows there is an operation of all.
fn rows(bytes_in_rows: i64) -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("rows.db"), 512);
    profile.meta("ranks", "512");
    profile.comm("W0.0", None, None, 512, "0-511");
    for row in 0..4usize {
        let name = format!("s{}.1", row * 128);
        profile.comm(&name, Some("row"), Some("W0.0"), 128, &format!("{}-{}", row * 128, row * 128 + 127));
        for rank in row * 128..row * 128 + 128 {
            if bytes_in_rows > 0 {
                profile.cell(&name, "MPI_Allreduce", 3, rank, Did(100, bytes_in_rows, bytes_in_rows, MS));
            }
            profile.cell("W0.0", "MPI_Send", 3, rank, Did(10, 80_000, 0, MS));
            profile.edge("W0.0", "MPI_Send", (rank as i64, (rank as i64 + 128) % 512), 10, 80_000);
        }
    }
    profile.finish(|_| 100 * MS);
    folder
}

/// Messages alone ask for another order, as a matrix of point-to-point messages does; with the operations in rows it would be harm.
#[test]
fn operations_in_rows_keep_rows_on_a_node() {
    let messages = rows(0).through(&["traffic", "--reorder", "rows.db", "--nodes", "4x128", "--format", "json"]).json();
    assert_eq!((between(&messages, "block"), between(&messages, "proposed")), (512.0 * 80_000.0, 0.0));
    assert!(messages["verdict"].as_str().unwrap().contains("saves 100.0 %"), "{}", messages["verdict"]);
    let both =
        rows(100 << 20).through(&["traffic", "--reorder", "rows.db", "--nodes", "4x128", "--format", "json"]).json();
    assert!(both["verdict"].as_str().unwrap().contains("cannot help"), "{}", both["verdict"]);
    assert_eq!(between(&both, "block"), 512.0 * 80_000.0);
    assert!(between(&both, "round-robin") > 1000.0 * between(&both, "block"));
    let taken: Vec<&str> =
        both["orders"].as_array().unwrap().iter().map(|row| row["taken"].as_str().unwrap()).collect();
    assert_eq!(taken.iter().position(|taken| *taken == "take"), Some(0));
    let places = both["placement"].as_array().unwrap();
    assert!(places.iter().all(|place| place["node"].as_i64().unwrap() == place["rank"].as_i64().unwrap() / 128));
}

/// Whatever is proposed costs what its placement costs, and is no worse than any of the usual orders.
#[test]
fn a_placement_costs_what_is_said_of_it() {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    for nodes in [None, Some("2"), Some("4x2"), Some("2x6"), Some("a:1,b:3,c:4"), Some("8")] {
        let mut words = vec!["traffic", "--reorder", "heat.db", "--format", "json"];
        words.extend(nodes.into_iter().flat_map(|nodes| ["--nodes", nodes]));
        let answer = folder.through(&words).json();
        let orders = answer["orders"].as_array().unwrap();
        let proposed = between(&answer, "proposed");
        assert!(orders.iter().all(|row| proposed <= row["bytes_between"].as_f64().unwrap()), "{answer}");
        for row in orders {
            let sum = row["bytes_between"].as_f64().unwrap() + row["bytes_within"].as_f64().unwrap();
            assert!((sum - answer["bytes"].as_f64().unwrap()).abs() <= 1.0, "{row}");
        }
        let places = answer["placement"].as_array().unwrap();
        assert_eq!(places.len(), 8);
        // One rank in each slot.
        let mut slots: Vec<(i64, i64)> =
            places.iter().map(|place| (place["node"].as_i64().unwrap(), place["slot"].as_i64().unwrap())).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 8);
    }
    // Messages of the matrix, as they are: of four rows of two ranks each with the other three.
    let matrix = folder.through(&["traffic", "--reorder", "heat.db", "--format", "json"]).json();
    assert_eq!(matrix["matrix_bytes"].as_i64(), Some(8 * 8000 * 32_768));
}

#[test]
fn files_say_what_the_placement_says() {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    let write = |kind: &str, nodes: &str| {
        folder.through(&["traffic", "--reorder", "heat.db", "--nodes", nodes, "--write", kind])
    };
    let lines = |kind: &str, nodes: &str| -> Vec<String> {
        let text = write(kind, nodes).out;
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    let json = folder.through(&["traffic", "--reorder", "heat.db", "--nodes", "x:4,y:4", "--format", "json"]).json();
    let places = json["placement"].as_array().unwrap();
    let host = |rank: usize| places[rank]["host"].as_str().unwrap();
    let rankfile: Vec<String> =
        (0..8).map(|rank| format!("rank {rank}={} slot={}", host(rank), places[rank]["slot"])).collect();
    assert_eq!(lines("rankfile", "x:4,y:4"), rankfile);
    assert_eq!(lines("slurm", "x:4,y:4"), (0..8).map(host).collect::<Vec<_>>());
    let of = |wanted: &str| {
        let ranks = (0..8).filter(|rank| host(*rank) == wanted).map(|rank| rank.to_string());
        ranks.collect::<Vec<_>>().join(",")
    };
    assert_eq!(lines("cray", "x:4,y:4"), [of("x"), of("y")]);
    let mut hydra: Vec<&str> = Vec::new();
    let text = lines("hydra", "x:4,y:4");
    for line in &text {
        let (host, count) = line.split_once(':').unwrap();
        hydra.extend(std::iter::repeat_n(host, count.parse().unwrap()));
    }
    assert_eq!(hydra, (0..8).map(host).collect::<Vec<_>>());
    // Hosts that nobody knows yet.
    assert!(lines("rankfile", "2x4")[0].starts_with("rank 0=+n"));
    let refused = write("slurm", "2x4");
    assert!(refused.status == 2 && refused.err.contains("needs hosts"), "{}", refused.err);
}

#[test]
fn orders_that_cannot_be_are_refused() {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    for (nodes, why) in [("3x2", "do not fit"), ("0", "is not a list of nodes"), ("a;b", "is not a list of nodes")] {
        let refused = folder.through(&["traffic", "--reorder", "heat.db", "--nodes", nodes]);
        assert!(refused.status == 2 && refused.err.contains(why), "{nodes}: {}", refused.err);
    }
    let one = folder.through(&["traffic", "--reorder", "heat.db", "--nodes", "1"]);
    assert!(one.status == 0 && one.out.contains("on one node"), "{}", one.out);
    let db = rusqlite::Connection::open(folder.path("heat.db")).unwrap();
    db.execute("UPDATE metadata SET value = '10' WHERE key = 'ranks'", []).unwrap();
    let missing = folder.through(&["traffic", "--reorder", "heat.db"]);
    assert!(missing.status == 1 && missing.err.contains("lacks ranks 8-9"), "{}", missing.err);
    db.execute("INSERT OR REPLACE INTO metadata VALUES ('detail', 'node')", []).unwrap();
    assert!(folder.through(&["traffic", "--reorder", "heat.db"]).err.contains("COMMSEE_DETAIL=rank"));
}
