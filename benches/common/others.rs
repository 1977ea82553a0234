//! How much of the processors went to others while something was measured: figures taken on a busy machine tell little.

use std::fs;

/// Processor time so far, in seconds.
pub struct Usage {
    /// Of the whole machine, idle or not.
    all_s: f64,
    busy_s: f64,
    /// Of this process's children that have ended.
    own_s: f64,
}

impl Usage {
    pub fn now() -> Usage {
        let (all_s, busy_s) = machine_s().unwrap_or((f64::NAN, f64::NAN));
        Usage { all_s, busy_s, own_s: children_s() }
    }

    /// The share of the processors' time since that went to neither this process nor what it ran.
    pub fn share_of_others(&self) -> f64 {
        let now = Usage::now();
        ((now.busy_s - self.busy_s - (now.own_s - self.own_s)) / (now.all_s - self.all_s)).max(0.0)
    }
}

/// `cpu user nice system idle iowait irq softirq steal …`: all, and all but idle and iowait. What is stolen, other
/// machines have had.
fn machine_s() -> Option<(f64, f64)> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let words = stat.lines().next()?.split_whitespace().skip(1).take(8);
    let ticks: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    // SAFETY: no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    let all = ticks.iter().sum::<f64>();
    Some((all / per_second, (all - ticks.get(3)? - ticks.get(4)?) / per_second))
}

fn children_s() -> f64 {
    // SAFETY: all zeros is a value of this structure, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
