//! This host and its processes, as shards tell of them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use crate::ranks::Ranks;
use crate::shard;

/// The name of this host, as shards carry it.
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as said, and keeps its last zero byte.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    shard::text(&name)
}

/// What no other kernel has, nor this one after its next start; zero where it does not say.
pub fn boot() -> [u64; 2] {
    static BOOT: OnceLock<[u64; 2]> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        let word = |range| digits.get(range).and_then(|half| u64::from_str_radix(half, 16).ok());
        word(0..16).zip(word(16..32)).map_or([0, 0], |(high, low)| [high, low])
    })
}

/// The namespaces of this process within which numbers and starts of processes are counted, as one word: their inodes. Another one
/// may have them when these are gone, and all their processes with them.
pub fn namespaces() -> u64 {
    static NAMESPACES: OnceLock<u64> = OnceLock::new();
    *NAMESPACES.get_or_init(|| namespace("pid") << 32 | namespace("time") & 0xffff_ffff)
}

/// Its inode. Some kernels have no namespaces of time.
fn namespace(kind: &str) -> u64 {
    fs::metadata(format!("/proc/self/ns/{kind}")).map_or(0, |facts| facts.ino())
}

/// Which clock CLOCK_MONOTONIC is: that of this kernel, as the process's namespace of time shows it. Zero where that cannot be said.
pub fn clock() -> u64 {
    match boot() {
        [0, 0] => 0,
        // Odd, so that it is not zero.
        [high, low] => (high ^ low.rotate_left(32) ^ namespace("time") << 1) | 1,
    }
}

/// When a process started, in clock ticks since boot; `None` if there is no such process.
pub fn process_start(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may hold any bytes; the start is field 22.
    let stat = String::from_utf8_lossy(&stat);
    let rest = stat.get(stat.rfind(')')? + 2..)?;
    if rest.starts_with('Z') {
        return None;
    }
    rest.split(' ').nth(19)?.parse().ok()
}

/// Processors that this thread may run on, as ranges of their numbers.
pub fn processors() -> Ranks {
    // As many as the kernel can be built for.
    let mut set = [0u64; 128];
    // SAFETY: the kernel writes no more than the array has.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), set.as_mut_ptr().cast()) };
    let numbers = (0..64 * set.len()).filter(|at| result == 0 && set[at / 64] >> (at % 64) & 1 == 1);
    numbers.map(|number| number as u32).collect()
}

/// NUMA nodes that have any of these processors.
pub fn numa_nodes(processors: &Ranks) -> Ranks {
    let node = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let own = fs::read_to_string(entry.path().join("cpulist")).ok()?;
        (!Ranks::read(own.trim()).within(processors).is_empty()).then_some(number)
    };
    let entries = fs::read_dir("/sys/devices/system/node").into_iter().flatten();
    entries.filter_map(|entry| node(entry.ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_another_does_not() {
        let own = process_start(std::process::id()).unwrap();
        assert!(own > 0);
        assert_eq!(process_start(u32::MAX / 2), None);
    }

    #[test]
    fn this_kernel_says_which_it_is() {
        assert_ne!(boot(), [0, 0]);
        assert_ne!(namespaces() >> 32, 0);
        assert_ne!(clock(), 0);
    }
}
