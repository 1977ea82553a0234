//! The four views: their numbers against sums made by hand, and how they look.

use insta::assert_snapshot;
use rusqlite::Connection;

use crate::common::{Builder, Did, Folder, MS};

#[test]
fn the_default_view_looks_like_this() {
    assert_snapshot!(Folder::with_sample().through(&["sample.db"]).ok());
}

#[test]
fn the_view_per_rank_looks_like_this() {
    assert_snapshot!(Folder::with_sample().through(&["-a", "--comm", "s0.1,*"]).ok());
}

#[test]
fn the_view_of_communicators_looks_like_this() {
    assert_snapshot!(Folder::with_sample().through(&["-u"]).ok());
}

#[test]
fn the_view_of_ranks_looks_like_this() {
    assert_snapshot!(Folder::with_sample().through(&["-e", "--op", "Allreduce"]).ok());
}

#[test]
fn a_collective_counts_once_and_other_calls_once_per_rank() {
    let rows = Folder::with_sample().through(&["--format", "csv"]).csv();
    let calls = |comm: &str, op: &str| {
        let row = rows.iter().find(|row| row["comm"] == comm && row["op"] == op).unwrap();
        row["calls"].clone()
    };
    assert_eq!(calls("s0.1", "MPI_Allreduce"), "5");
    // Rank 3 made one call less than rank 1.
    assert_eq!(calls("s1.1", "MPI_Allreduce"), "5");
    assert_eq!(calls("W0.0", "MPI_Send"), "30");
    assert_eq!(calls("*", "MPI_Waitall"), "8");
}

#[test]
fn times_are_per_rank_and_sizes_are_sums() {
    let document = Folder::with_sample().through(&["--format", "json"]).json();
    let rows = document["operations"].as_array().unwrap();
    let row = rows.iter().find(|row| row["comm"] == "s0.1" && row["op"] == "MPI_Allreduce").unwrap();
    let number = |key: &str| row[key].as_f64().unwrap();
    assert_eq!((number("rank_max_s"), number("rank_avg_s"), number("rank_min_s")), (0.3, 0.2, 0.1));
    assert_eq!((number("bytes_sent"), number("bytes_recv"), number("time_s")), (40.0, 40.0, 0.4));
    assert_eq!((row["bucket_lo"].as_u64(), row["bucket_hi"].as_u64()), (Some(0), Some(128)));
}

#[test]
fn calls_without_a_size_show_none() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("sizes.db"), 1);
    profile.comm("W0.0", None, None, 1, "0");
    for (op, bucket) in [("MPI_Barrier", 0), ("MPI_Recv_init", 0), ("MPI_Start", 2), ("MPI_Bcast", 0)] {
        profile.cell("W0.0", op, bucket, 0, Did(1, 0, 0, MS));
    }
    profile.finish(|_| 100 * MS);
    for words in [&[][..], &["-a"], &["show", "--flat"]] {
        let table = folder.through(words).ok();
        let size = |op: &str| {
            let line = table.lines().find(|line| line.starts_with("  ") && line.contains(&format!(" {op} "))).unwrap();
            line.split_whitespace().skip_while(|word| *word != op).nth(1).unwrap().to_owned()
        };
        let sizes = ["Barrier", "Recv_init", "Start", "Bcast"].map(size);
        assert_eq!(sizes, ["-", "-", "1K-8K", "0-128"], "{table}");
    }
    let row = &folder.through(&["--op", "Barrier", "--format", "csv"]).csv()[0];
    assert_eq!((row["bucket_lo"].as_str(), row["bucket_hi"].as_str()), ("0", "128"));
    let sizes = folder.through(&["show", "--sizes", "--format", "csv"]).csv();
    let calls: Vec<_> = sizes.iter().map(|row| (row["bucket_lo"].as_str(), row["calls"].as_str())).collect();
    assert_eq!(calls, [("0", "1"), ("1024", "1")]);
}

#[test]
fn the_overview_names_the_rank_of_each_maximum() {
    let overview = &Folder::with_sample().through(&["--format", "json"]).json()["overview"];
    assert_eq!((overview["wall_max_s"].as_f64(), overview["wall_max_rank"].as_i64()), (Some(3.0), Some(2)));
    assert_eq!((overview["mpi_max_s"].as_f64(), overview["mpi_max_rank"].as_i64()), (Some(0.317), Some(2)));
    assert_eq!((overview["wall_avg_s"].as_f64(), overview["mpi_avg_s"].as_f64()), (Some(2.0), Some(0.1545)));
    let table = Folder::with_sample().through(&[]).ok();
    assert!(table.contains("3.000 s (rank 2)") && table.contains("317.0 ms (rank 2)"));
    // Of rank 2 it is 10.6 %: that one ran longer.
    assert!(table.contains("12.0 %"), "{table}");
}

#[test]
fn communicators_come_by_their_time_and_the_special_rows_last() {
    let rows = Folder::with_sample().through(&["-u", "--format", "csv"]).csv();
    let names: Vec<&str> = rows.iter().map(|row| row["comm"].as_str()).collect();
    assert_eq!(names, ["s0.1", "s1.1", "W0.0", "*", "-"]);
    assert_eq!((rows[0]["time_s"].as_str(), rows[0]["rank_max_s"].as_str()), ("0.406", "0.304"));
    assert!((rows[0]["share"].parse::<f64>().unwrap() - 0.406 / 0.618).abs() < 1e-12);
    // MPI_Init is no part of the MPI time.
    assert_eq!(
        (rows[4]["time_s"].as_str(), rows[4]["mpi_s"].as_str(), rows[4]["share"].as_str()),
        ("0.8", "0.0", "0.0")
    );
    assert_eq!((rows[0]["involved_calls"].as_str(), rows[2]["involved_calls"].as_str()), ("3", "2"));
}

