//! Frames of which no line is known, and how to have it.

use crate::query::sites::Spot;

/// What to say below frames that call MPI, each with an example: of functions without a line, and of addresses without a function.
pub fn legend<'a>(callers: impl IntoIterator<Item = &'a Spot>) -> Vec<String> {
    let (mut without_line, mut without_function) = (None, None);
    for spot in callers.into_iter().filter(|spot| spot.line.is_none()) {
        let example = if spot.function.is_some() { &mut without_line } else { &mut without_function };
        example.get_or_insert(spot.text.as_str());
    }
    let without_line = without_line.map(|spot| {
        format!(
            "{spot} has no line, since its binary has no debug data: build it with -g, or install its debug package."
        )
    });
    let without_function = without_function.map(|spot| {
        format!(
            "{spot} has no name, since its binary is not here, or is another build: run through resolve where it is."
        )
    });
    without_line.into_iter().chain(without_function).collect()
}
