//! CSV and JSON are read on terminals, too: what a terminal would act on, or what would not be seen, is written as an escape.
//! In JSON that changes no value. In CSV a line break within a name becomes `\n` as well, so that a row is a line.

use std::io::{self, Write};

use crate::text::escape::is_hidden;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Text {
    Csv,
    Json,
}

/// Passes text on to another writer. What is cut within a character waits for the rest of it.
pub struct Escaping<'a> {
    out: &'a mut dyn Write,
    text: Text,
    /// Within a field of CSV in quotes.
    is_quoted: bool,
    pending: Vec<u8>,
}

impl<'a> Escaping<'a> {
    pub fn new(out: &'a mut dyn Write, text: Text) -> Escaping<'a> {
        Escaping { out, text, is_quoted: false, pending: Vec::new() }
    }

    /// Most text is: nothing to escape, and no quotation marks to follow.
    fn is_plain(&self, text: &str) -> bool {
        let follows_quotes = self.text == Text::Csv;
        !self.is_quoted
            && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n') && !(follows_quotes && byte == b'"'))
    }

    fn pass(&mut self, text: &str) -> io::Result<()> {
        if self.is_plain(text) {
            return self.out.write_all(text.as_bytes());
        }
        let mut kept = 0;
        for (at, character) in text.char_indices() {
            self.is_quoted ^= character == '"';
            let ends_line = character == '\n' && !(self.text == Text::Csv && self.is_quoted);
            if ends_line || !is_hidden(character) {
                continue;
            }
            self.out.write_all(&text.as_bytes()[kept..at])?;
            kept = at + character.len_utf8();
            match self.text {
                Text::Csv => write!(self.out, "{}", character.escape_default())?,
                Text::Json => {
                    character.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(self.out, "\\u{unit:04x}"))?
                }
            }
        }
        self.out.write_all(&text.as_bytes()[kept..])
    }
}

impl Write for Escaping<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut whole = std::mem::take(&mut self.pending);
        whole.extend_from_slice(bytes);
        let end = match std::str::from_utf8(&whole) {
            Ok(_) => whole.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return Err(io::Error::other("text that is no UTF-8")),
        };
        self.pending = whole.split_off(end);
        self.pass(&String::from_utf8_lossy(&whole))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: Text, whole: &str, part_bytes: usize) -> String {
        let mut out = Vec::new();
        let mut escaping = Escaping::new(&mut out, text);
        whole.as_bytes().chunks(part_bytes).for_each(|part| escaping.write_all(part).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped_wherever_it_is_cut() {
        let csv = "a,\"x\n\"\"\u{1b}[31m\"\nü,\u{202e}\n";
        let json = "{\"a\":\"ü\u{7f}\u{9b}\u{e0001}\"}\n";
        for part_bytes in 1..9 {
            let expected = "a,\"x\\n\"\"\\u{1b}[31m\"\nü,\\u{202e}\n";
            assert_eq!(passed(Text::Csv, csv, part_bytes), expected);
            let expected = "{\"a\":\"ü\\u007f\\u009b\\udb40\\udc01\"}\n";
            assert_eq!(passed(Text::Json, json, part_bytes), expected);
        }
    }
}
