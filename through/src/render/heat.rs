//! A matrix that has no room for numbers: shades, the more the darker. A character stands for twice as many rows as columns, since it is
//! twice as high as wide: what lies on a diagonal is seen as one.

use std::collections::HashMap;

/// From little to much.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// What a line begins with at most, and the gap behind it.
const LABEL_COLUMNS: usize = 12;
const GAP: usize = 1;
const INDENT: usize = 2;
/// Wider it is no clearer, only longer.
const MOST_COLUMNS: usize = 96;
/// Between numbers above the columns.
const TICK: usize = 12;
/// Up to this ratio of the most to the least the scale is linear.
const LINEAR: f64 = 16.0;

/// Shades of a square matrix, with what they mean.
pub struct HeatMap {
    pub lines: Vec<String>,
    /// Upper edges of the shades, ascending.
    pub edges: Vec<(char, u64)>,
    /// How many rows and columns a character stands for.
    pub of_a_character: (usize, usize),
}

impl HeatMap {
    /// `cells`: row, column, and how much. Nothing where nothing is.
    pub fn of(ends: &[String], cells: &[(usize, usize, u64)], columns: usize) -> Option<HeatMap> {
        let label = ends.iter().map(|end| end.chars().count()).max()?.min(LABEL_COLUMNS);
        let room = columns.checked_sub(INDENT + label + GAP).filter(|room| *room > 0)?.min(MOST_COLUMNS);
        let wide = ends.len().div_ceil(room);
        let high = (2 * wide).min(ends.len());
        let mut sums: HashMap<(usize, usize), u64> = HashMap::new();
        for (row, column, weight) in cells.iter().filter(|cell| cell.2 > 0) {
            let sum = sums.entry((row / high, column / wide)).or_default();
            *sum = sum.saturating_add(*weight);
        }
        let (least, most) = (*sums.values().min()?, *sums.values().max()?);
        let edges = edges(least, most);
        let shade = |sum: &u64| edges.iter().find(|(_, edge)| sum <= edge).map_or(SHADES[3], |(shade, _)| *shade);
        let name = |end: usize| -> String { ends[end].chars().take(LABEL_COLUMNS).collect() };
        let across = ends.len().div_ceil(wide);
        let mut lines = vec![ticks(across, |column| name(column * wide), INDENT + label + GAP)];
        for row in 0..ends.len().div_ceil(high) {
            let cell = |column| sums.get(&(row, column)).map_or(' ', shade);
            let text: String = (0..across).map(cell).collect();
            lines.push(format!("{:INDENT$}{:>label$} {}", "", name(row * high), text).trim_end().to_owned());
        }
        Some(HeatMap { lines, edges, of_a_character: (high, wide) })
    }
}

/// Even on a logarithmic scale where weights differ by orders of magnitude, else on a linear one from nothing on: what is twice as much does not look
/// like all against nothing.
fn edges(least: u64, most: u64) -> Vec<(char, u64)> {
    if least == most {
        return vec![(SHADES[3], most)];
    }
    let ratio = most as f64 / least.max(1) as f64;
    let edge = |part: usize| match part {
        4 => most,
        _ if ratio <= LINEAR => most / 4 * part as u64 + most % 4 * part as u64 / 4,
        _ => (least as f64 * ratio.powf(part as f64 / 4.0)).round() as u64,
    };
    SHADES.into_iter().zip((1..=4).map(edge)).collect()
}

/// Names above the columns, as many as have room.
fn ticks(columns: usize, name: impl Fn(usize) -> String, before: usize) -> String {
    let mut line = " ".repeat(before);
    for column in (0..columns).step_by(TICK) {
        let name = name(column);
        let place = before + column;
        if column + name.chars().count() <= columns.max(TICK) {
            line.extend(std::iter::repeat_n(' ', place - line.chars().count()));
            line.push_str(&name.chars().take(TICK - 1).collect::<String>());
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(ranks: usize, columns: usize, cells: &[(usize, usize, u64)]) -> HeatMap {
        let ends: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
        HeatMap::of(&ends, cells, columns).unwrap()
    }

    #[test]
    fn a_ring_is_a_diagonal() {
        let ring: Vec<(usize, usize, u64)> = (0..24).map(|rank| (rank, (rank + 1) % 24, 64)).collect();
        let map = map(24, 80, &ring);
        assert_eq!(map.of_a_character, (2, 1));
        assert_eq!(map.edges, [('█', 64)]);
        // The last rank sends to the first.
        let line = |at: usize| format!("{:>4} {}██", 2 * at, " ".repeat(2 * at + 1));
        assert_eq!(map.lines[1..12], (0..11).map(line).collect::<Vec<_>>());
        assert_eq!(map.lines[12], format!("  22 █{}█", " ".repeat(22)));
        assert_eq!(map.lines[0], format!("     0{}12", " ".repeat(11)));
    }

    #[test]
    fn shades_are_orders_of_magnitude_and_nothing_gets_lost() {
        let cells = [(0, 0, 1), (10, 10, 10), (20, 20, 1000), (99, 99, 10_000)];
        let map = map(100, 60, &cells);
        assert_eq!(map.of_a_character, (4, 2));
        assert_eq!(map.edges, [('░', 10), ('▒', 100), ('▓', 1000), ('█', 10_000)]);
        let count = |shade| map.lines.iter().flat_map(|line| line.chars()).filter(|c| *c == shade).count();
        assert_eq!(['░', '▒', '▓', '█'].map(count), [2, 0, 1, 1]);
        assert!(map.lines.iter().all(|line| line.chars().count() <= 60));
        assert_eq!(map.lines.len(), 1 + 25);
    }

    #[test]
    fn what_differs_little_is_on_a_linear_scale() {
        assert_eq!(edges(50, 100), [('░', 25), ('▒', 50), ('▓', 75), ('█', 100)]);
        assert_eq!(edges(u64::MAX / 2, u64::MAX)[2].1, u64::MAX / 4 * 3 + 2);
        assert_eq!(edges(7, 7), [('█', 7)]);
    }

    #[test]
    fn any_weights_and_names_are_drawn() {
        let many: Vec<String> = (0..5000).map(|_| "a host with a very long name".to_owned()).collect();
        let map = HeatMap::of(&many, &[(0, 4999, u64::MAX), (4999, 0, u64::MAX), (7, 7, 1)], 60).unwrap();
        assert!(map.lines.iter().all(|line| line.chars().count() <= 60));
        assert!(HeatMap::of(&many, &[(0, 0, 0)], 60).is_none() && HeatMap::of(&[], &[], 60).is_none());
    }
}
