//! What layers below MPI did: `through layers` on a profile whose numbers are small enough to add up by hand.

use std::collections::HashMap;
use std::path::Path;

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::common::{Builder, Did, Folder, MS, Moved, REMOTE, TRANSFER_SUMS, UNKNOWN, Way};

const EAGER: Way = Way(["ucp", "ucp_tag_send_nbx", "eager", "posix", "memory", "memory"]);
const EAGER_TCP: Way = Way(["ucp", "ucp_tag_send_nbx", "eager", "tcp", "eth0", "network"]);
const GET: Way = Way(["ucp", "ucp_tag_send_nbx", "rndv-get", "", "", ""]);
const PUT: Way = Way(["ucp", "ucp_tag_send_nbx", "rndv-put", "rc_mlx5", "mlx5_0:1", "network"]);
const RECEIVE: Way = Way(["ucp-rx", "ucp_tag_recv_nbx", "eager", "", "", ""]);
const SHORT: Way = Way(["uct", "uct_ep_am_short", "eager", "posix", "memory", "memory"]);
const SHORT_TCP: Way = Way(["uct", "uct_ep_am_short", "eager", "tcp", "eth0", "network"]);
const CONTROL: Way = Way(["uct", "uct_ep_am_bcopy", "control", "rc_mlx5", "mlx5_0:1", "network"]);
const GET_ZCOPY: Way = Way(["uct", "uct_ep_get_zcopy", "rndv-get", "rc_mlx5", "mlx5_1:1", "network"]);
const PUT_ZCOPY: Way = Way(["uct", "uct_ep_put_zcopy", "rndv-put", "rc_mlx5", "mlx5_0:1", "network"]);
const WIREUP: Way = Way(["uct", "uct_ep_am_bcopy", "wireup", "tcp", "eth0", "network"]);
const REPLY: Way = Way(["uct", "uct_ep_am_short", "reply", "posix", "memory", "memory"]);
const ARRIVAL: Way = Way(["uct-rx", "uct_am", "eager", "tcp", "eth0", "network"]);

/// Ranks 0 and 1 are on node0, 2 and 3 on node1.
pub fn layered() -> Folder {
    let folder = Folder::empty();
    write(&folder.path("ucx.db"), "");
    folder
}

