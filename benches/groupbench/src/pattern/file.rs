//! Any pattern, from a sparse matrix of bytes: CSV with the columns `src`, `dst` and `bytes` (and `step`, if there is one), as `through traffic --format csv`
//! writes it, or Matrix Market coordinates, whose numbers begin at 1.

use std::collections::BTreeMap;

use super::Pattern;

/// Bytes by step, source and destination; what stands twice is added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    pub cells: BTreeMap<(usize, usize, usize), u64>,
    total_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    #[error("there is nothing in it: a pattern is CSV with the columns src,dst,bytes, or Matrix Market coordinates")]
    Empty,
    #[error(
        "column {0} is missing: a pattern has the columns src,dst,bytes, as `through traffic --format csv` writes them"
    )]
    Column(&'static str),
    #[error("line {line}: {text:?} is no {what}")]
    Number { line: u64, what: &'static str, text: String },
    #[error("line {line}: {why}")]
    Line { line: u64, why: String },
}

/// More bytes than any machine has.
const MOST_BYTES: u64 = 1 << 46;
/// More ranks than any machine has: a pattern that names one is no pattern.
const MOST_RANKS: u64 = 1 << 24;

impl Matrix {
    pub fn read(text: &str) -> Result<Matrix, MatrixError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(MatrixError::Empty);
        }
        if text.starts_with("%%MatrixMarket") { Matrix::of_market(text) } else { Matrix::of_csv(text) }
    }

    fn of_csv(text: &str) -> Result<Matrix, MatrixError> {
        let mut reader =
            csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
        let headers = reader.headers().map_err(broken)?.clone();
        let find = |name: &str| headers.iter().position(|header| header.eq_ignore_ascii_case(name));
        let column = |name: &'static str| find(name).ok_or(MatrixError::Column(name));
        let (source, destination, bytes) = (column("src")?, column("dst")?, column("bytes")?);
        let step = find("step");
        let mut matrix = Matrix::default();
        for record in reader.records() {
            let record = record.map_err(broken)?;
            let line = record.position().map_or(0, csv::Position::line);
            let text = |column: usize| record.get(column).unwrap_or("");
            let rank = |column: usize| number(text(column), line, "rank", MOST_RANKS - 1);
            let step = step.map_or(Ok(0), |column| number(text(column), line, "step", 1 << 16))?;
            let bytes = number(text(bytes), line, "number of bytes", MOST_BYTES)?;
            matrix.add(step as usize, rank(source)? as usize, rank(destination)? as usize, bytes, line)?;
        }
        if matrix.cells.is_empty() { Err(MatrixError::Empty) } else { Ok(matrix) }
    }

    fn of_market(text: &str) -> Result<Matrix, MatrixError> {
        let mut lines = text.lines().zip(1u64..);
        let kind = lines.next().map(|(line, _)| line.to_ascii_lowercase()).unwrap_or_default();
        let words: Vec<&str> = kind.split_whitespace().collect();
        if !matches!(words[..], [_, "matrix", "coordinate", "integer" | "real", "general"]) {
            let why = "only `matrix coordinate integer general` (or real) has bytes from rank to rank".to_owned();
            return Err(MatrixError::Line { line: 1, why });
        }
        let mut entries = lines.filter(|(line, _)| !line.starts_with('%') && !line.trim().is_empty());
        let Some((sizes, at)) = entries.next() else { return Err(MatrixError::Empty) };
        let sizes: Vec<&str> = sizes.split_whitespace().collect();
        let [rows, columns, count] = sizes[..] else {
            return Err(MatrixError::Line { line: at, why: "rows, columns and entries were expected".to_owned() });
        };
        let count = number(count, at, "number of entries", u64::MAX)?;
        let (rows, columns) = (number(rows, at, "size", MOST_RANKS)?, number(columns, at, "size", MOST_RANKS)?);
        let mut matrix = Matrix::default();
        let mut found = 0;
        for (entry, line) in entries {
            found += 1;
            let words: Vec<&str> = entry.split_whitespace().collect();
            let [source, destination, bytes] = words[..] else {
                return Err(MatrixError::Line { line, why: "row, column and bytes were expected".to_owned() });
            };
            let rank = |text: &str, size: u64| match number(text, line, "rank", size)? {
                0 => Err(MatrixError::Line { line, why: "Matrix Market counts rows and columns from 1".to_owned() }),
                rank => Ok(rank as usize - 1),
            };
            // Reals that are whole.
            let bytes = bytes.strip_suffix(".0").unwrap_or(bytes);
            let bytes = number(bytes, line, "number of bytes", MOST_BYTES)?;
            matrix.add(0, rank(source, rows)?, rank(destination, columns)?, bytes, line)?;
        }
        if found != count {
            return Err(MatrixError::Line {
                line: at,
                why: format!("{count} entries are announced, and there are {found}"),
            });
        }
        if matrix.cells.is_empty() { Err(MatrixError::Empty) } else { Ok(matrix) }
    }

    fn add(
        &mut self,
        step: usize,
        source: usize,
        destination: usize,
        bytes: u64,
        line: u64,
    ) -> Result<(), MatrixError> {
        let cell = self.cells.entry((step, source, destination)).or_default();
        *cell += bytes;
        self.total_bytes += bytes;
        match self.total_bytes > MOST_BYTES {
            true => Err(MatrixError::Line { line, why: "more bytes than any machine has".to_owned() }),
            false => Ok(()),
        }
    }

    /// What tells it from other patterns: FNV-1a of its cells, of four hexadecimal digits.
    pub fn mark(&self) -> String {
        let mut hash = 0xCBF2_9CE4_8422_2325u64;
        for (&(step, source, destination), &bytes) in &self.cells {
            for number in [step as u64, source as u64, destination as u64, bytes] {
                hash = (hash ^ number).wrapping_mul(0x0100_0000_01B3);
            }
        }
        format!("{:04x}", (hash >> 48) ^ (hash & 0xFFFF))
    }

    /// The ranks that it names, from 0.
    pub fn ranks(&self) -> usize {
        self.cells.keys().map(|(_, source, destination)| source.max(destination) + 1).max().unwrap_or(0)
    }

    /// A message for each cell; a step after the other.
    pub fn pattern(&self) -> Pattern {
        let mut steps = BTreeMap::<usize, Vec<(usize, usize, u64)>>::new();
        for (&(step, source, destination), &bytes) in &self.cells {
            steps.entry(step).or_default().push((source, destination, bytes));
        }
        let patterns = steps.into_values().map(|pairs| Pattern::of_pairs(self.ranks(), pairs));
        patterns.reduce(|before, next| before.then(&next, false)).unwrap_or_else(|| Pattern::of_pairs(0, []))
    }
}

