//! Imbalance between ranks, and patterns of who sends to whom.

use std::collections::{BTreeSet, HashMap};

use crate::common::{Builder, Did, Folder, MS, heat};
use crate::golden::golden;

fn heated() -> Folder {
    let folder = Folder::empty();
    heat(&folder.path("heat.db"));
    folder
}

/// Eight ranks in a ring; rank 1 also sends to rank 5, and once to another world.
pub fn ring_with_a_stray() -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("ring.db"), 8);
    profile.meta("command", "./ring");
    profile.meta("ranks", "8");
    profile.comm("W0.0", None, None, 8, "0-7");
    for rank in 0..8 {
        profile.cell("W0.0", "MPI_Send", 1, rank, Did(10, 10_000, 0, (1 + rank as i64) * MS));
        profile.edge("W0.0", "MPI_Send", (rank as i64, (rank as i64 + 1) % 8), 10, 10_000);
    }
    profile.edge("W0.0", "MPI_Send", (1, 5), 2, 2000);
    profile.finish(|_| 100 * MS);
    folder
}

fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

/// By what `-a` says of each rank.
#[test]
fn imbalance_is_that_of_the_cells() {
    let folder = heated();
    let cells = folder.through(&["heat.db", "-a", "--format", "csv"]).csv();
    let rows = folder.through(&["waits", "--imbalance", "heat.db", "--format", "csv"]).csv();
    assert!(rows.iter().all(|row| row["op"] != "MPI_Init") && rows.len() > 10);
    for row in &rows {
        let is_meant = |cell: &&HashMap<String, String>| {
            cell["comm"] == row["comm"] && cell["op"] != "MPI_Init" && (row["op"].is_empty() || cell["op"] == row["op"])
        };
        let mut times = [0.0; 8];
        cells.iter().filter(is_meant).for_each(|cell| times[number(cell, "rank") as usize] += number(cell, "time_s"));
        let called: Vec<f64> = times.into_iter().filter(|time| *time > 0.0).collect();
        let (count, sum) = (called.len() as f64, called.iter().sum::<f64>());
        let (mean, max) = (sum / count, called.iter().copied().fold(0.0, f64::max));
        let deviation = (called.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        for (column, expected) in [
            ("ranks", count),
            ("time_s", sum),
            ("max_s", max),
            ("mean_s", mean),
            ("max_over_mean", max / mean),
            ("imb_s", max - mean),
            ("imb", (max - mean) / max * count / (count - 1.0)),
            ("cov", deviation / mean),
        ] {
            assert!((number(row, column) - expected).abs() < 1e-8, "{column} is {expected}: {row:?}");
        }
        assert_eq!(times[number(row, "max_rank") as usize], max);
        assert_eq!(times[number(row, "min_rank") as usize], number(row, "min_s"));
    }
    let wait = rows.iter().find(|row| row["op"] == "MPI_Waitall").unwrap();
    assert_eq!((wait["max_rank"].as_str(), wait["min_rank"].as_str()), ("4", "5"));
}

#[test]
fn imbalance_needs_single_ranks() {
    let folder = heated();
    let db = rusqlite::Connection::open(folder.path("heat.db")).unwrap();
    for detail in ["node", "comm"] {
        db.execute("INSERT OR REPLACE INTO metadata VALUES ('detail', ?)", [detail]).unwrap();
        for command in [["waits", "--imbalance"], ["traffic", "--patterns"]] {
            let refused = folder.through(&[&command[..], &["heat.db"]].concat());
            assert_eq!((refused.status, refused.out.as_str()), (2, ""));
            assert!(refused.err.contains("COMMSEE_DETAIL=rank"), "{}", refused.err);
        }
    }
}

#[test]
fn patterns_are_named_with_what_does_not_fit() {
    let heat = &heated().through(&["traffic", "--patterns", "heat.db", "--format", "csv"]).csv()[0];
    assert_eq!([&heat["comm"], &heat["pattern"], &heat["dims"], &heat["periodic"]], ["a0.1", "halo", "2x4", "0,1"]);
    assert_eq!(
        [&heat["points"], &heat["direction"], &heat["unexpected"], &heat["missing"]],
        ["5", "both ways", "0", "0"]
    );
    let folder = ring_with_a_stray();
    let ring = folder.through(&["traffic", "--patterns", "ring.db", "--format", "json"]).json();
    let pattern = &ring["patterns"][0];
    assert_eq!((pattern["pattern"].as_str(), pattern["direction"].as_str()), (Some("ring"), Some("one way")));
    assert_eq!((pattern["unexpected"].as_i64(), pattern["missing"].as_i64()), (Some(1), Some(0)));
    let misfit =
        serde_json::json!({ "comm": "W0.0", "what": "unexpected", "src": 1, "dst": 5, "calls": 2, "bytes": 2000 });
    assert_eq!(ring["misfits"], serde_json::json!([misfit]));
    // What filters leave is what is judged.
    let left = folder.through(&["traffic", "--patterns", "ring.db", "--rank", "1", "--format", "csv"]).csv();
    assert_eq!((left[0]["pattern"].as_str(), left[0]["ranks"].as_str()), ("star", "1-2,5"));
    assert_eq!(folder.through(&["traffic", "--patterns", "ring.db", "--op", "Bcast"]).status, 1);
    let refused = folder.through(&["traffic", "--patterns", "ring.db", "--bytes", "1K:"]);
    assert!(refused.status == 2 && refused.err.contains("leave out --bytes"), "{}", refused.err);
}

/// A result that is collected once does not hide a halo, and members that the profile lacks are no members that do nothing.
#[test]
fn light_messages_do_not_hide_a_pattern() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 16);
    profile.comm("W0.0", None, None, 16, "0-15");
    profile.comm("s0.1", None, Some("W0.0"), 20, "0-15");
    profile.comm("s0.2", None, Some("W0.0"), 16, "0-15");
    for rank in 0..16i64 {
        for peer in [rank - 4, rank + 4].into_iter().filter(|peer| (0..16).contains(peer)) {
            profile.edge("W0.0", "MPI_Send", (rank, peer), 100, 1_000_000);
        }
        for peer in [rank - 1, rank + 1].into_iter().filter(|peer| peer / 4 == rank / 4 && *peer >= 0) {
            profile.edge("W0.0", "MPI_Send", (rank, peer), 100, 500_000);
        }
        profile.edge("W0.0", "MPI_Isend", (rank, 0), 1, 800);
        profile.edge("s0.1", "MPI_Send", (rank, (rank + 1) % 16), 1, 8);
        // Far from any pattern.
        let peers: BTreeSet<i64> = (1..=rank % 5).map(|step| (rank * step * 7 + 3) % 16).collect();
        peers.into_iter().for_each(|peer| profile.edge("s0.2", "MPI_Send", (rank, peer), 1, 8));
    }
    profile.finish(|_| MS);
    let rows = folder.through(&["traffic", "--patterns", "a.db", "--format", "csv"]).csv();
    assert_eq!([&rows[0]["pattern"], &rows[0]["dims"], &rows[0]["unexpected"]], ["halo", "4x4", "13"]);
    let by_name = |name: &str| rows.iter().find(|row| row["comm"] == name).unwrap();
    assert_eq!((by_name("s0.1")["pattern"].as_str(), by_name("s0.2")["pattern"].as_str()), ("", "none"));
}

