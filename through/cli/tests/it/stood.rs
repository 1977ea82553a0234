//! Where every rank stood: what is made of shards whose threads are known to be in a call, or in none.

use bytemuck::{Zeroable, bytes_of};
use commsee::calls::op;
use commsee::shard::{
    COMMUNICATORS, Communicator, FIRST_COMM, IN_FLIGHT_CALLS, InFlightCall, LABELS, Text, UNLOCKED, set_text,
};

use crate::common::Folder;
use crate::shards::{self, DEAD, block, write_with};

/// A tick is 2 ns in these shards.
fn inside(comm: u32, operation: u16, since_ticks: u64) -> InFlightCall {
    let word = InFlightCall::word(operation, false, since_ticks);
    InFlightCall {
        word,
        comm: comm.into(),
        begin_ticks: since_ticks,
        end_ticks: since_ticks - 1,
        ..InFlightCall::zeroed()
    }
}

fn outside(since_ticks: u64) -> InFlightCall {
    InFlightCall { begin_ticks: since_ticks - 1, end_ticks: since_ticks, ..InFlightCall::zeroed() }
}

fn write(folder: &Folder, rank: u32, pid: u32, places: &[InFlightCall]) {
    let mut row =
        Communicator { identity: [2, 2], number: FIRST_COMM + 1, letter: b's', size: 2, ..Communicator::zeroed() };
    (row.root, row.handle) = (1, 0x84);
    let mut label = Text { number: row.number, ..Text::zeroed() };
    set_text(&mut label.text, "row");
    let mut blocks = Vec::new();
    if rank % 3 == 1 {
        blocks.extend(block(COMMUNICATORS, bytes_of(&row)));
        blocks.extend(block(LABELS, bytes_of(&label)));
    }
    places.iter().for_each(|place| blocks.extend(block(IN_FLIGHT_CALLS, bytes_of(place))));
    write_with(folder.0.path(), "", rank, 6, pid, blocks);
}

/// Rank 3 left nothing, rank 2 computes, rank 1 waits for a message, and so nobody gets past the barrier.
fn deadlock(pid: u32) -> Folder {
    let folder = Folder::empty();
    let by_handle =
        InFlightCall { comm: 0x84, word: InFlightCall::word(op::MPI_Recv, true, 100), ..inside(0, op::MPI_Recv, 100) };
    for rank in [0, 4, 5] {
        write(&folder, rank, pid, &[inside(FIRST_COMM, op::MPI_Barrier, 500 + u64::from(rank))]);
    }
    write(&folder, 1, pid, &[by_handle]);
    write(&folder, 2, pid, &[outside(300)]);
    folder
}

pub fn recovered() -> Folder {
    let folder = deadlock(DEAD);
    folder.through(&["recover", "-o", "a.db"]).ok();
    folder
}

#[test]
fn the_view_of_where_ranks_stood_looks_like_this() {
    let folder = recovered();
    insta::assert_snapshot!(folder.through(&["a.db", "--in-flight"]).ok());
    let whole = folder.through(&["a.db"]).ok();
    let line = |word: &str| whole.lines().find(|line| line.contains(word)).unwrap_or_default().to_owned();
    assert!(whole.contains("in-flight calls"), "{whole}");
    assert!(line("Recv  ").contains("\"row\"") && line("(no shard)").ends_with(" 3"), "{whole}");
}

#[test]
fn records_name_the_same_places() {
    let folder = recovered();
    let rows = folder.through(&["a.db", "--in-flight", "--format", "csv"]).csv();
    let of = |row: usize| {
        ["place", "op", "comm", "label", "ranks", "absent", "since_min_s"].map(|key| rows[row][key].as_str())
    };
    assert_eq!(rows.len(), 4);
    assert_eq!(of(0), ["call", "MPI_Recv", "s1.0", "row", "1", "", "2e-7"]);
    assert_eq!(of(1), ["call", "MPI_Barrier", "W0.0", "", "0,4-5", "1-2", "1e-6"]);
    assert_eq!((rows[1]["since_max_s"].as_str(), rows[1]["threads"].as_str()), ("1.01e-6", "3"));
    assert_eq!(of(2), ["program", "", "", "", "2", "", "6e-7"]);
    assert_eq!(of(3), ["missing", "", "", "", "3", "", ""]);
    for words in [&["--in-flight", "--format", "json"][..], &["--format", "json"]] {
        let document = folder.through(&[&["a.db"], words].concat()).json();
        assert_eq!(document["stood"].as_array().unwrap().len(), 4);
        assert_eq!(document["stood"][1]["absent"], "1-2");
    }
}

#[test]
fn filters_leave_places() {
    let folder = recovered();
    let rows = |words: &[&str]| {
        let rows = folder.through(&[&["a.db", "--in-flight", "--format", "csv"], words].concat()).csv();
        rows.iter().map(|row| format!("{}{} {}", row["place"], row["op"], row["ranks"])).collect::<Vec<_>>()
    };
    assert_eq!(rows(&["--rank", "2-4"]), ["callMPI_Barrier 4", "program 2"]);
    assert_eq!(rows(&["--comm", "row"]), ["callMPI_Recv 1"]);
    assert_eq!(rows(&["--op", "barrier"]), ["callMPI_Barrier 0,4-5"]);
    assert_eq!(rows(&["--top", "1"]), ["callMPI_Recv 1"]);
}

