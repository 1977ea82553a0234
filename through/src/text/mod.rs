//! Text for people: quantities with units, names that steer no terminal, the width of lines, messages. It knows nothing of profiles.

pub mod escape;
pub mod message;
pub mod path;
pub mod progress;
pub mod similar;
pub mod spreadsheet;
pub mod terminal;
pub mod units;
