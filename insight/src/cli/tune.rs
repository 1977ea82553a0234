//! `through tune`: algorithms of a collective.

use std::path::PathBuf;

use clap::Args;
use through_core::cli::Input;

/// Which collective to try other algorithms for.
#[derive(Debug, Default, Args)]
pub struct Tune {
    #[command(flatten)]
    pub input: Input,
    /// The communicator, by name, label or birthplace; several times: each algorithm on each of their sizes [default: what `advise` names, else the heaviest]
    #[arg(long, value_name = "NAME")]
    pub comm: Vec<String>,
    /// The collective operation, with or without MPI_
    #[arg(long, value_name = "NAME")]
    pub op: Option<String>,
    /// Algorithms to try [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub algorithms: Vec<String>,
    /// Runs of each configuration
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Directory to make [default: tune-OPERATION]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use through_core::cli::parsed;

    use super::Tune;

    #[test]
    fn algorithms_run_at_least_once() {
        let tune = |runs: &str| parsed::<Tune>(&["--runs", runs]);
        assert!(tune("1").is_ok());
        assert!(tune("0").unwrap_err().to_string().contains("0 is not in 1.."));
    }
}
