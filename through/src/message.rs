//! Lines on standard error. A standard error that is closed is no reason to fail.

use std::fmt::Display;
use std::io::Write;

use crate::escape::visible;

/// One line, whatever the text holds.
pub fn say(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(std::io::stderr(), "through: {}", visible(&text));
}
