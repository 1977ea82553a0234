//! `groupbench run`: measures on all ranks, prints and writes on rank 0.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use super::plan::{Item, items};
use super::{ERROR, INTERRUPTED, WRONG};
use crate::cli::{Counts, Run as Arguments, RunFormat, ThreadLevel};
use crate::composition::CompositionError;
use crate::environment;
use crate::groups::{GroupBy, Groups};
use crate::library::groups;
use crate::measure::{Clock, Limits, Measurement, Stopped, Synchroniser};
use crate::mpi::World;
use crate::output::{self, Database, Json, Progress, Table};
use crate::pattern::Matrix;
use crate::record::{Key, Outcome, RankOf, Run};

pub fn run(arguments: &Arguments) -> ExitCode {
    let Some((universe, provided)) = mpi::initialize_with_threading(arguments.thread_level.threading()) else {
        eprintln!("groupbench: MPI is initialised already");
        return ExitCode::from(ERROR);
    };
    let provided = ThreadLevel::of(provided);
    // A rank that unwinds would finalize MPI, and wait for the others for ever.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        World::abort(i32::from(ERROR));
    }));
    let mut world = World::new(&universe.world());
    if arguments.cuda_aware {
        world.assume_cuda_aware();
    }
    // All ranks fail alike, and rank 0 says it.
    match demand(arguments, provided).and_then(|()| Job::new(arguments, &world)).and_then(|job| job.run()) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            if world.is_root() {
                eprintln!("groupbench: {error}");
            }
            ExitCode::from(ERROR)
        }
    }
}

/// That MPI gives the level of thread support that was asked for.
fn demand(arguments: &Arguments, provided: ThreadLevel) -> Result<(), String> {
    match provided >= arguments.thread_level {
        true => Ok(()),
        false => Err(format!("--thread-level: this MPI library gives no more than {}", provided.name())),
    }
}

struct Job<'a> {
    arguments: &'a Arguments,
    world: &'a World,
    groups: Groups,
    items: Vec<Item>,
    record: Run,
    clock: Clock,
    interrupted: Arc<AtomicBool>,
}

impl<'a> Job<'a> {
    /// Collective; errors are the same on all ranks.
    fn new(arguments: &'a Arguments, world: &'a World) -> Result<Job<'a>, String> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted)).map_err(|error| error.to_string())?;
        }
        let group_by = match (&arguments.groups, arguments.g) {
            (Some(group_by), _) => group_by.clone(),
            (None, Some(g)) => GroupBy::Size(g),
            (None, None) => GroupBy::Node,
        };
        let cpus = environment::cpus();
        let groups = find_groups(arguments, world, &group_by, &cpus)?;
        let matrix = arguments.pattern.as_deref().map(|path| read_matrix(path, world)).transpose()?;
        let items = items(arguments, world, &groups, matrix.as_ref())?;
        let clock = Clock::new(world);
        let mut record = describe(arguments, world, &groups, &group_by, &cpus, clock.error_s());
        if let Some(matrix) = &matrix {
            record.fingerprint += &format!(", pattern {}", matrix.mark());
        }
        Ok(Job { arguments, world, groups, items, record, clock, interrupted })
    }

    fn run(mut self) -> Result<u8, String> {
        let mut out = Output::begin(&mut self)?;
        let order = self.order(&out.done);
        let Job { arguments, world, .. } = self;
        let seed = self.record.seed;
        let mut measurement = Measurement {
            world,
            clock: self.clock,
            together: Box::new(Synchroniser::new(arguments.sync)),
            limits: limits(arguments),
            groups: groups(self.groups.shape, &self.groups.ranks, world.size()),
            seed,
            interrupted: &self.interrupted,
        };
        let progress = Progress::new(order.len(), world.is_root());
        let (mut wrong, mut measured_one, mut is_interrupted) = (0, false, false);
        for (index, place) in order.into_iter().enumerate() {
            let Item { key, size, case, choice } = &self.items[place];
            progress.show(index, &self.items[place].name());
            let measured = match measurement.measure(case, &*choice.library()) {
                Ok(measured) => measured,
                // One of several libraries that cannot do it is left out, and said.
                Err(why @ (CompositionError::Unavailable(_) | CompositionError::NoMemory(_))) => {
                    progress.clear();
                    let why = match why {
                        CompositionError::Unavailable(unavailable) => unavailable.why,
                        other => other.to_string(),
                    };
                    if world.is_root() {
                        eprintln!("groupbench: left out: {}: {why}", self.items[place].name());
                    }
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            };
            wrong += measured.wrong;
            measured_one = true;
            is_interrupted = measured.stopped == Stopped::Interrupted;
            let outcome = Outcome {
                key: key.clone(),
                size: *size,
                is_cold: arguments.cold,
                oversubscribed: self.record.oversubscribed,
                launch: self.record.launch,
                measured,
            };
            progress.clear();
            agree(world, if world.is_root() { out.add(&outcome, place) } else { Ok(()) })?;
            if is_interrupted {
                break;
            }
        }
        let ended = if world.is_root() { out.end(&self.record, !is_interrupted) } else { Ok(()) };
        agree(world, ended)?;
        Ok(match (wrong, is_interrupted, measured_one || !out.done.is_empty()) {
            (_, true, _) => INTERRUPTED,
            (1.., ..) => WRONG,
            (0, false, true) => 0,
            (0, false, false) => return Err("nothing could be measured".to_owned()),
        })
    }

    /// Places of what is to be measured, without what is done.
    fn order(&self, done: &[Key]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        if !self.arguments.in_order {
            fastrand::Rng::with_seed(self.record.seed).shuffle(&mut order);
        }
        order.retain(|place| !done.contains(&self.items[*place].key));
        order
    }
}

