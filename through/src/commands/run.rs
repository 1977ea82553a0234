//! `through run`: a job under the profiler, and what there is to say when it has ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, SystemTime};
use std::{env, fs};

use commsee::settings;

use crate::cli::Run;
use crate::document::{Format, Line};
use crate::error::Error;
use crate::job::collect::Reach;
use crate::job::loaded::Loaded;
use crate::job::misspelled::misspelled;
use crate::job::results::{self, Results};
use crate::job::shards;
use crate::job::unprofiled::Evidence;
use crate::job::{launcher, names, preload, signals};
use crate::live::{Live, Stream, Wanted};
use crate::query::catalog::Catalog;
use crate::query::open::Profile;
use crate::render;
use crate::text::message::say;
use crate::text::path::relative;
use crate::text::terminal::Terminal;
use crate::text::units;
use crate::views::{Question, View};

/// Writes a page for the browser of a profile into a file.
pub type WritePage = fn(Profile, &Path) -> Result<(), Error>;

/// Returns the status of the job.
pub fn run(run: &Run, write: WritePage) -> Result<u8, Error> {
    let pattern = preload::pattern(&run.profiling);
    let launch = launch_token().map_err(Error::Random)?;
    let mut variables = preload::variables(&run.profiling)?;
    misspelled(env::vars_os().filter_map(|(name, _)| name.into_string().ok())).iter().for_each(say);
    variables.retain(|(name, _)| *name != settings::OUT);
    variables.push((settings::OUT, pattern.clone().into_os_string()));
    variables.push((settings::LAUNCH, OsString::from(&launch)));
    if env::var_os(settings::LOG).is_none() {
        // The summary says what the profiler would say when all goes well.
        variables.push((settings::LOG, "warn".into()));
    }
    let started = SystemTime::now();
    let loaded = Loaded::expect(&launch);
    let live = run.watch.then(|| live(&launch, run.interval).beside());
    let status = signals::run(&mut launcher::command(&run.command, &variables))
        .map_err(|source| Error::Start { program: PathBuf::from(&run.command[0]), source });
    drop(live);
    let status = status?;
    let reach = Reach::of_launcher(&run.command);
    let results = results::gather(&pattern, &launch, started, &reach);
    report(&results, status, &Evidence { command: &run.command, status, told: loaded.told() });
    if run.report {
        results.profiles.iter().for_each(|profile| page(profile, write).unwrap_or_else(say));
    }
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}

/// The job that is started, as its shards show it.
fn live(launch: &str, interval: Duration) -> Live {
    let wanted = Wanted::Launched(launch.to_owned());
    Live { directories: shards::directories(&[]), wanted, interval, top: ROWS_WATCHED, stream: Stream::Error }
}

const ROWS_WATCHED: usize = 10;

/// The page of a profile, beside it.
fn page(profile: &Path, write: WritePage) -> Result<(), Error> {
    let file = profile.with_extension("html");
    let mut opened = Profile::open(profile)?;
    opened.are_binaries_read = false;
    write(opened, &file)?;
    say(format_args!("{}: open it in a browser", relative(&file).display()));
    Ok(())
}

/// Whatever goes wrong here, the job's status stands.
fn report(results: &Results, status: ExitStatus, evidence: &Evidence) {
    results.remarks.iter().for_each(say);
    let is_disabled = settings::is_on(env::var(settings::DISABLE).ok().as_deref());
    match results.profiles.first() {
        Some(profile) => summary(profile, results, status).unwrap_or_else(say),
        None if is_disabled => say(format_args!("nothing was profiled: {} is set", settings::DISABLE)),
        None if !results.remarks.is_empty() => {}
        None if results.is_alive => say("ranks of the job still run; when they have ended, run: through recover"),
        None => unprofiled(evidence),
    }
}

/// What was proved, else what may be.
fn unprofiled(evidence: &Evidence) {
    match evidence.reason() {
        Some(reason) => {
            say(format_args!("nothing was profiled: {}", reason.what));
            say(reason.advice);
        }
        None => {
            say("nothing was profiled: no MPI_Init passed through the profiler. Either");
            say("- the job ended before that, or has no MPI: then add --hooks nccl,gpu;");
            say("- it opens libmpi.so (ctypes): docs/howto/languages.md of the sources;");
            say("- it is setuid, or statically linked with MPI: link libcommsee.a;");
            say("- the launcher drops LD_PRELOAD: use `through exec -- PROGRAM`;");
            say("- or a host has no libcommsee.so at that path.");
        }
    }
}

