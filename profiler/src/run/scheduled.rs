//! What the scheduler gave the thread that calls MPI: of a rank that is late a reader must know whether it worked, or waited for a processor that
//! others had. Two reads of a file of `/proc` in a run.

use std::fs;

use vocabulary::shard::Scheduled;

/// Of the main thread, if it is the one that asks; otherwise it is not known.
pub fn so_far() -> Scheduled {
    // By its number: C libraries before 2.30 have no function for it.
    // SAFETY: it only asks.
    if unsafe { libc::syscall(libc::SYS_gettid) } as u32 != std::process::id() {
        return Scheduled::default();
    }
    fs::read_to_string("/proc/self/schedstat").map(|text| Scheduled::of_text(&text)).unwrap_or_default()
}
