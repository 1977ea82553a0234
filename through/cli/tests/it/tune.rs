//! `through tune`: files that compare algorithms of a collective.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use through_core::text::path::quoted;

use crate::common::{Answer, Builder, Did, Folder, MS};

/// A second on four ranks, with so many milliseconds in a collective on each of two communicators.
fn folder(ms: i64) -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 4);
    profile.meta("mpi_family", "openmpi");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    for (comm, ranks) in [("s0.1", [0, 1]), ("s2.1", [2, 3])] {
        profile.comm(comm, None, Some("W0.0"), 2, &format!("{}-{}", ranks[0], ranks[1]));
        ranks.iter().for_each(|rank| profile.cell(comm, "MPI_Alltoall", 2, *rank, Did(10, 40_960, 40_960, ms * MS)));
    }
    profile.finish(|_| 1000 * MS);
    folder
}

#[test]
fn what_can_hardly_save_time_is_told() {
    let seldom = folder(4).through(&["tune", "--runs", "4"]).ok();
    let words = "\nIt takes 0.4 % of the run time, so another algorithm can save at most that.\n";
    assert!(seldom.ends_with(words), "{seldom}");
    let often = folder(40).through(&["tune", "--runs", "4"]).ok();
    assert!(often.contains("MPI_Alltoall on s") && !often.contains("of the run time"), "{often}");
}

#[test]
fn a_label_does_not_steer_the_terminal() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 2);
    profile.meta("mpi_family", "openmpi");
    profile.comm("s0.1", Some("\u{1b}[31mred\nline\u{202e}"), Some("W0.0"), 2, "0-1");
    (0..2).for_each(|rank| profile.cell("s0.1", "MPI_Alltoall", 2, rank, Did(10, 40_960, 40_960, 400 * MS)));
    profile.finish(|_| 1000 * MS);
    let said = folder.through(&["tune"]).ok();
    assert!(said.starts_with("MPI_Alltoall on s0.1 \"\\u{1b}[31mred\\nline\\u{202e}\", 2 ranks: "), "{said}");
}

#[test]
fn what_is_said_may_find_no_reader_and_no_room() {
    let full = folder(40).command(&["tune"]).stdout(File::options().write(true).open("/dev/full").unwrap()).output();
    let full = Answer::of(full.unwrap());
    assert_eq!((full.status, full.err.lines().count()), (2, 1), "{}", full.err);
    assert!(full.err.contains("standard output: "), "{}", full.err);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = Answer::of(folder(40).command(&["tune"]).stdout(writer).output().unwrap());
    assert_eq!((closed.status, closed.err.as_str()), (0, ""));
}

#[test]
fn the_script_finds_the_program_that_wrote_it() {
    let folder = folder(40);
    let own = env!("CARGO_BIN_EXE_through");
    fs::create_dir(folder.path("bin")).unwrap();
    symlink(own, folder.path("bin/through")).unwrap();
    // The clone may lie in a folder with blanks.
    let own_word = quoted(Path::new(own));
    for (path, name) in [("", own_word.as_str()), ("bin", "through")] {
        let _ = Answer::of(folder.command(&["tune"]).env("PATH", folder.path(path)).output().unwrap()).ok();
        let script = fs::read_to_string(folder.path("tune-Alltoall/compare.sh")).unwrap();
        fs::remove_dir_all(folder.path("tune-Alltoall")).unwrap();
        assert!(script.contains(&format!("\n    {name} run -o")), "{script}");
        assert!(script.contains(&format!(".rules\" {name} run -o")), "{script}");
        assert!(script.contains(&format!("\n{name} compare ")), "{script}");
    }
}

#[test]
fn what_the_profile_lacks_is_nothing_that_matches() {
    for words in [&["--comm", "nope"][..], &["--op", "bcast"], &["--op", "send"]] {
        let answer = folder(40).through(&[&["tune"], words].concat());
        assert_eq!((answer.status, answer.err.lines().count()), (1, 1), "{words:?}: {}", answer.err);
    }
}
