//! Files: which calls and bytes on which file, and what a profile does not say of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::profile::{OnFile, OpenedFile};
use common::{Launch, Mpi, Profile, Run, check, check_files, check_profile, execute, fortran, library, through};
use commsee::profile::recover;
use commsee::shard::MOST_FILES;
use rusqlite::Connection;
use tempfile::TempDir;

/// No profile says it unless it is told to.
const PRIVATE: &str = "secret-project-folder";

/// Where the program has its files. The log of what it says lies elsewhere.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let private = folder.path().join(PRIVATE);
    for name in ["a", "b"] {
        fs::create_dir_all(private.join(name)).expect("a folder");
    }
    (folder, private)
}

fn launch(mpi: Mpi, ranks: usize, how: &[&str]) -> (TempDir, Launch) {
    let (folder, private) = folder();
    let launch = Launch::new(mpi, "files").ranks(ranks).arguments(how);
    (folder, launch.variable("FILES_DIR", private.to_str().expect("UTF-8")))
}

fn holds(mpi: Mpi, ranks: usize, how: &[&str]) -> Profile {
    let (_folder, launch) = launch(mpi, ranks, how);
    let run = launch.run().succeeded();
    check(&run);
    assert!(!says(&run.profile_path(), PRIVATE), "the profile tells where files are");
    run.profile()
}

