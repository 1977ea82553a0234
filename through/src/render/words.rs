//! Words in lines.

use commsee::ccl;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::text::escape::cut;

/// `MPI_Allreduce`, or `ncclAllReduce`, without what all names share.
pub fn bare(name: &str) -> &str {
    let of_mpi = name.strip_prefix("MPI_");
    of_mpi.or_else(|| ccl::find(name).and_then(|_| ccl::bare(name))).unwrap_or(name)
}

/// Pieces behind each other with a separator, a new line where one does not fit any more.
pub fn flow(pieces: &[String], separator: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.width() + separator.width() + piece.width() <= columns => {
                *line += separator;
                *line += piece;
            }
            _ => lines.push(cut(piece, columns).into_owned()),
        }
    }
    lines
}

/// A word longer than a line goes on in the next one: the end of a path is what tells.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let words: Vec<String> = text.split_whitespace().flat_map(|word| broken(word, columns)).collect();
    flow(&words, " ", columns)
}

fn broken(word: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for character in word.chars() {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.width() + character.width().unwrap_or(0) <= columns => {
                line.push(character)
            }
            _ => lines.push(character.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_pieces() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("extraordinary", 6), ["extrao", "rdinar", "y"]);
    }
}
