//! Text for spreadsheets, which take `=1+1` for a formula, `4-7` for a date and `007` for a number.

use std::borrow::Cow;

/// Before the text of a file, so that Excel reads it as UTF-8.
pub const MARK: &str = "\u{feff}";

/// Text that stays text: an apostrophe goes in front of what begins neither with a letter nor with a character that begins no formula, number or date.
/// A single character, such as the row `-`, is safe; a number that is written as a spreadsheet writes it may be one.
pub fn as_text(text: &str) -> Cow<'_, str> {
    let begins_safely = |letter: char| letter.is_alphabetic() || "_/[{<*?".contains(letter);
    let is_number = text.len() < 10 && text.parse::<u32>().is_ok_and(|number| number.to_string() == text);
    match text.chars().next() {
        Some(first) if text.chars().nth(1).is_some() && !begins_safely(first) && !is_number => {
            format!("'{text}").into()
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_for_something_else() {
        for text in [
            "=1+1", "+1", "-1", "@SUM(A1)", "4-7", "0,4-7", "1/2", "007", "1e5", " =1", "$5", "(5)", ".5", "'x",
            "10.0.0.1",
        ] {
            assert_eq!(as_text(text), format!("'{text}"));
        }
        for text in ["", "-", "*", "?", "row", "ähre", "s0.1", "12", "/home/a", "<unknown>", "a=b"] {
            assert_eq!(as_text(text), text);
        }
    }
}
