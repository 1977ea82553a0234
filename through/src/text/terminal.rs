//! How wide the output may be, and whether it may be coloured.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;

use terminal_size::{Height, Width, terminal_size_of};

/// The width where nobody says another one: files, pipes.
const COLUMNS: usize = 80;
const LEAST_COLUMNS: usize = 60;
/// Tables are laid out in 16 bits.
const MOST_COLUMNS: usize = 10_000;

#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    pub columns: usize,
    /// Nothing where it is a file or a pipe.
    pub rows: Option<usize>,
    pub is_coloured: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Paint {
    Strong,
    Faint,
    Warning,
}

impl Terminal {
    pub fn stdout() -> Terminal {
        Terminal::of(&std::io::stdout())
    }

    pub fn stderr() -> Terminal {
        Terminal::of(&std::io::stderr())
    }

    /// For a file that somebody reads later.
    pub fn file() -> Terminal {
        Terminal { columns: wished_columns().unwrap_or(COLUMNS), rows: None, is_coloured: false }
    }

    fn of(stream: &(impl std::io::IsTerminal + std::os::fd::AsFd)) -> Terminal {
        let is_terminal = stream.is_terminal();
        let size = if is_terminal { terminal_size_of(stream) } else { None };
        let columns = size.map(|(Width(columns), _)| usize::from(columns)).filter(|columns| *columns > 0);
        let rows = size.map(|(_, Height(rows))| usize::from(rows)).filter(|rows| *rows > 0);
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        Terminal {
            columns: wished_columns().or(columns).unwrap_or(COLUMNS).max(LEAST_COLUMNS),
            rows,
            is_coloured: is_coloured(is_terminal, variable),
        }
    }

    pub fn paint<'a>(&self, paint: Paint, text: &'a str) -> Cow<'a, str> {
        if !self.is_coloured {
            return Cow::Borrowed(text);
        }
        let code = match paint {
            Paint::Strong => "1",
            Paint::Faint => "2",
            Paint::Warning => "33",
        };
        Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
    }
}

/// <https://no-color.org>: set and not empty. <https://bixense.com/clicolors>: `CLICOLOR_FORCE` wants colours also in a pipe, which
/// `NO_COLOR` overrules.
fn is_coloured(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    if variable("NO_COLOR").is_some() {
        return false;
    }
    let is = |name: &str, value: &str| variable(name).is_some_and(|is| is == value);
    variable("CLICOLOR_FORCE").is_some() && !is("CLICOLOR_FORCE", "0")
        || is_terminal && !is("TERM", "dumb") && !is("CLICOLOR", "0")
}

fn wished_columns() -> Option<usize> {
    let columns: usize = env::var("COLUMNS").ok()?.trim().parse().ok()?;
    (columns > 0).then(|| columns.clamp(LEAST_COLUMNS, MOST_COLUMNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_unless_told_otherwise() {
        let says = |is_terminal, variables: &[(&str, &str)]| {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            is_coloured(is_terminal, find)
        };
        assert!(says(true, &[]) && !says(false, &[]));
        assert!(!says(true, &[("NO_COLOR", "1")]) && !says(true, &[("TERM", "dumb")]));
        assert!(says(false, &[("CLICOLOR_FORCE", "1")]) && !says(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!says(true, &[("CLICOLOR", "0")]) && says(true, &[("CLICOLOR", "1")]));
        assert!(!says(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }
}
