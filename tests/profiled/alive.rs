//! Who lives: processes that hold the lock of their shard, in whatever namespace, and whatever they do to descriptors.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{Launch, Mpi, Program, Run, execute, library, shared_library, side_by_side, target_folder};
use commsee::profile::debris::State;
use commsee::profile::recover::{self, process_start};
use commsee::shard::{LOCKED, UNLOCKED, read_header};
use tempfile::TempDir;

use crate::containers::{CONTAINER, has_containers};

/// A job of one process that goes on until it is told to end.
struct Job {
    folder: TempDir,
    run: Option<JoinHandle<Run>>,
}

impl Job {
    /// `place`: where its shard lies. `locks`: whether its file system has them.
    fn start(mpi: Mpi, how: &str, place: &Path, is_contained: bool, locks: bool) -> Job {
        let folder = tempfile::tempdir_in(place).expect("a temporary folder");
        let path = folder.path().to_str().expect("a path in UTF-8");
        let program = Program { name: "alive", link: Vec::new() }.compiled(mpi);
        let program = program.to_str().expect("a path in UTF-8");
        let mut launch = match is_contained {
            true => Launch::of(mpi, "unshare".into()).arguments(&CONTAINER).arguments(&[program, how]),
            false => Launch::of(mpi, program.into()).arguments(&[how]),
        };
        launch = launch.preload(library()).ranks(1).variable("ALIVE_DIR", path).variable("COMMSEE_DIR", path).waiting();
        if !locks {
            let refuses = [("BROKEN_FUNCTION", "fcntl"), ("BROKEN_ERROR", "37"), ("BROKEN_TIMES", "1000")];
            launch = launch.preload(shared_library("broken"));
            launch = refuses.into_iter().fold(launch, |launch, (name, value)| launch.variable(name, value));
        }
        let job = Job { folder, run: Some(thread::spawn(move || launch.run())) };
        job.wait_until("the program is there", || {
            let is_gone = job.run.as_ref().is_none_or(JoinHandle::is_finished);
            job.path("ready").exists() || is_gone
        });
        assert!(job.path("ready").exists(), "{mpi} {how}: it ended before");
        job
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// The limit only ends a test that hangs.
    fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(200), "never: {what}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn pid(&self) -> u32 {
        fs::read_to_string(self.path("ready")).expect("its number").trim().parse().expect("a number")
    }

    fn left(&self) -> recover::Run {
        let mut found = recover::find(&[self.folder.path().to_owned()]);
        assert_eq!(found.len(), 1, "shards of one run");
        found.remove(0)
    }

    fn lock(&self) -> u32 {
        read_header(&self.left().shards[0]).expect("a shard").lock
    }

    fn end(&mut self) {
        fs::write(self.path("end"), "").expect("a file");
        self.run.take().expect("it goes on").join().expect("the job is run");
    }

    /// Status and output of `through`, here or in a container.
    fn through(&self, words: &[&str], is_contained: bool) -> (Option<i32>, String) {
        let program = library().with_file_name("through");
        let mut command = if is_contained { Command::new("unshare") } else { Command::new(&program) };
        if is_contained {
            command.args(CONTAINER).arg(&program);
        }
        let done = execute(command.args(words).arg(self.folder.path()).current_dir(self.folder.path()));
        (done.status.code(), format!("{}{}", done.stdout, done.stderr))
    }

    #[track_caller]
    fn is_left_alone(&self, words: &[&str], is_contained: bool, why: &str) {
        let (status, said) = self.through(words, is_contained);
        assert!(status == Some(1) && said.contains(&format!("skipped, {why}")), "{words:?}: {said}");
        assert!(self.left().shards[0].exists());
    }
}

impl Drop for Job {
    /// A test that fails leaves nobody behind.
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            let _ = fs::write(self.path("end"), "");
            let _ = run.join();
        }
    }
}

fn places() -> [std::path::PathBuf; 2] {
    ["/dev/shm".into(), target_folder()]
}

