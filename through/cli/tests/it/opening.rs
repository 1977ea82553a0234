//! Which file is opened, and what is said of files that cannot be shown.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use crate::common::{Folder, sample};
use crate::golden::golden;

/// One line, status 2, and every file is what it was before.
#[track_caller]
fn refused(folder: &Folder, words: &[&str], why: &str) {
    let contents = || -> Vec<(String, Vec<u8>)> {
        let names = folder.names().into_iter();
        names.map(|name| (name.clone(), fs::read(folder.path(&name)).unwrap_or_default())).collect()
    };
    let before = contents();
    let answer = folder.through(words);
    assert_eq!((answer.status, answer.out.as_str()), (2, ""), "{words:?}");
    assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
    assert!(answer.err.starts_with("through: ") && answer.err.contains(why), "{}", answer.err);
    assert!(contents() == before, "{words:?} changed a file");
}

#[test]
fn what_is_no_profile_is_refused_in_one_line() {
    let folder = Folder::empty();
    fs::create_dir(folder.path("directory.db")).unwrap();
    fs::write(folder.path("empty.db"), b"").unwrap();
    fs::write(folder.path("text.db"), b"hello\n".repeat(99)).unwrap();
    symlink("nowhere", folder.path("dangling.db")).unwrap();
    let db = Connection::open(folder.path("other.db")).unwrap();
    db.execute_batch("CREATE TABLE t (x); PRAGMA user_version = 3").unwrap();
    db.close().unwrap();
    for (name, why) in [
        ("none.db", "no such file"),
        ("directory.db", "is a directory"),
        ("empty.db", "is empty"),
        ("text.db", "is not a commsee profile"),
        ("dangling.db", "no such file"),
        ("other.db", "is not a commsee profile"),
        ("none\n\u{1b}[31m.db", "none\\n\\u{1b}[31m.db"),
        ("/dev/null", "not a regular file"),
        ("text.db/x.db", "Not a directory"),
    ] {
        refused(&folder, &[name], why);
        refused(&folder, &["-i", name, "--format", "json"], why);
    }
    refused(&folder, &[], "no profile (*.db)");
}

#[test]
fn another_schema_is_refused() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.pragma_update(None, "user_version", commsee::profile::SCHEMA_VERSION + 1).unwrap();
    db.close().unwrap();
    refused(&folder, &["sample.db"], "was written by another version of commsee (schema version 2, not 1)");
}

#[test]
fn files_that_are_cut_off_or_overwritten_are_refused() {
    let folder = Folder::with_sample();
    let whole = fs::read(folder.path("sample.db")).unwrap();
    for bytes in [1, 50, 99, 100, 4096, whole.len() / 2, whole.len() - 1] {
        fs::write(folder.path("cut.db"), &whole[..bytes]).unwrap();
        refused(&folder, &["cut.db"], "cut.db: is ");
    }
    let mut zeroed = whole.clone();
    zeroed[4096..].fill(0);
    fs::write(folder.path("zeroed.db"), &zeroed).unwrap();
    refused(&folder, &["zeroed.db"], "is damaged");
    let mut noise = whole;
    noise[100..].iter_mut().enumerate().for_each(|(at, byte)| *byte ^= (at * 7 % 251) as u8);
    fs::write(folder.path("noise.db"), &noise).unwrap();
    refused(&folder, &["noise.db"], "is ");
}

#[test]
fn tables_of_another_shape_are_refused() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute_batch("UPDATE cell SET time_ns = 'long' WHERE id % 2 = 1").unwrap();
    db.close().unwrap();
    refused(&folder, &["sample.db", "-a"], "is damaged");
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute_batch("DROP VIEW summary").unwrap();
    db.close().unwrap();
    refused(&folder, &["sample.db"], "is damaged");
}

#[test]
fn without_a_name_the_newest_profile_is_shown() {
    let folder = Folder::empty();
    let minutes_ago = |name: &str, minutes: u64| {
        let file = fs::OpenOptions::new().write(true).open(folder.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60 * minutes)).unwrap();
    };
    for (name, minutes) in [("old.db", 9), ("new.db", 5)] {
        sample(&folder.path(name), "");
        minutes_ago(name, minutes);
    }
    fs::write(folder.path("newest.db"), b"no profile").unwrap();
    sample(&folder.path("newest.txt"), "");
    assert!(folder.through(&[]).ok().starts_with("profile    new.db\n"));
    fs::write(folder.path("cut.db"), &fs::read(folder.path("old.db")).unwrap()[..5000]).unwrap();
    let answer = folder.through(&[]);
    assert_eq!(answer.status, 0);
    assert!(answer.err.starts_with("through: skipped: cut.db: is cut off"), "{}", answer.err);
}

#[test]
fn a_profile_is_read_where_nothing_can_be_written() {
    let folder = Folder::with_sample();
    let before = fs::read(folder.path("sample.db")).unwrap();
    fs::set_permissions(folder.path("sample.db"), std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    for words in [&["sample.db"][..], &["-a"], &["-u", "-i", "sample.db"], &["./sample.db", "-e"]] {
        folder.through(words).ok();
    }
    assert_eq!(folder.names(), ["sample.db"]);
    assert!(fs::read(folder.path("sample.db")).unwrap() == before);
}

#[test]
fn a_profile_may_have_the_name_of_a_command() {
    let folder = Folder::empty();
    sample(&folder.path("run"), "");
    folder.through(&["./run"]).ok();
    folder.through(&["-i", "run"]).ok();
}

/// Before the first release columns were added under the same number of the schema.
#[test]
fn a_profile_of_another_build_says_so() {
    let folder = Folder::empty();
    fs::copy(golden("version-1-layers.db"), folder.path("sample.db")).unwrap();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute_batch("DROP VIEW transfers; DROP VIEW devices; DROP VIEW events; ALTER TABLE way DROP COLUMN memory")
        .unwrap();
    drop(db);
    for words in [&["layers", "sample.db"][..], &["sample.db"]] {
        refused(
            &folder,
            words,
            "was written by another version of commsee (it has no column memory): run the program again",
        );
    }
}
