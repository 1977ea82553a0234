//! Variables of the environment that are like one of commsee's, and none of them.

use commsee::settings::VARIABLES;

use crate::text::similar::similar;

const PREFIX: &str = "COMMSEE_";

/// What to say of such names. One that is like no other may be a hook module's own.
pub fn misspelled(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let known = || VARIABLES.iter().map(|variable| variable.name).filter(|name| name.starts_with(PREFIX));
    let bare = |name: &str| name.trim_start_matches(PREFIX).to_lowercase();
    let mut names: Vec<String> =
        names.into_iter().filter(|name| name.starts_with(PREFIX) && !known().any(|known| known == name)).collect();
    names.sort();
    let told = |name: String| {
        let near = similar(&name, known(), bare);
        (!near.is_empty()).then(|| format!("there is no variable {name}; similar: {}", near.join(", ")))
    };
    names.into_iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::misspelled;

    #[test]
    fn only_what_is_like_a_variable_is_told() {
        let told = |name: &str| misspelled([name.to_owned()]);
        assert_eq!(told("COMMSEE_TRACES"), ["there is no variable COMMSEE_TRACES; similar: COMMSEE_TRACE"]);
        assert_eq!(told("COMMSEE_SITE"), ["there is no variable COMMSEE_SITE; similar: COMMSEE_SITES"]);
        for name in ["COMMSEE_TRACE", "COMMSEE_CUPTI", "COMMSEE_MY_LAYER", "COMMSEE_MPI", "MPISEE_OUTFILES", "PATH"] {
            assert_eq!(told(name), Vec::<String>::new(), "{name}");
        }
    }
}
