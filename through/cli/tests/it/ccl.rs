//! Communicators of NCCL beside MPI's: what each view says of a profile whose numbers are small enough to add up by hand.

use std::path::Path;

use insta::assert_snapshot;

use crate::common::{Answer, Builder, Did, Folder, MS, Moved, UNKNOWN};

const ALL: &str = "nccl:i0.0";
const PART: &str = "nccl:s3.1";

/// Ranks 0 and 1 are on node0, 2 and 3 on node1. On a communicator of all ranks each function is called; on one of ranks 3 and 1, in this order,
/// AllReduce by a tree and Send.
pub fn folder() -> Folder {
    let folder = Folder::empty();
    write(&folder.path("nccl.db"));
    folder
}

pub fn write(path: &Path) {
    let mut profile = Builder::new(path, 4);
    profile.meta("command", "./train");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.comm("d0.1", Some("model"), Some("W0.0"), 4, "0-3");
    profile.layer_comm(ALL, Some("d0.1"), 4, "0-3", None);
    profile.layer_comm(PART, Some(ALL), 2, "1,3", Some("3,1"));
    for rank in 0..4 {
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(1, 0, 0, 2 * MS));
        let at = rank as i64;
        let mut done = |function: &str, protocol: &str, bucket, peer, calls, bytes| {
            let route = ["nccl", function, protocol, "message"];
            let time_ns = calls * 1000 * (at + 1);
            profile.on_layer((ALL, None), route, bucket, (at, peer), Moved(calls, bytes, calls, time_ns));
        };
        // Each holds 10 times 4000 bytes, in one ring and, twice, through a switch.
        done("ncclAllReduce", "RING/LL128 x4", 2, UNKNOWN, 10, 40_000);
        done("ncclAllReduce", "NVLS/SIMPLE x8", 2, UNKNOWN, 2, 8000);
        done("ncclAllGather", "RING/LL x2", 1, UNKNOWN, 3, 3 * 200);
        done("ncclReduceScatter", "RING/LL x2", 1, UNKNOWN, 3, 3 * 4 * 200);
        done("ncclAlltoAll", "", 1, UNKNOWN, 2, 2 * 4 * 300);
        done("ncclBroadcast", "RING/LL x1", 1, 2, 5, if rank == 2 { 5 * 1000 } else { 0 });
        done("ncclReduce", "RING/LL x1", 1, 1, 4, 4 * 500);
        done("ncclGather", "", 0, 3, 2, 2 * 64);
        done("ncclScatter", "", 0, 0, 2, if rank == 0 { 2 * 4 * 16 } else { 0 });
        done("ncclSend", "", 2, (at + 1) % 4, 7, 7 * 2000);
        done("ncclGroupEnd", "", 0, UNKNOWN, 6, 0);
        let arrival = ["nccl-rx", "ncclRecv", "", "message"];
        profile.on_layer((ALL, None), arrival, 2, (at, (at + 3) % 4), Moved(7, 7 * 2000, 7, 7000));
        // Each AllReduce of the ring keeps the device busy for 2000 ns.
        let kernel = ["nccl-kernel", "ncclAllReduce", "RING/LL128 x4", "device"];
        profile.on_layer((ALL, None), kernel, 2, (at, UNKNOWN), Moved(10, 0, 10, 20_000));
        let proxy = ["nccl-proxy", "ncclAllReduce", "", "wire"];
        profile.on_layer((ALL, None), proxy, 2, (at, (at + 1) % 4), Moved(80, 61_000, 0, 0));
    }
    for rank in [1, 3] {
        let tree = ["nccl", "ncclAllReduce", "TREE/LL x1", "message"];
        profile.on_layer((PART, None), tree, 0, (rank, UNKNOWN), Moved(2, 160, 2, 500));
        let route = ["nccl", "ncclBroadcast", "", "message"];
        let bytes = if rank == 1 { 24 } else { 0 };
        profile.on_layer((PART, Some(("W0.0", "MPI_Barrier"))), route, 0, (rank, 1), Moved(3, bytes, 3, 900));
    }
    profile.finish(|_| 100 * MS);
}

