//! Quantities for people: few digits that count, and a unit. Exact numbers are for CSV and JSON.

const SIZES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const TIMES: [&str; 4] = ["ns", "µs", "ms", "s"];

/// `1.50 KiB`.
pub fn bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    scaled(bytes as f64, 1024.0, &SIZES, 3)
}

/// `1.50 GiB/s`.
pub fn rate(bytes_per_s: f64) -> String {
    scaled(bytes_per_s.max(0.0), 1024.0, &SIZES, 3) + "/s"
}

/// `12.3 ms`. Seconds are the largest unit.
pub fn time(ns: i64) -> String {
    rounded(ns, 3)
}

/// `12.34 s`: a digit more, where ranks are compared that differ little.
pub fn precise_time(ns: i64) -> String {
    rounded(ns, 4)
}

fn rounded(ns: i64, digits: usize) -> String {
    match ns {
        ..0 => format!("-{}", rounded(ns.saturating_neg(), digits)),
        0 => "0 s".to_owned(),
        1..=999 => format!("{ns} ns"),
        _ => scaled(ns as f64, 1000.0, &TIMES, digits),
    }
}

/// `37.1 %`, or `-` of nothing.
pub fn percent(part: f64, whole: f64) -> String {
    if whole <= 0.0 {
        return "-".to_owned();
    }
    match 100.0 * part / whole {
        share if share > 0.0 && share < 0.05 => "<0.1 %".to_owned(),
        share => format!("{share:.1} %"),
    }
}

/// The bucket as `128-1K`: more than 128 bytes, at most 1024.
pub fn bucket(lo: u64, hi: Option<u64>) -> String {
    use commsee::bytes::exact;
    match hi {
        Some(hi) => format!("{}-{}", exact(lo), exact(hi)),
        None => format!(">{}", exact(lo)),
    }
}

/// `1 rank`, `4 ranks`.
pub fn count(number: u64, one: &str) -> String {
    match one.strip_suffix('y') {
        _ if number == 1 => format!("1 {one}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {one}s"),
    }
}

/// `entry` of `entries`, `rank` of `ranks`.
pub fn one_of(several: &str) -> String {
    match several.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => several.trim_end_matches('s').to_owned(),
    }
}

fn scaled(quantity: f64, factor: f64, units: &[&str], digits: usize) -> String {
    let mut value = quantity;
    let mut unit = 0;
    // What would be rounded to 1000 belongs to the next unit.
    let limit = 1000.0 - 0.5 / 10f64.powi(digits as i32 - 3);
    while value >= limit && unit + 1 < units.len() {
        value /= factor;
        unit += 1;
    }
    let before = [9.995, 99.95].iter().filter(|step| value >= **step).count() + 1;
    let after = digits.saturating_sub(before);
    format!("{value:.after$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals() {
        assert_eq!(
            (count(1, "entry"), count(2, "entry"), count(0, "rank")),
            ("1 entry".into(), "2 entries".into(), "0 ranks".into())
        );
        assert_eq!(["entries", "birthplaces", "ranks"].map(one_of), ["entry", "birthplace", "rank"]);
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(1 << 20), "1.00 MiB");
        assert_eq!(bytes(1000 * 1024), "0.98 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn times() {
        assert_eq!(time(0), "0 s");
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(999_499), "999 µs");
        assert_eq!(time(999_950), "1.00 ms");
        assert_eq!(time(12_345_678), "12.3 ms");
        assert_eq!(time(12_345_678_901_234), "12346 s");
        assert_eq!((time(-12_345_678), time(-5)), ("-12.3 ms".to_owned(), "-5 ns".to_owned()));
        assert_eq!(precise_time(12_345_678_901), "12.35 s");
        assert_eq!(precise_time(999_960_000), "1.000 s");
    }

    #[test]
    fn shares() {
        assert_eq!(percent(1.0, 3.0), "33.3 %");
        assert_eq!(percent(1.0, 1e6), "<0.1 %");
        assert_eq!(percent(0.0, 5.0), "0.0 %");
        assert_eq!(percent(1.0, 0.0), "-");
    }

    #[test]
    fn buckets() {
        assert_eq!(bucket(0, Some(128)), "0-128");
        assert_eq!(bucket(128, Some(1024)), "128-1K");
        assert_eq!(bucket(33_554_432, None), ">32M");
    }
}