pub fn write(path: &Path, launch: &str) {
    let mut profile = Builder::new(path, 4);
    profile.meta("launch", launch);
    profile.meta("command", "./app -n 4");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.comm("s0.1", Some("row"), Some("W0.0"), 2, "0,2");
    profile.comm("s1.1", None, Some("W0.0"), 2, "1,3");
    // Rank 0 sends 10 messages of 100 bytes to rank 1, and rank 1 sends 20 of 100 bytes to rank 2.
    for (rank, dst, calls) in [(0, 1, 10), (1, 2, 20)] {
        profile.cell("W0.0", "MPI_Send", 0, rank, Did(calls, 100 * calls, 0, 10 * MS));
        profile.cell("W0.0", "MPI_Recv", 0, dst, Did(calls, 0, 100 * calls, 10 * MS));
        profile.edge("W0.0", "MPI_Send", (rank as i64, dst as i64), calls, 100 * calls);
        let send = ("W0.0", "MPI_Send", 0);
        let ends = (rank as i64, dst as i64);
        profile.transfer(send, if rank == 0 { EAGER } else { EAGER_TCP }, ends, Moved(calls, 100 * calls, 0, 0));
        profile.transfer(send, if rank == 0 { SHORT } else { SHORT_TCP }, ends, Moved(calls, 108 * calls, 0, 0));
        let receive = ("W0.0", "MPI_Recv", 0);
        profile.transfer(receive, RECEIVE, (dst as i64, UNKNOWN), Moved(calls, 100 * calls, 2, 4000));
    }
    profile.edge("W0.0", "MPI_Send", (3, -1), 1, 7);
    profile.transfer(("W0.0", "MPI_Recv", 0), ARRIVAL, (2, UNKNOWN), Moved(20, 2160, 0, 0));
    // Rank 0 broadcasts 3 times 4096 bytes to rank 2, which gets them.
    profile.cell("s0.1", "MPI_Bcast", 2, 0, Did(3, 12_288, 0, 2 * MS));
    profile.cell("s0.1", "MPI_Bcast", 2, 2, Did(3, 0, 12_288, 4 * MS));
    profile.transfer(("s0.1", "MPI_Bcast", 2), GET, (0, 2), Moved(3, 12_288, 3, 90_000));
    profile.transfer(("s0.1", "MPI_Bcast", 0), CONTROL, (0, 2), Moved(3, 192, 0, 0));
    profile.transfer(("s0.1", "MPI_Bcast", 0), CONTROL, (2, 0), Moved(3, 48, 0, 0));
    profile.transfer(("s0.1", "MPI_Bcast", 2), GET_ZCOPY, (2, 0), Moved(3, 12_288, 3, 60_000));
    // Ranks 1 and 3 exchange 16384 bytes each, which the sender puts, in two operations.
    for (rank, peer) in [(1, 3), (3, 1)] {
        profile.cell("s1.1", "MPI_Allreduce", 3, rank, Did(1, 16_384, 16_384, MS));
        let ends = (rank as i64, peer);
        profile.transfer(("s1.1", "MPI_Allreduce", 3), PUT, ends, Moved(1, 16_384, 1, 50_000));
        profile.transfer(("s1.1", "MPI_Allreduce", 2), PUT_ZCOPY, ends, Moved(2, 16_384, 2, 40_000));
        profile.transfer(("s1.1", "MPI_Allreduce", 0), CONTROL, ends, Moved(2, 128, 0, 0));
    }
    // What belongs to no call.
    for rank in 0..4 {
        profile.transfer(("-", "-", 1), WIREUP, (rank, UNKNOWN), Moved(1, 200, 0, 0));
    }
    profile.transfer(("-", "-", 0), REPLY, (1, 0), Moved(5, 60, 0, 0));
    profile.transfer(("-", "-", 0), WIREUP, (3, REMOTE), Moved(1, 100, 0, 0));
    profile.note("ucx", "UCX 1.13.1: UCP and UCT", 4);
    profile.note("ucx", "uct mlx5: refused (operation table of UCX 1.10 is not known)", 1);
    profile.finish(|_| 1000 * MS);
}

type Rows = Vec<HashMap<String, String>>;

fn csv(folder: &Folder, words: &[&str]) -> Rows {
    folder.through(&[&["layers", "ucx.db", "--format", "csv"], words].concat()).csv()
}