/// Its JSON against what the tables say.
#[test]
fn the_page_has_what_was_called_on_communicators_of_nccl() {
    let folder = folder();
    folder.through(&["report", "-o", "page.html"]).ok();
    let data = crate::report::data(&std::fs::read_to_string(folder.path("page.html")).unwrap());
    let rows = data["layer_calls"].as_array().unwrap();
    let names = data["lists"]["comms"].as_array().unwrap();
    let of = |name: &str| {
        let place = names.iter().position(|comm| comm["name"] == name).unwrap();
        let rows = rows.iter().filter(move |row| row["comm"] == place);
        rows.fold((0, 0.0), |(calls, sent), row| {
            (calls + row["calls"].as_i64().unwrap(), sent + row["sent"].as_f64().unwrap())
        })
    };
    assert_eq!(of(PART), (5, 344.0));
    assert_eq!(of(ALL).0, 113);
    // Its matrix has what calls say, and no root as a receiver.
    let pairs = &data["flows"]["pairs"];
    let layer = |route: i64| data["layers"]["routes"][route as usize]["words"][0] == "nccl";
    let numbers = |name: &str| pairs[name].as_array().unwrap().iter().map(|value| value.as_i64().unwrap());
    let rows = numbers("route").zip(numbers("modelled")).zip(numbers("bytes"));
    let own = rows.filter(|((route, modelled), _)| layer(*route) && *modelled == 0);
    let exact = 12 * 600 + 3 * 128 + 3 * 32 + 4 * 14_000;
    assert_eq!(own.map(|(_, bytes)| bytes).sum::<i64>(), exact);
}

fn json(words: &[&str]) -> serde_json::Value {
    folder().through(&[words, &["--format", "json"]].concat()).json()
}

/// Of each row of an array of JSON what these columns say.
fn show(document: &serde_json::Value, array: &str, columns: &[&str]) -> Vec<String> {
    let word = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = |row: &serde_json::Value| columns.iter().map(|column| word(&row[*column])).collect::<Vec<_>>().join(" ");
    document[array].as_array().unwrap_or_else(|| panic!("no {array}")).iter().map(line).collect()
}

#[test]
fn communicators_of_nccl_look_like_this() {
    assert_snapshot!(folder().through(&["-u"]).ok());
}

#[test]
fn operations_of_nccl_look_like_this() {
    assert_snapshot!(folder().through(&["--comm", ALL]).ok());
}

#[test]
fn ranks_of_nccl_look_like_this() {
    assert_snapshot!(folder().through(&["-a", "--comm", PART]).ok());
}

#[test]
fn communicators_are_told_with_those_of_mpi_that_have_the_same_ranks() {
    let document = json(&["-u"]);
    let columns = ["comm", "layer", "creator", "made_by", "size", "ranks", "same_ranks", "parent"];
    let wanted = ["nccl:i0.0 nccl i CommInitRank 4 0-3 d0.1 d0.1", "nccl:s3.1 nccl s CommSplit 2 1,3 null nccl:i0.0"];
    assert_eq!(show(&document, "layer_communicators", &columns), wanted);
    // What arrived and what does not move data are calls, too.
    let bytes = 4 * (40_000 + 8000 + 600 + 2400 + 2400 + 2000 + 128 + 14_000) + 5000 + 128;
    let calls = 10 + 2 + 3 + 3 + 2 + 5 + 4 + 2 + 2 + 4 * (7 + 6 + 7);
    let columns = ["comm", "calls", "bytes_sent", "bytes_recv", "ranks_calling"];
    let wanted = [format!("{ALL} {calls} {bytes} {} 4", 4 * 14_000), format!("{PART} 5 344 0 2")];
    assert_eq!(show(&document, "layer_communicators", &columns), wanted);
    // MPI's communicators stay what they were.
    assert_eq!(show(&document, "communicators", &["comm", "calls"]), ["W0.0 1"]);
    let csv = folder().through(&["-u", "--format", "csv"]).csv();
    assert_eq!((csv.len(), csv[0]["comm"].as_str()), (1, "W0.0"));
}

