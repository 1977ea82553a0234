//! What is said where debug data takes long.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::find::Files;
use crate::text::message::say;
use crate::text::units;

const PATIENCE: Duration = Duration::from_secs(1);

/// Does some work, and says what it is about if it takes longer than people wait gladly.
pub fn said<T>(files: &Files, work: impl FnOnce() -> T) -> T {
    let image = &files.images[files.debug.unwrap_or(0)];
    let text = format!("reading debug data of {} ({})", image.path.display(), units::bytes(image.bytes()));
    let (done, waits) = channel::<()>();
    thread::spawn(move || {
        if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            say(text);
        }
    });
    let result = work();
    drop(done);
    result
}
