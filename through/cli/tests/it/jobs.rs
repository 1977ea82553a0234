//! `through run` and `through exec` with jobs that are no MPI programs, and with one that leaves what a profiled one
//! leaves.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Answer, Folder, sample};
use crate::shards;

/// `through` with a library that does nothing in place of the profiler: the C library, which is loaded anyway.
pub fn command(folder: &Folder, words: &[&str]) -> Command {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps.split_whitespace().find(|word| word.contains("libc.so") || word.contains("libc-")).unwrap();
    let mut command = folder.command(words);
    command.env("COMMSEE_LIB", library);
    command
}

fn through(folder: &Folder, words: &[&str]) -> Answer {
    Answer::of(command(folder, words).output().unwrap())
}

#[test]
fn status_and_output_are_those_of_the_job() {
    let folder = Folder::empty();
    for (words, status, out) in [
        (&["true"][..], 0, ""),
        (&["sh", "-c", "echo out; exit 7"], 7, "out\n"),
        (&["sh", "-c", "kill -9 $$"], 137, ""),
        (&["sh", "-c", "kill -TERM $$"], 143, ""),
        (&["cat", "-", "--", "missing"], 1, ""),
    ] {
        let answer = through(&folder, &[&["run", "--"], words].concat());
        assert_eq!((answer.status, answer.out.as_str()), (status, out), "{words:?}");
        assert!(answer.err.contains("nothing was profiled"), "{}", answer.err);
        let lines = answer.err.lines().filter(|line| line.starts_with("through:"));
        assert!(lines.clone().count() <= 6 && lines.clone().all(|line| line.len() <= 80), "{}", answer.err);
    }
    for words in [&["exec", "--", "sh", "-c", "echo out; exit 7"][..], &["exec", "sh", "-c", "echo out; exit 7"]] {
        let answer = through(&folder, words);
        assert_eq!((answer.status, answer.out.as_str(), answer.err.as_str()), (7, "out\n", ""));
    }
    assert!(folder.names().is_empty());
}

#[test]
fn what_cannot_be_started_is_told_as_a_shell_does() {
    let folder = Folder::empty();
    std::fs::write(folder.path("plain"), "").unwrap();
    for command in ["run", "exec"] {
        for (program, status) in [("./missing", 127), ("./plain", 126)] {
            let answer = through(&folder, &[command, "--", program]);
            assert_eq!((answer.status, answer.err.lines().count()), (status, 1), "{}", answer.err);
        }
        assert_eq!(through(&folder, &[command]).status, 2);
    }
}

#[test]
fn the_environment_tells_the_profiler_what_to_do() {
    let folder = Folder::empty();
    let script =
        "echo $COMMSEE_OUT; echo $COMMSEE_BUCKETS; echo $COMMSEE_HOOKS; echo $COMMSEE_LOG; echo $COMMSEE_LAUNCH";
    let words = ["run", "-o", "a.db", "--buckets", "1K,1M", "--hooks", "", "--", "sh", "-c", script];
    let answer = through(&folder, &words);
    let lines: Vec<&str> = answer.out.lines().collect();
    let here = folder.0.path().canonicalize().unwrap();
    assert_eq!(lines[..4], [here.join("a.db").to_str().unwrap(), "1K,1M", "", "warn"]);
    assert!(lines[4].len() == 32 && lines[4].chars().all(|character| character.is_ascii_hexdigit()));
    let preload = command(&folder, &["exec", "sh", "-c", "echo $LD_PRELOAD"]).env("LD_PRELOAD", "").output().unwrap();
    assert!(String::from_utf8(preload.stdout).unwrap().trim().starts_with('/'));
}

#[test]
fn a_library_that_cannot_be_loaded_is_told_before_the_job_starts() {
    let folder = Folder::empty();
    std::fs::create_dir(folder.path("a:b")).unwrap();
    std::fs::write(folder.path("a:b/libcommsee.so"), "").unwrap();
    for (library, why) in [("a:b/libcommsee.so", "colon"), ("missing.so", "was not found")] {
        let answer =
            Answer::of(command(&folder, &["run", "echo", "started"]).env("COMMSEE_LIB", library).output().unwrap());
        assert_eq!((answer.status, answer.out.as_str()), (2, ""));
        assert!(answer.err.lines().count() == 1 && answer.err.contains(why), "{}", answer.err);
    }
    // By a path without a colon, it can.
    std::os::unix::fs::symlink("a:b", folder.path("plain")).unwrap();
    let mut through = command(&folder, &["exec", "sh", "-c", "echo $LD_PRELOAD"]);
    let answer = through.env("COMMSEE_LIB", "plain/libcommsee.so").env("LD_PRELOAD", "").output().unwrap();
    assert!(Answer::of(answer).out.trim().ends_with("/plain/libcommsee.so"));
}

