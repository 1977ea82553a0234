//! Fields that are texts.

/// The text of a field that ends at its first zero byte; bytes that are no UTF-8 are replaced.
pub fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(text_bytes(field)).into_owned()
}

/// The bytes of such a field.
pub fn text_bytes(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    &field[..end]
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
