//! The timeline holds what the counters count, on clocks that agree, within its size.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use commsee::profile::recover;

use rusqlite::Connection;

use common::timeline::{check_calls, check_messages, check_sequences, rows};
use common::{Launch, Mpi, Run, answer, library, mpi_shared_library};

fn traced(mpi: Mpi, program: &str, ranks: usize) -> Launch {
    Launch::new(mpi, program).ranks(ranks).variable("COMMSEE_TRACE", "64M")
}

/// All ranks are on one machine, whose clock is the same for all: nothing is added, and that is within the error that is stated.
fn check_clocks(path: &Path, ranks: usize) {
    let clocks =
        rows(path, "SELECT rank, begin_offset_ns, begin_error_ns, end_offset_ns, end_error_ns, lost_events FROM clock");
    assert_eq!(clocks.len(), ranks);
    for clock in clocks {
        assert_eq!((clock[1], clock[3]), (0, 0), "{clock:?}");
        assert!(clock[0] == 0 || clock[2] > 0, "{clock:?}");
        assert_eq!(clock[5], 0, "{clock:?}");
    }
    let order = rows(
        path,
        "SELECT count(*) FROM (SELECT begin_ns < lag(begin_ns) OVER (PARTITION BY rank ORDER BY rowid) AS back, \
                            end_ns < begin_ns AS reversed FROM event) WHERE back OR reversed",
    );
    assert_eq!(order, [[0]]);
}

#[test]
fn the_timeline_holds_every_call_and_message() {
    for (mpi, ranks) in Mpi::ALL.into_iter().flat_map(|mpi| [2, 5].map(|ranks| (mpi, ranks))) {
        let run = traced(mpi, "hooked", ranks).run().succeeded();
        run.profile();
        let path = run.profile_path();
        check_calls(&path);
        check_messages(&path);
        check_clocks(&path, ranks);
    }
}

#[test]
fn programs_of_all_kinds() {
    for mpi in Mpi::ALL {
        for program in ["p2p", "completion", "requests", "persistent", "collectives", "foreign"] {
            let run = traced(mpi, program, 4).run().succeeded();
            check_calls(&run.profile_path());
            check_clocks(&run.profile_path(), 4);
        }
        for program in ["collectives", "neighbors"] {
            let run = traced(mpi, program, 4).run().succeeded();
            check_sequences(&run.profile_path());
        }
        let run = traced(mpi, "threads", 2).run().succeeded();
        check_calls(&run.profile_path());
    }
}

/// Also where the events of one call lie in several blocks, and where receives are cancelled or matched by a probe.
#[test]
fn messages_belong_to_their_calls() {
    for mpi in Mpi::ALL {
        let run = traced(mpi, "arrivals", 3).run().succeeded();
        let path = run.profile_path();
        check_calls(&path);
        check_messages(&path);
        assert_eq!(rows(&path, "SELECT count(*) FROM event WHERE kind > 1 AND cause_ns IS NULL"), [[0]], "{mpi}");
        let carried = "SELECT count(*), sum(bytes) FROM event WHERE kind = 0 AND op = (SELECT id FROM operation WHERE name = 'MPI_Sendrecv')";
        let unmatched = "SELECT value FROM metadata WHERE key = 'messages_not_matched'";
        assert_eq!(answer(&path, unmatched), ["0"], "{mpi}");
        // Of 1 to 7 bytes.
        let bytes: i64 = (0..3000).map(|i| 1 + i % 7).sum();
        assert_eq!(rows(&path, carried), [[9000, 3 * bytes]], "{mpi}");
    }
}

/// A layer's operation stands in the thread of its call, and a thread's events bear its number whatever came first.
#[test]
fn what_another_thread_completes_belongs_to_its_call() {
    for mpi in Mpi::ALL {
        let run = traced(mpi, "handed_on", 2).variable("COMMSEE_HOOKS", "handed-on").run().succeeded();
        let path = run.profile_path();
        let events = "SELECT thread, kind, count(*) FROM event WHERE rank = 0 GROUP BY 1, 2 ORDER BY 1, 2";
        assert_eq!(rows(&path, events), [[0, 0, 1], [0, 1, 1], [1, 0, 3]], "{mpi}");
        check_drawing(&path, &[]);
    }
}