#[test]
fn a_process_holds_its_lock_without_a_descriptor() {
    for mpi in Mpi::ALL {
        let cases = places().into_iter().flat_map(|place| ["waits", "closes"].map(|how| (place.clone(), how)));
        side_by_side(cases, |(place, how)| {
            let mut job = Job::start(mpi, how, &place, false, true);
            assert_eq!((job.lock(), job.left().state), (LOCKED, State::Alive), "{mpi} {how} {place:?}");
            let fds = fs::read_dir(format!("/proc/{}/fd", job.pid())).expect("its descriptors");
            let open = fds.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok()).collect::<Vec<_>>();
            assert!(!open.iter().any(|file| file.to_string_lossy().ends_with(".shard")), "{open:?}");
            for words in [&["recover"][..], &["recover", "--force"], &["recover", "--clean", "--force"]] {
                job.is_left_alone(words, false, "it still runs");
            }
            // A copy is nobody's.
            let copies = tempfile::tempdir().expect("a temporary folder");
            let shard = job.left().shards[0].clone();
            fs::copy(&shard, copies.path().join(shard.file_name().unwrap())).expect("a copy");
            assert_eq!(recover::find(&[copies.path().to_owned()])[0].state, State::Dead);
            job.end();
            assert_eq!(job.left().state, State::Dead, "{mpi} {how} {place:?}");
            let (status, said) = job.through(&["recover", "-o", "a.db"], false);
            assert_eq!(status, Some(0), "{said}");
            assert!(recover::find(&[job.folder.path().to_owned()]).is_empty() && job.path("a.db").exists());
        });
    }
}

#[test]
fn children_do_not_keep_a_dead_parent_alive() {
    for mpi in Mpi::ALL {
        for place in places() {
            let mut job = Job::start(mpi, "forks", &place, false, true);
            job.wait_until("the parent is dead", || job.left().state == State::Dead);
            assert!(process_start(job.pid()).is_some(), "its child lives");
            job.end();
        }
    }
}

/// What was counted until then is final.
#[test]
fn a_process_that_becomes_another_program_counts_no_more() {
    for mpi in Mpi::ALL {
        let mut job = Job::start(mpi, "execs", Path::new("/dev/shm"), false, true);
        job.wait_until("it is another program", || job.left().state == State::Dead);
        assert!(process_start(job.pid()).is_some(), "it lives");
        job.end();
    }
}

#[test]
fn processes_of_containers_are_known_to_live() {
    if !has_containers() {
        return;
    }
    for mpi in Mpi::ALL {
        for place in places() {
            let mut job = Job::start(mpi, "waits", &place, true, true);
            let header = read_header(&job.left().shards[0]).expect("a shard");
            assert!(process_start(header.pid) != Some(header.process_start), "its number means nothing here");
            for is_contained in [false, true] {
                for words in [&["recover", "--force"][..], &["recover", "--clean", "--force"]] {
                    job.is_left_alone(words, is_contained, "it still runs");
                }
            }
            job.end();
            let (status, said) = job.through(&["recover", "-o", "a.db"], true);
            assert!(status == Some(0) && job.path("a.db").exists(), "{said}");
        }
    }
}

/// Then numbers decide, where they mean something.
#[test]
fn without_locks_nobody_is_called_dead_by_a_number_of_others() {
    for mpi in Mpi::ALL {
        let mut job = Job::start(mpi, "waits", Path::new("/dev/shm"), false, false);
        assert_eq!((job.lock(), job.left().state), (UNLOCKED, State::Alive), "{mpi}");
        job.is_left_alone(&["recover", "--clean", "--force"], false, "it still runs");
        job.end();
        assert_eq!(job.left().state, State::Dead, "{mpi}");
        if !has_containers() {
            continue;
        }
        let mut job = Job::start(mpi, "waits", Path::new("/dev/shm"), true, false);
        assert_eq!((job.lock(), job.left().state), (UNLOCKED, State::Unknown), "{mpi}");
        for words in [&["recover"][..], &["recover", "--clean"]] {
            job.is_left_alone(words, false, "it ran in another container");
        }
        job.end();
        job.is_left_alone(&["recover"], false, "it ran in another container");
        let (status, said) = job.through(&["recover", "--force", "-o", "a.db"], false);
        assert!(status == Some(0) && job.path("a.db").exists(), "{said}");
    }
}
