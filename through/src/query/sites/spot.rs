//! A line of code, as views write it.

use std::path::Path;

use crate::symbols::Name;

/// Why an address has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nameless {
    /// The binary is here, and has no symbol there.
    Stripped,
    /// It is not here, or another build.
    NoBinary,
    /// It has no build id: nobody knows whether the one here is the one that ran.
    NoBuildId,
    /// Nobody looked.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// `grid.c:88`; without debug data `make_rows+0x1f`; without the binary `app+0x1f30`.
    pub text: String,
    pub function: Option<String>,
    /// With its directories.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Where the function is not known either.
    pub nameless: Option<Nameless>,
}

impl Spot {
    pub fn of(name: &Name) -> Option<Spot> {
        let text = match (&name.file, name.line, &name.function) {
            (Some(file), Some(line), _) => format!("{}:{line}", base(file)),
            (_, _, Some(function)) => match name.offset {
                Some(offset) => format!("{function}+{offset:#x}"),
                None => function.clone(),
            },
            _ => return None,
        };
        Some(Spot { text, function: name.function.clone(), file: name.file.clone(), line: name.line, nameless: None })
    }

    pub fn nameless(module: &Path, address: u64, why: Nameless) -> Spot {
        let text = format!("{}+{address:#x}", base(&module.to_string_lossy()));
        Spot { text, function: None, file: None, line: None, nameless: Some(why) }
    }

    /// `grid.c:88 in make_rows`.
    pub fn sentence(&self) -> String {
        match &self.function {
            Some(function) if self.line.is_some() => format!("{} in {function}", self.text),
            _ => self.text.clone(),
        }
    }

    /// Whether it is the line, the file or the function that somebody named, with or without what is around them.
    pub fn is(&self, wanted: &str) -> bool {
        let is_function = |function: &String| matches(wanted, function) || matches(wanted, bare(function));
        let is_file = |file: &String| {
            let whole = format!("{file}:{}", self.line.unwrap_or_default());
            let is_end = |whole: &str, part: &str| {
                whole.strip_suffix(part).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            };
            is_end(&whole, wanted) || is_end(file, wanted) || matches(wanted, base(file)) || matches(wanted, file)
        };
        matches(wanted, &self.text)
            || self.function.as_ref().is_some_and(is_function)
            || self.file.as_ref().is_some_and(is_file)
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// `exchange` of `halo::exchange<double>`.
fn bare(function: &str) -> &str {
    let without_types = function.split('<').next().filter(|name| !name.is_empty()).unwrap_or(function);
    without_types.rsplit("::").next().unwrap_or(without_types)
}

/// Whether a text is as a pattern says: `*` stands for anything, `?` for one character.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut in_text) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_text));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == text[in_text] => {
                at += 1;
                in_text += 1;
            }
            // The star takes one character more.
            _ => match &mut star {
                Some((behind, taken)) => {
                    *taken += 1;
                    (at, in_text) = (*behind + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(function: &str, file: &str, line: u32) -> Spot {
        let name =
            Name { function: Some(function.to_owned()), offset: None, file: Some(file.to_owned()), line: Some(line) };
        Spot::of(&name).unwrap()
    }

    #[test]
    fn lines_files_and_functions_are_named_in_short_and_in_full() {
        let spot = spot("halo::exchange<double>", "/home/me/src/halo.cc", 57);
        assert_eq!(spot.text, "halo.cc:57");
        for wanted in [
            "halo.cc:57",
            "halo.cc",
            "src/halo.cc",
            "src/halo.cc:57",
            "/home/me/src/halo.cc:57",
            "exchange",
            "halo::exchange<double>",
            "halo::*",
            "*.cc",
            "halo.cc:5?",
            "*:57",
        ] {
            assert!(spot.is(wanted), "{wanted}");
        }
        for wanted in ["alo.cc:57", "halo.cc:5", "halo", "exchange<double>x", "57", "", "halo.c*:58"] {
            assert!(!spot.is(wanted), "{wanted}");
        }
    }

    #[test]
    fn what_is_not_known_is_told_by_offset() {
        let name = Name { function: Some("solve".to_owned()), offset: Some(31), ..Name::default() };
        let spot = Spot::of(&name).unwrap();
        assert_eq!((spot.text.as_str(), spot.sentence().as_str()), ("solve+0x1f", "solve+0x1f"));
        assert!(spot.is("solve") && spot.is("solve+0x1f"));
        assert_eq!(Spot::nameless(Path::new("/opt/app"), 0x1f30, Nameless::Stripped).text, "app+0x1f30");
        assert_eq!(Spot::of(&Name::default()), None);
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, text) in [("a*b*c", "axxbbc"), ("*", ""), ("a?c", "abc"), ("**x", "x")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*b", "abc"), ("?", ""), ("", "a"), ("a", "ab")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
