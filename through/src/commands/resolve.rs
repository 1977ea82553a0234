//! `through export db [PROFILE]`: writes the names of functions, files and lines into a profile, so that they are known where its binaries are not.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, process};

use commsee::profile::names::{FrameName, name_frames};

use super::lines::Lines;
use super::opened;
use crate::cli::Export;
use crate::error::Error;
use crate::query::catalog::Catalog;
use crate::query::open::Profile;
use crate::query::sites::{Looked, Unnamed};
use crate::symbols::{Name, Outcome};
use crate::text::escape::path;
use crate::text::message::say;
use crate::text::path::relative;
use crate::text::units;

/// Modules without names that are listed.
const LISTED: usize = 5;

/// Whether there was anything to name.
pub fn resolve(arguments: &Export) -> Result<bool, Error> {
    let profile = opened(&arguments.input)?;
    let from = profile.path.canonicalize().map_err(|source| Error::Output { path: profile.path.clone(), source })?;
    let to = arguments.output.clone().unwrap_or_else(|| from.clone());
    if arguments.output.is_some() && to.exists() {
        return Err(Error::WouldOverwrite(to));
    }
    let mut catalog = Catalog::read(&profile)?;
    if arguments.by_path {
        catalog.sites.trust_paths();
    }
    let until = arguments.within.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let looked = catalog.sites.look_up(until, &|stored| !stored.iter().any(|name| name.line.is_some()));
    let (all, ..) = catalog.sites.told();
    if all == 0 {
        say(format_args!("{}: no call sites to name", profile.path.display()));
    }
    drop(profile);
    // Without any the copy is wanted all the same.
    if arguments.output.is_some() || !looked.names.is_empty() {
        write(&from, &to, &looked).map_err(|source| Error::Output { path: to.clone(), source })?;
    }
    if all > 0 {
        let told = Catalog::read(&Profile::open(&to)?)?.sites.told();
        report(&to, told, &looked.unnamed)?;
    }
    Ok(all > 0)
}

/// A copy with the names, which gets its name when it is whole.
fn write(from: &Path, to: &Path, looked: &Looked) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(to.file_name().unwrap_or_default());
    name.push(format!(".{}", process::id()));
    let aside = to.with_file_name(name);
    let named = looked.names.iter().map(|(frame, names)| (*frame, names.iter().map(stored).collect()));
    let named: Vec<(i64, Vec<FrameName>)> = named.collect();
    let write = || {
        fs::copy(from, &aside)?;
        if !named.is_empty() {
            name_frames(&aside, &named).map_err(io::Error::other)?;
        }
        fs::File::open(&aside)?.sync_all()?;
        fs::rename(&aside, to)
    };
    write().inspect_err(|_| _ = fs::remove_file(&aside))
}

/// As a profile has it: an offset is written behind the function.
fn stored(name: &Name) -> FrameName {
    let function = match (&name.function, name.offset) {
        (Some(function), Some(offset)) => Some(format!("{function}+{offset:#x}")),
        (function, _) => function.clone(),
    };
    FrameName { function, file: name.file.clone(), line: name.line }
}

fn report(profile: &Path, (all, lines, functions): (usize, usize, usize), unnamed: &[Unnamed]) -> Result<(), Error> {
    let mut told = Lines::new();
    told.add(format_args!("{}: {}", path(&relative(profile)), sentence(all, lines, functions)));
    for module in unnamed.iter().take(LISTED) {
        let frames = units::count(module.frames as u64, "frame");
        told.add(format_args!("  {frames} in {}: {}", path(&module.path), why(module)));
    }
    if unnamed.len() > LISTED {
        told.add(format_args!("  and in {}", units::count((unnamed.len() - LISTED) as u64, "more module")));
    }
    told.end()
}

/// `41 of 44 frames have a line, 3 a function only`.
fn sentence(all: usize, lines: usize, functions: usize) -> String {
    let only = functions.saturating_sub(lines);
    let only = if only > 0 { format!(", {only} a function only") } else { String::new() };
    format!("{lines} of {} have a line{only}", units::count(all as u64, "frame"))
}

fn why(module: &Unnamed) -> &'static str {
    match (module.outcome, module.has_build_id) {
        (Outcome::OutOfTime, _) => "time limit reached",
        (Outcome::NoBinary, true) => "not here, or another build",
        (Outcome::NoBinary, false) => "no build id, so it may be another build: --by-path uses it anyway",
        (Outcome::Done, _) => "no function there",
    }
}