const OTHER_PROFILES: usize = 3;

/// The summary of the first profile; the others are named.
fn summary(profile: &Path, results: &Results, status: ExitStatus) -> Result<(), Error> {
    let view = View::usual("run");
    let names = names(profile)?;
    // What is not named by now takes too long.
    let mut opened = Profile::open(profile)?;
    opened.are_binaries_read = false;
    let hidden = Catalog::read(&opened)?.meta("hidden_calls").map(str::to_owned);
    let question = Question { format: Format::Summary, ..Question::new(opened) };
    let mut document = view.ask(&question)?;
    let head = &mut document.head;
    let overview = &head.overview;
    let hosts = units::count(overview.hosts, "host");
    let ranks = match overview.missing.count() {
        0 => format!("{} on {hosts}", units::count(overview.ranks, "rank")),
        missing => format!("{} of {} ranks recorded, on {hosts}", overview.ranks, overview.ranks + missing),
    };
    let mut lines = Vec::new();
    let mut line = |name, text| lines.push(Line { name, text, paint: None });
    let ended = match signals::asked_to_end() {
        // Ranks that were killed by their launcher have not finished, whatever it says.
        None if status.success() && !overview.unfinished.is_empty() => "ended with status 0".to_owned(),
        None => ended(status),
        Some(signal) => format!("interrupted by {}, {}", signals::name(signal), ended(status)),
    };
    line("job", format!("{ended}, {ranks}"));
    line("profile", relative(&head.path).display().to_string());
    for other in results.profiles.iter().skip(1).take(OTHER_PROFILES) {
        let of_whom = if results::are_spawned(other) { ": spawned processes" } else { "" };
        line("", format!("{}{of_whom}", relative(other).display()));
    }
    if !overview.unfinished.is_empty() {
        // Of a job that ended well commsee has said it.
        if let Some(other) = results.wanted.parent().filter(|place| Some(*place) != head.path.parent()) {
            line("note", format!("not in {}, which the hosts may not share", other.display()));
        }
        let how = overview.how_unfinished();
        line("note", format!("recovered: {} {how}", shards::ranks(&overview.unfinished)));
    }
    if let Some(who) = overview.who_aborted() {
        line("note", who);
    }
    if let Some(hidden) = hidden {
        line("note", format!("not recorded: {hidden}, in front of commsee"));
    }
    if !overview.missing.is_empty() {
        line("note", format!("not in the profile: {}", shards::ranks(&overview.missing)));
    }
    if let Some(names) = names {
        lines.push(Line { name: "code", text: names, paint: None });
    }
    lines.append(&mut head.lines);
    head.lines = lines;
    let _ = render::render(&document, question.format, &Terminal::stderr(), &mut io::stderr());
    Ok(())
}

/// Has the code named that the profile knows of, and says how far that came.
fn names(profile: &Path) -> Result<Option<String>, Error> {
    let told = || Ok::<_, Error>(Catalog::read(&Profile::open(profile)?)?.sites.told());
    let (all, lines, _) = told()?;
    if all == lines {
        return Ok(None);
    }
    let took = names::resolve(profile);
    let (_, lines, functions) = told()?;
    let only = functions.saturating_sub(lines);
    let only = if only > 0 { format!(", {only} by function") } else { String::new() };
    // Where no time was left to look, more may be there.
    let (how, left) = match took {
        Some(took) if took < names::LIMIT => {
            let how = if lines == 0 { " (needs -g)" } else { "" };
            (how, format!("in {}", units::time(took.as_nanos() as i64)))
        }
        _ => ("", format!("stopped after {}; more: through export db", units::time(names::LIMIT.as_nanos() as i64))),
    };
    Ok(Some(format!("{lines} of {} named by line{how}{only}, {left}", units::count(all as u64, "frame"))))
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) if signals::asked_to_end().is_none() => "finished".to_owned(),
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// 32 hexadecimal digits that no other run has.
fn launch_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
