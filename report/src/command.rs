//! `through report RUN.db -o report.html`: one page that shows a run.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use insight::query::bench::Measurements;
use through_core::Error;
use through_core::cli::Input;
use through_core::commands::opened;
use through_core::query::open::Profile;
use through_core::query::timeline::clocks;
use through_core::render::output;
use through_core::text::message::say;
use through_core::text::progress;

use crate::cli::Arguments;
use crate::data::{self, Beside};
use crate::page;

pub fn report(arguments: &Arguments) -> Result<(), Error> {
    let mut paths = arguments.profiles.iter();
    let profile = opened(&Input { profile: paths.next().cloned(), input: None })?;
    let others = paths.map(|path| Profile::open(path)).collect::<Result<Vec<_>, _>>()?;
    if arguments.window.is_some() && clocks(&profile)?.is_empty() {
        let how = "has no timeline, which --window needs: run the program with `through run --trace`";
        return Err(Error::Argument(format!("{}: {how}", profile.path.display())));
    }
    let bench = match arguments.bench.as_slice() {
        [] => None,
        files => Some(Measurements::open(files)?),
    };
    let beside = Beside { others, window: arguments.window, bench };
    let file = arguments.output.clone().unwrap_or_else(|| named(&profile.path));
    write(profile, beside, &file)?;
    if arguments.output.is_none() {
        say(format_args!("{}: open it in a browser", file.display()));
    }
    Ok(())
}

fn write(profile: Profile, beside: Beside, file: &Path) -> Result<(), Error> {
    let what = format!("writing the page of {}", profile.path.display());
    output::text(&progress::shown(&what, || drawn(profile, beside))?, file)
}

/// The page of one run, with nothing beside it.
pub fn alone(profile: Profile, file: &Path) -> Result<(), Error> {
    output::text(&drawn(profile, Beside::default())?, file)
}

fn drawn(profile: Profile, beside: Beside) -> Result<String, Error> {
    let (data, words) = data::read(&Rc::new(profile), beside)?;
    Ok(page::page(&data, &words))
}

/// `heat.html`, here.
fn named(profile: &Path) -> PathBuf {
    PathBuf::from(profile.with_extension("html").file_name().unwrap_or_default())
}
