//! Filters, one by one and together, and the order of what they leave.

use rusqlite::Connection;

use crate::common::Folder;

/// The rows that filters leave in the view per rank, as `comm op rank`.
#[track_caller]
fn rows(words: &[&str]) -> Vec<String> {
    let words: Vec<&str> = words.iter().chain(&["-a", "--format", "csv"]).copied().collect();
    let rows = Folder::with_sample().through(&words).csv();
    rows.iter().map(|row| format!("{} {} {}", row["comm"], &row["op"][4..], row["rank"])).collect()
}

#[test]
fn an_empty_name_is_no_operation() {
    let folder = Folder::with_sample();
    for words in [&["--op", ""][..], &["--op", "allreduce,"]] {
        let answer = folder.through(words);
        assert_eq!((answer.status, answer.out.as_str()), (2, ""));
        assert!(answer.err.contains("'' is not an MPI operation"), "{}", answer.err);
    }
}

/// Not a list of nothing.
#[test]
fn what_was_not_recorded_is_told_with_how_to_record_it() {
    let folder = Folder::with_sample();
    let answer = folder.through(&["--site", "main"]);
    assert_eq!(answer.status, 1);
    assert!(
        answer.err.contains("no call sites were recorded: run the program with `through run --sites`"),
        "{}",
        answer.err
    );
    // A timeline without modules.
    let db = rusqlite::Connection::open(folder.path("sample.db")).unwrap();
    let nobody = "INSERT INTO way (id, layer, function, protocol, transport, device, kind, scope, arrives, role) \
                  VALUES (0, '', '', '', '', '', '', '', 0, '')";
    db.execute(nobody, []).unwrap();
    for words in [&["layers"][..], &["traffic", "--layer", "uct"], &["traffic", "--graph", "--layer", "uct"]] {
        let answer = folder.through(words);
        assert_eq!(answer.status, 1);
        assert!(answer.err.contains("run the program with `through run --hooks ucx`"), "{words:?}: {}", answer.err);
    }
}

#[test]
fn several_profiles_are_for_diff() {
    let folder = Folder::with_sample();
    std::fs::copy(folder.path("sample.db"), folder.path("b.db")).unwrap();
    let answer = folder.through(&["sample.db", "b.db"]);
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("`through compare A.db B.db`"), "{}", answer.err);
}

#[test]
fn a_word_that_is_no_command_names_similar_ones() {
    let folder = Folder::with_sample();
    for (words, said) in [
        (&["wait", "sample.db"][..], "similar commands: waits"),
        (&["advice"], "similar commands: advise"),
        (&["sample.db", "waits"], "the command comes first: through waits sample.db"),
        (&["xyz", "sample.db"], "there is no command 'xyz', and no such file"),
        (&["missing.db"], "missing.db: there is no such file"),
    ] {
        let answer = folder.through(words);
        assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{words:?}: {}", answer.err);
        assert!(answer.err.contains(said), "{words:?}: {}", answer.err);
    }
    // An option that a command lacks is not taken for a file.
    let answer = folder.through(&["advise", "sample.db", "--comm", "s0.1"]);
    assert!(answer.err.contains("unexpected argument '--comm'") && !answer.err.contains("tip:"), "{}", answer.err);
}

#[test]
fn options_that_exclude_each_other_are_named() {
    let folder = Folder::with_sample();
    for (words, said) in [
        (&["traffic", "--reorder", "sample.db", "--write", "cray", "--format", "csv"][..], ["--write", "--format"]),
        (&["layers", "sample.db", "--all", "--by", "comm"], ["--all", "--by"]),
        (&["layers", "sample.db", "--all", "--by", "comm"], ["--all", "--by"]),
        (&["traffic", "sample.db", "--by", "rank", "--by", "host"], ["--by", "cannot be used multiple times"]),
    ] {
        let answer = folder.through(words);
        assert_eq!(answer.status, 2, "{words:?}: {}", answer.err);
        let is_said = said.iter().all(|said| answer.err.contains(said));
        assert!(is_said && !answer.err.contains("no command"), "{words:?}: {}", answer.err);
    }
}

#[test]
fn a_communicator_that_is_not_there_names_similar_ones() {
    let folder = Folder::with_sample();
    let answer = folder.through(&["--comm", "s0.2"]);
    assert!(answer.err.contains("communicator s0.2 (similar: s0.1"), "{}", answer.err);
    let answer = folder.through(&["--comm", "nothing like it"]);
    assert!(answer.err.contains("not in this profile: communicator nothing like it\n"), "{}", answer.err);
}

