//! The program `through`: the list of commands and of views that puts its parts together. `through-core` makes and reads profiles, `insight`
//! compares runs and machines, `report` draws the page for the browser.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use through_core::advise::TOPICS;
use through_core::cli::*;
use through_core::commands::look::look;
use through_core::text::message;
use through_core::views::{VIEWS, View};
use through_core::{cli, commands, job};

const EXAMPLES: &str = "\
Examples:
  through run -o heat.db -- mpirun -n 4 ./heat   run a job with the profiler
  through heat.db                                operations of each communicator
  through advise heat.db                         what to change first
  through report heat.db                         one page with pictures
  through heat.db --comm s0.1 --op Allreduce     one operation on one communicator
  through comms heat.db                          time per communicator

Exit status: 0 success, 1 nothing matches, 2 error; `run` and `exec` exit with
the status of what they ran. If a profile is named like a command, add its
directory: ./run";

/// The commands as the help lists them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["run", "show", "advise", "explain", "report"]),
    ("Explore", &["comms", "waits", "traffic", "sites", "layers"]),
    ("Compare", &["compare"]),
    ("Machine", &["bench", "tune"]),
    ("Jobs", &["watch", "recover", "exec"]),
    ("Data", &["sql", "export"]),
];

#[derive(Debug, Parser)]
#[command(
    name = "through",
    version,
    about = "Show where an MPI program spends its time, by communicator",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub show: Show,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a job with the profiler and print a summary
    Run(Run),
    /// Show calls, sizes and time by communicator, rank, phase or file
    Show(Box<Show>),
    /// Suggest what to change, ranked by what the run gains
    Advise(Box<Advise>),
    /// Explain a topic of advice, or the name of a communicator
    Explain(Explain),
    /// Write one page with pictures and filters for the browser
    Report(report::cli::Arguments),
    /// Show the time in each communicator, and the tree of communicators
    Comms(Box<Comms>),
    /// Show who waited for whom
    Waits(Box<Waits>),
    /// Show messages between ranks, hosts or devices, and their patterns
    Traffic(Box<insight::cli::Traffic>),
    /// Show the lines that call MPI, and their callers (needs run --sites)
    Sites(Box<Sites>),
    /// Show transfers of UCX, NCCL and GPUs (needs run --hooks)
    Layers(Box<Layers>),
    /// Show what changed between two programs, or what varies over many runs
    Compare(Box<insight::cli::Compare>),
    /// Show measurements of the machine, and a profile against them
    Bench(Box<insight::cli::Bench>),
    /// Generate a script that benchmarks other algorithms of a collective
    Tune(insight::cli::Tune),
    /// Show a job while it runs
    Watch(Watch),
    /// Make a profile of a crashed or hanging job
    Recover(Recover),
    /// Run one process with the profiler, for srun and other launchers
    Exec(Exec),
    /// Query a profile with SQL, read only
    Sql(Sql),
    /// Write CSV, JSON, Parquet, or a timeline for Perfetto
    Export(Box<Export>),
    /// Carry what ranks left on this host to where the others see it; `recover --all-hosts` starts it
    #[command(hide = true)]
    Carry(HostNote),
    /// Write man pages and completions for shells; `./install` asks for them
    #[command(hide = true, subcommand)]
    Generate(Generate),
}

/// The command line, with its commands in groups.
pub fn command_line() -> clap::Command {
    let command = Cli::command();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        text += &format!("\n{heading}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            text += &format!("  {name:<8} {}\n", about.map(ToString::to_string).unwrap_or_default());
        }
    }
    let usage = "Usage: through [OPTIONS] [PROFILE]   the same as `through show`\n       through COMMAND [OPTIONS] ...";
    let more = "Options of a command: `through COMMAND -h`, all of them: `through COMMAND --help`";
    command.help_template(format!("{{about}}\n\n{usage}\n{text}\n{more}{{after-help}}\n"))
}

/// All views of profiles, in the order of the reference.
pub fn views() -> impl Iterator<Item = &'static View> + Clone {
    VIEWS.iter().chain(insight::views::VIEWS)
}

/// Does what the command line says. Returns the exit status.
pub fn main() -> ExitCode {
    let words = insight::cli::with_sides(std::env::args_os());
    let parsed = command_line().try_get_matches_from(&words).and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => done(&cli),
        Err(answer) => cli::answer(answer, &words, &command_line()),
    }
}