/// Whether a text stands in a file.
fn says(path: &Path, text: &str) -> bool {
    let bytes = fs::read(path).expect("the profile");
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn each_file_has_its_calls_and_bytes() {
    for mpi in Mpi::ALL {
        for ranks in [1, 2, 4] {
            let profile = holds(mpi, ranks, &[]);
            let of_one_name = |name: &str| {
                let named = profile.opened.iter().filter(|opened| opened.file.as_deref() == Some(name));
                named.map(|opened| (opened.id, opened.comm.as_str())).collect::<Vec<_>>()
            };
            // Two folders, one of them over one communicator; one file, over two communicators and to be deleted.
            assert_eq!(of_one_name("same.dat").len(), 2, "{:?}", profile.opened);
            let shared = of_one_name("shared.dat");
            assert!(shared.len() == 3 && shared.iter().all(|(id, _)| *id == shared[0].0), "{:?}", profile.opened);
        }
    }
    if Mpi::Standard.is_there() {
        [1, 4].into_iter().for_each(|ranks| _ = holds(Mpi::Standard, ranks, &[]));
    }
}

#[test]
fn threads_have_their_files_and_what_others_complete() {
    for mpi in Mpi::ALL {
        [1, 2].into_iter().for_each(|ranks| _ = holds(mpi, ranks, &["threads"]));
    }
}

#[test]
fn names_from_fortran_end_before_their_blanks() {
    for (mpi, interface) in Mpi::ALL.into_iter().flat_map(|mpi| [1, 2, 3].map(|interface| (mpi, interface))) {
        let (_folder, private) = folder();
        let program = fortran(mpi, "fortran_files", interface);
        let launch = Launch::of(mpi, program).preload(library()).ranks(2);
        check(&launch.variable("FILES_DIR", private.to_str().expect("UTF-8")).run().succeeded());
    }
}

#[test]
fn paths_are_kept_where_that_is_asked_for() {
    for mpi in Mpi::ALL {
        let (folder, launch) = launch(mpi, 2, &[]);
        let run = launch.variable("COMMSEE_FILES", "path").run().succeeded();
        let profile = run.profile();
        let path = folder.path().join(PRIVATE).join("a/shared.dat");
        let path = path.to_str().expect("UTF-8");
        assert!(profile.opened.iter().any(|opened| opened.file.as_deref() == Some(path)), "{:?}", profile.opened);
    }
    let (_folder, launch) = launch(Mpi::Mpich, 1, &[]);
    let run = launch.variable("COMMSEE_FILES", "all").run().succeeded();
    assert!(run.stderr.contains("COMMSEE_FILES=all is not name or path"), "{}", run.stderr);
    check(&run);
}

#[test]
fn files_beyond_the_last_name_are_one() {
    for mpi in Mpi::ALL {
        let more = 3;
        let (_folder, launch) = launch(mpi, 1, &["names", &(MOST_FILES + more).to_string()]);
        let run = launch.run().succeeded();
        let said = run.stderr.lines().filter(|line| line.contains("more than 4096 file names")).count();
        assert_eq!(said, 1, "{}", run.stderr);
        let profile = run.profile();
        let unnamed: Vec<&OpenedFile> = profile.opened.iter().filter(|opened| opened.file.is_none()).collect();
        assert_eq!((profile.opened.len() as u32, unnamed.len()), (MOST_FILES + 1, 1));
        assert_eq!(unnamed[0].opens, u64::from(more));
        let table = shown(&run.profile_path(), &["--sort", "calls", "--top", "1"]);
        assert!(table.contains("files beyond the first 4096 names"), "{table}");
    }
}

#[test]
fn a_killed_job_loses_no_file() {
    for mpi in Mpi::ALL {
        for ranks in [1, 4] {
            let (_folder, launch) = launch(mpi, ranks, &["dies"]);
            let run = launch.run();
            assert!(!run.status.success());
            let path = run.folder().join("recovered.db");
            let recovered = recover::recover(&run.left_over(), &path).expect("a profile of the shards");
            check_profile(&run, &Profile::read(&recovered.path));
            assert!(!says(&recovered.path, PRIVATE));
        }
    }
}

#[test]
fn snapshots_hold_files_too() {
    for mpi in Mpi::ALL {
        let (_folder, launch) = launch(mpi, 2, &["snapshot"]);
        let run = launch.run().succeeded();
        check(&run);
        let snapshot = Profile::read(&run.folder().join("profile-snapshot-1.db"));
        assert!(!snapshot.meta.contains_key("damaged_entries"), "{:?}", snapshot.meta);
        check_files(&snapshot);
        let whole = run.profile();
        let is_later = |one: &OnFile| one.file.as_deref() == Some("absent.dat") || one.op == "MPI_File_delete";
        let before: Vec<OnFile> = whole.files.into_iter().filter(|one| !is_later(one)).collect();
        // MPICH has a file that is opened behind it as well.
        let mut sums_before = sums(&before);
        sums_before.retain(|(file, ..), _| file != "prefixed.dat");
        assert_eq!(sums(&snapshot.files), sums_before, "{mpi}");
    }
}

/// By file, communicator, operation, bucket and phase: calls, failed calls, bytes read and written.
type Sums = BTreeMap<(String, String, String, u64, String), [u64; 4]>;

fn sums(files: &[OnFile]) -> Sums {
    let mut sums = Sums::new();
    for one in files {
        let file = one.file.clone().unwrap_or_default();
        let key = (file, one.comm.clone(), one.op.clone(), one.bucket_lo, one.phase.clone());
        let counts = [one.calls, one.failed, one.bytes_read, one.bytes_written];
        sums.entry(key).or_default().iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    sums
}

#[test]
fn sums_do_not_depend_on_the_detail() {
    for mpi in Mpi::ALL {
        let (_folder, launch_by_rank) = launch(mpi, 4, &[]);
        let ranks = launch_by_rank.run().succeeded().profile();
        for detail in ["node", "comm"] {
            let (_folder, launch) = launch(mpi, 4, &[]);
            let run = launch.variable("COMMSEE_DETAIL", detail).run().succeeded();
            let (files, mut opened) = read(&run);
            let of_rank = if detail == "node" { Some(0) } else { None };
            assert!(files.iter().all(|one| one.rank == of_rank), "{mpi} {detail}: {files:?}");
            assert_eq!(sums(&files), sums(&ranks.files), "{mpi} {detail}");
            let mut expected = ranks.opened.clone();
            opened.sort();
            expected.sort();
            assert_eq!(opened, expected, "{mpi} {detail}");
            let csv = shown(&run.profile_path(), &["--format", "csv"]);
            assert!(csv.lines().any(|line| line.starts_with("shared.dat,")), "{csv}");
        }
    }
}

/// A profile without single ranks is none that other tests can read as a whole.
fn read(run: &Run) -> (Vec<OnFile>, Vec<OpenedFile>) {
    Profile::files_of(&Connection::open(run.profile_path()).expect("the profile"))
}

fn shown(profile: &Path, words: &[&str]) -> String {
    let done = execute(Command::new(through()).arg(profile).arg("--files").args(words));
    assert!(done.status.success(), "{words:?}: {}", done.stderr);
    done.stdout
}

#[test]
fn through_tells_of_each_file_what_was_done_with_it() {
    for mpi in Mpi::ALL {
        let (_folder, launch) = launch(mpi, 4, &[]);
        let run = launch.run().succeeded();
        let row = |words: &[&str]| {
            let csv = shown(&run.profile_path(), &[&["--format", "csv", "--comm", "W0.0"], words].concat());
            let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
            let names = lines.next().expect("names of columns");
            let found = lines.find(|line| line[0] == "shared.dat").expect("the file");
            names.into_iter().zip(found).collect::<BTreeMap<_, _>>()
        };
        let space = 1 << 14;
        let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<u64>().expect("a number");
        let all = row(&[]);
        let writes = [50, 49, 48, 47].iter().sum::<u64>();
        let written = writes * 10 + 4 * 2 * space + 4 * 300;
        let bytes_read = 4 * (2000 + 5000 + 777);
        assert_eq!(["ranks", "opens", "views_set"].map(|name| number(&all, name)), [4, 8, 8]);
        assert_eq!((number(&all, "bytes_written"), number(&all, "bytes_read")), (written, bytes_read));
        // open twice, close twice, two views, two collective writes and the two halves of a read, of each rank.
        let (collective, others) = (4 * 10, writes + 4 * 3);
        assert_eq!(number(&all, "calls"), collective + others);
        let share: f64 = all["collective_share"].parse().expect("a fraction");
        assert!((share - collective as f64 / (collective + others) as f64).abs() < 1e-9);
        let accesses = writes + 4 * 6;
        assert_eq!(number(&all, "accesses"), accesses);
        assert_eq!(number(&all, "access_bytes"), (written + bytes_read) / accesses);
        let rate = |name: &str| all[name].parse::<f64>().expect("bytes per second");
        assert!(rate("bytes_per_s_of_a_rank") > 0.0 && rate("bytes_per_s_of_all") > rate("bytes_per_s_of_a_rank"));
        let small = row(&["--bytes", ":128", "--op", "File_write_at", "--rank", "1,2"]);
        assert_eq!((number(&small, "calls"), number(&small, "bytes_written")), (49 + 48, (49 + 48) * 10));
        assert_eq!((number(&small, "ranks"), number(&small, "opens")), (2, 4));
        let phase = row(&["--phase", "again"]);
        assert_eq!((number(&phase, "bytes_read"), number(&phase, "bytes_written")), (4 * 777, 0));
    }
}
