//! Ranks of numbers among each other; equal ones share the mean of theirs.

/// Twice the rank of each, so that means are whole: 2 for the least of all.
pub fn doubled(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut from = 0;
    while from < order.len() {
        // Not by total_cmp, to which the two zeros differ.
        let equal = order[from..].iter().take_while(|at| values[**at] == values[order[from]]).count().max(1);
        for at in &order[from..from + equal] {
            ranks[*at] = (2 * from + equal + 1) as u32;
        }
        from += equal;
    }
    ranks
}

/// How many are equal, for each value that is there.
pub fn ties(ranks: &[u32]) -> Vec<usize> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(<[u32]>::len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(doubled(&[3.0, 1.0, 3.0, 2.0]), [7, 2, 7, 4]);
        assert_eq!(doubled(&[0.0, -0.0]), [3, 3]);
        assert_eq!(ties(&doubled(&[3.0, 1.0, 3.0, 2.0])), [1, 1, 2]);
        assert!(doubled(&[]).is_empty());
    }
}