#[test]
fn operations_are_told_by_function_size_and_algorithm() {
    let columns = ["function", "bucket_lo", "protocol", "calls", "bytes_sent", "ranks"];
    let of_part = show(&json(&["--comm", PART]), "layer_operations", &columns);
    assert_eq!(of_part, ["ncclBroadcast 0  3 24 2", "ncclAllReduce 0 TREE/LL x1 2 320 2"]);
    let of_all = show(&json(&["--comm", ALL]), "layer_operations", &columns);
    assert_eq!(of_all.len(), 12);
    assert!(of_all.contains(&"ncclAllReduce 1024 RING/LL128 x4 10 160000 4".to_owned()), "{of_all:?}");
    assert!(of_all.contains(&"ncclSend 1024  28 56000 4".to_owned()), "{of_all:?}");
    assert!(of_all.contains(&"ncclRecv 1024  28 0 4".to_owned()), "{of_all:?}");
    assert_eq!(of_all.last().unwrap(), "ncclGroupEnd 0  24 0 4");
}

/// Where GPU time was measured, and only there.
#[test]
fn bandwidths_are_those_of_nccl_tests() {
    let document = json(&["--comm", ALL]);
    let rows = document["layer_operations"].as_array().unwrap();
    for row in rows {
        let is_measured = row["function"] == "ncclAllReduce" && row["protocol"] == "RING/LL128 x4";
        if !is_measured {
            assert!(row["algbw"].is_null() && row["busbw"].is_null() && row["device_avg_s"].is_null(), "{row}");
            continue;
        }
        let near = |name: &str, wanted: f64| {
            let value = row[name].as_f64().unwrap();
            assert!((value / wanted - 1.0).abs() < 1e-9, "{name}: {value}, not {wanted}");
        };
        // 4000 bytes in 2000 ns, over 4 ranks.
        near("device_avg_s", 2e-6);
        near("algbw", 4000.0 / 2e-6);
        near("busbw", 4000.0 / 2e-6 * 2.0 * 3.0 / 4.0);
    }
}

#[test]
fn filters_hold() {
    let functions = |words: &[&str]| {
        let mut all = show(&json(words), "layer_operations", &["comm", "function"]);
        all.sort();
        all.dedup();
        all
    };
    let allreduces = [format!("{ALL} ncclAllReduce"), format!("{PART} ncclAllReduce")];
    for name in ["AllReduce", "allreduce", "ncclAllReduce", "NCCLALLREDUCE"] {
        assert_eq!(functions(&["--op", name]), allreduces, "{name}");
    }
    assert_eq!(functions(&["--op", "barrier"]), [format!("{PART} ncclBroadcast")]);
    assert_eq!(functions(&["-p"]), [format!("{ALL} ncclRecv"), format!("{ALL} ncclSend")]);
    assert_eq!(functions(&["-p", "--op", "send"]), [format!("{ALL} ncclSend")]);
    assert_eq!(functions(&["-c", "--comm", PART]), [format!("{PART} ncclAllReduce"), format!("{PART} ncclBroadcast")]);
    assert_eq!(functions(&["--bytes", "1025:", "--comm", ALL]).len(), 3);
    // By the MPI call that it happened in.
    assert_eq!(functions(&["--comm", "W0.0"]), [format!("{PART} ncclBroadcast")]);
    let of_rank =
        show(&json(&["-a", "--rank", "3", "--comm", PART]), "layer_rows", &["function", "rank", "bytes_sent"]);
    assert_eq!(of_rank, ["ncclBroadcast 3 0", "ncclAllReduce 3 160"]);
    // Layers know neither phases nor times.
    let answer = folder().through(&["--time", "0.001:", "--format", "json"]).json();
    assert!(answer["layer_operations"].as_array().unwrap().is_empty());
}

#[test]
fn a_selection_of_layers_alone_is_something() {
    for words in [&[][..], &["-u"], &["-a"]] {
        let words = [words, &["--comm", PART, "--op", "AllReduce"]].concat();
        let table = folder().through(&words).ok();
        assert!(table.contains(PART) && table.contains("AllReduce") || words[0] == "-u", "{table}");
        // CSV has one table: of MPI, or where MPI has nothing that of layers.
        let csv = folder().through(&[&words[..], &["--format", "csv"]].concat()).csv();
        assert_eq!(csv.iter().map(|row| row["comm"].as_str()).next(), Some(PART), "{words:?}");
        let nothing = folder().through(&[&words[..], &["--rank", "0"]].concat());
        assert_eq!((nothing.status, nothing.out.as_str()), (1, ""), "{words:?}");
    }
    let error = folder().through(&["--op", "ncclNothing"]);
    assert!(error.status == 2 && error.err.contains("is not an MPI operation"), "{}", error.err);
    let absent = folder().through(&["--op", "ncclPutSignal"]);
    assert_eq!(absent.status, 1, "{}", absent.err);
}

