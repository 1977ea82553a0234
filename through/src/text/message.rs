//! Lines on standard error. A standard error that is closed is no reason to fail.

use std::fmt::Display;
use std::io::Write;

use crate::text::escape::visible;

/// One line, whatever the text holds.
pub fn say(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(std::io::stderr(), "through: {}", visible(&text));
}

/// An error of the system without its number.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