/// Libraries that do nothing: copies of one that is loaded anyway.
fn with_module(folder: &Folder, words: &[&str]) -> Command {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps.split_whitespace().find(|word| word.contains("libgcc_s")).unwrap();
    for name in ["libcommsee.so", "libcommsee_ucx.so"] {
        std::fs::copy(library, folder.path(name)).unwrap();
    }
    let mut command = folder.command(words);
    command.env("COMMSEE_LIB", folder.path("libcommsee.so"));
    command
}

#[test]
fn hook_modules_are_loaded_behind_the_profiler() {
    let folder = Folder::empty();
    let here = folder.0.path().canonicalize().unwrap();
    let libraries = ["libcommsee.so", "libcommsee_ucx.so"].map(|name| here.join(name).display().to_string());
    let show = ["sh", "-c", "echo $COMMSEE_HOOKS $LD_PRELOAD"];
    for (command, variable) in [("run", None), ("exec", None), ("run", Some("ucx")), ("exec", Some("ucx"))] {
        let option = if variable.is_none() { &["--hooks", "ucx", "--"][..] } else { &["--"] };
        let mut through = with_module(&folder, &[&[command], option, &show].concat());
        through.env("LD_PRELOAD", "");
        variable.into_iter().for_each(|value| _ = through.env("COMMSEE_HOOKS", value));
        let answer = Answer::of(through.output().unwrap());
        assert_eq!(
            (answer.status, answer.out.trim()),
            (0, format!("ucx {}", libraries.join(":")).as_str()),
            "{command}"
        );
    }
}

#[test]
fn a_hook_module_that_is_not_there_is_told_before_the_job_starts() {
    let folder = Folder::empty();
    for (command, option, variable) in
        [("run", Some("ucx,uxc"), ""), ("exec", Some("uxc"), ""), ("run", None, "uxc"), ("exec", None, "ucx, uxc")]
    {
        let option = option.map(|option| vec!["--hooks", option]).unwrap_or_default();
        let words = [&[command], &option[..], &["--", "echo", "started"]].concat();
        let answer = Answer::of(with_module(&folder, &words).env("COMMSEE_HOOKS", variable).output().unwrap());
        assert_eq!((answer.status, answer.out.as_str(), answer.err.lines().count()), (2, "", 1), "{}", answer.err);
        assert!(
            answer.err.contains("no hook module 'uxc'") && answer.err.contains("known ones: ucx"),
            "{}",
            answer.err
        );
    }
    // An empty list asks for none, whatever the environment says.
    let words = ["exec", "--hooks", "", "--", "true"];
    let answer = Answer::of(with_module(&folder, &words).env("COMMSEE_HOOKS", "uxc").output().unwrap());
    assert_eq!((answer.status, answer.err.as_str()), (0, ""));
}

#[test]
fn a_misspelled_variable_is_told_once_by_the_launcher() {
    let folder = Folder::empty();
    let told = |words: &[&str]| {
        let mut through = command(&folder, words);
        through.env("COMMSEE_TRACES", "1").env("COMMSEE_MY_LAYER", "1");
        Answer::of(through.output().unwrap()).err
    };
    let run = told(&["run", "--", "true"]);
    assert!(run.starts_with("through: there is no variable COMMSEE_TRACES; similar: COMMSEE_TRACE\n"), "{run}");
    assert!(!run.contains("MY_LAYER"), "{run}");
    assert_eq!(told(&["exec", "--", "true"]), "");
}

