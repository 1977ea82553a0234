//! Ranks that run in containers of their own, as namespaces make them: processes have other numbers there, and the launcher is hidden.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::{Launch, Mpi, Profile, Program, Run, answer, check_profile, execute, library, root};

/// A process in a world of its own: nothing else has its numbers.
pub const CONTAINER: [&str; 6] = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--uts"];

pub fn has_containers() -> bool {
    let has = execute(Command::new("unshare").args(CONTAINER).arg("true")).status.success();
    if !has {
        eprintln!("SKIPPED: user namespaces are not allowed here, so nothing was tried in containers");
    }
    has
}

/// `words`: what runs the program in the container.
fn contained(mpi: Mpi, words: &[&str], program: &str) -> Launch {
    let program = Program { name: program, link: Vec::new() }.compiled(mpi);
    let launch = Launch::of(mpi, "unshare".into()).arguments(&CONTAINER).arguments(words).preload(library());
    // Through shared memory Open MPI 4 crashes there by itself: ranks with the same number take each other's.
    launch.arguments(&[program.to_str().expect("a path in UTF-8")]).variable("OMPI_MCA_btl", "tcp,self").ranks(2)
}

/// As [`common::check`], but that processes have numbers of their own is not so here.
fn check(run: &Run) {
    assert_eq!(run.left_behind(), Vec::<PathBuf>::new(), "{}", run.output());
    let profile = Profile::read(&run.profile_path());
    assert_eq!(profile.ranks.len(), run.ranks, "{}", run.output());
    check_profile(run, &profile);
}

/// As most images start programs.
#[test]
fn ranks_behind_a_script_in_a_container_are_one_run() {
    if !has_containers() {
        return;
    }
    for mpi in Mpi::ALL {
        check(&contained(mpi, &["sh", "-c", "\"$0\"; exit $?"], "p2p").run().succeeded());
        let named = "hostname box-$MPI_LOCALRANKID$OMPI_COMM_WORLD_LOCAL_RANK; \"$0\"; exit $?";
        let run = contained(mpi, &["sh", "-c", named], "p2p").run().succeeded();
        check(&run);
        // The rank that comes last to MPI_Finalize waits for nobody: 5 s went by there where no launcher says how many ranks a container has.
        let last = "SELECT min(time_s) < 2 FROM profile WHERE op = 'MPI_Finalize'";
        assert_eq!(answer(&run.profile_path(), last), ["1"]);
    }
}

/// Of both jobs all processes have the number 1, and their parent 0.
#[test]
fn two_jobs_in_containers_at_the_same_time_are_two_runs() {
    if !has_containers() {
        return;
    }
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().to_str().expect("a path in UTF-8").to_owned();
        let first = contained(mpi, &[], "alive").arguments(&["waits"]).variable("ALIVE_DIR", &place);
        let first = first.variable("COMMSEE_DIR", &place).waiting();
        let first = thread::spawn(move || first.run());
        let (ready, begin) = (folder.path().join("ready"), Instant::now());
        while !ready.exists() && !first.is_finished() && begin.elapsed() < Duration::from_secs(200) {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(ready.exists(), "{mpi}: the first job does not run");
        let second = contained(mpi, &[], "p2p").variable("COMMSEE_DIR", &place).run();
        fs::write(folder.path().join("end"), "").expect("a file");
        first.join().expect("the job is run");
        check(&second.succeeded());
    }
}

/// Starts the program on a root that FUSE mounts, as that of rootless Podman is, with a home there.
const ON_AN_IMAGE: &str = r#"
image=$(mktemp -d -p "$IMAGES")
mkdir "$image/new" "$image/work" "$image/root"
fuse-overlayfs -o "lowerdir=/,upperdir=$image/new,workdir=$image/work" "$image/root" 2>/dev/null || exit
for place in /proc /dev /tmp "$PWD" "$SOURCES"; do mount --rbind "$place" "$image/root$place" || exit; done
HOME=/ chroot "$image/root" sh -c 'cd "$1" && "$0"; exit $?' "$0" "$PWD"
exit $?"#;

/// Each has a root of its own, which passes for a file system between hosts.
#[test]
fn ranks_whose_home_is_in_an_image_are_one_run() {
    if !has_containers() {
        return;
    }
    let images = tempfile::tempdir().expect("a temporary folder");
    let place = images.path().to_str().expect("a path in UTF-8");
    let sources = root().display().to_string();
    let mut alone = Command::new("unshare");
    alone.args(CONTAINER).args(["sh", "-c", ON_AN_IMAGE, "true"]).current_dir(images.path());
    if !execute(alone.env("IMAGES", place).env("SOURCES", &sources)).status.success() {
        eprintln!("SKIPPED: fuse-overlayfs is missing or may not mount here, so nothing was tried on images");
        return;
    }
    for mpi in Mpi::ALL {
        let launch = contained(mpi, &["sh", "-c", ON_AN_IMAGE], "p2p");
        check(&launch.variable("IMAGES", place).variable("SOURCES", &sources).run().succeeded());
    }
}