/// More than what a shard sets aside of the address space at first.
#[test]
#[ignore = "heavy: ten million events"]
fn a_timeline_grows_to_what_was_asked_for() {
    for mpi in Mpi::ALL {
        let launch = Launch::new(mpi, "soak").ranks(1).arguments(&["8"]).variable("COMMSEE_TRACE", "2G").limit(300);
        let run = launch.run().succeeded();
        let path = run.profile_path();
        check_calls(&path);
        check_clocks(&path, 1);
        let events = rows(&path, "SELECT count(*) FROM event")[0][0];
        assert!(events * 48 > 300 << 20, "{events} events under {mpi} do not outgrow it");
    }
}

#[test]
fn a_thread_that_comes_late_has_events() {
    for mpi in Mpi::ALL {
        let launch = traced(mpi, "handed_on", 2).arguments(&["4000"]).variable("COMMSEE_TRACE", "64K");
        let run = launch.variable("COMMSEE_HOOKS", "handed-on").run().succeeded();
        let events = "SELECT count(*) FROM event WHERE rank = 0 AND thread = 1 AND kind = 0";
        assert_eq!(rows(&run.profile_path(), events), [[3]], "{mpi}");
    }
}

fn hooked(mpi: Mpi) -> Launch {
    traced(mpi, "hooked", 3).preload(mpi_shared_library(mpi, "made_up")).variable("COMMSEE_HOOKS", "made-up")
}

/// What a module tells hangs on the call it happened in.
fn check_layers(run: &Run) {
    let path = run.profile_path();
    let counted = rows(
        &path,
        "SELECT rank, comm, op, way, peer, calls, bytes FROM transfer WHERE op <> 65535 ORDER BY 1, 2, 3, 4, 5",
    );
    let events = "SELECT e.rank, e.comm, e.op, e.way, e.peer, count(*), sum(e.bytes) FROM event e JOIN event c ON c.kind = 0 AND \
                  c.rank = e.rank AND c.thread = e.thread AND c.begin_ns = e.cause_ns AND c.comm = e.comm AND c.op = e.op AND \
                  c.begin_ns <= e.begin_ns AND e.end_ns <= c.end_ns WHERE e.kind = 1 GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5";
    let counted: Vec<Vec<i64>> = counted
        .into_iter()
        .fold(BTreeMap::<Vec<i64>, [i64; 2]>::new(), |mut sums, row| {
            let sum = sums.entry(row[..5].to_vec()).or_default();
            *sum = [sum[0] + row[5], sum[1] + row[6]];
            sums
        })
        .into_iter()
        .map(|(key, sum)| [key, sum.to_vec()].concat())
        .collect();
    assert!(counted.len() > 6);
    assert_eq!(rows(&path, events), counted);
}

#[test]
fn what_a_module_tells_lies_within_its_call() {
    for mpi in Mpi::ALL {
        check_layers(&hooked(mpi).run().succeeded());
    }
}

#[test]
fn the_oldest_make_room() {
    for mpi in Mpi::ALL {
        let launch = Launch::new(mpi, "churn").arguments(&["4000", "0"]).variable("COMMSEE_TRACE", "200K");
        let run = launch.run().succeeded();
        let path = run.profile_path();
        let counted = rows(
            &path,
            "SELECT rank, sum(calls) FROM cells WHERE op NOT IN (SELECT id FROM operation WHERE name IN \
                                   ('MPI_Init', 'MPI_Finalize')) GROUP BY 1 ORDER BY 1",
        );
        let kept = rows(&path, "SELECT rank, events, lost_events FROM clock ORDER BY 1");
        let stored = rows(&path, "SELECT rank, count(*) FROM event GROUP BY 1 ORDER BY 1");
        for ((counted, kept), stored) in counted.iter().zip(&kept).zip(&stored) {
            assert_eq!(counted[1], kept[1] + kept[2], "{mpi}: every event is there or said to be lost");
            assert_eq!(stored[1], kept[1]);
            // 48 bytes each in blocks of 64 KiB; one of them is being filled.
            assert!((2 * 65536 / 48 - 10..=3 * 65536 / 48).contains(&kept[1]), "{kept:?}");
        }
        // The last ones are those that stayed.
        let last = rows(
            &path,
            "SELECT count(*) FROM (SELECT op FROM event WHERE rank = 0 ORDER BY rowid DESC LIMIT 2) \
                                WHERE op IN (SELECT id FROM operation WHERE name LIKE 'MPI_Comm_%')",
        );
        assert_eq!(last, [[2]]);
    }
}

