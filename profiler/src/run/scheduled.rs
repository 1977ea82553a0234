//! What the scheduler gave the thread that calls MPI: of a rank that is late a reader must know whether it worked, or waited for a processor that
//! others had. Two reads of a file of `/proc` in a run.

use std::fs;

use vocabulary::shard::Scheduled;

/// Of the main thread, if it is the one that asks; otherwise it is not known.
pub fn so_far() -> Scheduled {
    // SAFETY: it only asks.
    if unsafe { libc::gettid() } as u32 != std::process::id() {
        return Scheduled::default();
    }
    fs::read_to_string("/proc/self/schedstat").map(|text| of_text(&text)).unwrap_or_default()
}

/// `109684 3246868 2`: nanoseconds on a processor, nanoseconds ready without one, and time slices.
fn of_text(text: &str) -> Scheduled {
    let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(ran_ns), Some(ready_ns)) => Scheduled { ran_ns, ready_ns },
        _ => Scheduled::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_has_run() {
        assert_eq!(of_text("109684 3246868 2\n"), Scheduled { ran_ns: 109_684, ready_ns: 3_246_868 });
        assert_eq!(of_text("garbage"), Scheduled::default());
        // A test is not the main thread.
        assert_eq!(so_far(), Scheduled::default());
    }
}
