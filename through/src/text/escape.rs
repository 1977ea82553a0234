//! Text from a profile or a path is not trusted: it may hold what steers a terminal, or breaks lines.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text with every character escaped that a terminal would act on or that would not be seen.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_hidden(character) { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    Cow::Owned(shown)
}

/// A path, in the same way.
pub fn path(path: &std::path::Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}

/// The text cut to as many columns as there are; `…` stands for what was cut.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let mut width = 0;
    let kept = text.chars().take_while(|character| {
        width += character.width().unwrap_or(0);
        width < columns
    });
    Cow::Owned(kept.chain(['…']).collect())
}

/// A command line in as many columns: where it is longer, its program loses its directories first, then its end is cut.
pub fn command_line(text: &str, columns: usize) -> String {
    let shown = visible(text);
    if shown.width() <= columns {
        return shown.into_owned();
    }
    // As the profiler writes it: words with unusual characters are quoted.
    let end = match shown.strip_prefix('\'') {
        Some(quoted) => quoted.find("' ").map_or(shown.len(), |end| end + 2),
        None => shown.find(' ').unwrap_or(shown.len()),
    };
    let (program, arguments) = shown.split_at(end);
    let named = match program.rfind('/') {
        Some(slash) if program.starts_with('\'') => format!("'{}{arguments}", &program[slash + 1..]),
        Some(slash) => format!("{}{arguments}", &program[slash + 1..]),
        None => return cut(&shown, columns).into_owned(),
    };
    cut(&named, columns).into_owned()
}

/// Control characters, line separators, and what turns the direction of writing around or is not seen.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_that_steers_it() {
        assert_eq!(visible("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(visible("\u{202e}x\u{9b}"), "\\u{202e}x\\u{9b}");
        assert_eq!(visible("Grüße \"ok\""), "Grüße \"ok\"");
    }

    #[test]
    fn a_long_command_line_keeps_the_name_of_its_program() {
        assert_eq!(command_line("/opt/app/bin/solver -n 4", 30), "/opt/app/bin/solver -n 4");
        assert_eq!(command_line("/opt/app/bin/solver -n 4", 20), "solver -n 4");
        assert_eq!(command_line("/opt/app/bin/solver in/file.txt", 12), "solver in/f…");
        assert_eq!(command_line("'/home/a b/the solver' -n /x", 20), "'the solver' -n /x");
        assert_eq!(command_line("solver /a/very/long/path", 10), "solver /a…");
        assert_eq!(command_line("", 10), "");
    }

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
    }
}