#[test]
fn the_view_per_rank_is_the_view_profile() {
    let folder = Folder::with_sample();
    let rows = folder.through(&["-a", "--format", "csv"]).csv();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    let sums = "SELECT count(*), sum(calls), sum(bytes_sent), sum(bytes_recv), sum(time_s) FROM profile";
    let wanted: (i64, i64, i64, i64, f64) =
        db.query_row(sums, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))).unwrap();
    let sum = |key: &str| rows.iter().map(|row| row[key].parse::<f64>().unwrap()).sum::<f64>();
    assert_eq!(rows.len() as i64, wanted.0);
    assert_eq!(
        (sum("calls"), sum("bytes_sent"), sum("bytes_recv")),
        (wanted.1 as f64, wanted.2 as f64, wanted.3 as f64)
    );
    assert!((sum("time_s") - wanted.4).abs() < 1e-9);
    let names: Vec<String> = db.prepare("SELECT * FROM profile").unwrap().column_names().map(str::to_owned).collect();
    let text = folder.through(&["-a", "--format", "csv"]).ok();
    assert_eq!(text.lines().next().unwrap(), names.join(","));
}

#[test]
fn every_view_speaks_every_format() {
    let folder = Folder::with_sample();
    for (view, array) in
        [("--top=0", "operations"), ("-a", "rows"), ("-u", "communicators"), ("-e", "ranks"), ("--phases", "phases")]
    {
        let rows = folder.through(&[view, "--format", "csv"]).csv();
        let document = folder.through(&[view, "--format", "json"]).json();
        assert_eq!(document[array].as_array().unwrap().len(), rows.len(), "{view}");
        assert_eq!(document["meta"]["command"], "./app -n 4");
        assert!(!folder.through(&[view]).ok().is_empty());
    }
}

#[test]
fn nothing_is_wider_than_80_columns() {
    let folder = Folder::with_sample();
    let mut profile = Builder::new(&folder.path("wide.db"), 2);
    profile.meta("command", &"x".repeat(300));
    profile.comm("W0.0", None, None, 200_000, &"1,3,5,".repeat(90));
    profile.comm("N199999.123", Some(&"label ".repeat(20)), Some("W0.0"), 200_000, "0-199999");
    for (op, calls) in [("MPI_Dist_graph_create_adjacent", 9), ("MPI_Reduce_scatter_block_init", 9_999_999_999)] {
        let did = Did(calls, i64::MAX / 4, i64::MAX / 4, 123_456_789 * MS);
        profile.cell_with_failures("N199999.123", op, 3, 1, did, 12_345);
    }
    profile.finish(|_| 987_654_321 * MS);
    for name in ["sample.db", "wide.db"] {
        for view in ["--top=0", "-a", "-u", "-e", "-ep"] {
            let answer = folder.through(&[name, view]);
            for line in answer.out.lines() {
                assert!(line.chars().count() <= 80, "{name} {view}: {line}");
            }
        }
    }
}

#[test]
fn a_wide_terminal_shows_more() {
    let folder = Folder::with_sample();
    let wide = folder.command(&["-u"]).env("COLUMNS", "140").output().unwrap();
    let wide = String::from_utf8(wide.stdout).unwrap();
    assert!(wide.contains("received") && !folder.through(&["-u"]).ok().contains("received"));
}

#[test]
fn thousands_of_communicators_are_not_all_shown() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("many.db"), 1);
    for number in 0..3000 {
        let name = format!("d0.{number}");
        // No two were made alike.
        profile.comm(&name, None, (number > 0).then(|| format!("d0.{}", number - 1)).as_deref(), 1, "0");
        profile.cell(&name, "MPI_Barrier", 0, 0, Did(1, 0, 0, (number + 1) * MS));
    }
    profile.finish(|_| 1);
    let shown = |words: &[&str]| folder.through(words).ok().lines().filter(|line| line.starts_with("── d")).count();
    assert_eq!(shown(&["many.db"]), 10);
    assert_eq!(shown(&["many.db", "--top", "7"]), 7);
    assert_eq!(shown(&["many.db", "--top", "0"]), 3000);
    assert_eq!(shown(&["many.db", "--rank", "0"]), 20);
    assert!(folder.through(&["many.db"]).ok().contains("Left out: 2990 communicators with 99.3 % of MPI time"));
    assert!(folder.through(&["many.db", "--rank", "0"]).ok().contains("2980 more communicators are not shown"));
    assert!(folder.through(&["many.db"]).ok().contains("── d0.2999 "));
    assert_eq!(folder.through(&["many.db", "--format", "csv"]).csv().len(), 3000);
}

#[test]
fn a_damaged_or_unfinished_run_is_told() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute_batch(
        "UPDATE process SET state = 'ended before MPI_Finalize' WHERE rank IN (1, 2); \
         UPDATE metadata SET value = '9' WHERE key = 'ranks'; INSERT INTO metadata VALUES ('lost_calls', '17')",
    )
    .unwrap();
    db.close().unwrap();
    let table = folder.through(&[]).ok();
    assert!(table.contains("2 ranks ended before MPI_Finalize: 1-2"), "{table}");
    assert!(table.contains("4 of 9 recorded") && table.contains("17 calls are missing"), "{table}");
}
