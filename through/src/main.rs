//! `through` shows the profiles that commsee leaves, and runs programs so that they leave one. It never loads MPI, and
//! never writes to a profile.
//!
//! The way of the data: `cli` → `open` → `filter` → `query` → `report` → `render` → `output`.

mod carry;
mod clean;
mod cli;
mod collect;
mod error;
mod escape;
mod exec;
mod filter;
mod graph;
mod harvest;
mod launcher;
mod layered;
mod leftovers;
mod matrix;
mod message;
mod open;
mod order;
mod output;
mod parts;
mod preload;
mod query;
mod range;
mod recover;
mod render;
mod report;
mod run;
mod show;
mod signals;
mod stay;
mod summary;
mod terminal;
mod trace;
mod ucx;
mod units;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let found = |any: bool| u8::from(!any);
    let status = match &cli.command {
        None => show::show(&cli.show).map(found),
        Some(Command::Ucx(arguments)) => ucx::ucx(arguments).map(found),
        Some(Command::Matrix(arguments)) => matrix::matrix(arguments).map(found),
        Some(Command::Graph(arguments)) => graph::graph(arguments).map(found),
        Some(Command::Trace(arguments)) => trace::trace(arguments).map(found),
        Some(Command::Run(arguments)) => run::run(arguments),
        Some(Command::Exec(arguments)) => exec::exec(arguments),
        Some(Command::Recover(arguments)) => recover::recover(arguments).map(found),
        Some(Command::Clean(arguments)) => clean::clean(arguments).map(found),
        Some(Command::Collect(arguments)) => collect::command(arguments).map(found),
        Some(Command::Carry(arguments)) => Ok(carry::command(&arguments.note)),
        Some(Command::Watch(arguments)) => Ok(found(watch::watch(&arguments.note))),
    };
    ExitCode::from(status.unwrap_or_else(|error| {
        message::say(&error);
        error.status()
    }))
}