fn pairs(answer: Answer) -> Vec<String> {
    assert_eq!(answer.status, 0, "{}", answer.err);
    let rows = Answer { err: String::new(), ..answer }.csv();
    rows.iter().map(|row| ["src", "dst", "calls", "bytes", "how"].map(|key| row[key].as_str()).join(" ")).collect()
}

/// What calls say of each pair of ranks: 300 bytes a block of AlltoAll (2 calls), 64 of Gather to rank 3 (2), 16 of Scatter from rank 0 (2), 2000
/// of Send to the next rank (7).
fn exact() -> Vec<String> {
    let mut all = Vec::new();
    for (src, dst) in (0..4).flat_map(|src| (0..4).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst) {
        let (mut calls, mut bytes) = (2, 2 * 300);
        for (holds, of_calls, of_bytes) in
            [(dst == 3, 2, 2 * 64), (src == 0, 2, 2 * 16), (dst == (src + 1) % 4, 7, 14_000)]
        {
            if holds {
                (calls, bytes) = (calls + of_calls, bytes + of_bytes);
            }
        }
        all.push(format!("{src} {dst} {calls} {bytes} exact"));
    }
    all
}

#[test]
fn the_matrix_has_what_calls_say() {
    let matrix =
        |words: &[&str]| folder().through(&[&["traffic", "--layer", "nccl", "--format", "csv"], words].concat());
    assert_eq!(pairs(matrix(&[])), exact());
    let of_rank: Vec<String> = exact().into_iter().filter(|row| row.starts_with("2 ")).collect();
    assert_eq!(pairs(matrix(&["--rank", "2"])), of_rank);
    assert_eq!(pairs(matrix(&["--op", "Scatter"])), ["0 1 2 32 exact", "0 2 2 32 exact", "0 3 2 32 exact"]);
    // What is left out is said, with the flag that shows it.
    let left = "ncclAllGather, ncclAllReduce, ncclBroadcast, ncclReduce, ncclReduceScatter";
    let said = matrix(&[]).err;
    assert!(said.contains(left) && said.contains("left out") && said.contains("--modelled"), "{said}");
    let nothing = matrix(&["--op", "AllReduce"]);
    assert!(nothing.status == 1 && nothing.err.contains("--modelled"), "{}", nothing.err);
    // What arrived, and what proxies moved, are layers of their own.
    let of_layer = |layer: &str| pairs(folder().through(&["traffic", "--layer", layer, "--format", "csv"]));
    assert_eq!(of_layer("nccl-rx")[0], "0 1 7 14000 exact");
    assert_eq!(
        of_layer("nccl-proxy"),
        ["0 1 80 61000 measured", "1 2 80 61000 measured", "2 3 80 61000 measured", "3 0 80 61000 measured"]
    );
    assert_eq!(of_layer("nccl,nccl-proxy").len(), 12 + 4);
    let refused = folder().through(&["traffic", "--modelled"]);
    assert!(refused.status == 2 && refused.err.contains("--layer nccl"), "{}", refused.err);
}

