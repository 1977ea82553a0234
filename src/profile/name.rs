//! The name that a profile is wanted under: the pattern of `COMMSEE_OUT` with what a process knows filled in.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::utc::utc;
use crate::host::host_name;
use crate::job::Job;
use crate::settings;
use crate::shard::{self, Header};

/// What names of profiles are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub job: Job,
    pub host: String,
    pub pid: u32,
    pub unix_ns: u64,
}

impl Origin {
    /// Of this process, at this moment.
    pub fn here() -> Origin {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let unix_ns = since_1970.as_nanos() as u64;
        Origin { job: Job::of_environment(), host: host_name(), pid: std::process::id(), unix_ns }
    }

    /// Of the process that wrote a shard, at its start: whoever makes the profile may be another one, outside of the job.
    pub fn of_shard(header: &Header) -> Origin {
        let host = shard::text(&header.host);
        Origin { job: header.job(), host, pid: header.pid, unix_ns: header.start_realtime_ns }
    }

    /// Fills in `%j`, `%s`, `%h`, `%p` and `%t`. The time is UTC, without the separators that some file systems and shells mind. In a
    /// directory the name is the one that is taken where none is given.
    pub fn expand(&self, pattern: &str) -> String {
        self.expand_in(Path::new(""), pattern).to_string_lossy().into_owned()
    }

    /// The same of a pattern that stands for a place in this directory, or for one of its own.
    pub fn expand_in(&self, directory: &Path, pattern: &str) -> PathBuf {
        let name = self.fill_in(pattern);
        let path = directory.join(&name);
        if name.ends_with('/') || path.is_dir() { path.join(self.fill_in(settings::DEFAULT_OUT)) } else { path }
    }

    fn fill_in(&self, pattern: &str) -> String {
        settings::file_name(pattern, |letter| {
            Some(match letter {
                'j' => self.job.id_or_none().to_owned(),
                's' => self.job.step_or_none().to_owned(),
                'h' => self.host.clone(),
                'p' => self.pid.to_string(),
                't' => utc(self.unix_ns).chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect(),
                _ => return None,
            })
        })
    }
}

/// The name as this process makes it.
pub fn expand(pattern: &str) -> String {
    Origin::here().expand(pattern)
}

/// The same of a pattern that stands for a place in this directory, or for one of its own.
pub fn expand_in(directory: &Path, pattern: &str) -> PathBuf {
    Origin::here().expand_in(directory, pattern)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_are_filled_in() {
        let job = Job { id: "7".to_owned(), step: "1".to_owned(), ..Job::default() };
        let mut origin = Origin { job, host: "n1".to_owned(), pid: 42, unix_ns: 1_000_000_000 };
        assert_eq!(origin.expand("a-%j.%s-%h-%p-%t.db"), "a-7.1-n1-42-19700101T000001.db");
        origin.job = Job::default();
        assert_eq!(origin.expand("%j-%s-%x"), "0-0-%x");
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_str().unwrap();
        assert_eq!(origin.expand(place), format!("{place}/commsee-19700101T000001.db"));
        assert_eq!(origin.expand("%p/"), "42/commsee-19700101T000001.db");
        fs::create_dir(folder.path().join("42")).unwrap();
        assert_eq!(origin.expand_in(folder.path(), "%p"), folder.path().join("42/commsee-19700101T000001.db"));
    }
}
