//! `groupbench pairs`: the messages of a pattern.

use std::io::{self, Write};
use std::process::ExitCode;

use super::failed;
use crate::cli::{Pairs, PairsFormat};
use crate::output;
use crate::pattern::{Pattern, Shape, striped};

pub fn pairs(arguments: &Pairs) -> ExitCode {
    let shape = Shape { n: arguments.n, g: arguments.g };
    let (k, bytes) = (arguments.k.unwrap_or(arguments.g), arguments.bytes);
    let pattern = match (&arguments.steps, arguments.preset) {
        (Some(steps), _) => steps.pattern(shape, k, bytes),
        (None, Some(preset)) => Ok(preset.pattern(shape.ranks(), bytes)),
        (None, None) => arguments.family.pattern(arguments.direction, shape, k, bytes),
    };
    let pattern = match pattern {
        Ok(pattern) if arguments.stripe => striped(&pattern, shape),
        Ok(pattern) => pattern,
        Err(error) => return failed(error),
    };
    match written(&pattern, arguments.format) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads it has enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => failed(format_args!("standard output: {error}")),
    }
}

fn written(pattern: &Pattern, format: PairsFormat) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match format {
        PairsFormat::Csv => output::pairs(pattern, &mut out)?,
        PairsFormat::Json => {
            let steps = pattern.steps.iter().enumerate();
            let messages: Vec<_> = steps
                .flat_map(|(index, step)| {
                    step.messages.iter().map(move |message| {
                        serde_json::json!({ "step": index, "src": message.source, "dst": message.destination, "bytes": message.bytes })
                    })
                })
                .collect();
            serde_json::to_writer(&mut out, &messages)?;
            writeln!(out)?;
        }
    }
    out.flush()
}
