//! Filters by route and host mean the same in every view of layers.

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::common::{Answer, Folder};
use crate::layers::layered;

/// Calls and bytes of layers, of the matrix and of the graph of a layer, and what SQL says of the same operations.
fn sums(folder: &Folder, filters: &[&str], condition: &str) -> [(i64, i64); 4] {
    let ask =
        |words: &[&str]| folder.through(&[words, filters, &["--layer", "uct", "--format", "json"]].concat()).json();
    let sum = |document: &serde_json::Value, array: &str| {
        let rows = document[array].as_array().unwrap();
        let of = |name: &str| rows.iter().map(|row| row[name].as_i64().unwrap()).sum();
        (of("calls"), of("bytes"))
    };
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    let sql = format!(
        "SELECT sum(calls), sum(bytes) FROM transfers x JOIN ranks r ON r.rank = x.src WHERE layer = 'uct' AND {condition}"
    );
    let truth = db.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    [
        truth,
        sum(&ask(&["layers"]), "contributors"),
        sum(&ask(&["traffic"]), "matrix"),
        sum(&ask(&["traffic", "--graph"]), "edges"),
    ]
}

#[test]
fn filters_of_routes_and_hosts_select_the_same_everywhere() {
    let folder = layered();
    for (filters, condition) in [
        (
            &["--function", "uct_ep_am_bcopy,UCT_EP_GET_ZCOPY"][..],
            "function IN ('uct_ep_am_bcopy', 'uct_ep_get_zcopy')",
        ),
        (
            &["--function", "uct_ep_am_short", "--transport", "tcp"],
            "function = 'uct_ep_am_short' AND transport = 'tcp'",
        ),
        (&["--protocol", "control"], "protocol = 'control'"),
        (&["--host", "node1"], "host = 'node1'"),
        (&["--host", "node0,node1", "-r", "1-2"], "rank IN (1, 2)"),
        (&["--host", "node0", "--function", "uct_ep_am_short"], "host = 'node0' AND function = 'uct_ep_am_short'"),
    ] {
        let [truth, others @ ..] = sums(&folder, filters, condition);
        assert!(truth.0 > 0, "{condition}");
        assert_eq!(others, [truth; 3], "{filters:?}");
    }
}

#[test]
fn a_host_stands_for_its_ranks_in_views_of_mpi() {
    let folder = layered();
    for words in [&["-a"][..], &["-e"], &["comms"], &["waits"], &["traffic"]] {
        let ask = |filter: [&str; 2]| folder.through(&[words, &filter, &["--format", "csv"]].concat()).ok();
        assert_eq!(ask(["--host", "node1"]), ask(["--rank", "2-3"]), "{words:?}");
    }
}

#[test]
fn unknown_hosts_and_functions_are_named_with_what_there_is() {
    let folder = layered();
    let answer = folder.through(&["layers", "--host", "node7"]);
    assert_eq!(answer.status, 1);
    assert!(
        answer.err.contains("host node7") && answer.err.contains("hosts in this profile: node[0-1]"),
        "{}",
        answer.err
    );
    let answer = folder.through(&["layers", "--function", "uct_ep_get"]);
    assert_eq!(answer.status, 1);
    assert!(answer.err.contains("function uct_ep_get") && answer.err.contains("uct_ep_get_zcopy"), "{}", answer.err);
    let answer = folder.through(&["traffic", "--function", "uct_ep_am_short"]);
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("--layer"), "{}", answer.err);
}

#[test]
fn functions_against_transports_look_like_this() {
    assert_snapshot!(layered().through(&["layers", "--by", "transport", "--layer", "uct"]).ok());
}

/// Where the terminal is narrow, transports follow below; every cell is there.
#[test]
fn functions_against_transports_are_what_contributors_add_up_to() {
    let folder = layered();
    let rows = folder.through(&["layers", "--by", "transport", "--format", "csv"]).csv();
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    for row in &rows {
        let of = |sum: &str, condition: &str| -> f64 {
            let sql = format!("SELECT 1.0 * sum({sum}) FROM transfers WHERE layer = ?1 AND {condition}");
            let values = [&row["layer"], &row["function"], &row["transport"]];
            let bound = if condition == "true" { &values[..1] } else { &values[..] };
            db.query_row(&sql, rusqlite::params_from_iter(bound), |row| row.get(0)).unwrap()
        };
        for (sum, share) in [("calls", "calls_share"), ("bytes", "bytes_share")] {
            let own = of(sum, "function = ?2 AND transport = ?3");
            assert_eq!(row[sum].parse::<f64>().unwrap(), own);
            assert!((row[share].parse::<f64>().unwrap() - own / of(sum, "true")).abs() < 1e-12, "{row:?}");
        }
    }
    let narrow =
        Answer::of(folder.command(&["layers", "--by", "transport"]).env("COLUMNS", "60").output().unwrap()).ok();
    let mut tables = narrow.lines().skip_while(|line| *line != "ucp");
    assert!(tables.clone().count() > 20 && tables.all(|line| line.chars().count() <= 60), "{narrow}");
    let top = folder.through(&["layers", "--by", "transport", "--top", "1", "--format", "csv"]).csv();
    let functions: Vec<&str> = top.iter().map(|row| row["function"].as_str()).collect();
    assert_eq!(functions.len(), rows.iter().filter(|row| functions.contains(&row["function"].as_str())).count());
    assert!(functions.len() < rows.len());
}

/// Edges are as thick as their operations are many.
#[test]
fn a_graph_counts_operations_if_it_is_asked_to() {
    let graph = |words: &[&str]| layered().through(&[&["traffic", "--graph", "--layer", "ucp"], words].concat()).ok();
    let thickest = |dot: &str| dot.lines().find(|line| line.contains("penwidth=6.00")).unwrap().trim().to_owned();
    assert!(thickest(&graph(&[])).starts_with("\"rank 1\" -> \"rank 3\" [label=\"16.0 KiB"), "{}", graph(&[]));
    let counted = graph(&["--calls"]);
    assert!(thickest(&counted).starts_with("\"rank 1\" -> \"rank 2\" [label=\"20 calls"), "{counted}");
    let first = graph(&["--calls", "--top", "1"]);
    assert_eq!(first.lines().filter(|line| line.contains(" -> ")).count(), 1);
    assert!(first.contains("20 calls"), "{first}");
}
