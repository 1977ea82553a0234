//! `groupbench run --launcher … --launches N`: starts the benchmark itself, several times.

use std::process::{Command, ExitCode};

use super::{ERROR, failed};
use crate::cli::{Run, RunFormat};

pub fn launches(arguments: &Run) -> ExitCode {
    let launcher: Vec<&str> = arguments.launcher.as_deref().unwrap_or_default().split_whitespace().collect();
    let Some((program, words)) = launcher.split_first() else {
        return failed("--launcher is empty; it starts MPI jobs, such as 'mpirun -n 8'");
    };
    if arguments.launches > 1 && arguments.output.is_none() {
        return failed("several launches are merged in a file of measurements: add -o FILE.db");
    }
    if arguments.launches > 1 && arguments.pattern.as_deref() == Some(std::path::Path::new("-")) {
        return failed("standard input is there for one launch: write the pattern to a file for several");
    }
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => return failed(error),
    };
    for launch in 0..arguments.launches {
        if arguments.launches > 1 {
            eprintln!("groupbench: launch {} of {}", launch + 1, arguments.launches);
        }
        let status =
            Command::new(program).args(words).arg(&own).args(passed_on(std::env::args().skip(1), launch > 0)).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => return ExitCode::from(status.code().map_or(ERROR, |code| code as u8)),
            Err(error) => return failed(format_args!("{program}: {error}")),
        }
    }
    if arguments.launches > 1
        && arguments.format() == RunFormat::Table
        && let Some(path) = &arguments.output
    {
        eprintln!("groupbench: {} launches; together: through bench {}", arguments.launches, path.display());
    }
    ExitCode::SUCCESS
}

/// The words of the command line without those for this command alone; later launches have nothing to go on with.
fn passed_on(words: impl Iterator<Item = String>, is_later: bool) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--launcher" | "--launches" => drop(words.next()),
            "--resume" if is_later => {}
            word if word.starts_with("--launcher=") || word.starts_with("--launches=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_job_is_not_told_to_launch() {
        let words = ["run", "--launcher", "mpirun -n 4", "-g", "2", "--launches=3", "-o", "x.db", "--resume"];
        let passed_on = |is_later| super::passed_on(words.into_iter().map(str::to_owned), is_later);
        assert_eq!(passed_on(false), ["run", "-g", "2", "-o", "x.db", "--resume"]);
        assert_eq!(passed_on(true), ["run", "-g", "2", "-o", "x.db"]);
    }
}
