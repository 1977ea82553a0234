//! What `through` does, one file per command; `look` and `lines` are for several.

pub mod advise;
mod clean;
mod collect;
pub mod exec;
pub mod explain;
pub mod export;
pub mod generate;
pub mod layers;
mod lines;
pub mod look;
pub mod recover;
mod resolve;
pub mod run;
mod schema;
pub mod show;
pub mod sql;
pub mod watch;

use std::path::Path;

use crate::cli::Input;
use crate::document::{Document, Format};
use crate::error::Error;
use crate::query::open::Profile;
use crate::query::range::TimeRange;
use crate::query::window::{overwritten_until_ns, within};
use crate::render::output;
use crate::text::message::say;
use crate::text::progress;
use crate::text::units;
use crate::views::{Question, View};

/// The profile that is named, or the newest one here.
pub fn opened(input: &Input) -> Result<Profile, Error> {
    if let Some(path) = input.path() {
        return Ok(Profile::open(path)?);
    }
    let (profile, remark) = Profile::newest(Path::new("."))?;
    remark.into_iter().for_each(say);
    Ok(profile)
}

/// The same; of its messages and transfers only those in a window of the timeline, if one is asked for.
pub fn opened_within(input: &Input, window: Option<TimeRange>) -> Result<Profile, Error> {
    let profile = opened(input)?;
    let Some(range) = window else { return Ok(profile) };
    let path = profile.path.display().to_string();
    let how = "has no timeline, which --window needs: run the program with `through run --trace`";
    let profile = within(profile, range)?.ok_or_else(|| Error::Argument(format!("{path}: {how}")))?;
    if let Some(until_ns) = overwritten_until_ns(&profile)?.filter(|until_ns| range.low_ns < *until_ns) {
        let until = units::precise_time(until_ns);
        say(format_args!(
            "some events before {until} were overwritten (ring buffer full): through run --trace=64M keeps more"
        ));
    }
    Ok(profile)
}

/// Shows a view. Returns whether there was anything to show.
pub fn present(view: &View, question: &Question, file: Option<&Path>) -> Result<bool, Error> {
    Ok(shown(question, file, || view.ask(question))?.is_found())
}

/// Shows what is asked, and says what there is to say beside it.
pub fn shown(
    question: &Question,
    file: Option<&Path>,
    ask: impl FnOnce() -> Result<Document, Error>,
) -> Result<Document, Error> {
    let document = progress::shown(&format!("reading {}", question.profile.path.display()), ask)?;
    printed(&document, question.format, file)?;
    Ok(document)
}

/// Prints a document if there is anything to print, and says what there is to say beside it.
pub fn printed(document: &Document, format: Format, file: Option<&Path>) -> Result<(), Error> {
    if document.is_printed(format) {
        output::print(document, format, file)?;
    }
    said(document).iter().for_each(say);
    Ok(())
}

pub fn said(document: &Document) -> &[String] {
    if document.is_found() { &document.remarks } else { &document.reasons }
}
