//! `through explain [TOPIC]`: what a topic of advice means, and when it is reported.

use std::io::Write;

use crate::advise::{Topic, explained};
use crate::cli::Explain;
use crate::error::Error;
use crate::render::output;
use crate::render::words::wrap;

pub fn explain(arguments: &Explain, topics: &[&Topic]) -> Result<(), Error> {
    let text = match &arguments.topic {
        None => topics.iter().map(|topic| topic.name).collect::<Vec<_>>().join("\n"),
        Some(name) => match topics.iter().find(|topic| topic.name == name) {
            Some(topic) => explained(topic),
            None => return Err(Error::Argument(format!("there is no topic '{name}': through explain lists them"))),
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