/// What rank 0 writes to; nothing on the others.
struct Output {
    database: Option<Database>,
    text: Option<Box<dyn Write>>,
    table: Table,
    json: Option<Json>,
    format: RunFormat,
    is_summary: bool,
    is_first: bool,
    /// What an interrupted run has already.
    done: Vec<Key>,
}

impl Output {
    /// Collective: seed and number of the launch come from rank 0, which knows the file.
    fn begin(job: &mut Job) -> Result<Output, String> {
        let arguments = job.arguments;
        let path = arguments.output.as_deref();
        let is_database = path.is_some_and(|path| path.extension().is_some_and(|extension| extension == "db"));
        let mut output = Output {
            database: None,
            text: None,
            table: Table::default(),
            json: None,
            format: arguments.format(),
            is_summary: arguments.summary,
            is_first: true,
            done: Vec::new(),
        };
        let opened = if job.world.is_root() { output.open(path, is_database, job) } else { Ok(()) };
        agree(job.world, opened)?;
        let mut shared = [job.record.seed, job.record.launch];
        job.world.broadcast(&mut shared);
        [job.record.seed, job.record.launch] = shared;
        let done = serde_json::to_string(&output.done.iter().map(key_text).collect::<Vec<_>>()).unwrap_or_default();
        let done: Vec<String> = serde_json::from_str(&job.world.broadcast_text(&done)).unwrap_or_default();
        output.done =
            job.items.iter().map(|item| &item.key).filter(|key| done.contains(&key_text(key))).cloned().collect();
        Ok(output)
    }

    fn open(&mut self, path: Option<&Path>, is_database: bool, job: &mut Job) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        if let Some(path) = path.filter(|_| is_database) {
            let mut database = Database::open(path).map_err(|error| text(&error))?;
            if job.arguments.resume {
                let resumed = database.resume(&job.record.fingerprint).map_err(|error| text(&error))?;
                (job.record.seed, job.record.launch, self.done) = (resumed.seed, resumed.launch, resumed.done);
            } else {
                job.record.launch = database.next_launch(&job.record.fingerprint).map_err(|error| text(&error))?;
            }
            database.is_alike(&job.record).map_err(|error| text(&error))?;
            database.begin(&job.record).map_err(|error| text(&error))?;
            self.database = Some(database);
        } else if job.arguments.resume {
            return Err("--resume goes on with a file of measurements, whose name ends in .db".to_owned());
        }
        self.text = Some(match path.filter(|_| !is_database) {
            Some(path) => {
                let file = fs::File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
                Box::new(io::BufWriter::new(file))
            }
            None => Box::new(io::stdout()),
        });
        if self.format == RunFormat::Json {
            self.json = Some(Json::new(&job.record).map_err(|error| text(&error))?);
        }
        Ok(())
    }

    fn add(&mut self, outcome: &Outcome, place: usize) -> Result<(), String> {
        if let Some(database) = &mut self.database {
            database.add(outcome).map_err(|error| error.to_string())?;
        }
        let Some(text) = &mut self.text else { return Ok(()) };
        let done = match self.format {
            RunFormat::Csv if self.is_summary => output::summaries(outcome, self.is_first, text),
            RunFormat::Csv => output::samples(outcome, self.is_first, text),
            RunFormat::Table => {
                self.table.add(outcome, place);
                Ok(())
            }
            RunFormat::Json => {
                if let Some(json) = &mut self.json {
                    json.add(outcome, !self.is_summary);
                }
                Ok(())
            }
        };
        self.is_first = false;
        done.and_then(|()| text.flush()).or_else(broken_pipe)
    }

    fn end(&mut self, record: &Run, is_complete: bool) -> Result<(), String> {
        if let Some(database) = &mut self.database {
            database.end(is_complete).map_err(|error| error.to_string())?;
        }
        let Some(text) = &mut self.text else { return Ok(()) };
        let done = match (self.format, self.json.take()) {
            (RunFormat::Table, _) => self.table.write(record, text),
            (RunFormat::Json, Some(json)) => json.write(text),
            _ => Ok(()),
        };
        done.and_then(|()| text.flush()).or_else(broken_pipe)
    }
}

/// Whoever reads it has enough: the measurement goes on.
fn broken_pipe(error: io::Error) -> Result<(), String> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(format!("the output: {error}")) }
}

/// What became of something on rank 0, on all ranks.
fn agree(world: &World, done: Result<(), String>) -> Result<(), String> {
    let said = world.broadcast_text(&done.err().unwrap_or_default());
    if said.is_empty() { Ok(()) } else { Err(said) }
}

