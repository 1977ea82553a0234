//! Other tools that wrap MPI's functions: behind commsee they go on as without it, in front of it commsee says what it misses.

use std::process::Command;

use common::{Launch, Mpi, Profile, Program, Run, check, execute, library, mpi_shared_library, side_by_side, through};

fn lines(run: &Run) -> Vec<&str> {
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    lines
}

/// The job with the tool alone, and with commsee and the tool in such an order.
fn both(mpi: Mpi, program: &str, tool: &str, commsee_is_first: bool) -> (Run, Run) {
    let tool = mpi_shared_library(mpi, tool);
    let alone = Launch::new(mpi, program).plain().preload(tool.clone()).run().succeeded();
    let launch = Launch::new(mpi, program);
    let launch = if commsee_is_first { launch.preload(tool) } else { launch.plain().preload(tool).preload(library()) };
    (alone, launch.run().succeeded())
}

#[test]
fn a_tool_behind_commsee_sees_what_it_would_see_alone() {
    for mpi in Mpi::ALL {
        side_by_side(["shimmed", "completion", "collectives", "threads"], |program| {
            let (alone, beside) = both(mpi, program, "shim", true);
            assert!(alone.stdout.contains("the shim saw "), "{}", alone.output());
            if program == "shimmed" {
                assert_eq!(lines(&alone).last(), Some(&"the shim saw 5 1 1 1 0"), "{}", alone.output());
            }
            // Polls depend on when messages arrive.
            if program != "threads" {
                assert_eq!(lines(&alone), lines(&beside), "{program}: {}", beside.output());
            }
            match program {
                "shimmed" => assert_eq!(beside.profile().total("MPI_Barrier"), 10),
                _ => check(&beside),
            }
        });
    }
}

#[test]
fn a_tool_behind_commsee_sees_the_calls_of_fortran() {
    for mpi in Mpi::ALL {
        let launch =
            || Launch::of(mpi, common::with_fortran(mpi, "over_tool")).preload(mpi_shared_library(mpi, "shim"));
        let alone = launch().run().succeeded();
        assert!(alone.stdout.contains(" 3\n"), "{}", alone.output());
        let program = common::with_fortran(mpi, "over_tool");
        let beside = Launch::of(mpi, program).preload(library()).preload(mpi_shared_library(mpi, "shim"));
        let beside = beside.run().succeeded();
        assert_eq!(lines(&alone), lines(&beside), "{}", beside.output());
        assert_eq!(beside.profile().total("MPI_Barrier"), 6, "{}", beside.output());
    }
}

#[test]
fn through_run_stands_in_front_of_what_is_preloaded() {
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = Program { name: "shimmed", link: Vec::new() }.compiled(mpi);
        let mut command = mpi.run_by(&through(), &["-o", "run.db"], 2);
        command.arg(program).current_dir(folder.path()).env("LD_PRELOAD", mpi_shared_library(mpi, "shim"));
        let done = execute(&mut command);
        assert!(done.status.success(), "{}", done.stderr);
        assert_eq!(done.stdout.matches("the shim saw 5 1 1 1 0").count(), 2, "{}", done.stdout);
        assert_eq!(Profile::read(&folder.path().join("run.db")).total("MPI_Barrier"), 10);
    }
}

/// Its calls of MPI_Barrier and some others never come to commsee.
fn misses(run: &Run, who: &str) {
    let said =
        format!("commsee: not recorded: MPI_Isend, MPI_Wait, MPI_Barrier and 1 more in {who}, in front of commsee. ");
    assert_eq!(run.stderr.matches(&said).count(), 1, "{}", run.output());
    let profile = Profile::read(&run.profile_path());
    assert_eq!(["MPI_Barrier", "MPI_Recv"].map(|op| profile.total(op)), [0, 2], "{}", run.output());
    let head = execute(Command::new(through()).arg(run.profile_path())).stdout;
    let note = format!(
        "not recorded, because they intercept calls before commsee: MPI_Isend, MPI_Wait, MPI_Barrier and 1 more in {who}"
    );
    // Wherever its lines break.
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert!(words(&head).contains(&words(&note)), "{head}");
}

#[test]
fn calls_that_a_tool_in_front_takes_are_named() {
    for mpi in Mpi::ALL {
        let (alone, beside) = both(mpi, "shimmed", "shim_calls", false);
        assert_eq!(lines(&alone), lines(&beside), "{}", beside.output());
        misses(&beside, &mpi_shared_library(mpi, "shim_calls").display().to_string());
    }
}

#[test]
fn calls_that_the_program_itself_takes_are_named() {
    for mpi in Mpi::ALL {
        let tool = common::source("shim_calls").display().to_string();
        let program = Program { name: "shimmed", link: vec![tool] }.compiled(mpi);
        let run = Launch::of(mpi, program).preload(library()).run().succeeded();
        assert_eq!(lines(&run), ["the shim saw 5 1 1 1 0"; 2], "{}", run.output());
        misses(&run, "the program itself");
    }
}

#[test]
fn a_tool_that_takes_mpi_init_is_named() {
    for mpi in Mpi::ALL {
        let (alone, beside) = both(mpi, "shimmed", "shim", false);
        assert_eq!(lines(&alone), lines(&beside), "{}", beside.output());
        let who = mpi_shared_library(mpi, "shim");
        let said = format!("nothing is recorded: MPI_Init of {} stands in front of commsee", who.display());
        assert_eq!(beside.stderr.matches(&said).count(), 1, "{}", beside.output());
        assert!(!beside.profile_path().exists());
    }
}
