//! `through watch`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use commsee::profile::hosts::{self, JOINED, Note};
use commsee::profile::recover::host_name;

use crate::common::Folder;
use crate::shards;

/// Ends what hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not so: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// A process that lives until it is dropped.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Sleeper {
        Sleeper(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(process: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap().success());
}

/// Whether it waits for the end of a process.
fn waits(watcher: &Child) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", watcher.id())).into_iter().flatten().flatten();
    descriptors
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|target| target == Path::new("anon_inode:[pidfd]"))
}

/// Two programs under one launcher are one run. The watcher of the first may come late to see that its shards are gone.
#[test]
fn a_shard_of_the_next_program_is_not_carried() {
    let folder = Folder::empty();
    let first = Sleeper::start();
    let (pid, next) = (first.0.id(), Sleeper::start());
    shards::write(folder.0.path(), "", 0, 1, pid);
    let path = shards::path(folder.0.path(), 0, pid);
    let note = Note {
        run: shards::run(pid),
        launch: String::new(),
        host: host_name(),
        rank: 0,
        pid,
        world_size: 1,
        local_ranks: Some(1),
        directories: vec![folder.0.path().to_owned()],
        roll: None,
        wanted: folder.path("a.db"),
        command: String::new(),
        started_unix_ns: 1,
        slurm_job: None,
    };
    let hosts = hosts::Folder::new(folder.0.path(), &note.run, JOINED);
    let note = hosts.tell(&note).unwrap();
    let mut watcher = Command::new(env!("CARGO_BIN_EXE_through")).arg("watch").arg(&note).spawn().unwrap();
    until("it waits", || waits(&watcher));
    signal(&watcher, "-STOP");
    fs::remove_file(&path).unwrap();
    drop(first);
    shards::write_of_run(folder.0.path(), pid, next.0.id());
    assert!(path.exists(), "in some file systems with the inode of the first one");
    signal(&watcher, "-CONT");
    assert!(!watcher.wait().unwrap().success(), "it had nothing to carry");
    assert!(path.exists(), "the next program lives");
    assert!(hosts.files(&["shard"]).is_empty() && !folder.path("a.db").exists());
}
