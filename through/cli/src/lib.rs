//! The program `through`: the list of commands and of views that puts its parts together. `through-core` makes and reads profiles, `insight`
//! compares runs and machines, `report` draws the page for the browser.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use through_core::advise::TOPICS;
use through_core::cli::*;
use through_core::commands::look::{look, look_at_ranks};
use through_core::text::message;
use through_core::views::{VIEWS, View};
use through_core::{cli, commands, job};

const EXAMPLES: &str = "\
Examples:
  through run -o heat.db -- mpirun -n 64 ./heat   run a job with the profiler
  through                                         newest profile in this folder
  through heat.db --comm s0.1 --op Allreduce      one operation on s0.1
  through advise heat.db                          what to look at first
  through report heat.db -o heat.html             one page with pictures
  through roofline heat.db machine.db             calls against measured bandwidth
  through heat.db -u                              time per communicator
  through heat.db -e --sort time                  time per rank, heaviest first
  through heat.db -a --rank 0,4-7 --bytes 1K:1M   single ranks, medium messages
  through heat.db -a --format csv -o heat.csv     everything, for other programs
  through layers heat.db --by comm                layers below MPI
  through trace heat.db -o heat.json              timeline for Perfetto
  through heat.db --sites                         lines that call MPI
  through resolve heat.db -o laptop.db            copy that needs no binaries
  through recover                                 profile of a crashed job

Exit status: 0 success, 1 nothing matches, 2 error; `run` and `exec` exit with
the status of what they ran. If a profile is named like a command, add its
directory: ./run";

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
    /// Suggest what to change, ranked by what the run gains
    Advise(Box<Advise>),
    /// Explain a topic of advice, and when it is reported
    Explain(Explain),
    /// Show where the run time went: efficiencies, and a ledger by communicator
    Efficiency(Box<LookAtRanks>),
    /// Show who waited for whom: bounds from counters, exact times from a timeline
    Waits(Box<Look>),
    /// Write what compares algorithms of a collective: rules and a script
    Tune(insight::cli::Tune),
    /// Show what changed between two programs: A.db... -- B.db...
    Diff(Box<insight::cli::Diff>),
    /// Show what goes together with the run time, over many runs
    Correlate(Box<insight::cli::Correlate>),
    /// Show how unevenly ranks spend time on each communicator
    Imbalance(Box<Look>),
    /// Show what contributes most: communicator, operation and message size
    Top(Box<Look>),
    /// Show how large messages are: calls, bytes and time by message size
    Hist(Box<Look>),
    /// Show which communicators were made from which, with families as one line
    Tree(Box<Look>),
    /// Show ranks, MPI time and bytes inside and between hosts
    Hosts(Box<Look>),
    /// Show who sends to whom on each communicator: rings, halos, stars, trees, and what does not fit
    Patterns(Box<Look>),
    /// Find an order of ranks with few bytes between nodes, and write it for launchers
    Reorder(Box<insight::cli::Reorder>),
    /// Show measurements of the machine that groupbench made
    Bench(Box<insight::cli::Bench>),
    /// Show what calls took, against what the machine can do: PROFILE BENCH.db
    Roofline(Box<insight::cli::Roofline>),
    /// Show what layers below MPI did (needs `run --hooks`)
    #[command(visible_alias = "ucx")]
    Layers(Box<Layers>),
    /// Show messages and bytes between ranks
    Matrix(Box<Matrix>),
    /// Draw traffic between processes, hosts or devices, for Graphviz
    Graph(Box<Graph>),
    /// Write the timeline for Perfetto and Chrome (needs COMMSEE_TRACE=1)
    Trace(Box<Trace>),
    /// Write a page for the browser that shows a run, with filters and pictures, in one file
    Report(report::cli::Arguments),
    /// Ask the profile by SQL, read only
    Sql(Sql),
    /// Show the views and tables that SQL can ask, with what their columns mean
    Schema(Schema),
    /// Run a job with the profiler and print a summary
    Run(Run),
    /// Show a job while it runs: its communicators, and where its ranks stand
    Watch(Watch),
    /// Run a program with the profiler, for srun and other launchers
    Exec(Exec),
    /// Make a profile of a crashed job from its shards on this host
    Recover(Recover),
    /// Make a profile of a crashed job from its shards on all its hosts
    Collect(Collect),
    /// Write functions, files and lines into a profile, to read it where its binaries are not
    Resolve(Resolve),
    /// Remove files that crashed jobs left on this host
    Clean(Clean),
    /// Carry what ranks left on this host to where the others see it; `collect` starts it
    #[command(hide = true)]
    Carry(HostNote),
    /// Write man pages and completions for shells; `./install` asks for them
    #[command(hide = true, subcommand)]
    Generate(Generate),
}

