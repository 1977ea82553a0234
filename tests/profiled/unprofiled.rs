//! What `through run` says where nothing was profiled: the reason, if it is proved.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use common::{Done, Mpi, Program, execute, library, through};
use tempfile::TempDir;

fn compiled(mpi: Mpi, name: &str) -> PathBuf {
    Program { name, link: Vec::new() }.compiled(mpi)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// `through run` with a launcher of this library and what stands behind it.
fn run(mpi: Mpi, words: &[&str]) -> Done {
    run_with(mpi, words, "")
}

fn run_with(mpi: Mpi, words: &[&str], preload: &str) -> Done {
    let folder = folder();
    let mut command = mpi.run_by(&through(), &[], 1);
    command.args(words).current_dir(folder.path()).env("COMMSEE_DIR", folder.path()).env_remove("COMMSEE_DISABLE");
    command.env("LD_PRELOAD", preload);
    let done = execute(&mut command);
    let left: Vec<_> = fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
    done
}

/// That a job says the reason, and which line stands below it.
fn says(done: &Done, reason: &str, advice: &str) {
    let (_, told) =
        done.stderr.split_once("through: nothing was profiled: ").unwrap_or_else(|| panic!("{}", done.stderr));
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].contains(reason) && lines.len() == 2 && lines[1].contains(advice), "{reason}, {advice}:\n{told}");
}

fn c_program(folder: &Path, compiler: &str, name: &str, text: &str, flags: &[&str]) -> String {
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, text).expect("a source");
    let done = execute(Command::new(compiler).arg(&source).arg("-o").arg(&program).args(flags));
    assert!(done.status.success(), "{}", done.stderr);
    program.to_str().expect("UTF-8").to_owned()
}

#[test]
fn programs_that_do_not_come_to_mpi_init() {
    let folder = folder();
    let quits = |mpi: Mpi, name: &str, how: &str| {
        let text = format!(
            "#include <mpi.h>\n#include <stdlib.h>\nint main(int c, char **v) {{ if (c == 1) {how}; return MPI_Init(&c, &v); }}\n"
        );
        c_program(folder.path(), mpi.compiler(), &format!("{name}-{mpi}"), &text, &[])
    };
    for mpi in Mpi::ALL {
        let idle = quits(mpi, "idle", "exit(0)");
        let done = run(mpi, &[&idle]);
        assert!(done.status.success());
        says(&done, "ran with the profiler but did not call MPI_Init", "docs/howto/languages.md of the sources");
        let done = run(mpi, &[&quits(mpi, "fails", "exit(3)")]);
        assert_eq!(done.status.code(), Some(3));
        says(&done, "ran with the profiler but did not call MPI_Init", "ended with status 3");
        let done = run(mpi, &[&quits(mpi, "dies", "abort()")]);
        says(
            &done,
            "ran with the profiler but did not call MPI_Init",
            if mpi == Mpi::Mpich { "status 6" } else { "SIGABRT" },
        );
        // An MPI library whose MPI_Init ends the program.
        let text = "#include <unistd.h>\nint PMPI_Init(int *c, char ***v) { (void)c, (void)v; _exit(4); }\n";
        let ending = c_program(folder.path(), "cc", &format!("ending-{mpi}.so"), text, &["-shared", "-fPIC"]);
        let done = run_with(mpi, &[&compiled(mpi, "foreign").to_string_lossy()], &ending);
        assert_eq!(done.status.code(), Some(4));
        says(&done, "called MPI_Init, which did not return", "ended with status 4");
        let done = run(mpi, &["env", "COMMSEE_DISABLE=1", &compiled(mpi, "foreign").to_string_lossy()]);
        says(&done, "called MPI_Init, but nothing was recorded", "COMMSEE_DISABLE");
    }
}

#[test]
fn programs_that_cannot_load_the_profiler() {
    let folder = folder();
    for mpi in Mpi::ALL {
        let plain = compiled(mpi, "foreign").to_string_lossy().into_owned();
        let fixed =
            c_program(folder.path(), "cc", &format!("static-{mpi}"), "int main(void) { return 0; }\n", &["-static"]);
        says(&run(mpi, &[&fixed]), "is statically linked", "libcommsee.a");
        let hiding = "#include <mpi.h>\nint MPI_Init(int *c, char ***v) { return PMPI_Init(c, v); }\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n";
        let hiding = c_program(folder.path(), mpi.compiler(), &format!("hiding-{mpi}"), hiding, &[]);
        let done = run(mpi, &[&hiding]);
        assert!(done.status.success());
        says(&done, "defines MPI_Init itself", "link it without the tool");
        // Another processor's: the number of the machine in its header.
        let other = folder.path().join(format!("other-{mpi}"));
        let mut bytes = fs::read(&fixed).expect("a program");
        bytes[18..20].copy_from_slice(&[8, 0]);
        fs::write(&other, bytes).expect("a file");
        fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("its mode");
        says(&run(mpi, &[&other.to_string_lossy()]), "is built for Mips", "same processor");
        // Rights of a user that nobody here is.
        // SAFETY: asks for a number.
        if unsafe { libc::geteuid() } == 0 {
            // None that would call MPI: libraries fail there.
            let secure =
                c_program(folder.path(), "cc", &format!("secure-{mpi}"), "int main(void) { return 0; }\n", &[]);
            std::os::unix::fs::chown(&secure, Some(65534), None).expect("another owner");
            fs::set_permissions(&secure, fs::Permissions::from_mode(0o4755)).expect("its mode");
            says(&run(mpi, &[&secure]), "is setuid", "chmod ug-s");
        }
        says(&run(mpi, &["env", "LD_PRELOAD=", &plain]), "sets LD_PRELOAD=''", "remove that");
        says(&run(mpi, &["env", "LD_PRELOAD=libm.so.6", &plain]), "sets LD_PRELOAD='libm.so.6'", "through run");
        let tool = "int PMPI_Init(int *, char ***);\nint MPI_Init(int *c, char ***v) { return PMPI_Init(c, v); }\n";
        let tool = c_program(folder.path(), "cc", &format!("tool-{mpi}.so"), tool, &["-shared", "-fPIC"]);
        let both = format!("LD_PRELOAD={tool}:{}", library().display());
        says(
            &run(mpi, &["env", &both, &plain]),
            "defines MPI_Init, in front of libcommsee.so",
            "put libcommsee.so first",
        );
        says(&run(mpi, &["env", "-u", "LD_PRELOAD", &plain]), "LD_PRELOAD was dropped", "through exec");
        says(&run(mpi, &["./missing"]), "./missing does not exist", "ended with status");
    }
}

#[test]
fn launchers_that_fail() {
    let plain = compiled(Mpi::OpenMpi, "foreign");
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let more = (processors * 2 + 1).to_string();
    let folder = folder();
    let launch = |words: &[&str]| {
        let mut command = Command::new(through());
        command.args(["run", "--"]).args(words).arg(&plain).current_dir(folder.path()).env_remove("LD_PRELOAD");
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        execute(&mut command)
    };
    let done = launch(&["mpirun.openmpi", "-n", &more]);
    assert!(!done.status.success() && done.stderr.contains("slots"), "{}", done.stderr);
    says(&done, "no MPI program had loaded commsee", "add --oversubscribe");
    let done = launch(&["mpirun.openmpi", "--no-such-option"]);
    says(&done, "no MPI program had loaded commsee", "see its messages above");
}
