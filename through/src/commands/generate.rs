//! `through generate`: man pages and completions.

use std::io::{self, Write};
use std::path::Path;

use clap_mangen::Man;
use commsee::access;

use crate::cli::{self, Generate};
use crate::error::Error;

pub fn generate(what: &Generate, all: &clap::Command) -> Result<(), Error> {
    match what {
        Generate::Man { directory } => man(directory, all),
        Generate::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut cli::documented(all), "through", &mut script);
            io::stdout().write_all(&script).map_err(Error::Stdout)
        }
    }
}

fn man(directory: &Path, all: &clap::Command) -> Result<(), Error> {
    let program = cli::documented(all);
    let mut pages = vec![program.clone()];
    pages.extend(program.get_subcommands().filter(|command| command.get_name() != "help").cloned());
    for page in pages {
        // `through run` has the page through-run.
        let name = page.get_display_name().unwrap_or("through").to_owned();
        let man = Man::new(page.disable_help_subcommand(true))
            .manual("commsee")
            .source(concat!("commsee ", env!("CARGO_PKG_VERSION")));
        let mut text = Vec::new();
        man.render(&mut text).map_err(Error::Stdout)?;
        let path = directory.join(format!("{name}.1"));
        access::write(&path, &text).map_err(|source| Error::Output { path, source })?;
    }
    Ok(())
}