/// Whatever numbers a file states, the answer is bounded by its rows.
#[test]
fn members_without_end_cost_nothing() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 2);
    profile.comm("W0.0", None, None, u32::MAX, "0-4294967295");
    profile.cell("W0.0", "MPI_Send", 0, 0, Did(1, 8, 0, i64::MAX));
    profile.cell("W0.0", "MPI_Send", 0, 1, Did(1, 8, 0, i64::MAX));
    for (src, dst) in [(0, 1), (1, i64::MAX), (i64::MIN, 0), (-2, -1), (4_294_967_295, 7)] {
        profile.edge("W0.0", "MPI_Send", (src, dst), i64::MAX, i64::MAX);
    }
    profile.finish(|_| i64::MAX);
    for command in [["traffic", "--patterns"], ["waits", "--imbalance"]] {
        let answer = folder.through(&[&command[..], &["a.db"]].concat());
        assert_eq!(answer.status, 0, "{}", answer.err);
    }
}

/// Against the default view and `--hosts`, which are tested themselves.
#[test]
fn top_hist_and_tree_are_sums_of_what_other_views_show() {
    let folder = heated();
    let csv = |words: &[&str]| folder.through(&[words, &["--format", "csv"]].concat()).csv();
    let sum = |rows: &[HashMap<String, String>], column: &str| rows.iter().map(|row| number(row, column)).sum::<f64>();
    let all: Vec<_> = csv(&["heat.db"]).into_iter().filter(|row| row["op"] != "MPI_Init").collect();
    for (sort, column) in [("time", "time_s"), ("calls", "calls"), ("bytes", "bytes_sent")] {
        let top = csv(&["show", "--flat", "heat.db", "--sort", sort]);
        assert_eq!(top.len(), all.len());
        assert!((sum(&top, column) - sum(&all, column)).abs() < 1e-6 * sum(&all, column));
        assert!((number(top.last().unwrap(), "cumulated") - 1.0).abs() < 1e-9);
        let mut together = 0.0;
        for (place, row) in (1..).zip(&top) {
            together += number(row, "share");
            assert!((number(row, "cumulated") - together).abs() < 1e-9 && row["place"] == place.to_string());
        }
        assert!(top.windows(2).all(|rows| number(&rows[0], "share") >= number(&rows[1], "share")));
    }
    let hist = csv(&["show", "--sizes", "heat.db"]);
    let has_size = |row: &&HashMap<String, String>| ["p2p", "collective"].contains(&row["class"].as_str());
    for (row, bucket) in hist.iter().zip(["0", "128", "1024", "8192"]) {
        let here: Vec<_> = all.iter().filter(has_size).filter(|row| row["bucket_lo"] == bucket).cloned().collect();
        assert_eq!(row["bucket_lo"], bucket);
        for column in ["calls", "bytes_sent", "bytes_recv", "time_s"] {
            assert!((number(row, column) - sum(&here, column)).abs() < 1e-9 * (1.0 + sum(&here, column)), "{column}");
        }
    }
    let tree = csv(&["comms", "--tree", "heat.db"]);
    let shape: Vec<_> =
        tree.iter().map(|row| (row["depth"].as_str(), row["comm"].as_str(), row["count"].as_str())).collect();
    assert_eq!(shape, [("0", "W0.0", "1"), ("1", "a0.1", "1"), ("2", "b0.2", "2"), ("1", "d0.3", "1")]);
    let whole = sum(&csv(&["heat.db", "-u"]), "mpi_s");
    assert!((number(&tree[0], "with_below_s") - whole).abs() < 1e-9 && (sum(&tree, "mpi_s") - whole).abs() < 1e-9);
}

