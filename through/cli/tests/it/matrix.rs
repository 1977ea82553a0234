//! `through traffic`: who sent how much to whom.

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::common::{Builder, Did, Folder, MS, Moved, Way};
use crate::layers::layered;

fn pairs(folder: &Folder, words: &[&str]) -> Vec<String> {
    let rows = folder.through(&[&["traffic", "--format", "csv"], words].concat()).csv();
    rows.iter().map(|row| ["src", "dst", "remote", "calls", "bytes"].map(|key| row[key].as_str()).join(" ")).collect()
}

#[test]
fn the_matrix_looks_like_this() {
    assert_snapshot!(layered().through(&["traffic", "--layer", "uct"]).ok());
}

#[test]
fn the_heaviest_pairs_look_like_this() {
    assert_snapshot!(layered().through(&["traffic", "--layer", "uct", "--top", "4"]).ok());
}

#[test]
fn mpi_has_a_matrix_and_so_has_every_layer() {
    let folder = layered();
    let of_mpi = ["0 1 0 10 1000", "1 2 0 20 2000", "3  1 1 7"];
    assert_eq!(pairs(&folder, &[]), of_mpi);
    assert_eq!(pairs(&folder, &["--layer", "mpi"]), of_mpi);
    assert_eq!(pairs(&folder, &["--rank", "1"]), [of_mpi[1]]);
    let of_ucp = ["0 1 0 10 1000", "0 2 0 3 12288", "1 2 0 20 2000", "1 3 0 1 16384", "3 1 0 1 16384"];
    assert_eq!(pairs(&folder, &["--layer", "ucp"]), of_ucp);
    assert_eq!(pairs(&folder, &["--layer", "ucp", "--top", "2"]), of_ucp[3..]);
    assert_eq!(pairs(&folder, &["--layer", "ucp", "--top", "1", "--calls"]), [of_ucp[2]]);
    assert_eq!(pairs(&folder, &["--layer", "uct", "--comm", "-", "--rank", "3"]), ["3  0 1 200", "3  1 1 100"]);
    // Those who receive tell what arrived: from whom is not known here.
    assert_eq!(pairs(&folder, &["--layer", "ucp-rx"]), [" 1 0 10 1000", " 2 0 20 2000"]);
    assert_eq!(pairs(&folder, &["--layer", "uct", "--transport", "posix"]), ["0 1 0 10 1080", "1 0 0 5 60"]);
    let document = folder.through(&["traffic", "--layer", "ucp", "--format", "json"]).json();
    assert_eq!((document["layer"].as_str(), document["matrix"].as_array().unwrap().len()), (Some("ucp"), 5));
    assert_eq!(document["matrix"][1]["bytes"], 12_288);
}

#[test]
fn what_mpis_own_matrix_does_not_know_is_refused() {
    for words in [["--bytes", "1K:"], ["--bucket", "1"], ["--transport", "tcp"], ["--protocol", "eager"]] {
        let answer = layered().through(&[&["traffic"][..], &words].concat());
        assert_eq!((answer.status, answer.out.as_str(), answer.err.lines().count()), (2, "", 1), "{words:?}");
        assert!(answer.err.contains("--layer ucp"), "{}", answer.err);
    }
    let answer = layered().through(&["traffic", "--comm", "row"]);
    assert_eq!((answer.status, answer.out.as_str()), (1, ""), "{}", answer.err);
}

/// There are calls, but none that the matrix is made of: what to look at instead is said, also where a filter is set.
#[test]
fn a_program_without_messages_has_no_matrix() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("ft.db"), 2);
    profile.comm("W0.0", None, None, 2, "0-1");
    (0..2).for_each(|rank| profile.cell("W0.0", "MPI_Alltoall", 0, rank, Did(48, 48, 48, 48)));
    profile.finish(|_| 1000);
    for words in
        [&["traffic"][..], &["traffic", "--graph"], &["traffic", "--comm", "W0.0"], &["traffic", "--format=json"]]
    {
        let answer = folder.through(words);
        assert_eq!(answer.status, 1);
        assert!(answer.err.contains("ft.db: no point-to-point messages were sent"), "{words:?}: {}", answer.err);
        assert!(answer.err.contains("its collective calls: through ft.db; "), "{words:?}: {}", answer.err);
    }
    let answer = layered().through(&["traffic", "--op", "Allreduce"]);
    assert!(answer.err.contains("nothing matches") || answer.err.contains("not in this profile"), "{}", answer.err);
}

/// Every rank sends 1.5 MiB to every other one.
fn full(ranks: usize) -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("full.db"), ranks);
    profile.comm("W0.0", None, None, ranks as u32, "0");
    for rank in 0..ranks {
        profile.cell("W0.0", "MPI_Send", 0, rank, Did(1, 1, 0, 1));
        (0..ranks)
            .filter(|dst| *dst != rank)
            .for_each(|dst| profile.edge("W0.0", "MPI_Send", (rank as i64, dst as i64), 3, 3 << 19));
    }
    profile.finish(|_| 1);
    folder
}

