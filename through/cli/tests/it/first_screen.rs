//! What `through PROFILE` says before anything else, and where it stops.

use crate::common::{Builder, Did, Folder, MS};

/// Four ranks; rank 2 comes late to a barrier. Twenty communicators that were not made alike, of which the three heaviest have nearly all of the time,
/// and each of which has a row that hardly matters.
fn twenty() -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("twenty.db"), 4);
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    for number in 1..=20 {
        let parent = if number == 1 { "W0.0".to_owned() } else { format!("d0.{}", number - 1) };
        profile.comm(&format!("d0.{number}"), None, Some(&parent), 4, "0-3");
    }
    for rank in 0..4 {
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, if rank == 2 { 100 } else { 1000 } * MS));
        for number in 1..=20 {
            let heavy = if number <= 3 { 200 } else { 0 };
            profile.cell(&format!("d0.{number}"), "MPI_Bcast", 0, rank, Did(1, 0, 0, heavy * MS + 1000));
            profile.cell(&format!("d0.{number}"), "MPI_Comm_free", 0, rank, Did(1, 0, 0, 1000));
        }
    }
    profile.finish(|_| 4000 * MS);
    folder
}

fn sections(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("── ")?.split(' ').next()).collect()
}

#[test]
fn a_long_table_stops_after_what_matters_and_says_what_it_left_out() {
    let folder = twenty();
    let text = folder.through(&[]).ok();
    assert_eq!(sections(&text), ["W0.0", "d0.1", "d0.2", "d0.3"], "{text}");
    assert!(!text.contains("Comm_free"), "{text}");
    // 17 communicators with 2 µs on each of 4 ranks, and 3 rows with 1 µs: 148 µs of 5.5 s.
    let left_out = "Left out: 17 communicators and 3 rows with <0.1 % of MPI time; --all shows them.";
    assert!(text.ends_with(&format!("\n{left_out}\n")), "{text}");
    let all = folder.through(&["--all"]).ok();
    assert_eq!(sections(&all).len(), 21, "{all}");
    assert_eq!(all.matches("Comm_free").count(), 20);
    assert!(!all.contains("Left out") && folder.through(&["--top", "0"]).ok() == all);
    // Whoever asks for something gets all of it.
    for words in [&["--op", "Comm_free"][..], &["--rank", "0-3"], &["--sort", "calls"], &["--top", "21"]] {
        let text = folder.through(words).ok();
        assert!(text.contains("Comm_free") && !text.contains("Left out"), "{words:?}: {text}");
    }
    assert_eq!(folder.through(&["--format", "csv"]).csv().len(), 41);
    assert_eq!(folder.through(&["--all", "--top", "3"]).status, 2);
}

#[test]
fn calls_that_failed_and_many_bytes_matter() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("long.db"), 1);
    profile.comm("W0.0", None, None, 1, "0");
    profile.cell("W0.0", "MPI_Barrier", 0, 0, Did(1, 0, 0, 1000 * MS));
    for number in 1..=12 {
        let (name, parent) = (format!("d0.{number}"), format!("d0.{}", number - 1));
        profile.comm(&name, None, Some(if number == 1 { "W0.0" } else { &parent }), 1, "0");
        profile.cell(&name, "MPI_Bcast", 0, 0, Did(1, 0, 0, 1000));
    }
    profile.cell("d0.7", "MPI_Isend", 2, 0, Did(9, 1 << 20, 0, 1000));
    profile.cell_with_failures("d0.9", "MPI_Send", 0, 0, Did(1, 0, 0, 1), 1);
    profile.finish(|_| 2000 * MS);
    let text = folder.through(&[]).ok();
    assert_eq!(sections(&text), ["W0.0", "d0.7", "d0.9"], "{text}");
    assert!(text.contains("Isend") && text.contains("1 call failed: Send (1)"), "{text}");
}

#[test]
fn whoever_has_the_bytes_is_shown_whatever_takes_more_time() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("bytes.db"), 1);
    profile.comm("W0.0", None, None, 1, "0");
    for number in 1..=30 {
        let (name, parent) = (format!("d0.{number}"), format!("d0.{}", number - 1));
        profile.comm(&name, None, Some(if number == 1 { "W0.0" } else { &parent }), 1, "0");
        profile.cell(&name, "MPI_Barrier", 0, 0, Did(1, 0, 0, (100 - number) * MS));
    }
    profile.cell("d0.29", "MPI_Isend", 2, 0, Did(1, 1 << 30, 0, 1000));
    profile.cell("d0.30", "MPI_Isend", 2, 0, Did(1, 1 << 24, 0, 1000));
    profile.finish(|_| 5000 * MS);
    let text = folder.through(&[]).ok();
    let shown = sections(&text);
    assert_eq!((shown.len(), shown[10]), (11, "d0.29"), "{text}");
    assert!(text.contains("of MPI time and 1.5 % of the bytes; --all"), "{text}");
}

#[test]
fn calls_that_took_no_time_are_calls() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("none.db"), 1);
    profile.comm("W0.0", None, None, 1, "0");
    for number in 1..=12 {
        let (name, parent) = (format!("d0.{number}"), format!("d0.{}", number - 1));
        profile.comm(&name, None, Some(if number == 1 { "W0.0" } else { &parent }), 1, "0");
        profile.cell(&name, "MPI_Barrier", 0, 0, Did(1, 0, 0, 0));
    }
    profile.finish(|_| 1000 * MS);
    assert_eq!(sections(&folder.through(&[]).ok()), ["d0.1"]);
}

#[test]
fn a_short_table_is_whole() {
    let folder = Folder::with_sample();
    assert_eq!(folder.through(&[]).ok(), folder.through(&["--all"]).ok());
}

/// Ranks stand two by two on hosts.
#[test]
fn more_ranks_than_processors_are_told() {
    let folder = Folder::empty();
    for (name, processors) in [("few.db", "1"), ("enough.db", "2")] {
        let mut profile = Builder::new(&folder.path(name), 4);
        profile.meta("ranks", "4");
        profile.meta("processors", processors);
        profile.comm("W0.0", None, None, 4, "0-3");
        profile.cell("W0.0", "MPI_Barrier", 0, 0, Did(1, 0, 0, MS));
        profile.finish(|_| 1000 * MS);
    }
    let few = folder.through(&["few.db"]).ok();
    let note = "note       2 ranks on 1 processor of node0: work and waiting times are\n           unreliable\n";
    assert!(few.contains(note), "{few}");
    assert!(!folder.through(&["enough.db"]).ok().contains("note "));
}

#[test]
fn the_heaviest_findings_come_first() {
    let folder = twenty();
    let findings = folder.through(&["advise", "--format", "json"]);
    let findings: serde_json::Value = serde_json::from_str(&findings.out).unwrap();
    let titles: Vec<&str> =
        findings["findings"].as_array().unwrap().iter().map(|finding| finding["title"].as_str().unwrap()).collect();
    assert!(titles[0].contains("Rank 2 works"), "{titles:?}");
    let text = folder.through(&[]).ok();
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("findings ")).unwrap();
    for (line, title) in lines[first..].iter().zip(titles.iter().take(2)) {
        let shown: String = title.chars().take(50).collect();
        assert!(line.contains(&shown) && line.contains(" %  "), "{line}");
    }
    assert!(text.contains("causes and advice: through advise twenty.db"), "{text}");
    assert!(lines[first - 1].starts_with("spent in "), "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    // A part of a run has no findings of its own.
    assert!(!folder.through(&["--rank", "1"]).ok().contains("findings"));
}