#[test]
fn hosts_know_what_goes_between_them() {
    let folder = heated();
    let hosts = folder.through(&["show", "--hosts", "heat.db", "--format", "csv"]).csv();
    let step = 2000 * 32_768;
    // Two neighbours of a row on each host.
    for host in &hosts {
        let bytes = ["bytes_within", "bytes_out", "bytes_in"].map(|column| number(host, column) as i64);
        assert_eq!(bytes, [2 * step, 6 * step, 6 * step]);
    }
    assert_eq!(hosts, folder.through(&["--hosts", "heat.db", "--format", "csv"]).csv());
    let sized = folder.through(&["show", "--hosts", "heat.db", "--bytes", "8K:", "--format", "csv"]).csv();
    assert_eq!(sized[0]["bytes_within"], "");
}

#[test]
fn all_of_a_profile_is_summed_up() {
    let folder = Folder::empty();
    std::fs::copy(golden("version-1.db"), folder.path("run.db")).unwrap();
    let of_traffic = [["traffic", "--patterns"], ["traffic", "--reorder"]];
    let others = [["show", "--flat"], ["show", "--sizes"], ["comms", "--tree"], ["show", "--hosts"]];
    for command in [["waits", "--imbalance"]].into_iter().chain(others).chain(of_traffic) {
        let answer = folder.through(&[&command[..], &["--format", "json"]].concat());
        assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{command:?}");
    }
    let top = folder.through(&["show", "--flat", "--format", "csv"]).csv();
    let ranks = folder.through(&["-e", "--format", "csv"]).csv();
    let sum = |rows: &[HashMap<String, String>], column: &str| rows.iter().map(|row| number(row, column)).sum::<f64>();
    assert!((sum(&top, "time_s") - sum(&ranks, "mpi_s")).abs() < 1e-6);
}
