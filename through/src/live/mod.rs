//! A job while it runs, from its shards: what `through watch` and `through run --watch` show. The job is not touched: no signal, no lock,
//! nothing written where it writes.

mod run;
mod scratch;
mod screen;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use commsee::profile::State;
use commsee::profile::recover::Run;

pub use run::Wanted;
use run::{places, profile, running};
use scratch::Scratch;
use screen::Screen;
pub use screen::Stream;

use crate::error::Error;
use crate::job::shards;
use crate::query::open::Profile;
use crate::render;
use crate::text::escape::command_line;
use crate::text::message::say;
use crate::text::path::relative;
use crate::text::units;
use crate::views::live::{Look, Sums, live};

/// What is looked at, and how.
pub struct Live {
    pub directories: Vec<PathBuf>,
    pub wanted: Wanted,
    pub interval: Duration,
    pub top: usize,
    pub stream: Stream,
}

/// Set when it is to end.
pub type Ending = Arc<AtomicBool>;

/// Between two questions whether it is to end.
const STEP: Duration = Duration::from_millis(50);
/// How long the profile of a job that has ended is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const PROGRAM_COLUMNS: usize = 60;

impl Live {
    /// One look. Returns whether there was anything to see.
    pub fn once(&self) -> Result<bool, Error> {
        let scratch = Scratch::new().map_err(unusable)?;
        let Some(run) = self.found(&BTreeSet::new()) else { return Ok(false) };
        let mut screen = Screen::new(self.stream);
        let (text, _) = self.look(run, &scratch, &screen, None)?;
        screen.show(&text).map_err(Error::Stdout)?;
        Ok(true)
    }

    /// Looks until the job has ended, or this is to end. Returns whether there was anything to see.
    pub fn follow(&self, ending: &Ending) -> Result<bool, Error> {
        self.follow_next(ending, &mut BTreeSet::new())
    }

    /// The same of a job that is none of those, of which it is one from then on.
    fn follow_next(&self, ending: &Ending, done: &mut BTreeSet<String>) -> Result<bool, Error> {
        let scratch = Scratch::new().map_err(unusable)?;
        let mut screen = Screen::new(self.stream);
        let mut before: Option<(Sums, Instant)> = None;
        let mut seen: Option<(String, BTreeSet<PathBuf>)> = None;
        let mut most = 0;
        loop {
            // Once a job was seen, no other takes its place.
            let run = match &seen {
                Some((id, _)) => running(&self.directories, &Wanted::Named(id.clone())).into_iter().next(),
                None => self.found(done),
            };
            let Some(run) = run else { break };
            let id = run.id.clone();
            done.insert(id.clone());
            let known = seen.get_or_insert_with(|| (id, BTreeSet::new()));
            known.1.extend(places(&run));
            // Ranks remove their shards one by one when the job ends: the rest of them would not be the job.
            let is_recent = |(_, at): &(Sums, Instant)| at.elapsed() < self.interval + PATIENCE;
            if run.shards.len() < most && before.as_ref().is_some_and(is_recent) {
                if !pause(STEP, ending) {
                    return Ok(true);
                }
                continue;
            }
            most = run.shards.len();
            let taken = Instant::now();
            let since = before.as_ref().map(|(sums, at)| (sums, taken.duration_since(*at).as_secs_f64()));
            match self.look(run, &scratch, &screen, since) {
                Ok((text, sums)) => {
                    if screen.show(&text).is_err() {
                        return Ok(true);
                    }
                    before = Some((sums, taken));
                }
                // Its shards may go while they are read: then it is over, which the next look sees.
                Err(error) if before.is_none() => say(error),
                Err(_) => {}
            }
            if !pause(self.interval, ending) {
                return Ok(true);
            }
        }
        let Some((id, places)) = seen else { return Ok(false) };
        if self.stream == Stream::Out {
            self.say_end(&id, &places, ending);
        }
        Ok(true)
    }

    /// The same beside something else, until the handle is ended.
    pub fn beside(self) -> Beside {
        let ending = Ending::default();
        let ended = Arc::clone(&ending);
        let follow = move || {
            // A script may start one job after the other.
            let mut done = BTreeSet::new();
            while !ended.load(Ordering::Relaxed) {
                match self.follow_next(&ended, &mut done) {
                    Ok(_) => _ = pause(self.interval.min(Duration::from_secs(1)), &ended),
                    Err(error) => return say(error),
                }
            }
        };
        Beside { ending, thread: Some(thread::spawn(follow)) }
    }

    fn found(&self, done: &BTreeSet<String>) -> Option<Run> {
        let mut runs = running(&self.directories, &self.wanted).into_iter().filter(|run| !done.contains(&run.id));
        let run = runs.next()?;
        let others = runs.count();
        if others > 0 && matches!(self.wanted, Wanted::Newest | Wanted::Named(_)) {
            let others = units::count(others as u64, "more running job");
            say(format_args!("{others} here; to see another one, name it: {}", shards::short(&run)));
        }
        Some(run)
    }

    /// What is shown, and the sums for the next look.
    fn look(
        &self,
        run: Run,
        scratch: &Scratch,
        screen: &Screen,
        before: Option<(&Sums, f64)>,
    ) -> Result<(String, Sums), Error> {
        let wanted = scratch.path().join("look.db");
        let run = Run { state: State::Alive, ..run };
        let file = shards::recover(&run, &wanted)?.path;
        let opened = Profile::open(&file);
        // It stays open.
        let _ = fs::remove_file(&file);
        let mut opened = opened?;
        opened.are_binaries_read = false;
        let Look { document, sums, mpi_ns } = live(opened, before, self.top)?;
        let overview = &document.head.overview;
        let program = command_line(&run.command, PROGRAM_COLUMNS);
        let of =
            if u64::from(run.world_size) > overview.ranks { format!(" of {}", run.world_size) } else { String::new() };
        let mut text = format!(
            "run {}  {program}  {}{of} on {}  {} since MPI_Init, {} in MPI\n",
            shards::title(&run),
            units::count(overview.ranks, "rank"),
            units::count(overview.hosts, "host"),
            units::time(overview.wall_max.ns),
            units::percent(mpi_ns as f64, overview.wall_avg_ns * overview.ranks as f64),
        )
        .into_bytes();
        render::tables(&document, &screen.terminal(), &mut text).map_err(Error::Stdout)?;
        Ok((String::from_utf8_lossy(&text).into_owned(), sums))
    }

    fn say_end(&self, id: &str, places: &BTreeSet<PathBuf>, ending: &Ending) {
        let begun = Instant::now();
        loop {
            if let Some(profile) = profile(id, places) {
                return say(format_args!("the job has ended; its profile: {}", relative(&profile).display()));
            }
            if begun.elapsed() > PATIENCE || !pause(2 * STEP, ending) {
                break;
            }
        }
        match shards::find(&self.directories).iter().any(|run| run.id == id) {
            true => say("the job has ended without MPI_Finalize; to make its profile, run: through recover"),
            false => say("the job has ended; its profile is where COMMSEE_OUT says"),
        }
    }
}

/// Looks that go on in a thread of their own.
pub struct Beside {
    ending: Ending,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Returns false where it is to end.
fn pause(time: Duration, ending: &AtomicBool) -> bool {
    let begun = Instant::now();
    while !ending.load(Ordering::Relaxed) {
        match time.checked_sub(begun.elapsed()) {
            Some(left) if !left.is_zero() => sleep(left.min(STEP)),
            _ => return true,
        }
    }
    false
}

fn unusable(source: std::io::Error) -> Error {
    Error::Output { path: std::env::temp_dir(), source }
}
