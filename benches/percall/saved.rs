//! Figures in files, so that those of several machines can be put together.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use super::figures::{Figures, Measured};

const HEAD: &str = "processor,mpi,rounds,background_load,floor_ns,floor_ticks,threads_floor_ns,case,calls,library,ns,\
                    grown_bytes,instructions";

/// A line for each case and library; `alone` is none, `floor` the one that only reads the clock.
pub fn write(path: &Path, measured: &[Measured]) -> io::Result<()> {
    let mut text = format!("{HEAD}\n");
    for measured in measured {
        for row in &measured.rows {
            let names = ["alone", "floor"].into_iter().chain(measured.libraries.iter().map(String::as_str));
            let figures = [Some(row.alone), row.floor].into_iter().chain(row.with.iter().copied());
            for (library, figures) in names.zip(figures) {
                let Some(Figures { ns, grown_bytes, instructions }) = figures else { continue };
                let Measured { version, rounds, others, floor, .. } = measured;
                let processor = measured.processor.replace(',', " ");
                let threads = or_empty(measured.threads_floor_ns);
                write!(text, "{processor},{version},{rounds},{others:.3},{},{},{threads},", floor.ns, floor.ticks)
                    .and_then(|()| write!(text, "{},{},{library},{ns},", row.case.name, row.case.calls))
                    .and_then(|()| writeln!(text, "{grown_bytes},{}", or_empty(instructions)))
                    .expect("text");
            }
        }
    }
    fs::write(path, text)
}

fn or_empty(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
