//! Figures in files, so that those of several machines can be put together.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::cases::CASES;
use super::figures::{Figures, Floor, Measured, Row};

const HEAD: &str = "processor,mpi,rounds,background_load,floor_ns,floor_ticks,threads_floor_ns,case,calls,library,ns,\
                    grown_bytes,instructions";

const ALONE: &str = "alone";
/// The library that only reads the clock.
const FLOOR: &str = "floor";

/// A line for each case and library.
pub fn write(path: &Path, measured: &[Measured]) -> io::Result<()> {
    let mut text = format!("{HEAD}\n");
    for measured in measured {
        for row in &measured.rows {
            let names = [ALONE, FLOOR].into_iter().chain(measured.libraries.iter().map(String::as_str));
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

/// Of one file, what was measured under each MPI library, or what is wrong with it.
pub fn read(path: &PathBuf) -> Result<Vec<Measured>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err("was not written by --csv of this version".to_owned());
    }
    let mut all = Vec::new();
    for line in lines {
        add(&mut all, line).ok_or_else(|| format!("not understood: {line}"))?;
    }
    Ok(all)
}

fn add(all: &mut Vec<Measured>, line: &str) -> Option<()> {
    let fields: Vec<&str> = line.split(',').collect();
    let [processor, version, rounds, others, floor, ticks, threads, case, _, library, ns, grown, instructions] =
        fields[..]
    else {
        return None;
    };
    if all.last().is_none_or(|measured: &Measured| measured.version != version) {
        all.push(Measured {
            processor: processor.to_owned(),
            version: version.to_owned(),
            rounds: rounds.parse().ok()?,
            others: others.parse().ok()?,
            floor: Floor { ns: floor.parse().ok()?, ticks: ticks.parse().ok()? },
            threads_floor_ns: None,
            pinned: None,
            libraries: Vec::new(),
            rows: Vec::new(),
        });
    }
    let measured = all.last_mut()?;
    measured.threads_floor_ns = threads.parse().ok();
    let case = CASES.iter().find(|known| known.name == case)?;
    let figures =
        Figures { ns: ns.parse().ok()?, grown_bytes: grown.parse().ok()?, instructions: instructions.parse().ok() };
    if library == ALONE {
        measured.rows.push(Row { case, alone: figures, floor: None, with: Vec::new() });
        return Some(());
    }
    let row = measured.rows.last_mut().filter(|row| row.case.name == case.name)?;
    if library == FLOOR {
        row.floor = Some(figures);
        return Some(());
    }
    let at = measured.libraries.iter().position(|known| known == library).unwrap_or_else(|| {
        measured.libraries.push(library.to_owned());
        measured.libraries.len() - 1
    });
    row.with.resize(at, None);
    row.with.push(Some(figures));
    Some(())
}

fn or_empty(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
