//! `through traffic --by device`: what NCCL and copies moved between memories of hosts and GPUs, in one matrix.

use std::collections::BTreeSet;
use std::path::Path;

use insta::assert_snapshot;

use crate::browser::Browser;
use crate::common::{Builder, Folder, MS, Moved, UNKNOWN, Way};
use crate::page::{LAPTOP, number};

const ALL: &str = "nccl:i0.0";

/// Four ranks on one host with a GPU each, as `gpu` numbers them: copies to it, an AllReduce in a ring and one through a switch, and messages.
fn write(path: &Path, gpu: fn(i64) -> &'static str) {
    let mut profile = Builder::new(path, 4);
    profile.meta("command", "./train");
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.layer_comm(ALL, Some("W0.0"), 4, "0-3", None);
    for rank in 0..4 {
        let way = |function| Way(["gpu", function, "pinned to device", "", gpu(rank), "gpu"]);
        profile.transfer(("-", "-", 0), way("HtoD"), (rank, rank), Moved(10, 1000 * (rank + 1), 0, 0));
        let mut done = |function: &str, protocol: &str, peer, calls, bytes| {
            let route = ["nccl", function, protocol, "message"];
            profile.on_layer((ALL, None), route, 1, (rank, peer), Moved(calls, bytes, 0, 0));
        };
        done("ncclAllReduce", "RING/LL128 x4", UNKNOWN, 10, 40_000);
        done("ncclAllReduce", "NVLS/SIMPLE x8", UNKNOWN, 2, 8000);
        done("ncclAllReduce", "COLLNET_DIRECT/SIMPLE x8", UNKNOWN, 2, 8000);
        done("ncclSend", "", (rank + 1) % 4, 7, 700);
    }
    profile.finish(|_| MS);
    // All on one host.
    rusqlite::Connection::open(path).unwrap().execute("UPDATE process SET host = 'node0'", []).unwrap();
}

fn of_host(rank: i64) -> &'static str {
    ["gpu0", "gpu1", "gpu2", "gpu3"][rank as usize]
}

fn folder(gpu: fn(i64) -> &'static str) -> Folder {
    let folder = Folder::empty();
    write(&folder.path("train.db"), gpu);
    folder
}

fn rows(folder: &Folder, words: &[&str]) -> BTreeSet<String> {
    let answer = folder.through(&[&["traffic", "--by", "device", "--format", "csv"], words].concat());
    assert_eq!(answer.status, 0, "{}", answer.err);
    let mut reader = csv::Reader::from_reader(answer.out.as_bytes());
    let rows = reader.deserialize::<std::collections::HashMap<String, String>>().map(|row| row.unwrap());
    let names = ["src_memory", "dst_memory", "calls", "bytes", "how"];
    rows.map(|row| names.map(|name| row[name].as_str()).join(" ")).collect()
}

fn set(rows: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    rows.into_iter().collect()
}

#[test]
fn nccl_and_copies_are_in_one_matrix_of_hosts_and_gpus() {
    let folder = folder(of_host);
    let copies = (0..4).map(|gpu| format!("host gpu{gpu} 10 {} exact", 1000 * (gpu + 1)));
    let sends = (0..4).map(|gpu| format!("gpu{gpu} gpu{} 7 700 exact", (gpu + 1) % 4));
    let exact = set(copies.chain(sends));
    assert_eq!(rows(&folder, &[]), exact);
    // Of n ranks each sends 2 (n - 1) / n of its buffer to the next.
    let ring = set((0..4).map(|gpu| format!("gpu{gpu} gpu{} 10 60000 modelled", (gpu + 1) % 4)));
    assert_eq!(rows(&folder, &["--modelled"]), exact.union(&ring).cloned().collect());
    assert_eq!(rows(&folder, &["--modelled", "--op", "AllReduce"]), ring);
    assert_eq!(rows(&folder, &["--layer", "gpu", "--rank", "2"]), set(["host gpu2 10 3000 exact".to_owned()]));
}

#[test]
fn the_matrix_of_hosts_and_gpus_looks_like_this() {
    let answer = folder(of_host).through(&["traffic", "--by", "device", "--modelled"]);
    assert_snapshot!(answer.out);
    // What has no model is said, with its algorithm.
    assert!(
        answer.err.contains("no model for NVLS") && answer.err.contains("no model for COLLNET_DIRECT"),
        "{}",
        answer.err
    );
}

/// Each process sees one GPU, which it calls gpu0: they are not one.
#[test]
fn gpus_that_ranks_number_alike_are_told_apart_by_their_ranks() {
    let folder = folder(|_| "gpu0");
    let found = rows(&folder, &["--op", "Send"]);
    let wanted = (0..4).map(|rank| format!("gpu0 of rank {rank} gpu0 of rank {} 7 700 exact", (rank + 1) % 4));
    assert_eq!(found, set(wanted));
    assert!(rows(&folder, &["--layer", "gpu"]).contains("host gpu0 of rank 3 10 4000 exact"));
}

#[test]
fn a_profile_without_gpus_says_how_to_record_them() {
    let answer = crate::layers::layered().through(&["traffic", "--by", "device"]);
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("--hooks nccl,gpu"), "{}", answer.err);
}

#[test]
fn the_page_draws_hosts_and_gpus_with_what_is_modelled() {
    let folder = folder(of_host);
    folder.through(&["report", "train.db", "-o", "page.html"]).ok();
    let Some(mut browser) = Browser::start(&folder.path("chromium")) else { return };
    browser.open(&folder.path("page.html"), "ends=device", LAPTOP);
    let sums =
        |browser: &mut Browser| ["matrix_calls", "matrix_bytes", "matrix_pairs"].map(|name| number(browser, name));
    assert_eq!(sums(&mut browser), [40 + 28 + 40, 10_000 + 2800 + 240_000, 8]);
    let size = "(() => { const canvas = document.querySelector('[data-heat=matrix]'); return [canvas.width, canvas.height]; })()";
    assert_eq!(browser.eval(size), serde_json::json!([5, 5]), "four GPUs and the host");
    let notes = "document.querySelector('[data-view=matrix]').textContent";
    let words = browser.eval(notes);
    for said in ["Modelled (~)", "no model for NVLS", "no model for COLLNET_DIRECT"] {
        assert!(words.as_str().unwrap().contains(said), "{said}: {words}");
    }
    // The host is the first row; what is modelled is marked.
    browser.hover("[data-heat=matrix]", (1.5 / 5.0, 0.5 / 5.0));
    let readout = "document.querySelector('[data-view=matrix] output').textContent";
    assert_eq!(browser.eval(readout), "host to gpu0: 1000 B, 10 messages");
    browser.hover("[data-heat=matrix]", (2.5 / 5.0, 1.5 / 5.0));
    assert_eq!(browser.eval(readout), "gpu0 to gpu1: ~59.3 KiB, 17 messages");
    // Of one primitive.
    browser.write("#filters [name=function]", "ncclAllReduce");
    assert_eq!(sums(&mut browser), [40, 240_000, 4]);
    // Between ranks what is modelled is a choice of its own.
    browser.click("#filters [name=reset]");
    browser.choose("[data-view=matrix] [name=ends]", "rank");
    assert_eq!(sums(&mut browser), [28, 2800, 4]);
    browser.choose("[data-view=matrix] [name=layer]", "nccl~");
    assert_eq!(sums(&mut browser), [40, 240_000, 4]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