fn done(cli: &Cli) -> ExitCode {
    let found = |any: bool| u8::from(!any);
    let status = match &cli.command {
        None => commands::show::show(&cli.show, &command_line()).map(found),
        Some(Command::Run(arguments)) => commands::run::run(arguments, report::command::alone),
        Some(Command::Show(arguments)) => look(arguments).map(found),
        Some(Command::Advise(arguments)) => commands::advise::advise(arguments, insight::machine::find),
        Some(Command::Explain(arguments)) => {
            let topics: Vec<_> = TOPICS.iter().chain(insight::machine::TOPICS).collect();
            commands::explain::explain(arguments, &topics).map(|()| 0)
        }
        Some(Command::Report(arguments)) => report::command::report(arguments).map(|()| 0),
        Some(Command::Comms(arguments)) => look(arguments).map(found),
        Some(Command::Waits(arguments)) => look(arguments).map(found),
        Some(Command::Traffic(arguments)) => insight::commands::traffic::traffic(arguments).map(found),
        Some(Command::Sites(arguments)) => look(arguments).map(found),
        Some(Command::Layers(arguments)) => commands::layers::layers(arguments).map(found),
        Some(Command::Compare(arguments)) => insight::commands::compare::compare(arguments),
        Some(Command::Bench(arguments)) => insight::commands::bench::bench(arguments),
        Some(Command::Tune(arguments)) => insight::commands::tune::tune(arguments),
        Some(Command::Watch(arguments)) => commands::watch::watch(arguments).map(found),
        Some(Command::Recover(arguments)) => commands::recover::recover(arguments).map(found),
        Some(Command::Exec(arguments)) => commands::exec::exec(arguments),
        Some(Command::Sql(arguments)) => commands::sql::sql(arguments).map(|()| 0),
        Some(Command::Export(arguments)) => commands::export::export(arguments).map(found),
        Some(Command::Carry(arguments)) => Ok(job::carry::command(&arguments.note)),
        Some(Command::Generate(arguments)) => commands::generate::generate(arguments, &command_line()).map(|()| 0),
    };
    ExitCode::from(status.unwrap_or_else(|error| {
        message::say(&error);
        error.status()
    }))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn every_command_is_in_a_group_and_the_help_fits() {
        let mut command = command_line();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        assert_eq!(shown.map(clap::Command::get_name).collect::<Vec<_>>(), grouped);
        assert!(command.render_long_help().to_string().lines().count() <= 60);
    }

    #[test]
    fn a_profile_needs_no_command() {
        let cli = Cli::try_parse_from(["through", "a.db", "--comm", "s0.1", "-r", "0,4-7", "-b", ":1M"]).unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.show.input.profile, Some(PathBuf::from("a.db")));
        assert!(cli.show.select.calls.rank[0].contains(5));
    }

    #[test]
    fn the_launcher_keeps_its_own_options() {
        for dashes in [&["--"][..], &[]] {
            let words = ["through", "run", "-o", "x.db"].iter().chain(dashes).chain(&["mpirun", "-o", "--", "-n"]);
            let Some(Command::Run(run)) = Cli::try_parse_from(words).unwrap().command else { panic!("no run") };
            assert_eq!(run.profiling.output, Some(PathBuf::from("x.db")));
            assert_eq!(run.command, ["mpirun", "-o", "--", "-n"]);
        }
    }

    #[test]
    fn a_profile_named_like_a_command_is_written_with_its_directory() {
        assert!(Cli::try_parse_from(["through", "./run"]).unwrap().command.is_none());
        assert_eq!(Cli::try_parse_from(["through", "-i", "run"]).unwrap().show.input.input, Some(PathBuf::from("run")));
        assert!(Cli::try_parse_from(["through", "run"]).is_err());
    }

    #[test]
    fn views_exclude_each_other() {
        assert!(Cli::try_parse_from(["through", "-a", "-e"]).is_err());
    }

    #[test]
    fn bad_edges_are_refused_before_the_job_starts() {
        assert!(Cli::try_parse_from(["through", "run", "--buckets", "8,4", "--", "true"]).is_err());
    }
}