#[test]
fn without_the_variable_there_is_none() {
    for (mpi, value) in Mpi::ALL.into_iter().flat_map(|mpi| ["", "0"].map(|value| (mpi, value))) {
        let run = Launch::new(mpi, "hooked").variable("COMMSEE_TRACE", value).run().succeeded();
        assert_eq!(
            rows(&run.profile_path(), "SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM clock)"),
            [[0, 0]]
        );
    }
    let run = Launch::new(Mpi::ALL[0], "hooked").variable("COMMSEE_TRACE", "much").run().succeeded();
    assert_eq!(run.stderr.matches("COMMSEE_TRACE=much is not 0, 1 or a size").count(), 1, "{}", run.stderr);
}

/// A killed job has no second comparison of clocks, and all its events.
#[test]
fn a_shard_keeps_the_timeline() {
    for mpi in Mpi::ALL {
        let run = traced(mpi, "hooked", 3).variable("HOOKED_DIES", "1").run();
        let path = run.folder().join("recovered.db");
        recover::recover(&run.left_over(), &path).expect("a profile of the shards");
        check_calls(&path);
        let clocks = rows(&path, "SELECT count(*), count(begin_error_ns), count(end_error_ns) FROM clock");
        assert_eq!(clocks, [[3, 3, 0]]);
        fs::remove_file(path).expect("the profile");
    }
}

/// Slices of each line: begin and end in nanoseconds.
type Lines = BTreeMap<(i64, i64), Vec<(i64, i64)>>;

/// What `through export perfetto` makes of a profile can be drawn: slices of one line lie apart or within each other, and both ends of every
/// arrow lie on slices.
fn check_drawing(path: &Path, options: &[&str]) -> (serde_json::Value, usize, usize) {
    let through = library().with_file_name("through");
    let file = path.with_extension("json");
    let mut command = Command::new(through);
    let done =
        command.args(["export", "perfetto"]).arg(path).args(options).arg("-o").arg(&file).output().expect("through");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let drawing: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("the drawing")).expect("JSON");
    fs::remove_file(&file).expect("the drawing");
    let events = drawing["traceEvents"].as_array().expect("events");
    let ns = |value: &serde_json::Value| (value.as_f64().expect("a time") * 1000.0).round() as i64;
    let line = |event: &serde_json::Value| (event["pid"].as_i64().unwrap(), event["tid"].as_i64().unwrap());
    let mut lines = Lines::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let begin = ns(&event["ts"]);
        lines.entry(line(event)).or_default().push((begin, begin + ns(&event["dur"])));
    }
    let slices = lines.values().map(Vec::len).sum();
    let bytes = |at: &(i64, i64), holds: &dyn Fn(i64, i64) -> bool| {
        let calls = events.iter().filter(|event| event["ph"] == "X" && event["cat"] == "mpi" && line(event) == *at);
        let found = calls.filter(|event| {
            let begin = ns(&event["ts"]);
            holds(begin, begin + ns(&event["dur"]))
        });
        found.last().map(|event| event["args"]["bytes"].clone())
    };
    let mut carried: BTreeMap<&str, Vec<serde_json::Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["cat"] == "message") {
        let at = ns(&event["ts"]);
        let found = match event["ph"] == "s" {
            true => bytes(&line(event), &|begin, _| begin == at),
            false => bytes(&line(event), &|begin, end| begin <= at && at <= end),
        };
        carried.entry(event["id"].as_str().unwrap()).or_default().extend(found);
    }
    assert!(carried.values().all(|ends| ends.len() == 2 && ends[0] == ends[1]), "{carried:?}");
    for (line, slices) in &mut lines {
        slices.sort_by_key(|(begin, end)| (*begin, -end));
        let mut open: Vec<i64> = Vec::new();
        for (begin, end) in slices {
            open.retain(|until| *until > *begin);
            assert!(open.iter().all(|until| *end <= *until), "{line:?}: {begin} to {end} crosses another slice");
            open.push(*end);
        }
    }
    let mut arrows: BTreeMap<&str, [Vec<i64>; 2]> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "s" || event["ph"] == "f") {
        let at = ns(&event["ts"]);
        let is_on_a_slice = lines[&line(event)].iter().any(|(begin, end)| *begin <= at && at <= *end);
        assert!(is_on_a_slice, "{event}");
        arrows.entry(event["id"].as_str().unwrap()).or_default()[usize::from(event["ph"] == "f")].push(at);
    }
    assert!(arrows.values().all(|ends| ends[0].len() == 1 && ends[1].len() == 1), "{arrows:?}");
    (drawing["otherData"].clone(), slices, arrows.len())
}

