//! `through compare`: runs of two programs, or many runs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use through_core::cli::Entries;

use super::Written;

#[derive(Debug, Default, Args)]
#[command(
    override_usage = "through compare [OPTIONS] A.db B.db\n       through compare [OPTIONS] A.db... -- B.db...\n       through compare [OPTIONS] RUN.db RUN.db RUN.db..."
)]
pub struct Compare {
    /// Two profiles, or profiles of two programs with -- between them: what changed from A to B. Three or more: what goes together with the run time
    #[arg(required = true, value_name = "PROFILE")]
    pub runs: Vec<PathBuf>,
    /// Profiles of the program as it is, the same as --
    #[arg(long, value_name = "PROFILE", num_args = 1..)]
    pub against: Vec<PathBuf>,
    /// Of two programs: exit with status 1 if the run time, or an entry for certain, rose by more: 5% or 0.5 (seconds)
    #[arg(long, value_name = "RISE", value_parser = Rise::parse)]
    pub fail_above: Option<Rise>,
    /// Of many runs: what makes a configuration: keys of the view `meta` or settings such as UCX_TLS [default: command, programs, ranks, mpi_library, options, and all settings]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Of many runs: one table in place of all, also as CSV
    #[arg(long, value_name = "NAME", value_parser = ["correlations", "configurations", "scaling", "runs", "boxes", "points"])]
    pub table: Option<String>,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub written: Written,
}

/// By how much a time may rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rise {
    /// Of the run time.
    Part(f64),
    Seconds(f64),
}

impl Rise {
    pub fn parse(text: &str) -> Result<Rise, String> {
        let number = |text: &str| {
            let number = text.trim().parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
            number.ok_or_else(|| format!("'{text}' is not a rise: write 5% or 0.5"))
        };
        if let Some(percent) = text.strip_suffix('%') {
            return Ok(Rise::Part(number(percent)? / 100.0));
        }
        if let Some(milliseconds) = text.strip_suffix("ms") {
            return Ok(Rise::Seconds(number(milliseconds)? / 1000.0));
        }
        Ok(Rise::Seconds(number(text.strip_suffix('s').unwrap_or(text))?))
    }

    /// In seconds, of a run time.
    pub fn seconds(self, run_time_s: f64) -> f64 {
        match self {
            Rise::Part(part) => part * run_time_s,
            Rise::Seconds(seconds) => seconds,
        }
    }
}

/// `--` parts the two sides of `through compare`, and options may follow: to clap, nothing behind it would be an option.
pub fn with_sides(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|command| command == "compare")
        && let Some(dashes) = words.iter_mut().find(|word| *word == "--")
    {
        *dashes = OsString::from("--against");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_stand_behind_the_other_side() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let parted = with_sides(words("through compare a.db b.db -- c.db --top 3").into_iter());
        assert_eq!(parted, words("through compare a.db b.db --against c.db --top 3"));
        let run = words("through run -- compare -- x");
        assert_eq!(with_sides(run.clone().into_iter()), run);
    }

    #[test]
    fn rises_are_parts_or_seconds() {
        assert_eq!(Rise::parse("5%"), Ok(Rise::Part(0.05)));
        assert_eq!((Rise::parse("0.5"), Rise::parse("0.5s"), Rise::parse("500ms")), {
            let half = Ok(Rise::Seconds(0.5));
            (half.clone(), half.clone(), half)
        });
        assert!(Rise::parse("-1").is_err() && Rise::parse("much").is_err() && Rise::parse("inf").is_err());
        assert_eq!(Rise::parse("nan%"), Err("'nan' is not a rise: write 5% or 0.5".to_owned()));
        assert_eq!(Rise::Part(0.05).seconds(20.0), 1.0);
    }
}
