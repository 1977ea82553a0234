//! `through explain [TOPIC]`: what a topic of advice means, and when it is reported.

use std::io::Write;

use commsee::creators::{self, FOREIGN, origin};

use crate::advise::{Topic, explained};
use crate::cli::Explain;
use crate::error::Error;
use crate::render::output;
use crate::render::words::wrap;

/// What the name of a communicator says.
fn communicator(name: &str) -> Option<String> {
    let mut rest = name.chars();
    let made = origin(rest.next()?)?;
    let (rank, counter) = rest.as_str().split_once('.')?;
    let (rank, counter): (u32, u32) = (rank.parse().ok()?, counter.parse().ok()?);
    let member = format!("Its rank 0 is rank {rank} of MPI_COMM_WORLD, for which it is communicator number {counter}.");
    let what = match made {
        "unknown" => format!("{name} was first seen in use: which call made it is unknown. {member}"),
        "MPI_COMM_WORLD" => format!("{name} is {made}."),
        "MPI_COMM_SELF" => format!("{name} is {made} of rank {rank}."),
        _ => format!("{name} was made by {made}. {member}"),
    };
    let letters: Vec<String> = creators::all()
        .filter(|(letter, _)| *letter != FOREIGN)
        .map(|(letter, call)| format!("{letter} {call}"))
        .collect();
    Some(format!(
        "{what}\n\nA name is a letter for the call, the world rank of the communicator's rank 0, and how many communicators that process was \
         a member of before, MPI_COMM_WORLD among them. A deterministic program gives the same names in every run. Members and lines: through comms.\n\n{}",
        letters.join("\n")
    ))
}

pub fn explain(arguments: &Explain, topics: &[&Topic]) -> Result<(), Error> {
    let text = match &arguments.topic {
        None => topics.iter().map(|topic| topic.name).collect::<Vec<_>>().join("\n"),
        Some(name) => match topics.iter().find(|topic| topic.name == name) {
            Some(topic) => explained(topic),
            None => communicator(name)
                .ok_or_else(|| Error::Argument(format!("there is no topic '{name}': through explain lists them")))?,
        },
    };
    output::write(None, |terminal, out: &mut dyn Write| {
        for paragraph in text.lines() {
            match wrap(paragraph, terminal.columns).as_slice() {
                [] => writeln!(out)?,
                lines => lines.iter().try_for_each(|line| writeln!(out, "{line}"))?,
            }
        }
        Ok(())
    })
}
