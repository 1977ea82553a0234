//! What the UCX hook module and the timeline cost:
//! `cargo bench --bench layers [-- [--markdown] [--only posix,tcp]]`
//!
//! Two ranks send a message to and fro over a transport of UCX: alone, under commsee, with the UCX module as well, and with the
//! timeline as well, in turns. Printed are the fastest repetition of each in nanoseconds per message, the ratio of the module
//! to commsee without it, and what it adds per operation of UCP and UCT (both ranks' operations for a message lie on its way; how many
//! there are tells the profile); and of the timeline per event. Where valgrind is installed, also the instructions that the module and the
//! functions of the core that it calls take per operation, in the steady state: those hardly differ from run to run.
//! Environment: `MPI=openmpi|mpich|both`, `ROUNDS` (default 5).

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::{Arguments, Library, Mpi, Usage, compiled, libraries, note, number, output_of, place};
use rusqlite::Connection;

const USAGE: &str = "cargo bench --bench layers [-- [--markdown] [--only TRANSPORT,TRANSPORT]]";

/// Transports by the name that they have here: `UCX_TLS`, message size, messages to and fro per repetition.
const CASES: [(&str, &str, usize, usize); 5] = [
    ("posix", "posix,self", 8, 5000),
    ("posix_1K", "posix,self", 1024, 3000),
    ("posix_cma_256K", "posix,cma,self", 256 << 10, 100),
    ("sysv", "sysv,self", 8, 5000),
    ("tcp", "tcp,self", 8, 500),
];

#[derive(Clone, Copy, PartialEq)]
enum Arm {
    Alone,
    Commsee,
    Module,
    Timeline,
}

/// Messages to and fro for which instructions are counted: the difference leaves out the begin and the end of the program.
const COUNTED: [usize; 2] = [100, 400];

const ARMS: [Arm; 4] = [Arm::Alone, Arm::Commsee, Arm::Module, Arm::Timeline];

/// What one run says.
struct Sample {
    message_ns: f64,
    /// Per message, of both ranks.
    operations: f64,
    events: f64,
    messages: f64,
}

fn main() {
    let arguments = Arguments::read(USAGE, &[]);
    let rounds = number("ROUNDS", 5);
    for mpi in Mpi::wanted() {
        let Some(program) = compiled(mpi, "layers.c") else { continue };
        let commsee = libraries(mpi, &arguments).swap_remove(0);
        let usage = Usage::now();
        println!("\n{mpi} over UCX, 2 ranks, {rounds} rounds, nanoseconds per message:\n");
        let titles = [
            "transport",
            "alone",
            "commsee",
            "ucx",
            "ratio",
            "operations",
            "ns/operation",
            "instructions",
            "timeline",
            "events",
            "ns/event",
        ];
        row(arguments.markdown, &titles.map(str::to_owned));
        if arguments.markdown {
            println!("|{}", "---|".repeat(titles.len()));
        }
        for case in CASES.iter().filter(|case| arguments.wants(case.0)) {
            if mpi == Mpi::Mpich && case.0 == "tcp" {
                note("tcp is left out: MPICH 4.0 over TCP may hang in MPI_Finalize, without commsee as well");
                continue;
            }
            let mut best: [Option<Sample>; 4] = [const { None }; 4];
            for _ in 0..rounds {
                for (arm, best) in ARMS.into_iter().zip(&mut best) {
                    match run(mpi, &program, &commsee, case, arm, place().path(), &[]) {
                        Ok(sample) if best.as_ref().is_none_or(|best| sample.message_ns < best.message_ns) => {
                            *best = Some(sample);
                        }
                        Ok(_) => {}
                        Err(why) => note(&format!("{}: {why}", case.0)),
                    }
                }
            }
            let [Some(alone), Some(without), Some(module), Some(timeline)] = &best else { continue };
            let ns = |sample: &Sample| format!("{:.1}", sample.message_ns);
            let per = |more: &Sample, less: &Sample, count: f64| {
                format!("{:.1}", (more.message_ns - less.message_ns) / count)
            };
            row(
                arguments.markdown,
                &[
                    case.0.to_owned(),
                    ns(alone),
                    ns(without),
                    ns(module),
                    format!("{:.3}", module.message_ns / without.message_ns),
                    format!("{:.2}", module.operations),
                    per(module, without, module.operations),
                    instructions(mpi, &program, &commsee, case).map_or("-".to_owned(), |count| format!("{count:.0}")),
                    ns(timeline),
                    format!("{:.2}", timeline.events),
                    per(timeline, module, timeline.events),
                ],
            );
        }
        println!("\nBackground load {:.0} %.", usage.share_of_others() * 100.0);
    }
}

fn row(markdown: bool, cells: &[String; 11]) {
    if markdown {
        println!("| {} |", cells.join(" | "));
    } else {
        let cells: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(at, cell)| if at == 0 { format!("  {cell:<16}") } else { format!("{cell:>13}") })
            .collect();
        println!("{}", cells.concat());
    }
}