#[test]
fn it_is_drawn_with_arrows() {
    for mpi in Mpi::ALL {
        let run = hooked(mpi).run().succeeded();
        let path = run.profile_path();
        let counted = rows(&path, "SELECT sum(kind < 2), sum(kind = 2), sum(kind = 1) FROM event");
        let [slices, messages, causes] = counted[0][..] else { panic!("three sums") };
        let (facts, drawn, arrows) = check_drawing(&path, &[]);
        assert_eq!((drawn as i64, arrows as i64), (slices, messages + causes));
        assert_eq!((&facts["messages_matched"], &facts["messages_not_matched"]), (&messages.into(), &0.into()));
        // SQL can join both ends: each message once, with what its sender and its receiver know of it.
        let joined = rows(
            &path,
            "SELECT count(*), count(DISTINCT m.sent), count(DISTINCT m.received), \
             sum(s.kind = 'sent' AND r.kind = 'received' AND s.bytes = r.bytes AND s.tag = r.tag AND s.source = r.source \
             AND s.peer = r.rank AND m.src = s.rank AND m.dst = r.rank AND s.comm = r.comm AND m.recv_op = r.op AND m.send_begin_s = s.begin_s) \
             FROM messages m JOIN events s ON s.id = m.sent JOIN events r ON r.id = m.received",
        );
        assert_eq!(joined, [[messages; 4]]);
        let (_, drawn, arrows) = check_drawing(&path, &["--op", "Allreduce", "--rank", "1"]);
        let left = "SELECT sum(kind < 2), sum(kind = 1) FROM event JOIN operation o ON o.id = op WHERE o.name = 'MPI_Allreduce' AND rank = 1";
        assert_eq!(rows(&path, left), [[drawn as i64, arrows as i64]]);
    }
}

/// Messages whose event had to make room have no arrow, and the others the right one.
#[test]
fn arrows_are_right_where_events_are_lost() {
    for mpi in Mpi::ALL {
        let launch = Launch::new(mpi, "hooked").ranks(4).arguments(&["300"]).variable("COMMSEE_TRACE", "64K");
        let run = launch.run().succeeded();
        let path = run.profile_path();
        let lost = rows(&path, "SELECT min(lost_events) FROM clock");
        assert!(lost[0][0] > 0, "{mpi}: every rank lost events: {lost:?}");
        let (facts, _, _) = check_drawing(&path, &[]);
        let matched = facts["messages_matched"].as_i64().unwrap();
        assert!(matched > 0, "{facts}");
        assert_eq!(rows(&path, "SELECT count(*), sum(src <> dst) FROM messages"), [[matched, matched]]);
        // The same by a profile whose writer could not sort them.
        Connection::open(&path)
            .unwrap()
            .execute_batch("DELETE FROM message; DELETE FROM metadata WHERE key = 'messages_not_matched'")
            .unwrap();
        let (again, ..) = check_drawing(&path, &[]);
        assert_eq!(again, facts);
    }
}