fn key_text(key: &Key) -> String {
    serde_json::to_string(key).unwrap_or_default()
}

/// Collective.
fn find_groups(arguments: &Arguments, world: &World, by: &GroupBy, cpus: &[u32]) -> Result<Groups, String> {
    // The largest of several: others are its first groups.
    let (n, g) = (arguments.n.as_ref().and_then(Counts::most), arguments.g);
    let size = world.size();
    let of_domain = |name: &str, domain: Option<u32>| {
        let domain = domain.map_or_else(|| "all".to_owned(), |domain| domain.to_string());
        world.all_texts(&format!("{} {name} {domain}", world.host(world.rank())))
    };
    let found = match by {
        GroupBy::Node => {
            let hosts: Vec<String> = (0..size).map(|rank| world.host(rank).to_string()).collect();
            Groups::of_places(&hosts, n, g)
        }
        GroupBy::Numa => Groups::of_places(&of_domain("numa", environment::numa_domain(cpus)), n, g),
        GroupBy::Socket => Groups::of_places(&of_domain("socket", environment::socket(cpus)), n, g),
        GroupBy::Size(each) => Groups::of_size(size, g.unwrap_or(*each), n),
        GroupBy::File(path) => {
            let read = if world.is_root() { fs::read_to_string(path) } else { Ok(String::new()) };
            let said = read
                .as_ref()
                .err()
                .map(|error| format!("{path}: {error} (--groups takes node, numa, socket, g=SIZE or a file)"));
            agree(world, said.map_or(Ok(()), Err))?;
            Groups::of_file(&world.broadcast_text(&read.unwrap_or_default()), size, n, g)
        }
    };
    found.map_err(|error| error.to_string())
}

/// Collective: rank 0 reads.
fn read_matrix(path: &Path, world: &World) -> Result<Matrix, String> {
    let (name, mut text) =
        (if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }, String::new());
    let read = if !world.is_root() {
        Ok(())
    } else if path == Path::new("-") {
        io::stdin().read_to_string(&mut text).map(drop)
    } else {
        fs::read_to_string(path).map(|read| text = read)
    };
    agree(world, read.map_err(|error| format!("{name}: {error}")))?;
    Matrix::read(&world.broadcast_text(&text)).map_err(|error| format!("{name}: {error}"))
}

fn limits(arguments: &Arguments) -> Limits {
    let fixed = arguments.reps.map(|reps| reps as usize);
    Limits {
        // Six bound a median at all.
        least_reps: fixed.unwrap_or(6),
        most_reps: fixed.unwrap_or(arguments.max_reps as usize),
        most_s: arguments.max_time,
        precision: if fixed.is_some() { 0.0 } else { arguments.precision / 100.0 },
        warm_up: arguments.warm_up.map(|count| count as usize),
        is_verified: !arguments.no_verify,
        is_cold: arguments.cold,
    }
}

/// Collective.
fn describe(
    arguments: &Arguments,
    world: &World,
    groups: &Groups,
    group_by: &GroupBy,
    cpus: &[u32],
    clock_error_s: f64,
) -> Run {
    let size = world.size();
    let host = mpi::environment::processor_name().unwrap_or_default();
    let (hosts, lists) = (world.all_texts(&host), world.all_texts(&environment::cpu_list(cpus)));
    let masks: Vec<(usize, Vec<u32>)> = (0..size)
        .map(|rank| {
            (
                world.host(rank),
                commsee::ranks::Ranks::read(&lists[rank])
                    .ranges()
                    .iter()
                    .flat_map(|(first, last)| *first..=*last)
                    .collect(),
            )
        })
        .collect();
    let places = groups.places(size);
    let rank =
        (0..size).map(|rank| RankOf { host: hosts[rank].clone(), cpus: lists[rank].clone(), place: places[rank] });
    let library = mpi::environment::library_version().unwrap_or_default();
    let mut environment = environment::of_process(&library);
    environment.insert("thread_level".to_owned(), arguments.thread_level.name().to_owned());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Rank 0's is taken by all.
    let seed = arguments.seed.unwrap_or(now.as_nanos() as u64 >> 1) & i64::MAX as u64;
    Run {
        launch: 0,
        started: commsee::profile::utc(now.as_nanos() as u64),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        fingerprint: fingerprint(arguments, size, environment.get("mpi_library").map_or("", String::as_str)),
        seed,
        ranks: size,
        hosts: world.host_count(),
        group_by: group_by.to_string(),
        sync: arguments.sync.name(),
        clock_error_s,
        oversubscribed: environment::is_oversubscribed(&masks, environment::quota()),
        environment,
        rank: rank.collect(),
    }
}

/// What launches have in common that measure the same.
fn fingerprint(arguments: &Arguments, ranks: usize, library: &str) -> String {
    let of_measurement = Arguments {
        output: None,
        resume: false,
        launcher: None,
        launches: 1,
        format: None,
        summary: false,
        ..arguments.clone()
    };
    format!("{ranks} ranks, {library}: {of_measurement:?}")
}
