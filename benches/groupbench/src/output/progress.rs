//! How far a run is and how long it will take, on standard error, where that is a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::Instant;

pub struct Progress {
    begun: Instant,
    cases: usize,
    is_shown: bool,
}

impl Progress {
    pub fn new(cases: usize, is_root: bool) -> Progress {
        Progress { begun: Instant::now(), cases, is_shown: is_root && stderr().is_terminal() }
    }

    /// Before case `index` of them.
    pub fn show(&self, index: usize, what: &str) {
        if !self.is_shown {
            return;
        }
        let spent_s = self.begun.elapsed().as_secs_f64();
        let left = match index {
            0 => String::new(),
            _ => format!(", {} left", rounded(spent_s / index as f64 * (self.cases - index) as f64)),
        };
        // It is one line, which the next one takes the place of.
        let _ = write!(stderr(), "\r\x1b[K{}/{} {what}{left}", index + 1, self.cases);
    }

    /// Before something else is printed.
    pub fn clear(&self) {
        if self.is_shown {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

fn rounded(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..100 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_times_are_minutes() {
        assert_eq!(super::rounded(12.4), "12 s");
        assert_eq!(super::rounded(130.0), "3 min");
    }
}
