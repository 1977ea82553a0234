//! Where looks are shown: one over the other on a terminal, else one below the other.

use std::io::{self, IsTerminal, Write};

use terminal_size::{Height, terminal_size_of};

use crate::text::terminal::Terminal;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    /// Where a job writes to standard output itself.
    Error,
}

pub struct Screen {
    stream: Stream,
    is_in_place: bool,
    /// Of the look that is shown.
    lines: usize,
    is_first: bool,
}

/// Of a terminal that does not tell its height.
const LINES: usize = 24;

impl Screen {
    pub fn new(stream: Stream) -> Screen {
        let is_in_place = match stream {
            Stream::Out => io::stdout().is_terminal(),
            // What the job prints there, too, would be drawn over.
            Stream::Error => false,
        };
        Screen { stream, is_in_place, lines: 0, is_first: true }
    }

    pub fn terminal(&self) -> Terminal {
        match self.stream {
            Stream::Out => Terminal::stdout(),
            Stream::Error => Terminal::stderr(),
        }
    }

    /// Shows a look, in one piece so that nothing flickers. The cursor stays visible, below it: whatever ends this program, the terminal is
    /// as it was.
    pub fn show(&mut self, look: &str) -> io::Result<()> {
        let mut text = String::new();
        if self.is_in_place {
            let most = terminal_size_of(io::stdout()).map_or(LINES, |(_, Height(lines))| usize::from(lines)).max(2) - 1;
            if self.lines > 0 {
                text += &format!("\x1b[{}A\r", self.lines);
            }
            // Too long a line is cut by the terminal: broken it would take two.
            text += "\x1b[J\x1b[?7l";
            self.lines = 0;
            for line in look.lines().take(most) {
                text += line;
                text.push('\n');
                self.lines += 1;
            }
            text += "\x1b[?7h";
        } else {
            text += if self.is_first { "" } else { "\n" };
            text += look;
        }
        self.is_first = false;
        match self.stream {
            Stream::Out => write(&mut io::stdout().lock(), &text),
            Stream::Error => write(&mut io::stderr().lock(), &text),
        }
    }
}

fn write(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}
