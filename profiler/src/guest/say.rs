//! What commsee says to the user.

pub use commsee_runtime::say::*;
pub use commsee_runtime::warn_once;
use vocabulary::settings::Log;

pub fn set_log(log: Log) {
    set_level(match log {
        Log::Off => Level::Off,
        Log::Warn => Level::Warn,
        Log::Info => Level::Info,
        Log::Debug => Level::Debug,
    });
}