/// Of each row what these columns say.
fn show(rows: &Rows, columns: &[&str]) -> Vec<String> {
    let line = |row: &HashMap<String, String>| {
        columns.iter().map(|column| row[*column].as_str()).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(line).collect()
}

#[test]
fn the_top_contributors_look_like_this() {
    assert_snapshot!(layered().through(&["layers", "ucx.db"]).ok());
}

#[test]
fn contributors_of_communicators_look_like_this() {
    assert_snapshot!(layered().through(&["layers", "--by", "comm", "--layer", "uct", "--comm", "row,W0.0"]).ok());
}

#[test]
fn protocols_look_like_this() {
    assert_snapshot!(layered().through(&["layers", "--by", "protocol"]).ok());
}

#[test]
fn contributors_are_added_up_by_function_and_path() {
    let folder = layered();
    let columns =
        ["layer", "function", "protocol", "transport", "device", "calls", "bytes", "later", "time_s", "time_avg_s"];
    let rows = csv(&folder, &["--layer", "uct"]);
    assert_eq!(
        show(&rows, &columns),
        [
            "uct uct_ep_put_zcopy rndv-put rc_mlx5 mlx5_0:1 4 32768 4 0.00008 0.00002",
            "uct uct_ep_get_zcopy rndv-get rc_mlx5 mlx5_1:1 3 12288 3 0.00006 0.00002",
            "uct uct_ep_am_short eager tcp eth0 20 2160 0  ",
            "uct uct_ep_am_short eager posix memory 10 1080 0  ",
            "uct uct_ep_am_bcopy wireup tcp eth0 5 900 0  ",
            "uct uct_ep_am_bcopy control rc_mlx5 mlx5_0:1 10 496 0  ",
            "uct uct_ep_am_short reply posix memory 5 60 0  ",
        ]
    );
    let shares: f64 = rows.iter().map(|row| row["share"].parse::<f64>().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    let first = |words: &[&str]| show(&csv(&folder, words), &["function", "bytes"])[0].clone();
    assert_eq!(first(&["--layer", "uct", "--sort", "calls"]), "uct_ep_am_short 2160");
    assert_eq!(first(&["--layer", "uct", "--sort", "op"]), "uct_ep_am_bcopy 900");
    assert_eq!(csv(&folder, &["--top", "1"]).len(), 4, "one of each layer");
}

#[test]
fn blocks_come_by_their_bytes_and_what_belongs_to_no_call_last() {
    let folder = layered();
    let blocks = |words: &[&str], column: &str| {
        let mut names = show(&csv(&folder, words), &[column]);
        names.dedup();
        names
    };
    assert_eq!(blocks(&["--by", "comm"], "comm"), ["s1.1", "s0.1", "W0.0", "-"]);
    assert_eq!(blocks(&["--by", "comm", "--sort", "comm"], "comm"), ["W0.0", "s0.1", "s1.1", "-"]);
    assert_eq!(blocks(&["--by", "comm", "--top", "1"], "comm"), ["s1.1", "-"]);
    let of_ops = ["MPI_Allreduce", "MPI_Bcast", "MPI_Send", "MPI_Recv", "-"];
    assert_eq!(blocks(&["--by", "op"], "op"), of_ops);
    assert_eq!(blocks(&["--by", "op", "--sort", "calls"], "op")[0], "MPI_Send");
}

#[test]
fn protocols_are_split_by_communicator_and_size() {
    let columns = [
        "comm",
        "label",
        "bucket_lo",
        "eager_calls",
        "eager_bytes",
        "get_calls",
        "get_bytes",
        "put_calls",
        "put_bytes",
    ];
    assert_eq!(
        show(&csv(&layered(), &["--by", "protocol"]), &columns),
        ["s1.1  8192 0 0 0 0 2 32768", "s0.1 row 1024 0 0 3 12288 0 0", "W0.0  0 30 3000 0 0 0 0",]
    );
    assert_eq!(show(&csv(&layered(), &["--by", "protocol", "--top", "2"]), &["comm"]), ["s1.1", "s0.1"]);
    let table = layered().through(&["layers", "--by", "protocol", "--top", "2"]).ok();
    assert!(table.contains("1 more communicator is not shown"), "{table}");
    let of_uct = csv(&layered(), &["--by", "protocol", "--layer", "uct", "--comm", "s1.1"]);
    assert_eq!(show(&of_uct, &["bucket_lo", "put_calls", "other_calls", "other_bytes"]), ["0 0 4 256", "1024 4 0 0"]);
}

#[test]
fn amplification_compares_the_wire_with_what_mpi_calls_sent() {
    let folder = layered();
    let rows = |words: &[&str]| {
        let document = folder.through(&[&["layers", "--format", "json"], words].concat()).json();
        let rows = document["amplification"].as_array().unwrap().clone();
        let show = |row: &serde_json::Value| {
            format!("{} {} {} {}", row["comm"], row["op"], row["asked_bytes"], row["wire_bytes"]).replace('"', "")
        };
        rows.iter().map(show).collect::<Vec<_>>()
    };
    let all = ["s1.1 MPI_Allreduce 32768 33024", "s0.1 MPI_Bcast 12288 12528", "W0.0 MPI_Send 3000 3240"];
    assert_eq!(rows(&[]), all);
    assert_eq!(rows(&["--comm", "row"]), [all[1]]);
    assert_eq!(rows(&["--op", "Send", "--rank", "0"]), ["W0.0 MPI_Send 1000 1080"]);
    // Of parts of messages MPI knows nothing.
    assert!(rows(&["--transport", "tcp"]).is_empty() && rows(&["--bytes", "1K:"]).is_empty());
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch(
        "INSERT INTO transfer SELECT x.comm, (SELECT id FROM operation WHERE name = 'MPI_Recv'), x.bucket, x.way, x.rank, \
         x.peer, x.calls, 1000, x.later, NULL, NULL, NULL, 0, 0, 0, 0, 0 FROM transfer x JOIN way w ON w.id = x.way \
         JOIN communicator c ON c.id = x.comm WHERE c.name = 'W0.0' AND w.layer = 'uct' AND x.rank = 0",
    )
    .unwrap();
    db.execute_batch(&format!("DELETE FROM transfer_total; {TRANSFER_SUMS}")).unwrap();
    db.close().unwrap();
    // What the receiver does has nothing of its own to be compared with, but belongs to the whole.
    assert_eq!(rows(&["--comm", "W0.0"]), ["W0.0 null 3000 4240", "W0.0 MPI_Send 3000 3240"]);
    assert!(
        (folder.through(&["layers", "--format", "json"]).json()["amplification"][0]["ratio"].as_f64().unwrap()
            - 33_024.0 / 32_768.0)
            .abs()
            < 1e-12
    );
}

#[test]
fn what_is_linked_to_no_call_is_told_in_every_report() {
    let folder = layered();
    for words in [
        &["layers"][..],
        &["layers", "--comm", "W0.0"],
        &["layers", "--by", "protocol"],
        &["traffic"],
        &["traffic", "--graph"],
        &[],
    ] {
        let document = folder.through(&[words, &["--format", "json"]].concat()).json();
        let whole = document["unlinked"].as_array().unwrap().iter();
        let mut whole = whole.filter(|row| row["layer"] == "uct" && row["protocol"].is_null());
        let row = whole.next().unwrap();
        assert_eq!((row["calls"].as_i64(), row["bytes"].as_i64()), (Some(10), Some(960)), "{words:?}");
        assert!((row["bytes_share"].as_f64().unwrap() - 960.0 / 49_752.0).abs() < 1e-12, "{words:?}");
        assert_eq!(document["notes"][1]["ranks"], 1, "{words:?}");
    }
    for words in [&[][..], &["-u"], &["-e"], &["traffic"], &["traffic", "--layer", "ucp"]] {
        let table = folder.through(words).ok();
        assert!(table.contains("uct: 1.9 % of 48.6 KiB, 17.5 % of 57 operations"), "{words:?}: {table}");
        assert!(table.contains("UCX 1.13.1") && table.contains("uct mlx5: refused"), "{words:?}: {table}");
    }
    for words in [
        &["traffic", "--graph", "--layer", "ucp"][..],
        &["traffic", "--graph", "--by", "device"],
        &["traffic", "--format", "dot"],
    ] {
        let drawing = folder.through(words).ok();
        assert!(drawing.contains("uct: 1.9 % of 48.6 KiB") && drawing.contains("refused"), "{words:?}: {drawing}");
    }
}

#[test]
fn filters_hold() {
    let folder = layered();
    let sum = |words: &[&str]| csv(&folder, words).iter().map(|row| row["bytes"].parse::<i64>().unwrap()).sum::<i64>();
    assert_eq!(sum(&["--layer", "uct"]), 49_752);
    assert_eq!(sum(&["--layer", "uct", "--comm", "row"]), 12_528);
    assert_eq!(sum(&["--layer", "uct", "--comm", "-"]), 960);
    assert_eq!(sum(&["--layer", "uct", "--op", "-"]), 960);
    assert_eq!(sum(&["--layer", "uct", "-p"]), 3240);
    assert_eq!(sum(&["--layer", "uct", "-c", "--rank", "2"]), 12_336);
    assert_eq!(sum(&["--layer", "uct,ucp", "--transport", "posix"]), 2140);
    assert_eq!(sum(&["--device", "eth0", "--protocol", "eager"]), 2160 + 2000 + 2160);
    assert_eq!(sum(&["--layer", "uct", "--bucket", "2"]), 12_288 + 32_768);
    assert_eq!(sum(&["--layer", "uct", "--bytes", ":128"]), 3240 + 240 + 256 + 160);
    // Shares are of all that the ranks did.
    let share = csv(&folder, &["--layer", "uct", "--comm", "row", "--protocol", "rndv-get"])[0]["share"].clone();
    assert!((share.parse::<f64>().unwrap() - 12_288.0 / 49_752.0).abs() < 1e-12);
    for (words, said) in [
        (&["--layer", "nccl"][..], "layers in this profile: ucp, ucp-rx, uct, uct-rx"),
        (&["--transport", "rc"], "transports in this profile: posix, rc_mlx5, tcp"),
        (&["--layer", "ucp", "--protocol", "wireup"], "nothing matches: layer ucp, protocol wireup"),
    ] {
        let answer = folder.through(&[&["layers"], words].concat());
        assert_eq!((answer.status, answer.out.as_str()), (1, ""), "{words:?}");
        assert!(answer.err.contains(said), "{words:?}: {}", answer.err);
    }
    for words in [["--time", "1:"], ["--phase", ""]] {
        assert_eq!(folder.through(&[&["layers"][..], &words].concat()).status, 2);
    }
}

#[test]
fn every_row_of_the_view_is_exported() {
    let folder = layered();
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    let mut query = db.prepare("SELECT * FROM transfers").unwrap();
    let names: Vec<String> = query.column_names().map(str::to_owned).collect();
    let text = folder.through(&["layers", "--all", "--format", "csv"]).ok();
    assert_eq!(text.lines().next().unwrap(), names.join(","));
    let number = |text: &str| text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| number.to_string());
    let mut wanted: Vec<String> = query
        .query_map([], |row| {
            let cell = |column: usize| -> rusqlite::Result<String> {
                Ok(match row.get::<_, rusqlite::types::Value>(column)? {
                    rusqlite::types::Value::Null => String::new(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(real) => number(&real.to_string()),
                    rusqlite::types::Value::Text(text) => text,
                    other => panic!("{other:?}"),
                })
            };
            (0..names.len()).map(cell).collect::<rusqlite::Result<Vec<_>>>().map(|cells| cells.join("|"))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut rows: Vec<String> = folder
        .through(&["layers", "--all", "--format", "csv"])
        .csv()
        .iter()
        .map(|row| names.iter().map(|name| number(&row[name])).collect::<Vec<_>>().join("|"))
        .collect();
    wanted.sort();
    rows.sort();
    assert_eq!(rows, wanted);
    let document = folder.through(&["layers", "--all", "--format", "json", "--layer", "ucp", "--rank", "0"]).json();
    assert_eq!(document["transfers"].as_array().unwrap().len(), 2);
    assert_eq!(document["transfers"][1]["time_s"], 0.00009);
    assert_eq!(folder.through(&["layers", "--all", "--format", "csv", "--top", "2"]).csv().len(), 2);
    assert_eq!(folder.through(&["layers", "--all"]).status, 2);
    let nothing = folder.through(&["layers", "--all", "--format", "csv", "--layer", "gpu"]);
    assert_eq!((nothing.status, nothing.out.trim_end()), (1, names.join(",").as_str()));
}

#[test]
fn a_profile_without_transfers_says_how_to_get_them() {
    let folder = Folder::with_sample();
    for words in [
        &["layers"][..],
        &["traffic", "--layer", "ucp"],
        &["traffic", "--graph", "--by", "device"],
        &["layers", "--by=op"],
    ] {
        let answer = folder.through(words);
        assert_eq!((answer.status, answer.out.as_str(), answer.err.lines().count()), (1, "", 1), "{words:?}");
        assert!(
            answer.err.contains("has no transfers: run the program with `through run --hooks ucx`"),
            "{}",
            answer.err
        );
    }
    // A module that stepped aside says why.
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute_batch("INSERT INTO note VALUES ('ucx', 'UCX 1.9 is not known', 2)").unwrap();
    db.close().unwrap();
    let answer = folder.through(&["layers", "sample.db"]);
    assert!(answer.err.contains("ucx: UCX 1.9 is not known (2 of 4 ranks)"), "{}", answer.err);
    assert!(!answer.err.contains("--hooks"), "it was there: {}", answer.err);
    assert!(folder.through(&["sample.db"]).ok().contains("layers     UCX 1.9 is not known (2 of 4 ranks)"));
}

#[test]
fn sums_over_ranks_are_shown_and_single_ranks_refused() {
    let folder = layered();
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch(
        "INSERT INTO metadata VALUES ('detail', 'comm'); CREATE TEMP TABLE t AS SELECT comm, op, bucket, way, -1, -1, \
         sum(calls), sum(bytes), sum(later), sum(time_ns), min(time_min_ns), max(time_max_ns), 0, 0, 0, 0, 0 FROM transfer GROUP BY 1, 2, 3, 4; \
         DELETE FROM transfer; INSERT INTO transfer SELECT * FROM t",
    )
    .unwrap();
    drop(db);
    assert_eq!(csv(&folder, &["--by", "op"]), csv(&layered(), &["--by", "op"]));
    for words in [&["layers", "--rank", "1"][..], &["traffic", "--layer", "uct"], &["traffic"], &["traffic", "--graph"]]
    {
        let answer = folder.through(words);
        assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{words:?}: {}", answer.err);
        assert!(answer.err.contains("COMMSEE_DETAIL=rank"), "{}", answer.err);
    }
}

#[test]
fn nothing_is_wider_than_80_columns() {
    let folder = layered();
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch(
        "UPDATE way SET function = function || '_with_a_very_long_name', device = device || '_of_some_strange_kind'; \
         UPDATE transfer SET calls = calls * 1000000000, bytes = bytes * 1000000000000; \
         UPDATE communicator SET label = 'a label that is longer than any line of a terminal has ever been in all the years'; \
         UPDATE note SET text = text || ' and so on and so on and so on and so on and so on and so on and so on'",
    )
    .unwrap();
    drop(db);
    for words in [
        &["layers"][..],
        &["layers", "--by", "comm"],
        &["layers", "--by", "op"],
        &["layers", "--by", "protocol"],
        &["layers", "--by", "protocol", "--layer", "uct"],
        &["traffic"],
        &["traffic", "--layer", "uct"],
        &["traffic", "--layer", "uct", "--top", "3"],
        &[],
    ] {
        for line in folder.through(words).ok().lines() {
            assert!(line.chars().count() <= 80, "{words:?}: {line}");
        }
    }
}

/// What heads and tables say of routes stands in sums, without the rows behind them.
#[test]
fn sums_of_transfers_are_not_added_up_again() {
    let (whole, sums) = (layered(), layered());
    let db = Connection::open(sums.path("ucx.db")).unwrap();
    db.execute_batch("DELETE FROM transfer").unwrap();
    db.close().unwrap();
    for words in
        [&["layers"][..], &["layers", "--by=op"], &["layers", "--by=protocol"], &["layers", "--by=comm", "--op=send"]]
    {
        for format in ["table", "csv", "json"] {
            let words = [words, &["--format", format]].concat();
            let said = whole.through(&words).ok();
            assert_eq!(sums.through(&words).ok(), said, "{words:?}");
        }
    }
}

/// Whatever the tables hold: an answer, or one line of refusal.
#[test]
fn tables_that_lie_are_shown_or_refused() {
    const ASKED: [&[&str]; 11] = [
        &["layers"],
        &["layers", "--by=comm", "--format=json"],
        &["layers", "--by=op", "--format=csv", "--rank=1"],
        &["layers", "--by=protocol"],
        &["layers", "--all", "--format=csv"],
        &["layers", "--all", "--format=json"],
        &["traffic"],
        &["traffic", "--layer=uct"],
        &["traffic", "--graph", "--by=device"],
        &["traffic", "--graph", "--format=json", "--layer=uct,ucp"],
        &[],
    ];
    let numbers =
        ["9223372036854775807", "-9223372036854775807", "-3", "1e300", "'x'", "x'00ff'", "CAST(x'ff' AS TEXT)"];
    let columns = [
        "transfer SET calls",
        "transfer SET bytes",
        "transfer SET later",
        "transfer SET time_ns",
        "transfer SET time_max_ns",
        "transfer SET rank",
        "transfer SET peer",
        "transfer SET comm",
        "transfer SET op",
        "transfer SET bucket",
        "transfer SET way",
        "transfer_total SET calls",
        "transfer_total SET bytes",
        "transfer_total SET later",
        "transfer_total SET time_ns",
        "transfer_total SET time_max_ns",
        "transfer_total SET comm",
        "transfer_total SET op",
        "transfer_total SET bucket",
        "transfer_total SET way",
        "way SET arrives",
        "way SET kind",
        "way SET layer",
        "way SET device",
        "way SET id",
        "note SET ranks",
        "note SET text",
        "note SET module",
        "edge SET src",
        "edge SET bytes",
        "process SET host",
    ];
    let changes = columns.iter().flat_map(|column| numbers.iter().map(move |number| format!("{column} = {number}")));
    let others = [
        "DROP TABLE way",
        "DROP TABLE note",
        "DROP TABLE transfer",
        "DROP TABLE transfer_total",
        "DELETE FROM way",
        "DELETE FROM bucket",
        "DELETE FROM communicator",
        "DELETE FROM operation",
        "DELETE FROM process",
    ];
    let changes = changes.map(|change| format!("UPDATE OR IGNORE {change}"));
    let (whole, folder) = (layered(), Folder::empty());
    let mut turn = 0;
    for change in changes.chain(others.iter().map(|change| (*change).to_owned())) {
        std::fs::copy(whole.path("ucx.db"), folder.path("ucx.db")).unwrap();
        let db = Connection::open(folder.path("ucx.db")).unwrap();
        db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").unwrap();
        // What a column does not take is left as it is.
        let _ = db.execute_batch(&change);
        db.close().unwrap();
        // All of them for each change take half a minute. With seven numbers, each column meets all of them.
        for words in ASKED.iter().cycle().skip(turn).take(3) {
            let answer = folder.through(words);
            assert!(matches!(answer.status, 0..=2), "{change}: {words:?}: {answer:?}");
            assert!(!answer.err.contains("panicked"), "{change}: {words:?}: {}", answer.err);
            assert!(answer.status != 2 || answer.err.lines().count() == 1, "{change}: {words:?}: {}", answer.err);
        }
        turn = (turn + 3) % ASKED.len();
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = layered();
    for words in
        [&["layers"][..], &["layers", "--all", "--format=csv"], &["traffic", "--layer=ucp"], &["traffic", "--graph"]]
    {
        let printed = folder.through(words).ok();
        assert_eq!(folder.through(&[words, &["-o", "out"]].concat()).ok(), "");
        assert_eq!(std::fs::read_to_string(folder.path("out")).unwrap(), printed, "{words:?}");
        assert_eq!(folder.through(&[words, &["-o", "ucx.db"]].concat()).status, 2, "{words:?}");
    }
    // A row that cannot be read, far behind others that can.
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch("UPDATE transfer SET calls = 'x' WHERE comm = (SELECT max(comm) FROM transfer)").unwrap();
    drop(db);
    std::fs::write(folder.path("out"), "before").unwrap();
    for format in ["csv", "json"] {
        let answer = folder.through(&["layers", "--all", "--format", format, "-o", "out"]);
        assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{}", answer.err);
        assert!(answer.err.contains("ucx.db: is damaged"), "{}", answer.err);
        assert_eq!(std::fs::read_to_string(folder.path("out")).unwrap(), "before");
    }
    assert_eq!(folder.names(), ["out", "ucx.db"]);
}

/// More rows than any pipe holds, of which the reader takes the first.
#[test]
fn a_reader_may_stop_early() {
    use std::io::Read;
    let folder = layered();
    let db = Connection::open(folder.path("ucx.db")).unwrap();
    db.execute_batch(
        "INSERT INTO transfer WITH RECURSIVE n(n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM n WHERE n < 9999) \
         SELECT 2, 65535, 0, 1, n, 1, 1, 1, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0 FROM n",
    )
    .unwrap();
    drop(db);
    for format in ["csv", "json"] {
        let mut command = folder.command(&["layers", "--all", "--format", format]);
        let mut child =
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""), "{format}");
    }
}