fn number(text: &str, line: u64, what: &'static str, most: u64) -> Result<u64, MatrixError> {
    let parsed = text.parse().ok().filter(|number| *number <= most);
    parsed.ok_or_else(|| MatrixError::Number { line, what, text: text.to_owned() })
}

fn broken(error: csv::Error) -> MatrixError {
    let line = error.position().map_or(0, csv::Position::line);
    MatrixError::Line { line, why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_added_up_by_pair() {
        let text =
            "comm,op,src,dst,calls,bytes\nW0.0,MPI_Send,0,1,2,10\nW0.0,MPI_Isend,0,1,1,5\nW0.0,MPI_Send,3,0,1,7\n";
        let matrix = Matrix::read(text).unwrap();
        assert_eq!(matrix.cells.into_iter().collect::<Vec<_>>(), [((0, 0, 1), 15), ((0, 3, 0), 7)]);
    }

    #[test]
    fn matrix_market_counts_from_one() {
        let text = "%%MatrixMarket matrix coordinate integer general\n% bytes\n4 4 2\n1 2 100\n4 1 7.0\n";
        let matrix = Matrix::read(text).unwrap();
        assert_eq!(matrix.ranks(), 4);
        assert_eq!(matrix.cells.into_iter().collect::<Vec<_>>(), [((0, 0, 1), 100), ((0, 3, 0), 7)]);
    }

    #[test]
    fn steps_follow_each_other() {
        let pattern = Matrix::read("step,src,dst,bytes\n1,1,2,3\n0,0,1,9\n").unwrap().pattern();
        assert_eq!(pattern.steps.len(), 2);
        assert_eq!(pattern.steps[0].messages[0].bytes, 9);
        assert_eq!(pattern.extents()[1].result, 9);
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        let said = |text: &str| Matrix::read(text).unwrap_err().to_string();
        assert!(said("").starts_with("there is nothing in it"));
        assert!(said("src,dst\n0,1\n").starts_with("column bytes is missing"));
        assert_eq!(said("src,dst,bytes\n0,-1,3\n"), "line 2: \"-1\" is no rank");
        assert_eq!(said("src,dst,bytes\n0,1,1e3\n"), "line 2: \"1e3\" is no number of bytes");
        assert_eq!(said("src,dst,bytes\n0,99999999999,3\n"), "line 2: \"99999999999\" is no rank");
        assert!(said("%%MatrixMarket matrix array real general\n").starts_with("line 1: only"));
        assert!(said("%%MatrixMarket matrix coordinate integer general\n2 2 1\n0 1 5\n").contains("from 1"));
        assert!(said("%%MatrixMarket matrix coordinate integer general\n2 2 1\n3 1 5\n").contains("is no rank"));
        assert!(
            said("%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 2 5\n")
                .contains("3 entries are announced")
        );
        assert!(said("src,dst,bytes\n0,1,18446744073709551615\n").contains("is no number of bytes"));
        assert!(said("src,dst,bytes\n0,1,70368744177664\n0,2,1\n").contains("more bytes than any machine has"));
    }
}
