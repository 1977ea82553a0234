//! Lines on standard output that tell what was done. It is done whoever reads them: what went wrong is kept for the end.

use std::fmt::Display;
use std::io::{self, Write};

use crate::error::Error;

pub struct Lines(io::Result<()>);

impl Lines {
    pub fn new() -> Lines {
        Lines(Ok(()))
    }

    pub fn add(&mut self, text: impl Display) {
        if self.0.is_ok() {
            self.0 = writeln!(io::stdout(), "{text}");
        }
    }

    /// A reader that has seen enough is no error.
    pub fn end(self) -> Result<(), Error> {
        match self.0 {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Stdout(error)),
            _ => Ok(()),
        }
    }
}
