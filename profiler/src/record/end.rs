//! The end of a thread, whatever it was at.

use crate::objects::{communicators, records, requests};
use crate::record::{files, in_flight, windows};
use crate::thread::Thread;

/// All calls that it has not returned from end. What it has left by a jump is for others.
pub fn of_thread(thread: &Thread) {
    records::let_go();
    communicators::HANDLES.let_go();
    windows::HANDLES.let_go();
    files::let_go();
    requests::let_go();
    in_flight::end_all(thread);
}