fn run(
    mpi: Mpi,
    program: &Path,
    commsee: &Library,
    case: &(&str, &str, usize, usize),
    arm: Arm,
    folder: &Path,
    before: &[&str],
) -> Result<Sample, String> {
    let (_, transports, bytes, exchanges) = *case;
    let profile = folder.join("profile.db");
    let mut preload = commsee.preload.clone();
    let has_module = matches!(arm, Arm::Module | Arm::Timeline);
    if has_module {
        preload += &format!(":{}", preload.replace("libcommsee.so", "libcommsee_ucx.so"));
    }
    let library = Library { name: String::new(), preload, launcher: Vec::new() };
    let mut command = mpi.job(2, (arm != Arm::Alone).then_some(&library));
    if mpi == Mpi::OpenMpi {
        command.args(["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]);
    }
    let mut set = |name: &str, value: &str| match mpi {
        Mpi::OpenMpi => _ = command.args(["-x", &format!("{name}={value}")]),
        Mpi::Mpich => _ = command.args(["-genv", name, value]),
    };
    set("UCX_TLS", transports);
    if transports.starts_with("tcp") {
        set("UCX_NET_DEVICES", "lo");
    }
    set("COMMSEE_HOOKS", if has_module { "ucx" } else { "" });
    set("COMMSEE_TRACE", if arm == Arm::Timeline { "1" } else { "0" });
    set("COMMSEE_OUT", &profile.display().to_string());
    set("COMMSEE_LOG", "warn");
    let result = folder.join("result");
    command.args(before).arg(program).arg(&result).args([bytes.to_string(), exchanges.to_string()]);
    output_of(&command, folder)?;
    let said = fs::read_to_string(&result).map_err(|error| error.to_string())?;
    let mut numbers = said.lines().map(|line| line.parse::<f64>());
    let (Some(Ok(message_ns)), Some(Ok(messages))) = (numbers.next(), numbers.next()) else {
        return Err("the program was cut short".to_owned());
    };
    let (operations, events) = if arm == Arm::Alone { (0.0, 0.0) } else { counted(&profile)? };
    Ok(Sample { message_ns, operations: operations / messages, events: events / messages, messages })
}

/// The instructions that an operation costs, of both ranks. None without valgrind.
fn instructions(mpi: Mpi, program: &Path, commsee: &Library, case: &(&str, &str, usize, usize)) -> Option<f64> {
    let counted = |exchanges: usize| {
        let folder = place();
        let case = (case.0, case.1, case.2, exchanges);
        let counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=counted.%p"];
        let sample = run(mpi, program, commsee, &case, Arm::Module, folder.path(), &counting).ok()?;
        let files = fs::read_dir(folder.path()).ok()?.flatten().map(|entry| entry.path());
        let of_ranks =
            files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("counted.")));
        let instructions: u64 =
            of_ranks.filter_map(|path| fs::read_to_string(path).ok()).map(|text| of_module(&text)).sum();
        Some((instructions as f64, sample.operations * sample.messages))
    };
    let [few, many] = COUNTED.map(counted);
    let ((few, few_operations), (many, many_operations)) = (few?, many?);
    Some((many - few) / (many_operations - few_operations))
}

/// What callgrind counted in the module, and in the core's functions for modules, without what those call elsewhere.
fn of_module(counted: &str) -> u64 {
    let mut names: [HashMap<&str, &str>; 2] = Default::default();
    let (mut object, mut function, mut is_of_callee, mut sum) = ("", "", false, 0);
    for line in counted.lines() {
        if let Some(text) = line.strip_prefix("ob=") {
            object = name(&mut names[0], text);
        } else if let Some(text) = line.strip_prefix("fn=") {
            function = name(&mut names[1], text);
        } else if let Some(text) = line.strip_prefix("cob=") {
            name(&mut names[0], text);
        } else if let Some(text) = line.strip_prefix("cfn=") {
            name(&mut names[1], text);
        } else if line.starts_with("calls=") {
            is_of_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let is_of_module = object.ends_with("libcommsee_ucx.so") || function.starts_with("commsee_hook_");
            if is_of_module && !is_of_callee {
                sum += line.split(' ').nth(1).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
            }
            is_of_callee = false;
        }
    }
    sum
}

/// `(number) name` where it is first told, `(number)` from then on.
fn name<'a>(names: &mut HashMap<&'a str, &'a str>, text: &'a str) -> &'a str {
    let (number, name) = text.split_once(' ').unwrap_or((text, ""));
    if name.is_empty() {
        names.get(number).copied().unwrap_or("")
    } else {
        names.insert(number, name).map_or(name, |_| name)
    }
}

/// Operations of layers and events, of both ranks. Barriers and the begin are few beside the messages.
fn counted(profile: &Path) -> Result<(f64, f64), String> {
    let db = Connection::open(profile).map_err(|error| error.to_string())?;
    let sql = "SELECT coalesce((SELECT sum(calls) FROM transfer), 0), coalesce((SELECT sum(events + lost_events) FROM clock), 0)";
    db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(|error| error.to_string())
}
