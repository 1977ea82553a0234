//! Names as tables print them.

use unicode_width::UnicodeWidthStr;

use crate::escape::{cut, visible};
use crate::query::catalog::{Catalog, Communicator};
use crate::units;

const LABEL_COLUMNS: usize = 40;

/// `MPI_Allreduce` without what all names share.
pub fn bare(name: &str) -> &str {
    name.strip_prefix("MPI_").unwrap_or(name)
}

/// `s0.1 "row"`.
pub fn titled(comm: &Communicator) -> String {
    let name = visible(&comm.name);
    match &comm.label {
        Some(label) => format!("{name} \"{}\"", cut(&visible(label), LABEL_COLUMNS)),
        None => name.into_owned(),
    }
}

/// What made a communicator: `Comm_split`.
pub fn creator(comm: &Communicator) -> String {
    match comm.creator.as_deref() {
        Some("unknown") => "made by a library".to_owned(),
        Some(creator) => visible(bare(creator)).into_owned(),
        None => String::new(),
    }
}

pub fn operation_name(catalog: &Catalog, number: i64) -> String {
    let operation = catalog.operations.get(&number);
    operation.map(|operation| visible(bare(&operation.name)).into_owned()).unwrap_or_default()
}

pub fn bucket_name(catalog: &Catalog, number: i64) -> String {
    catalog.buckets.get(&number).map(|bucket| units::bucket(bucket.lo, bucket.hi)).unwrap_or_default()
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

pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    flow(&words, " ", columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_pieces() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("extraordinary", 6), ["extra…"]);
    }

    #[test]
    fn labels_are_harmless_and_short() {
        let label = Some(format!("\u{1b}]0;x\u{7}{}", "y".repeat(99)));
        let comm = Communicator { name: "s0.1".to_owned(), label, ..Communicator::default() };
        assert!(titled(&comm).starts_with("s0.1 \"\\u{1b}]0;x\\u{7}yyy"));
        assert!(titled(&comm).width() < 50);
    }
}