#[test]
fn a_page_is_written_by_report() {
    let folder = Folder::with_sample();
    let answer = folder.through(&["sample.db", "-o", "a.html"]);
    assert_eq!(answer.status, 2);
    assert!(answer.err.contains("through report sample.db -o a.html"), "{}", answer.err);
    assert_eq!(folder.names(), ["sample.db"]);
}

#[test]
fn communicators_by_name_and_by_label() {
    let of_s01 = ["s0.1 Allreduce 0", "s0.1 Allreduce 2", "s0.1 Bcast 0", "s0.1 Bcast 2"];
    assert_eq!(rows(&["--comm", "s0.1"]), of_s01);
    assert_eq!(rows(&["--comm", "row \"a\", even"]), of_s01);
    assert_eq!(rows(&["--comm", "\u{1b}[31mred\nline"]), ["s1.1 Allreduce 1", "s1.1 Allreduce 3"]);
    assert_eq!(rows(&["--comm", "s0.1,s1.1"]).len(), 6);
    assert_eq!(rows(&["--comm", "s0.1", "--comm", "s1.1"]).len(), 6);
    assert_eq!(rows(&["--comm", "*"]).len(), 4);
    assert_eq!(rows(&["--comm", "-"]).len(), 4);
}

#[test]
fn operations_with_and_without_prefix() {
    for name in ["Send", "MPI_Send", "mpi_send", "SEND"] {
        assert_eq!(rows(&["--op", name]), ["W0.0 Send 0", "W0.0 Send 1"]);
    }
    assert_eq!(rows(&["--op", "send,recv", "--op", "bcast"]).len(), 6);
}

#[test]
fn ranks_as_lists_and_ranges() {
    assert_eq!(
        rows(&["--rank", "0,2-3", "--op", "allreduce"]),
        ["s0.1 Allreduce 0", "s0.1 Allreduce 2", "s1.1 Allreduce 3"]
    );
    assert_eq!(rows(&["-r", "1", "--op", "allreduce"]), ["s1.1 Allreduce 1"]);
}

#[test]
fn message_sizes() {
    assert_eq!(rows(&["--bytes", "1025:"]), ["s0.1 Bcast 0", "s0.1 Bcast 2"]);
    assert_eq!(rows(&["-b", "4K:4K"]).len(), 2);
    assert_eq!(rows(&["--bytes", ":128"]).len(), 16);
    assert_eq!(rows(&["--bucket", "2"]).len(), 2);
    assert_eq!(rows(&["--bucket", "1K:8K"]).len(), 2);
    assert_eq!(rows(&["--bucket", "1K-8K,0"]).len(), 18);
}

#[test]
fn times() {
    assert_eq!(rows(&["--time", "0.1:0.15"]), ["s0.1 Allreduce 0"]);
    assert_eq!(rows(&["-t", "0.25:"]), ["s0.1 Allreduce 2"]);
    assert_eq!(rows(&["-t", ":0.004"]), ["s0.1 Bcast 0", "s0.1 Bcast 2"]);
}

#[test]
fn kinds_of_operations() {
    assert_eq!(rows(&["-p"]).len(), 4);
    assert_eq!(rows(&["-c"]).len(), 6);
    assert_eq!(rows(&["-p", "-c"]).len(), 10);
    assert_eq!(rows(&["-c", "--op", "send,bcast"]).len(), 2);
}

#[test]
fn all_of_them_together() {
    let words =
        ["-c", "--comm", "s0.1,s1.1", "--op", "Allreduce", "--rank", "1-3", "--bytes", ":1K", "--time", "0.06:1"];
    assert_eq!(rows(&words), ["s0.1 Allreduce 2", "s1.1 Allreduce 3"]);
}

#[test]
fn filters_hold_in_every_view() {
    let folder = Folder::with_sample();
    let filter = ["--op", "allreduce", "--rank", "2-3", "--format", "csv"];
    let with = |view: &str| folder.through(&[&[view], &filter[..]].concat()).csv();
    let rows = with("--top=0");
    assert_eq!((rows.len(), rows[0]["time_s"].as_str(), rows[0]["ranks"].as_str()), (2, "0.3", "1"));
    let communicators = with("-u");
    assert_eq!((communicators.len(), communicators[1]["time_s"].as_str()), (2, "0.07"));
    let ranks = with("-e");
    assert_eq!((ranks.len(), ranks[0]["selected_s"].as_str(), ranks[0]["mpi_s"].as_str()), (2, "0.3", "0.317"));
    assert!(folder.through(&["--op", "allreduce"]).ok().contains("shown only MPI_Allreduce"));
}

