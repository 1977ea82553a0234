//! Which runs are dead, and what else they left.

use std::fs;
use std::os::fd::AsRawFd;

use commsee::profile::locks;
use commsee::shard::{Header, LOCKED, set_text};

use super::{DEAD, shard, write, write_as};
use crate::common::{Answer, Folder, once_released};

#[test]
fn live_runs_are_left_alone() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, std::process::id());
    for command in [&["recover"][..], &["recover", "--clean"]] {
        let answer = folder.through(&[command, &[folder.0.path().to_str().unwrap()]].concat());
        assert_eq!(answer.status, 1);
        assert!(answer.err.contains("skipped, it still runs"), "{}", answer.err);
    }
    assert_eq!(folder.names().len(), 1);
}

/// The name that something of the run has which `write` makes with this process number.
fn of_run(pid: u32, end: &str) -> String {
    format!("commsee-{:016x}{pid:016x}{end}", 0xabcd_ef01u64)
}

const LEFT: [&str; 5] = ["-0.snapshot-1.claim", "-1.part", "-1.joined", ".node", ".decision"];

/// All that a run that was killed may leave beside its shards: files, links to somewhere else, folders.
fn write_debris(folder: &Folder, pid: u32) {
    LEFT.iter().for_each(|end| fs::write(folder.path(&of_run(pid, end)), "").unwrap());
    std::os::unix::fs::symlink(folder.path("precious"), folder.path(&of_run(pid, "-2.joined"))).unwrap();
    let hidden = folder.path(&format!(".{}", of_run(pid, "")));
    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("part"), "").unwrap();
    fs::create_dir_all(folder.path("precious")).unwrap();
    fs::write(folder.path("precious/data"), "").unwrap();
    // No run is named by these.
    fs::write(folder.path("commsee-notes.txt"), "").unwrap();
    fs::write(folder.path(&of_run(pid, ".db")), "").unwrap();
}

#[test]
fn what_else_a_dead_run_left_goes_with_its_shards() {
    let kept = |pid| vec![of_run(pid, ".db"), "commsee-notes.txt".to_owned(), "precious".to_owned()];
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    write_debris(&folder, DEAD);
    assert!(folder.through(&["recover", "--clean"]).ok().starts_with("removed run "));
    assert_eq!(folder.names(), kept(DEAD));
    assert!(folder.path("precious/data").exists());

    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    write_debris(&folder, DEAD);
    folder.through(&["recover", "--keep", "-o", "a.db"]).ok();
    assert_eq!(folder.names().len(), 12);
    folder.through(&["recover", "-o", "a.db"]).ok();
    assert_eq!(folder.names(), [&["a-1.db".to_owned(), "a.db".to_owned()], &kept(DEAD)[..]].concat());
}

#[test]
fn what_a_run_left_that_goes_on_stays() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, std::process::id());
    write_debris(&folder, std::process::id());
    let before = folder.names();
    for command in [&["recover"][..], &["recover", "--clean"]] {
        let answer = folder.through(&[command, &[folder.0.path().to_str().unwrap()]].concat());
        assert!(answer.status == 1 && answer.err.contains("skipped, it still runs"), "{answer:?}");
        assert_eq!(folder.names(), before);
    }
    // Its shards lie where they do by default, and this beside the profile.
    let beside = folder.path("precious");
    fs::create_dir(beside.join(format!(".{}", of_run(std::process::id(), "")))).unwrap();
    let answer = folder.through(&["recover", "--clean", "--force", "precious"]);
    assert!(answer.status == 1 && answer.err.contains("skipped, its job still runs"), "{answer:?}");
    fs::remove_file(shard(&folder, std::process::id(), 0)).unwrap();
    let answer = folder.through(&["recover", "--clean", "precious"]);
    assert!(answer.err.contains("skipped, unknown whether its job has ended (--force)"), "{answer:?}");
    folder.through(&["recover", "--clean", "--force", "precious"]).ok();
    assert_eq!(fs::read_dir(beside).unwrap().count(), 1);
}

