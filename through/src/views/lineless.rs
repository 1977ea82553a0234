//! Frames of which no line is known, and how to have it.

use std::collections::BTreeMap;

use crate::query::sites::{Nameless, Spot};

/// What to say below frames that call MPI, each with an example: of functions without a line, and of addresses without a function.
pub fn legend<'a>(callers: impl IntoIterator<Item = &'a Spot>) -> Vec<String> {
    let mut examples: BTreeMap<Option<Nameless>, &str> = BTreeMap::new();
    for spot in callers.into_iter().filter(|spot| spot.line.is_none()) {
        examples.entry(spot.nameless).or_insert(&spot.text);
    }
    examples.into_iter().map(|(nameless, spot)| format!("{spot} {}", why(nameless))).collect()
}

fn why(nameless: Option<Nameless>) -> &'static str {
    match nameless {
        None => "has no line, because its binary has no debug data: build it with -g, or install its debug package.",
        Some(Nameless::Stripped) => {
            "has no name, because its binary is stripped: run one that is not, or install its debug package."
        }
        Some(Nameless::NoBinary) => {
            "has no name, because its binary is not here, or is another build: run through export db where it is."
        }
        Some(Nameless::NoBuildId) => {
            "has no name, because its binary has no build id and may be another build: through export db --by-path uses it anyway."
        }
        Some(Nameless::Unknown) => {
            "has no name, because its binary is not here, is another build, or is stripped: run through export db where it is."
        }
    }
}
