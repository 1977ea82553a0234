//! Fields that are texts.

use super::layout::Text;

/// Parts of a text that are read: no path is longer (`PATH_MAX`). Many frames may have one text.
const MOST_PARTS: usize = 17;

/// The text of a field that ends at its first zero byte; bytes that are no UTF-8 are replaced.
pub fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(text_bytes(field)).into_owned()
}

/// The bytes of such a field.
pub fn text_bytes(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    &field[..end]
}

/// A text in parts, of entries that are sorted by number and part; empty where there is none.
pub fn joined(texts: &[Text], number: u32) -> String {
    let from = texts.partition_point(|text| text.number < number);
    let parts = texts[from..].iter().take_while(|text| text.number == number).take(MOST_PARTS);
    let bytes: Vec<u8> = parts.flat_map(|part| text_bytes(&part.text)).copied().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fills a text field, cutting what does not fit at a character's boundary.
pub fn set_text(field: &mut [u8], text: &str) {
    let mut end = text.len().min(field.len() - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    field.fill(0);
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
}