#[test]
fn orders() {
    assert_eq!(rows(&["--sort", "time", "--top", "2"]), ["s0.1 Allreduce 2", "- Init 0"]);
    assert_eq!(rows(&["--sort", "calls", "--top", "2"]), ["W0.0 Recv 3", "W0.0 Send 1"]);
    assert_eq!(rows(&["--sort", "bytes", "--top", "2"]), ["s0.1 Bcast 0", "s0.1 Bcast 2"]);
    assert_eq!(rows(&["--sort", "rank", "--op", "allreduce"])[1], "s1.1 Allreduce 1");
    assert_eq!(rows(&["--sort", "bucket"])[16], "s0.1 Bcast 0");
    assert_eq!(rows(&["--sort", "op"])[0], "s0.1 Allreduce 0");
    assert_eq!(rows(&["--sort", "size"])[0], "W0.0 Recv 2");
    assert_eq!(rows(&["--sort", "comm"])[0], "W0.0 Recv 2");
    let names = |key: &str| -> Vec<String> {
        let rows = Folder::with_sample().through(&["-u", "--format", "csv", "--sort", key]).csv();
        rows.iter().map(|row| row["comm"].clone()).collect()
    };
    assert_eq!(names("comm"), ["W0.0", "s0.1", "s1.1", "*", "-"]);
    assert_eq!(names("bytes"), ["s0.1", "W0.0", "s1.1", "*", "-"]);
    assert_eq!(names("calls"), ["W0.0", "s0.1", "s1.1", "*", "-"]);
}

#[test]
fn what_the_profile_lacks_is_told_with_what_it_has() {
    let folder = Folder::with_sample();
    for (words, there) in [
        (&["--comm", "x9.9"][..], "s0.1 \"row \"a\", even\""),
        (&["--op", "Alltoall"], "MPI_Allreduce"),
        (&["--rank", "77"], "0-3"),
        (&["--bucket", "99"], "128-1K"),
        (&["--comm", "s1.1", "--op", "Bcast"], "nothing matches: communicator s1.1, MPI_Bcast"),
        (&["-e", "--time", "9:"], "nothing matches"),
    ] {
        let answer = folder.through(words);
        assert_eq!((answer.status, answer.out.as_str()), (1, ""), "{words:?}");
        assert!(answer.err.contains(there), "{words:?}: {}", answer.err);
        assert!(!answer.err.contains('\u{1b}'));
    }
    for format in ["csv", "json"] {
        let answer = folder.through(&["-a", "--comm", "x9.9", "--format", format]);
        assert_eq!(answer.status, 1);
        match format {
            "csv" => assert_eq!(answer.out.lines().count(), 1),
            _ => assert!(answer.out.contains("\"rows\":[]")),
        }
    }
}

#[test]
fn what_is_there_is_shown_even_if_something_else_is_not() {
    let answer = Folder::with_sample().through(&["--comm", "s0.1,x9.9"]);
    assert_eq!(answer.status, 0);
    assert_eq!(answer.err, "through: not in this profile: communicator x9.9\n");
    assert!(answer.out.contains("── s0.1"));
}

#[test]
fn what_no_profile_could_hold_is_a_mistake() {
    let folder = Folder::with_sample();
    let answer = folder.through(&["--op", "Alreduce"]);
    assert_eq!((answer.status, answer.out.as_str()), (2, ""));
    assert_eq!(answer.err.lines().count(), 1);
    assert!(answer.err.contains("MPI_Allreduce"));
    for words in [
        &["--rank", "3-1"][..],
        &["--bytes", "2:1"],
        &["--time", "x:"],
        &["--sort", "beauty"],
        &["-a", "-u"],
        &["--top", "-3"],
    ] {
        assert_eq!(folder.through(words).status, 2, "{words:?}");
    }
}

#[test]
fn a_label_may_look_like_a_birthplace() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute("UPDATE communicator SET label = 'made@x.c:1' WHERE name = 's0.1'", []).unwrap();
    db.close().unwrap();
    let rows = folder.through(&["-u", "--comm", "made@x.c:1", "--format", "csv"]).csv();
    assert_eq!((rows.len(), rows[0]["comm"].as_str()), (1, "s0.1"));
}

#[test]
fn no_operation_is_no_operation_of_the_profile() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute("INSERT INTO operation VALUES (65535, '-', 'none')", []).unwrap();
    db.close().unwrap();
    let answer = folder.through(&["--op", "isend"]);
    let line = answer.err.lines().find(|line| line.contains("operations in this profile: ")).unwrap();
    assert!(line.contains("MPI_Send") && !line.contains(", -") && !line.contains(": -"), "{line}");
}
