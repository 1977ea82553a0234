//! `through` shows the profiles that commsee leaves, and runs programs so that they leave one. It never loads MPI, and `resolve`
//! alone writes to a profile: to a copy, which takes its place.
//!
//! The way of the data: `cli` → `commands` → `views` ask `query` and make a `document`, which `render` prints.

pub mod advise;
pub mod cli;
mod commands;
pub mod document;
mod error;
mod job;
mod live;
pub mod machine;
pub mod query;
pub mod render;
pub mod report;
pub mod statistics;
pub mod symbols;
pub mod text;
pub mod tune;
pub mod views;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::commands::look::{look, look_at_ranks};
pub use crate::error::Error;
use crate::job::carry;
use crate::text::message;

/// Does what the command line says. Returns the exit status.
pub fn main() -> ExitCode {
    let words = cli::with_sides(std::env::args_os());
    match Cli::try_parse_from(&words) {
        Ok(cli) => done(&cli),
        Err(answer) => cli::answer(answer, &words),
    }
}

fn done(cli: &Cli) -> ExitCode {
    let found = |any: bool| u8::from(!any);
    let status = match &cli.command {
        None => commands::show::show(&cli.show).map(found),
        Some(Command::Advise(arguments)) => commands::advise::advise(arguments, machine::find).map(u8::from),
        Some(Command::Efficiency(arguments)) => look_at_ranks("efficiency", arguments).map(found),
        Some(Command::Tune(arguments)) => commands::tune::tune(arguments),
        Some(Command::Waits(arguments)) => look("waits", arguments).map(found),
        Some(Command::Diff(arguments)) => commands::diff::diff(arguments),
        Some(Command::Correlate(arguments)) => commands::correlate::correlate(arguments).map(found),
        Some(Command::Imbalance(arguments)) => look("imbalance", arguments).map(found),
        Some(Command::Top(arguments)) => look("top", arguments).map(found),
        Some(Command::Hist(arguments)) => look("hist", arguments).map(found),
        Some(Command::Tree(arguments)) => look("tree", arguments).map(found),
        Some(Command::Hosts(arguments)) => look("hosts", arguments).map(found),
        Some(Command::Patterns(arguments)) => look("patterns", arguments).map(found),
        Some(Command::Reorder(arguments)) => commands::reorder::reorder(arguments).map(found),
        Some(Command::Bench(arguments)) => commands::bench::bench(arguments),
        Some(Command::Roofline(arguments)) => commands::roofline::roofline(arguments).map(found),
        Some(Command::Layers(arguments)) => commands::layers::layers(arguments).map(found),
        Some(Command::Matrix(arguments)) => commands::matrix::matrix(arguments).map(found),
        Some(Command::Graph(arguments)) => commands::graph::graph(arguments).map(found),
        Some(Command::Trace(arguments)) => commands::trace::trace(arguments).map(found),
        Some(Command::Report(arguments)) => commands::report::report(arguments).map(|()| 0),
        Some(Command::Sql(arguments)) => commands::sql::sql(arguments).map(|()| 0),
        Some(Command::Schema(arguments)) => commands::schema::schema(arguments).map(|()| 0),
        Some(Command::Run(arguments)) => commands::run::run(arguments),
        Some(Command::Exec(arguments)) => commands::exec::exec(arguments),
        Some(Command::Recover(arguments)) => commands::recover::recover(arguments).map(found),
        Some(Command::Resolve(arguments)) => commands::resolve::resolve(arguments).map(found),
        Some(Command::Clean(arguments)) => commands::clean::clean(arguments).map(found),
        Some(Command::Collect(arguments)) => commands::collect::command(arguments).map(found),
        Some(Command::Carry(arguments)) => Ok(carry::command(&arguments.note)),
        Some(Command::Generate(arguments)) => commands::generate::generate(arguments).map(|()| 0),
        Some(Command::Watch(arguments)) => commands::watch::watch(arguments).map(found),
    };
    ExitCode::from(status.unwrap_or_else(|error| {
        message::say(&error);
        error.status()
    }))
}