#[test]
fn open_mpi_hands_the_variables_on() {
    let folder = Folder::empty();
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; exit; }\necho \"$@\"\n";
    std::fs::write(folder.path("mpirun"), script).unwrap();
    std::fs::set_permissions(folder.path("mpirun"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let answer = through(&folder, &["run", "-o", "a.db", "--", "./mpirun", "-n", "2", "./app"]);
    let out = answer.out.trim();
    assert!(out.starts_with("-x LD_PRELOAD ") && out.ends_with(" -n 2 ./app"), "{out}");
    for name in ["COMMSEE_OUT", "COMMSEE_LAUNCH", "COMMSEE_LOG", "COMMSEE_DIR"] {
        assert!(out.contains(&format!("-x {name} ")), "{out}");
    }
}

#[test]
fn the_job_decides_what_a_signal_means() {
    let folder = Folder::empty();
    for (signal, name) in [(libc::SIGTERM, "TERM"), (libc::SIGINT, "INT"), (libc::SIGUSR1, "USR1")] {
        let script = format!("trap 'echo caught; exit 5' {name}; echo ready; while :; do sleep 0.05; done");
        let mut through = command(&folder, &["run", "--", "sh", "-c", &script]);
        // Whoever runs the tests in the background may ignore signals, which is inherited, and a shell cannot undo it.
        let heed = move || {
            // SAFETY: signal may be called between fork and exec.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: the closure allocates nothing and takes no lock.
        unsafe { through.pre_exec(heed) };
        let mut job = through.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(job.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        // SAFETY: the process is a child that is not waited for yet.
        unsafe { libc::kill(job.id() as i32, signal) };
        assert_eq!(lines.next().unwrap().unwrap(), "caught");
        assert_eq!(job.wait().unwrap().code(), Some(5), "{name}");
    }
}

/// No test: what the tests below run as a job. It leaves what a profiled program leaves.
#[test]
#[ignore = "runs as a job"]
fn the_job() {
    let (Ok(out), Ok(launch)) = (env::var("COMMSEE_OUT"), env::var("COMMSEE_LAUNCH")) else { return };
    match env::var("JOB").as_deref() {
        Ok("crash") => {
            for rank in [0, 2] {
                shards::write(Path::new(&env::var("COMMSEE_DIR").unwrap()), &launch, rank, 4, u32::MAX / 2);
            }
            std::process::abort();
        }
        Ok("elsewhere") => {
            sample(&Path::new(&env::var("COMMSEE_DIR").unwrap()).join(Path::new(&out).file_name().unwrap()), &launch);
        }
        Ok("alike") => crate::insight::write_families(Path::new(&out), &launch),
        Ok("layered") => crate::layers::write(Path::new(&out), &launch),
        _ => sample(Path::new(&out), &launch),
    }
}

fn run_job(folder: &Folder, kind: &str, output: &str) -> Answer {
    let program = env::current_exe().unwrap();
    let words = ["run", "-o", output, "--", program.to_str().unwrap(), "--ignored", "--exact", "jobs::the_job"];
    Answer::of(command(folder, &words).env("JOB", kind).output().unwrap())
}

#[test]
fn the_summary_is_short_and_says_what_matters() {
    let folder = Folder::empty();
    let answer = run_job(&folder, "good", "a b.db");
    assert_eq!(answer.status, 0, "{}", answer.err);
    assert!(answer.err.lines().count() <= 25 && answer.err.lines().all(|line| line.chars().count() <= 80));
    insta::assert_snapshot!(answer.err);
}

#[test]
fn communicators_that_were_made_alike_are_one_line_of_the_summary() {
    let folder = Folder::empty();
    let answer = run_job(&folder, "alike", "a.db");
    let alike: Vec<&str> = answer.err.lines().filter(|line| line.contains("Allreduce")).collect();
    assert!(alike.len() == 1 && alike[0].starts_with("  s0.2 and 5 more "), "{}", answer.err);
}

#[test]
fn the_summary_says_what_modules_did_not_see() {
    let folder = Folder::empty();
    let answer = run_job(&folder, "layered", "a.db");
    assert!(answer.err.lines().count() <= 25 && answer.err.lines().all(|line| line.chars().count() <= 80));
    insta::assert_snapshot!(answer.err);
}

#[test]
fn a_profile_under_another_name_is_found_by_its_token() {
    let folder = Folder::empty();
    sample(&folder.path("p.db"), "00000000000000000000000000000001");
    // The profiler takes the next free name where the wanted one is taken: here it is named by a pattern.
    let answer = run_job(&folder, "good", "p-1.db");
    assert!(answer.err.contains("profile    p-1.db"), "{}", answer.err);
    let apart = tempfile::tempdir().unwrap();
    let program = env::current_exe().unwrap();
    let words = ["run", "-o", "q.db", "--", program.to_str().unwrap(), "--ignored", "--exact", "jobs::the_job"];
    let answer = command(&folder, &words).env("JOB", "elsewhere").env("COMMSEE_DIR", apart.path()).output().unwrap();
    assert!(String::from_utf8(answer.stderr).unwrap().contains(apart.path().join("q.db").to_str().unwrap()));
}

#[test]
fn what_a_crashed_job_left_is_recovered() {
    let folder = Folder::empty();
    let answer = run_job(&folder, "crash", "p.db");
    assert_eq!(answer.status, 134, "{}", answer.err);
    assert!(answer.err.contains("ranks 1,3 left no shard"), "{}", answer.err);
    assert_eq!(answer.err.matches("recovered:").count(), 1, "{}", answer.err);
    assert!(
        answer.err.contains("job        was ended by signal 6, 2 of 4 ranks recorded, on 1 host"),
        "{}",
        answer.err
    );
    assert_eq!(folder.names(), ["p.db"]);
    let rows = folder.through(&["p.db", "-a", "--format", "csv"]).csv();
    assert_eq!((rows.len(), rows[0]["calls"].as_str()), (2, "3"));
}