/// The formulas once more: from rank to rank on both communicators.
#[test]
fn models_are_rings_and_trees_in_the_order_of_ranks() {
    let mut wanted: std::collections::BTreeMap<(i64, i64), (i64, i64)> = Default::default();
    let mut add = |from: i64, to: i64, calls: i64, bytes: i64| {
        let sum = wanted.entry((from, to)).or_default();
        *sum = (sum.0 + calls, sum.1 + bytes);
    };
    for rank in 0..4i64 {
        let next = (rank + 1) % 4;
        add(rank, next, 10, 2 * 40_000 * 3 / 4);
        add(rank, next, 3, 3 * 600);
        add(rank, next, 3, 2400 / 4 * 3);
        if next != 2 {
            add(rank, next, 5, 5000);
        }
        if rank != 1 {
            add(rank, next, 4, 2000);
        }
    }
    // Of ranks 3 and 1, in this order: the second is the child of the first, and the root of a broadcast to it.
    add(1, 3, 2, 160);
    add(3, 1, 2, 160);
    add(1, 3, 3, 24);
    let wanted: Vec<String> = wanted
        .into_iter()
        .map(|((src, dst), (calls, bytes))| format!("{src} {dst} {calls} {bytes} modelled"))
        .collect();
    let words = ["traffic", "--layer", "nccl", "--modelled", "--format", "csv"];
    let all = pairs(folder().through(&words));
    let (modelled, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|row| row.ends_with("modelled"));
    assert_eq!(modelled, wanted);
    assert_eq!(others, exact());
    let said = folder().through(&words).err;
    assert!(said.contains("NVLS") && !said.contains("--modelled"), "{said}");
    // Another rank tells what this one passes on.
    let of_rank = pairs(folder().through(&[&words[..], &["--rank", "3", "--op", "Broadcast"]].concat()));
    assert_eq!(of_rank, ["3 0 5 5000 modelled"]);
}

#[test]
fn the_matrix_of_nccl_looks_like_this() {
    let answer = folder().through(&["traffic", "--layer", "nccl", "--modelled"]);
    assert_snapshot!(answer.out);
}

/// The root of a collective is nobody's receiver.
#[test]
fn a_graph_takes_no_root_for_a_receiver() {
    let edges = |words: &[&str]| show(&json(words), "edges", &["from", "to", "bytes", "how"]);
    let of_roots = edges(&["traffic", "--graph", "--layer", "nccl", "--op", "Gather,Scatter"]);
    assert_eq!(of_roots.len(), 5, "{of_roots:?}");
    assert!(of_roots.contains(&"rank 0 rank 3 160 exact".to_owned()), "{of_roots:?}");
    let graph =
        folder().through(&["traffic", "--graph", "--layer", "nccl", "--op", "Broadcast,Reduce", "--format", "json"]);
    assert!(graph.status == 1 && graph.err.contains("ncclBroadcast, ncclReduce"), "{}", graph.err);
    let devices = folder().through(&[
        "traffic",
        "--graph",
        "--layer",
        "nccl,nccl-kernel",
        "--by",
        "device",
        "--op",
        "Broadcast,AllReduce",
    ]);
    assert_eq!(devices.status, 1, "{}", devices.out);
}

#[test]
fn layers_are_told_by_their_own_communicators_functions_and_algorithms() {
    let csv = |words: &[&str]| {
        let words = [&["layers", "--layer", "nccl", "--format", "csv"], words].concat();
        folder().through(&words).csv()
    };
    let of = |words: &[&str], column: &str| {
        let mut names: Vec<String> = csv(words).into_iter().map(|row| row[column].clone()).collect();
        names.dedup();
        names
    };
    assert_eq!(of(&["--by", "comm"], "comm"), [ALL, PART]);
    let ops = of(&["--by", "op"], "op");
    assert_eq!((ops[0].as_str(), ops[1].as_str()), ("ncclAllReduce", "ncclSend"), "{ops:?}");
    assert!(ops.contains(&"MPI_Barrier".to_owned()) && !ops.contains(&"-".to_owned()), "{ops:?}");
    let rows = csv(&["--by", "protocol"]);
    let of_part = rows.iter().filter(|row| row["comm"] == PART);
    let of_part = of_part
        .map(|row| ["bucket_lo", "function", "protocol", "calls", "bytes"].map(|key| row[key].clone()).join(" "));
    assert_eq!(of_part.collect::<Vec<_>>(), ["0 ncclAllReduce TREE/LL x1 4 320", "0 ncclBroadcast  6 24"]);
    assert_snapshot!(folder().through(&["layers", "--layer", "nccl", "--by", "protocol", "--comm", PART]).ok());
    // Within an MPI call on another communicator, too.
    assert_eq!(of(&["--by", "comm", "--comm", PART, "--op", "Broadcast"], "comm"), [PART]);
}
