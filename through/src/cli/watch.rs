//! `through watch`: a job while it runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Debug, Args)]
#[command(override_usage = "through watch [OPTIONS] [RUN|DIR]")]
pub struct Watch {
    /// Run to show, by the first digits of its id or by its batch job, or a directory of shards [default: the latest run]
    #[arg(value_name = "RUN|DIR")]
    pub what: Option<PathBuf>,
    /// Print once and exit
    #[arg(long)]
    pub once: bool,
    /// Seconds between two updates
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub interval: Duration,
    /// Show only the first N rows; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
}

/// As often as makes sense, up to a day.
pub fn interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds: write 1 or 0.5"))?;
    match (0.1..=86400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(format!("{text} s is not between 0.1 s and a day")),
    }
}
