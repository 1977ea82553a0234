//! What the program and its environment say about profiling: `MPI_Pcontrol` and the variables `COMMSEE_…`.

use std::process::Command;

use common::{Launch, Mpi, Profile, Program, check, check_profile, execute, fortran, holds, library};

#[test]
fn pcontrol_stops_and_resumes_counting() {
    for mpi in Mpi::ALL {
        [2, 4].into_iter().for_each(|ranks| holds(mpi, "control", ranks));
    }
}

/// Where MPI is not there, what happens is the library's choice.
#[test]
fn pcontrol_outside_of_mpi_is_left_to_the_library() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for mpi in Mpi::ALL {
        let in_c = Program { name: "outside", link: Vec::new() }.compiled(mpi);
        let in_fortran = (1..=3).map(|interface| fortran(mpi, "outside", interface));
        for program in std::iter::once(in_c).chain(in_fortran) {
            for when in ["before", "after"] {
                let told = |preload: &str| {
                    let mut command = Command::new(&program);
                    command.arg(when).env("LD_PRELOAD", preload).env("COMMSEE_OUT", folder.path().join("%p.db"));
                    let done = execute(&mut command);
                    // Of the numbers some are those of processes.
                    let said = done.stderr.lines().filter(|line| !line.starts_with("commsee: profile in "));
                    let stderr = said.collect::<Vec<_>>().join("\n").replace(|c: char| c.is_ascii_digit(), "");
                    (done.status, done.stdout, stderr)
                };
                let profiled = told(library().to_str().expect("a path in UTF-8"));
                assert_eq!(told(""), profiled, "{} {when}", program.display());
            }
        }
    }
}

#[test]
fn other_buckets_hold_the_same_calls() {
    for mpi in Mpi::ALL {
        for edges in ["1", "1,2,3,199,200,201,1K,64K,1M,4G", "7,100,1000000"] {
            let launch = Launch::new(mpi, "p2p").ranks(2).variable("COMMSEE_BUCKETS", edges);
            check(&launch.run().succeeded());
        }
    }
}

#[test]
fn a_disabled_profiler_leaves_nothing() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "control").ranks(2).variable("COMMSEE_DISABLE", "1").run().succeeded();
        assert!(!run.profile_path().exists());
        assert!(run.left_behind().is_empty());
        assert!(!run.output().contains("commsee"), "{}", run.output());
    }
}

#[test]
fn large_counts_are_counted_under_the_plain_names() {
    // Open MPI 4.1 has no large-count functions.
    [2, 4].into_iter().for_each(|ranks| holds(Mpi::Mpich, "large", ranks));
}

#[test]
fn edges_that_make_no_sense_are_replaced_by_the_default_ones() {
    for mpi in Mpi::ALL {
        for edges in ["banana", "1,0", "0", "5,5", ",", "99999999999999999999"] {
            let run = Launch::new(mpi, "control").ranks(2).variable("COMMSEE_BUCKETS", edges).run().succeeded();
            check(&run);
            assert_eq!(run.profile().meta["bucket_edges"], "128,1K,8K,64K,256K,1M,32M");
            assert!(run.stderr.contains("COMMSEE_BUCKETS"), "'{edges}' is said to be wrong: {}", run.stderr);
        }
    }
}

#[test]
fn the_file_gets_the_name_that_the_environment_gives() {
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = |name: &str| folder.path().join(name).to_str().expect("a path in UTF-8").to_owned();
        // An empty COMMSEE_OUT is none: the other tool's variable is honoured then.
        let launch = Launch::new(mpi, "control").ranks(2).variable("COMMSEE_OUT", "");
        let run = launch.variable("MPISEE_OUTFILE", &place("other tool.db")).run().succeeded();
        check_profile(&run, &Profile::read(&folder.path().join("other tool.db")));

        let run = Launch::new(mpi, "control").ranks(2).variable("COMMSEE_OUT", &place("of-%p-%h.db")).run().succeeded();
        let names =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let name = names.into_iter().find(|name| name.starts_with("of-")).expect("a profile");
        let profile = Profile::read(&folder.path().join(&name));
        check_profile(&run, &profile);
        assert_eq!(name, format!("of-{}-{}.db", profile.ranks[0].pid, profile.ranks[0].host));
    }
}

#[test]
fn command_lines_are_kept_as_they_are_or_not_at_all() {
    for mpi in Mpi::ALL {
        let words = ["it's", "\"two words\"", ";--", "ü", "$HOME", "*", "", "a=b", "`x`", "two\nlines"];
        let launch = || Launch::new(mpi, "foreign").ranks(2).arguments(&words);
        let command = &launch().run().succeeded().profile().meta["command"];
        // A shell takes it apart into what it was.
        let apart = execute(Command::new("sh").args(["-c", &format!("printf '<%s>' {command}")])).stdout;
        let expected: String = words.iter().map(|word| format!("<{word}>")).collect();
        assert!(apart.ends_with(&expected), "{command} is {apart}");
        let command = &launch().variable("COMMSEE_NO_ARGS", "1").run().succeeded().profile().meta["command"];
        assert!(!command.contains("it's") && command.contains("foreign"), "{command}");
    }
}

/// The profiler's clock against MPI's own: both look at the same waits. MPI's looks from outside, and so sees more where the program
/// loses its processor between the two: not in each of ten runs.
#[test]
fn times_are_what_the_program_measures() {
    for mpi in Mpi::ALL {
        assert!((0..10).any(|_| is_as_measured(mpi)), "{mpi}: the profiler's clock is slow");
    }
}

fn is_as_measured(mpi: Mpi) -> bool {
    let run = Launch::new(mpi, "durations").ranks(2).run().succeeded();
    let measured: Vec<f64> = run.stdout.split_whitespace().map(|word| word.parse().expect("seconds")).collect();
    let profile = run.profile();
    let mut is_close = true;
    for (op, measured_s) in ["MPI_Barrier", "MPI_Recv"].into_iter().zip(measured) {
        let call = profile.calls.iter().find(|call| call.op == op && call.rank == 0).expect("a row");
        assert_eq!(call.calls, 3);
        let (most, least) = (call.time_max_s.unwrap(), call.time_min_s.unwrap());
        assert!(call.time_s <= measured_s * 1.01, "{measured_s} s, {call:?}");
        assert!(most * 3.0 >= call.time_s && least * 3.0 <= call.time_s && least > 0.0, "{call:?}");
        is_close &= measured_s > 0.1 && call.time_s >= measured_s * 0.9;
    }
    let rank = profile.ranks.iter().find(|rank| rank.rank == 0).unwrap();
    is_close && rank.wall_s >= 0.5 && rank.mpi_s >= 0.3
}
