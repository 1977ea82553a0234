//! Calls in which ranks have sizes of their own are counted in several size classes, and made once.

use commsee::shard::OWN_SIZE;

use crate::common::{Builder, Did, Folder, MS};

/// Four ranks gather 20 times. In the first phase, of 12 calls, the root receives 16 KiB and others give 4 KiB each; in the second it is the last rank
/// alone that gives something. All broadcast as often.
fn gathered(detail: &str) -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("gathered.db"), 4);
    if detail != "rank" {
        profile.meta("detail", detail);
    }
    profile.comm("W0.0", None, None, 4, "0-3");
    let own = |bucket: i64| i64::from(OWN_SIZE) | bucket;
    profile.phase("");
    for rank in 0..4 {
        let (bucket, sent, received) = if rank == 0 { (3, 4096, 16384) } else { (2, 4096, 0) };
        profile.cell("W0.0", "MPI_Gatherv", own(bucket), rank, Did(12, 12 * sent, 12 * received, 12 * MS));
        profile.cell("W0.0", "MPI_Bcast", 3, rank, Did(12, if rank == 0 { 12 * 16384 } else { 0 }, 0, 12 * MS));
    }
    profile.phase("solve");
    for rank in 0..4 {
        let (bucket, sent, received) = match rank {
            0 => (3, 0, 16384),
            3 => (3, 16384, 0),
            _ => (0, 0, 0),
        };
        profile.cell("W0.0", "MPI_Gatherv", own(bucket), rank, Did(8, 8 * sent, 8 * received, 8 * MS));
        profile.cell("W0.0", "MPI_Bcast", 3, rank, Did(8, if rank == 0 { 8 * 16384 } else { 0 }, 0, 8 * MS));
    }
    profile.finish(|_| 100 * MS);
    folder
}

#[test]
fn hist_has_each_size_once_and_only_calls_that_move_data() {
    let folder = gathered("rank");
    let rows = folder.through(&["show", "--sizes", "--format", "csv"]).csv();
    assert_eq!(rows.iter().map(|row| row["bucket_lo"].as_str()).collect::<Vec<_>>(), ["0", "1024", "8192"]);
    let mut profile = Builder::new(&folder.path("file.db"), 1);
    profile.comm("W0.0", None, None, 1, "0");
    for op in ["MPI_File_open", "MPI_File_close", "MPI_Barrier", "MPI_Win_fence", "MPI_Waitall", "MPI_Comm_dup"] {
        profile.cell("W0.0", op, 0, 0, Did(1, 0, 0, MS));
    }
    profile.cell("W0.0", "MPI_File_write", 1, 0, Did(3, 3000, 0, MS));
    profile.finish(|_| 100 * MS);
    let rows = folder.through(&["show", "--sizes", "file.db", "--format", "csv"]).csv();
    let told: Vec<_> = rows.iter().map(|row| (row["bucket_lo"].as_str(), row["calls"].as_str())).collect();
    assert_eq!(told, [("128", "3")]);
}

#[test]
fn a_call_of_several_size_classes_is_one_call() {
    for detail in ["rank", "comm"] {
        let folder = gathered(detail);
        let calls = |words: &[&str]| {
            let words = [words, &["--format", "csv"]].concat();
            let rows = folder.through(&words).csv();
            rows.iter().map(|row| row["calls"].parse().unwrap()).collect::<Vec<i64>>()
        };
        assert_eq!(calls(&["--communicators"]), [40], "{detail}");
        assert_eq!(calls(&["--phases"]), [24, 16], "{detail}");
        assert_eq!(calls(&["--phases", "--op", "gatherv"]), [12, 8], "{detail}");
        assert_eq!(calls(&["--communicators", "--op", "gatherv", "--phase", "solve"]), [8], "{detail}");
        // Of each class alone: in the last one the root calls always, in the second one others do in one phase.
        assert_eq!(calls(&["--communicators", "--op", "gatherv", "--bucket", "8K:"]), [20], "{detail}");
        assert_eq!(calls(&["--communicators", "--op", "gatherv", "--bucket", "1K:8K"]), [12], "{detail}");
    }
    for ranks in ["1,2", "0,3"] {
        let words = ["--communicators", "--rank", ranks, "--op", "gatherv", "--format", "csv"];
        assert_eq!(gathered("rank").through(&words).csv()[0]["calls"], "20", "{ranks}");
    }
}

#[test]
fn calls_are_as_many_in_comparisons_and_advice() {
    let folder = gathered("rank");
    let shown = folder.through(&["compare", "gathered.db", "gathered.db", "--format", "json"]).json();
    let row = shown["changes"].as_array().unwrap().iter().find(|row| row["op"] == "MPI_Gatherv").unwrap();
    assert_eq!((&row["calls_a"], &row["calls_b"]), (&20.into(), &20.into()), "{row}");
    let found = folder.through(&["advise", "gathered.db", "--format", "json"]);
    assert!(found.out.contains("gather-bcast"), "{}", found.out);
}
