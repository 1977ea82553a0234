//! The command line of a benchmark: `--against LIB.so` and `--through COMMAND` as often as wanted, `--markdown`,
//! `--csv FILE`, `--combine FILE FILE…`, `--only NAME,NAME`, and numbers such as `--ranks 8`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, process};

use super::Peer;

pub struct Arguments {
    /// What is to be measured beside commsee.
    pub against: Vec<Peer>,
    /// Tables for the documentation instead of the terminal.
    pub markdown: bool,
    /// The file that figures are to be written to.
    pub csv: Option<PathBuf>,
    /// Files to read instead.
    pub combine: Vec<PathBuf>,
    only: Vec<String>,
    numbers: BTreeMap<&'static str, usize>,
}

impl Arguments {
    /// Ends the process with the usage where it is not kept to.
    pub fn read(usage: &str, numbers: &[(&'static str, usize)]) -> Arguments {
        let numbers = numbers.iter().copied().collect();
        let mut read = Arguments {
            against: Vec::new(),
            markdown: false,
            csv: None,
            combine: Vec::new(),
            only: Vec::new(),
            numbers,
        };
        // Cargo adds `--bench`.
        let mut words = env::args().skip(1).filter(|word| word != "--bench").peekable();
        while let Some(word) = words.next() {
            let understood = match word.as_str() {
                "--markdown" => {
                    read.markdown = true;
                    true
                }
                "--against" => words.next().map(|list| read.against.push(Peer::Preload(list))).is_some(),
                "--through" => words.next().map(|command| read.against.push(Peer::Launch(command))).is_some(),
                "--csv" => words.next().map(|file| read.csv = Some(PathBuf::from(file))).is_some(),
                "--combine" => {
                    let files = std::iter::from_fn(|| words.next_if(|word| !word.starts_with("--")));
                    read.combine.extend(files.map(PathBuf::from));
                    !read.combine.is_empty()
                }
                "--only" => words.next().map(|list| read.only.extend(list.split(',').map(str::to_owned))).is_some(),
                name => match (read.numbers.get_mut(name), words.next().and_then(|text| text.parse().ok())) {
                    (Some(number), Some(value @ 1..)) => {
                        *number = value;
                        true
                    }
                    _ => false,
                },
            };
            if !understood {
                eprintln!("usage: {usage}");
                process::exit(2);
            }
        }
        read
    }

    /// Whether `--only` leaves a name in.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    pub fn number(&self, name: &str) -> usize {
        self.numbers[name]
    }
}

/// A number from the environment.
pub fn number(variable: &str, default: usize) -> usize {
    env::var(variable).ok().and_then(|text| text.parse().ok()).filter(|number| *number > 0).unwrap_or(default)
}