/// Of a process that was killed when it had removed the shards.
#[test]
fn a_claim_without_shards_is_judged_by_its_holder() {
    for command in [&["recover", "--clean"][..], &["recover"]] {
        let folder = Folder::empty();
        let path = folder.path(&of_run(DEAD, "-0.snapshot-1.claim"));
        let claim = commsee::profile::Claim::take(&path).unwrap();
        assert_eq!(folder.through(command).status, 1);
        assert!(path.exists(), "{command:?}: it is held");
        drop(claim);
        for end in ["-0.snapshot-1.claim", "-1.part"] {
            fs::write(folder.path(&of_run(DEAD, end)), "").unwrap();
        }
        let said = |answer: &Answer| format!("{}{}", answer.out, answer.err);
        let is_removed = |answer: &Answer| said(answer).contains("removed files");
        let said = said(&once_released(|| folder.through(command), is_removed));
        assert!(said.contains("removed files of run 00000000: ") && said.contains(" and 1 more"), "{said}");
        assert_eq!(folder.names(), Vec::<String>::new());
    }
}

/// Of a process that no number tells of here nobody says that it is dead, and where it may be is said.
#[test]
fn runs_of_which_nobody_knows_are_left_alone() {
    type Say = fn(&mut Header);
    let in_container: Say = |header| header.namespaces += 1;
    let on_namesake: Say = |header| header.boot = [1, 2];
    let away: Say = |header| {
        header.boot = [1, 2];
        set_text(&mut header.host, "far\u{1b}away");
    };
    let unknown = "it ran in another container, or on another host of this name, and may still run there (--force)";
    let elsewhere = "it ran on far\\u{1b}away and may still run there (--force)";
    for (say, why) in [(in_container, unknown), (on_namesake, unknown), (away, elsewhere)] {
        for pid in [DEAD, std::process::id()] {
            for command in [&["recover"][..], &["recover", "--clean"]] {
                let folder = Folder::empty();
                write_as(folder.0.path(), "", 0, 1, pid, Vec::new(), say);
                let answer = folder.through(command);
                assert!(answer.status == 1 && answer.err.contains(&format!("skipped, {why}")), "{}", answer.err);
                assert_eq!(folder.names().len(), 1);
                folder.through(&[command, &["--force"]].concat()).ok();
            }
        }
    }
}

/// Shards whose lock nobody holds are of the dead, whatever else they say.
#[test]
fn the_lock_decides_before_the_number() {
    let folder = Folder::empty();
    let say = |header: &mut Header| {
        header.lock = LOCKED;
        header.boot = [1, 2];
        set_text(&mut header.host, "far.away");
    };
    let pid = std::process::id();
    write_as(folder.0.path(), "", 0, 1, pid, Vec::new(), say);
    let path = shard(&folder, pid, 0);
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    assert!(locks::take(file.as_raw_fd()).unwrap());
    for words in [&["recover", "--force"][..], &["recover", "--clean", "--force"]] {
        let answer = folder.through(words);
        assert!(answer.err.contains("skipped, it still runs (on far.away)"), "{}", answer.err);
        assert_eq!(folder.names().len(), 1);
    }
    drop(file);
    once_released(|| folder.through(&["recover", "-o", "a.db"]), |answer| answer.status == 0).ok();
    assert_eq!(folder.names(), ["a.db"]);
}

#[test]
fn what_is_not_there_is_no_place_without_shards() {
    let folder = Folder::empty();
    for command in [&["recover"][..], &["recover", "--all-hosts"], &["recover", "--clean"]] {
        let answer = folder.through(&[command, &[".", "nowhere"]].concat());
        assert_eq!(answer.status, 2, "{command:?}");
        assert_eq!(answer.err, "through: nowhere: there is no such file or directory\n", "{command:?}");
    }
    // It may be a job, too.
    let answer = folder.through(&["watch", "--once", "nowhere"]);
    assert_eq!(answer.status, 1);
    assert!(answer.err.starts_with("through: nowhere: no such directory, and no running job "), "{}", answer.err);
}

#[test]
fn what_cannot_be_said_of_dead_runs_is_an_error() {
    let folder = Folder::empty();
    write(folder.0.path(), "", 0, 1, DEAD);
    for words in [&["recover", "--clean", "-n"][..], &["recover", "--keep"], &["recover", "--clean"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let answer = Answer::of(folder.command(words).stdout(full).output().unwrap());
        assert_eq!((answer.status, answer.err.lines().count()), (2, 1), "{words:?}: {}", answer.err);
        assert!(answer.err.contains("standard output: "), "{}", answer.err);
    }
    // It was done all the same.
    assert_eq!(folder.names().len(), 1, "{:?}", folder.names());
    assert!(folder.names()[0].starts_with("commsee-recovered-"));
}
