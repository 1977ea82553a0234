//! Sizes in bytes as people write them: `128`, `1K`, `32M`, in powers of 1024.

/// Reads a size such as `8K`. Letters K, M, G, T (either case, an optional `B` or `iB` behind them) multiply by powers of 1024.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| format!("'{text}' is not a size: write 128, 8K or 1M"))?;
    let shift = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("'{text}' is not a size: write 128, 8K or 1M")),
    };
    number.checked_mul(1 << shift).ok_or_else(|| format!("'{text}' does not fit into 64 bits"))
}

/// Writes a size exactly where a letter makes it short (`1K`, `32M`), else as plain digits (`1000`).
pub fn exact(bytes: u64) -> String {
    for (shift, letter) in [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{}{letter}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse("128"), Ok(128));
        assert_eq!(parse("8k"), Ok(8192));
        assert_eq!(parse(" 32MiB "), Ok(33_554_432));
        assert_eq!(parse("1 G"), Ok(1 << 30));
        for wrong in ["", "K", "-1", "1.5K", "8Q", "99999999999999999999", "18014398509481984K"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for bytes in [0, 1, 128, 1000, 1024, 1536, 1 << 20, 33_554_432, u64::MAX] {
            assert_eq!(parse(&exact(bytes)), Ok(bytes));
        }
        assert_eq!(exact(33_554_432), "32M");
    }
}