#[test]
fn sixteen_ranks_fit_and_more_are_listed() {
    for (ranks, cell) in [(4, "1.5M"), (12, "1.5M"), (16, "2M")] {
        let table = full(ranks).through(&["traffic"]).ok();
        let rows = table.lines().filter(|line| line.contains(cell));
        assert_eq!(rows.count(), ranks, "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
    let table = full(40).through(&["traffic"]).ok();
    assert!(table.contains("  from  to     bytes  share  calls\n"), "{table}");
    let more = "1540 more pairs, with 2.26 GiB in 4620 calls: --top N shows N pairs, --top 0\nall.";
    assert!(table.contains(more), "{table}");
    // Above the list, what has no room for numbers: all to all but themselves.
    assert_eq!(table.lines().filter(|line| line.matches('█').count() == 38).count(), 20, "{table}");
    assert!(table.contains("▒ up to 1.5M") && table.contains("sum\nof 2 rows and 1 column."), "{table}");
    let wide = full(40).command(&["traffic"]).env("COLUMNS", "250").output().unwrap();
    assert_eq!(String::from_utf8(wide.stdout).unwrap().lines().filter(|line| line.contains("1.5M")).count(), 40);
}

/// Between hosts as between ranks, where ranks are kept apart; and nothing else where they are not.
#[test]
fn hosts_stand_for_their_ranks() {
    let folder = layered();
    assert_snapshot!(folder.through(&["traffic", "--by", "host"]).ok());
    let hosts = |words: &[&str]| {
        let rows = folder.through(&[&["traffic", "--format", "csv"], words].concat()).csv();
        let keys = ["src", "dst", "calls", "src_host", "dst_host"];
        rows.iter().map(|row| keys.map(|key| row[key].as_str()).join(" ")).collect::<Vec<_>>()
    };
    let by_host = ["0 0 10 node0 node0", "0 2 20 node0 node1", "2  1 node1 "];
    assert_eq!(hosts(&["--by", "host"]), by_host);
    assert_eq!(hosts(&[]), ["0 1 10 node0 node0", "1 2 20 node0 node1", "3  1 node1 "]);
    let drawn = folder.through(&["traffic", "--graph", "--by", "host", "--format", "json"]).json();
    let ids = |key: &str| drawn["nodes"].as_array().unwrap().iter().map(|node| node[key].clone()).collect::<Vec<_>>();
    assert_eq!(ids("id"), ["host node0", "host node1", "other world"]);
    assert_eq!(ids("kind"), ["host", "host", "other world"]);
    drop(drawn);

    let nodes = Folder::empty();
    let mut profile = Builder::new(&nodes.path("nodes.db"), 6);
    profile.meta("detail", "node");
    profile.comm("W0.0", None, None, 6, "0-5");
    profile.edge("W0.0", "MPI_Send", (0, 4), 3, 3000);
    profile.edge("W0.0", "MPI_Send", (4, 2), 2, 200);
    profile.cell("W0.0", "MPI_Send", 0, 0, Did(1, 1, 0, 1));
    profile.finish(|_| 1);
    let table = nodes.through(&["traffic"]).ok();
    let lines: Vec<&str> = table.lines().skip_while(|line| !line.starts_with("bytes of")).collect();
    assert_eq!(lines[0], "bytes of mpi from host (row) to host (column)");
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["node0", "node1", "node2"]);
    let row = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
    assert_eq!((row(2), row(4)), (vec!["node0", "-", "-", "2.9K"], vec!["node2", "-", "200", "-"]));
    assert_eq!(row(3), ["node1", "-", "-", "-"]);
    let dot = nodes.through(&["traffic", "--graph"]).ok();
    assert!(dot.contains("\"host node0\" [label=\"node0\", shape=box];"), "{dot}");
}

/// Two ranks on each of two hosts copy to their GPU, and one from GPU to GPU.
pub fn copying() -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("gpu.db"), 4);
    let way = |function, device| Way(["gpu", function, "", "", device, "gpu"]);
    for rank in 0..4 {
        profile.transfer(("-", "-", 0), way("HtoD", "gpu0"), (rank, rank), Moved(10, 1000, 0, 0));
    }
    profile.transfer(("-", "-", 0), way("DtoH", "gpu1"), (0, 0), Moved(1, 50, 0, 0));
    profile.transfer(("-", "-", 0), way("PtoP", "gpu0 to gpu1"), (3, 3), Moved(2, 400, 0, 0));
    profile.finish(|_| MS);
    Connection::open(folder.path("gpu.db"))
        .unwrap()
        .execute("UPDATE process SET host = 'node' || (rank / 2)", [])
        .unwrap();
    folder
}

#[test]
fn copies_of_gpus_are_between_memories_of_a_host() {
    let folder = copying();
    let rows = folder.through(&["traffic", "--layer", "gpu", "--format", "csv"]).csv();
    let names = ["src", "dst", "src_host", "src_memory", "dst_host", "dst_memory", "calls", "bytes"];
    let rows: Vec<String> = rows.iter().map(|row| names.map(|name| row[name].as_str()).join(" ")).collect();
    let wanted = [
        "  node0 host node0 gpu0 20 2000",
        "  node0 gpu1 node0 host 1 50",
        "  node1 host node1 gpu0 20 2000",
        "  node1 gpu0 node1 gpu1 2 400",
    ];
    assert_eq!(rows, wanted);
    let one = folder.through(&["traffic", "--layer", "gpu", "--format", "csv", "--rank", "3"]).csv();
    assert_eq!(one.iter().map(|row| row["bytes"].as_str()).collect::<Vec<_>>(), ["1000", "400"]);
    assert_snapshot!(folder.through(&["traffic", "--layer", "gpu"]).ok());
}
