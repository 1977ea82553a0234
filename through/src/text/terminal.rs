//! How wide the output may be, and whether it may be coloured.

use std::borrow::Cow;
use std::env;

use terminal_size::{Width, terminal_size_of};

/// The width where nobody says another one: files, pipes.
const COLUMNS: usize = 80;
const LEAST_COLUMNS: usize = 60;
/// Tables are laid out in 16 bits.
const MOST_COLUMNS: usize = 10_000;

#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    pub columns: usize,
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
        Terminal { columns: wished_columns().unwrap_or(COLUMNS), is_coloured: false }
    }

    fn of(stream: &(impl std::io::IsTerminal + std::os::fd::AsFd)) -> Terminal {
        let is_terminal = stream.is_terminal();
        let size = if is_terminal { terminal_size_of(stream) } else { None };
        let columns = size.map(|(Width(columns), _)| usize::from(columns)).filter(|columns| *columns > 0);
        // <https://no-color.org>: set and not empty.
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        Terminal {
            columns: wished_columns().or(columns).unwrap_or(COLUMNS).max(LEAST_COLUMNS),
            is_coloured: is_terminal && !unwanted,
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

fn wished_columns() -> Option<usize> {
    let columns: usize = env::var("COLUMNS").ok()?.trim().parse().ok()?;
    (columns > 0).then(|| columns.clamp(LEAST_COLUMNS, MOST_COLUMNS))
}