/// The innermost call counts; a thread that has ended stands nowhere; what was caught between two words is no call.
#[test]
fn calls_within_calls_and_threads() {
    let folder = Folder::empty();
    let nested = InFlightCall { level: 1, ..inside(FIRST_COMM, op::MPI_Send, 400) };
    let returned = InFlightCall { level: 2, ..outside(450) };
    let ended = InFlightCall { thread: 1, ..InFlightCall::zeroed() };
    let caught = InFlightCall { thread: 2, word: InFlightCall::word(op::MPI_Recv, false, 7), ..inside(0, 0, 600) };
    let endless = InFlightCall { thread: 4, end_ticks: 0, ..caught };
    let unknown = InFlightCall { thread: 3, comm: 99, ..inside(0, op::MPI_Win_fence, 700) };
    write(
        &folder,
        0,
        DEAD,
        &[inside(FIRST_COMM, op::MPI_Comm_dup, 200), nested, returned, ended, caught, unknown, endless],
    );
    folder.through(&["recover", "-o", "a.db"]).ok();
    let rows = folder.through(&["a.db", "--in-flight", "--format", "csv"]).csv();
    let places: Vec<_> =
        rows.iter().map(|row| format!("{} {} {}", row["op"], row["comm"], row["since_min_s"])).collect();
    assert_eq!(places, ["MPI_Send W0.0 8e-7", "MPI_Win_fence - 1.4e-6", "  1.198e-6", "  "]);
    let last = rows.iter().map(|row| row["since_max_s"].as_str()).collect::<Vec<_>>();
    assert_eq!(last, ["8e-7", "1.4e-6", "1.2e-6", ""]);
}

#[test]
fn a_run_that_goes_on_is_looked_at_and_left_alone() {
    let folder = deadlock(std::process::id());
    let before = folder.names();
    let out = folder.through(&["recover", "--running"]).ok();
    assert!(out.starts_with("commsee-running-00000000.db: run 00000000, started "), "{out}");
    let mut after = folder.names();
    after.retain(|name| name != "commsee-running-00000000.db");
    assert_eq!(after, before);
    let table = folder.through(&["--in-flight"]).ok();
    assert!(table.contains("5 ranks still ran: 0-2,4-5") && table.contains("  for"), "{table}");
    // It has stood there since long before this test: the machine's clock counts from its start.
    let rows = folder.through(&["--in-flight", "--format", "csv"]).csv();
    assert!(rows[0]["for_max_s"].parse::<f64>().unwrap() > 0.1, "{rows:?}");

    let dead = deadlock(DEAD);
    assert_eq!(dead.through(&["recover", "--running"]).status, 1);
    assert_eq!(dead.names().len(), 5);
}

/// Ranks that hang in a call do not work.
#[test]
fn time_in_calls_that_have_not_returned_is_mpi_time() {
    let folder = deadlock(std::process::id());
    folder.through(&["recover", "--running", "-o", "a.db"]).ok();
    let document = folder.through(&["show", "--efficiency", "a.db", "--format", "json"]).json();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let entries = document["ledger"].as_array().unwrap();
    let of: Vec<_> = entries.iter().map(|row| (row["comm"].as_str().unwrap(), row["op"].as_str().unwrap())).collect();
    assert_eq!(of, [("W0.0", "MPI_Barrier"), ("s1.0", "MPI_Recv")]);
    // Of five ranks, one is in the program.
    assert!(number(&document["parallel_efficiency"]) < 0.25, "{document}");
    let mpi: f64 = entries.iter().map(|row| number(&row["rank_s"])).sum();
    let whole = 5.0 * number(&document["run_time_s"]);
    let parts = mpi + number(&document["working_rank_s"]) + number(&document["end_skew_rank_s"]);
    assert!((parts / whole - 1.0).abs() < 1e-6, "{parts} of {whole}");
    let table = folder.through(&["show", "--efficiency", "a.db"]).ok();
    assert!(table.contains("in calls that have not returned: through --in-flight"), "{table}");
    std::fs::copy(folder.path("a.db"), folder.path("b.db")).unwrap();
    let document = folder.through(&["compare", "a.db", "b.db", "--format", "json"]).json();
    let entries: Vec<_> =
        document["changes"].as_array().unwrap().iter().filter_map(|row| row["entry"].as_str()).collect();
    assert!(entries.contains(&"unexplained"), "{entries:?}");
}

/// Hosts are told where there are several. The clock of another host cannot be asked: how long a rank has stood there is not known.
#[test]
fn ranks_of_other_hosts_are_looked_at_too() {
    let folder = deadlock(DEAD);
    for (rank, host) in [(0, "node1"), (1, "node1"), (2, "node2"), (4, "node3"), (5, "gpu-node-7")] {
        shards::change(folder.0.path(), rank, DEAD, |header| {
            set_text(&mut header.host, host);
            (header.lock, header.boot) = (UNLOCKED, [1, 2]);
        });
    }
    let before = folder.names();
    let answer = folder.through(&["recover", "--running", "-o", "a.db"]);
    assert_eq!((answer.status, answer.err.lines().count()), (0, 1), "{}", answer.err);
    assert!(answer.err.contains("this host cannot see whether it still runs"), "{}", answer.err);
    assert_eq!(folder.names(), [&["a.db".to_owned()], &before[..]].concat());
    let table = folder.through(&["a.db", "--in-flight"]).ok();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    insta::assert_snapshot!(table);
    let rows = folder.through(&["a.db", "--in-flight", "--format", "csv"]).csv();
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("hosts"), ["node1", "gpu-node-7,node[1,3]", "node2", ""]);
    assert_eq!(of("for_max_s"), [""; 4]);
    let document = folder.through(&["a.db", "--in-flight", "--format", "json"]).json();
    assert!(document["stood"][0]["for_max_s"].is_null(), "{document}");
}

#[test]
fn where_all_finished_nobody_stood() {
    let answer = Folder::with_sample().through(&["--in-flight"]);
    assert_eq!((answer.status, answer.out.as_str()), (1, ""));
    assert!(answer.err.contains("all ranks finished"), "{}", answer.err);
}
