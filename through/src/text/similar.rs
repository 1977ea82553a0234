//! Names that somebody may have meant.

/// As alike as `Sned` and `Send`.
const ALIKE: f64 = 0.8;
/// What one letter too many, too few, wrong, or in the place of its neighbor comes to.
const SLIP: f64 = 0.9;
/// Names that are told.
const TOLD: usize = 5;

/// Those of the known names that are most like what was written, the likeliest first. `bare`: what of a name is compared.
pub fn similar<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    bare: impl Fn(&str) -> String,
) -> Vec<&'a str> {
    let wanted = bare(written);
    let likeness = |name: &'a str| {
        let name_bare = bare(name);
        // In a short word one slip is much.
        let is_slip = wanted.len() > 2 && strsim::osa_distance(&name_bare, &wanted) == 1;
        let likeness = strsim::jaro_winkler(&name_bare, &wanted);
        (if is_slip { likeness.max(SLIP) } else { likeness }, name)
    };
    let mut near: Vec<(f64, &str)> =
        known.into_iter().map(likeness).filter(|(likeness, _)| *likeness > ALIKE).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by_key(|(_, name)| *name);
    near.into_iter().take(TOLD).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn the_likeliest_comes_first() {
        let known = ["waits", "watch", "diff", "advise", "waits"];
        assert_eq!(similar("wait", known, str::to_lowercase), ["waits", "watch"]);
        assert_eq!(similar("Advice", known, str::to_lowercase), ["advise"]);
        assert_eq!(similar("rwo", ["row", "column"], str::to_lowercase), ["row"]);
        assert!(similar("heat.db", known, str::to_lowercase).is_empty());
    }
}
