//! Long lists in few characters: numbers as LEB128, or JSON, deflated, in base64. The page opens them with `DecompressionStream`.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

/// Shorter lists stay as they are.
const PLAIN_BYTES: usize = 8 << 10;

/// Columns of numbers, one behind the other.
#[derive(Default)]
pub struct Columns {
    names: Vec<&'static str>,
    differences: Vec<&'static str>,
    rows: usize,
    bytes: Vec<u8>,
}

impl Columns {
    /// All columns have as many numbers.
    pub fn add(&mut self, name: &'static str, numbers: impl Iterator<Item = i64>) {
        self.names.push(name);
        self.rows = numbers.map(|number| leb128(&mut self.bytes, zigzag(number))).count();
    }

    /// The same of numbers that mostly differ little from the one before: their differences are told.
    pub fn add_differences(&mut self, name: &'static str, numbers: impl Iterator<Item = i64>) {
        self.differences.push(name);
        let mut before = 0i64;
        self.add(name, numbers.map(|number| number.wrapping_sub(std::mem::replace(&mut before, number))));
    }

    pub fn finish(self) -> Value {
        json!({
            "encoding": "zigzag-leb128, zlib, base64",
            "rows": self.rows,
            "columns": self.names,
            "differences": self.differences,
            "data": encoded(&self.bytes),
        })
    }
}

/// A list as it is, or packed where it is long.
pub fn list(list: Value) -> Value {
    let text = list.to_string();
    match text.len() < PLAIN_BYTES {
        true => list,
        false => json!({ "encoding": "json, zlib, base64", "data": encoded(text.as_bytes()) }),
    }
}

/// A byte each.
pub fn bytes(bytes: &[u8]) -> Value {
    json!({ "encoding": "bytes, zlib, base64", "rows": bytes.len(), "data": encoded(bytes) })
}

fn encoded(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    // Memory takes all.
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default();
    STANDARD.encode(packed)
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn leb128(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let mut bytes = Vec::new();
        [0, -1, 1, 63, 64, i64::MIN].iter().for_each(|number| leb128(&mut bytes, zigzag(*number)));
        assert_eq!(bytes[..6], [0, 1, 2, 126, 128, 1]);
        assert_eq!(bytes.len(), 6 + 10);
    }

    #[test]
    fn short_lists_stay_readable() {
        assert_eq!(list(json!([1, 2])), json!([1, 2]));
        assert_eq!(list(json!(vec![7; 9000]))["encoding"], "json, zlib, base64");
    }
}