/// All views of profiles, in the order of the reference.
pub fn views() -> impl Iterator<Item = &'static View> + Clone {
    VIEWS.iter().chain(insight::views::VIEWS)
}

/// Does what the command line says. Returns the exit status.
pub fn main() -> ExitCode {
    let words = insight::cli::with_sides(std::env::args_os());
    match Cli::try_parse_from(&words) {
        Ok(cli) => done(&cli),
        Err(answer) => cli::answer(answer, &words, &Cli::command()),
    }
}

fn done(cli: &Cli) -> ExitCode {
    let found = |any: bool| u8::from(!any);
    let usual = |command| views().find(|view| view.command == command).expect("the first one is what it shows");
    let look = |command, arguments| look(usual(command), arguments).map(found);
    let status = match &cli.command {
        None => commands::show::show(&cli.show, &Cli::command()).map(found),
        Some(Command::Advise(arguments)) => commands::advise::advise(arguments, insight::machine::find),
        Some(Command::Explain(arguments)) => {
            let topics: Vec<_> = TOPICS.iter().chain(insight::machine::TOPICS).collect();
            commands::explain::explain(arguments, &topics).map(|()| 0)
        }
        Some(Command::Efficiency(arguments)) => look_at_ranks(usual("efficiency"), arguments).map(found),
        Some(Command::Tune(arguments)) => insight::commands::tune::tune(arguments),
        Some(Command::Waits(arguments)) => look("waits", arguments),
        Some(Command::Diff(arguments)) => insight::commands::diff::diff(arguments),
        Some(Command::Correlate(arguments)) => insight::commands::correlate::correlate(arguments).map(found),
        Some(Command::Imbalance(arguments)) => look("imbalance", arguments),
        Some(Command::Top(arguments)) => look("top", arguments),
        Some(Command::Hist(arguments)) => look("hist", arguments),
        Some(Command::Tree(arguments)) => look("tree", arguments),
        Some(Command::Hosts(arguments)) => look("hosts", arguments),
        Some(Command::Patterns(arguments)) => look("patterns", arguments),
        Some(Command::Reorder(arguments)) => insight::commands::reorder::reorder(arguments).map(found),
        Some(Command::Bench(arguments)) => insight::commands::bench::bench(arguments),
        Some(Command::Roofline(arguments)) => insight::commands::roofline::roofline(arguments).map(found),
        Some(Command::Layers(arguments)) => commands::layers::layers(arguments).map(found),
        Some(Command::Matrix(arguments)) => commands::matrix::matrix(arguments).map(found),
        Some(Command::Graph(arguments)) => commands::graph::graph(arguments).map(found),
        Some(Command::Trace(arguments)) => commands::trace::trace(arguments).map(found),
        Some(Command::Report(arguments)) => report::command::report(arguments).map(|()| 0),
        Some(Command::Sql(arguments)) => commands::sql::sql(arguments).map(|()| 0),
        Some(Command::Schema(arguments)) => commands::schema::schema(arguments).map(|()| 0),
        Some(Command::Run(arguments)) => commands::run::run(arguments, report::command::alone),
        Some(Command::Exec(arguments)) => commands::exec::exec(arguments),
        Some(Command::Recover(arguments)) => commands::recover::recover(arguments).map(found),
        Some(Command::Resolve(arguments)) => commands::resolve::resolve(arguments).map(found),
        Some(Command::Clean(arguments)) => commands::clean::clean(arguments).map(found),
        Some(Command::Collect(arguments)) => commands::collect::command(arguments).map(found),
        Some(Command::Carry(arguments)) => Ok(job::carry::command(&arguments.note)),
        Some(Command::Generate(arguments)) => commands::generate::generate(arguments, &Cli::command()).map(|()| 0),
        Some(Command::Watch(arguments)) => commands::watch::watch(arguments).map(found),
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
        Cli::command().debug_assert();
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
        assert!(Cli::try_parse_from(["through", "-a", "-u"]).is_err());
    }

    #[test]
    fn bad_edges_are_refused_before_the_job_starts() {
        assert!(Cli::try_parse_from(["through", "run", "--buckets", "8,4", "--", "true"]).is_err());
    }
}
