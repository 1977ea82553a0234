//! Patterns of several steps, and sweeps over the numbers of groups, as real jobs.

#[allow(dead_code)]
mod common;

use std::collections::BTreeSet;

use common::{PROGRAM, profiled, right, run};
use rusqlite::Connection;

#[test]
fn steps_stripes_and_applications() {
    for way in [
        "twosided",
        "persistent",
        "put",
        "get",
        "shared",
        "alltoallv",
        "shared/twosided/put",
        "get/alltoallv/persistent",
    ] {
        right(
            4,
            &[
                "-g",
                "2",
                "--stripe",
                "--family",
                "rail",
                "-k",
                "1",
                "--direction",
                "bi",
                "--bytes",
                "1001",
                "--library",
                way,
            ],
        );
        right(4, &["-g", "2", "--steps", "fan:uni:k=1>rail:bi+self>dense:omni", "--bytes", "1001", "--library", way]);
    }
    let presets = "allreduce-ring,allreduce-tree,halo,fft-rows,fft-columns,alltoall,particles";
    let (rows, _) = right(6, &["-g", "3", "--preset", presets, "--bytes", "1001", "--library", "twosided,get"]);
    assert_eq!(rows.len(), 14);
    // MPI_Alltoall moves it where its blocks are equal, whatever the groups are.
    let libraries = "alltoall,alltoallv,scatter,twosided";
    let (rows, _) = right(6, &["-g", "3", "--preset", "alltoall", "--bytes", "600,1001", "--library", libraries]);
    let of = |name: &str| rows.iter().filter(|row| row[5] == name).map(|row| row[6].as_str()).collect::<Vec<_>>().len();
    assert_eq!(["alltoall", "alltoallv", "scatter", "twosided"].map(of), [1, 2, 1, 2], "{rows:?}");
}

#[test]
fn each_step_is_measured_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.db");
    // Groups of two: half of each message is split off, all of it crosses, half of it is assembled.
    let stripe = ["-g", "2", "-k", "1", "--stripe", "--bytes", "1000", "--reps", "7"];
    let words = [&stripe[..], &["--each-step", "--library", "twosided,shared", "-o", file.to_str().unwrap()]].concat();
    run(4, &words).succeeded();
    let opened = Connection::open(&file).unwrap();
    let mut statement = opened
        .prepare("SELECT step, steps, total_bytes, group_bytes, wrong FROM bench_result ORDER BY library, step")
        .unwrap();
    let rows =
        statement.query_map([], |row| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]));
    let rows: Vec<[i64; 5]> = rows.unwrap().map(|row| row.unwrap()).collect();
    let expected = [[0, 3, 2000, 1000, 0], [1, 1, 500, 0, 0], [2, 1, 1000, 1000, 0], [3, 1, 500, 0, 0]];
    assert_eq!(rows, [expected, expected].concat());
    // A table says what the whole gains; steps that start together are one.
    let steps = ["--steps", "rail>self+dense", "--each-step", "--bytes", "8", "--reps", "7", "--in-order"];
    let table = run(4, &[&["-g", "2"], &steps[..]].concat()).succeeded().stdout;
    let header = table.lines().find(|line| line.starts_with("pattern")).unwrap();
    assert!(header.contains("step") && header.contains("gained"), "{table}");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("rail>self+dense uni")).collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert!(rows[0].contains(" %)") && rows[1..].iter().all(|row| !row.contains(" %)")), "{table}");
    // Where there is one step, it is the whole.
    assert_eq!(right(2, &["-g", "1", "--bytes", "8", "--each-step"]).0.len(), 1);
}

#[test]
fn each_library_moves_its_part_of_a_composition() {
    let folder = tempfile::tempdir().unwrap();
    let stripe = ["--stripe", "-k", "1", "--bytes", "1000", "--library", "put/twosided/get", "--each-step"];
    let sequence = ["--steps", "self:k=1>rail:k=1>self:k=1", "--bytes", "500", "--library", "put/twosided/get"];
    // Split or copied, crossed, and assembled or copied: by each execution of the whole, and of its steps alone.
    for (words, bytes) in [(&stripe[..], [500, 1000, 500]), (&sequence[..], [2 * 500, 500, 2 * 500])] {
        let words = [&[PROGRAM, "run", "-g", "2", "--format", "json"], words].concat();
        let Some((done, profile)) = profiled(4, &words, folder.path()) else { return };
        let said: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let mut executions = [0; 3];
        for result in said["results"].as_array().unwrap() {
            let step = result["key"]["step"].as_u64().unwrap() as usize;
            for (at, executions) in executions.iter_mut().enumerate() {
                *executions += if step == 0 || step == at + 1 { result["executions"].as_i64().unwrap() } else { 0 };
            }
        }
        let opened = Connection::open(&profile).unwrap();
        let query = "SELECT coalesce(sum(bytes_sent + bytes_recv), 0) FROM profile JOIN communicators USING (comm)
                     WHERE label = 'groupbench' AND op = ?";
        for (at, op) in ["MPI_Put", "MPI_Isend", "MPI_Get"].into_iter().enumerate() {
            let moved: i64 = opened.query_row(query, [op], |row| row.get(0)).unwrap();
            assert_eq!(moved, bytes[at] * executions[at], "{words:?}: {op}");
        }
    }
}

#[test]
fn numbers_of_groups_and_of_active_ranks_are_swept_in_one_run() {
    let words =
        ["-g", "2", "-n", "1,2:", "-k", "1,2", "--family", "self", "--bytes", "1001", "--library", "twosided,shared"];
    let (rows, _) = right(7, &words);
    let swept: BTreeSet<[&str; 2]> = rows.iter().map(|row| [row[2].as_str(), row[4].as_str()]).collect();
    let expected = [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"], ["3", "1"], ["3", "2"]];
    assert_eq!((rows.len(), swept), (12, BTreeSet::from(expected)));
    // The first groups of the largest number take part, of messages between them too.
    let dense = ["-g", "2", "-n", "3,2", "--family", "dense", "--direction", "omni", "--bytes", "1000", "--reps", "7"];
    let table = run(6, &[&dense[..], &["--in-order"]].concat()).succeeded().stdout;
    assert!(table.contains("2, 3 groups of 2 by g=2"), "{table}");
    let ns: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("dense omni")?.split_whitespace().next()).collect();
    assert_eq!(ns, ["3", "2"], "{table}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.db");
    run(6, &[&dense[..], &["-o", file.to_str().unwrap()]].concat()).succeeded();
    let opened = Connection::open(&file).unwrap();
    let number = |query: &str| opened.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    // With two groups of two four ranks have times, with three all six.
    assert_eq!(
        number("SELECT count(*) FROM bench_rank_time JOIN bench_result ON id = result WHERE n = 2 AND rank < 4"),
        4
    );
    assert_eq!(number("SELECT count(*) FROM bench_rank_time JOIN bench_result ON id = result WHERE n = 3"), 6);
    assert_eq!(number("SELECT count(*) FROM bench_rank_time"), 10);
    let few = run(4, &["-g", "2", "-n", "2,3"]);
    assert!(few.status == Some(2) && few.stderr.contains("start 6 ranks or more"), "{}", few.stderr);
}
