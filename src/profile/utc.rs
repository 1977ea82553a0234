//! Points in time as texts.

/// A point in time as `2026-11-21T07:15:00Z`, from nanoseconds since 1970.
pub fn utc(realtime_ns: u64) -> String {
    let seconds = (realtime_ns / 1_000_000_000) as libc::time_t;
    // SAFETY: gmtime_r fills the structure it is given and keeps no pointer.
    let parts = unsafe {
        let mut parts = std::mem::zeroed();
        libc::gmtime_r(&seconds, &mut parts);
        parts
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_is_written_in_utc() {
        assert_eq!(super::utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(super::utc(1_795_244_100_000_000_000), "2026-11-21T06:55:00Z");
    }
}
