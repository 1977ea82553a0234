//! Several families one after the other, or beside each other: `rail:k=2>dense:omni+self`. `>` waits for what stands before it, `+` does not.

use std::str::FromStr;

use clap::ValueEnum;

use super::family::FamilyError;
use super::{Direction, Family, Pattern, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Begins when the part before is done, on each rank by itself.
    After,
    /// Begins together with the part before.
    Beside,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub family: Family,
    pub direction: Direction,
    /// Active ranks of a group, if the part says it itself.
    pub k: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    pub first: Part,
    pub rest: Vec<(Link, Part)>,
    text: String,
}

impl Sequence {
    pub fn name(&self) -> &str {
        &self.text
    }

    pub fn pattern(&self, shape: Shape, k: usize, count: u64) -> Result<Pattern, FamilyError> {
        let of = |part: &Part| part.family.pattern(part.direction, shape, part.k.unwrap_or(k), count);
        self.rest
            .iter()
            .try_fold(of(&self.first)?, |before, (link, part)| Ok(before.then(&of(part)?, *link == Link::Beside)))
    }
}

impl FromStr for Sequence {
    type Err = String;

    fn from_str(text: &str) -> Result<Sequence, String> {
        let mut links = text.chars().filter_map(|character| match character {
            '>' => Some(Link::After),
            '+' => Some(Link::Beside),
            _ => None,
        });
        let mut parts = text.split(['>', '+']).map(|part| part.trim().parse::<Part>());
        let first = parts.next().unwrap_or_else(|| Err("a sequence has at least one family".to_owned()))?;
        let rest = parts.map(|part| Ok((links.next().unwrap_or(Link::After), part?))).collect::<Result<_, String>>()?;
        Ok(Sequence { first, rest, text: text.split_whitespace().collect() })
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Part, String> {
        let mut words = text.split(':');
        let family = words.next().unwrap_or_default();
        let family = Family::from_str(family, true)
            .map_err(|_| format!("{family:?} is no family: rail, fan, dense, self, such as rail:bi:k=2>dense"))?;
        let mut part = Part { family, direction: Direction::Uni, k: None };
        for word in words {
            match word.strip_prefix("k=") {
                Some(k) => part.k = Some(k.parse().map_err(|_| format!("{k:?} is no number of active ranks"))?),
                None => {
                    part.direction = Direction::from_str(word, true)
                        .map_err(|_| format!("{word:?} is no direction (uni, bi, omni, in) and no k=NUMBER"))?;
                }
            }
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_linked_as_they_say() {
        let sequence: Sequence = "fan:bi:k=1 > rail + self".parse().unwrap();
        let links: Vec<Link> = sequence.rest.iter().map(|(link, _)| *link).collect();
        assert_eq!(links, [Link::After, Link::Beside]);
        assert_eq!(sequence.name(), "fan:bi:k=1>rail+self");
        let pattern = sequence.pattern(Shape { n: 2, g: 2 }, 2, 8).unwrap();
        assert_eq!(pattern.steps.iter().map(|step| step.messages.len()).collect::<Vec<_>>(), [4, 2, 4]);
        assert_eq!(pattern.steps.iter().map(|step| step.concurrent).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn what_is_no_sequence_is_told() {
        assert!("rails".parse::<Sequence>().unwrap_err().contains("is no family"));
        assert!("rail:up".parse::<Sequence>().unwrap_err().contains("is no direction"));
        assert!("rail>".parse::<Sequence>().unwrap_err().contains("is no family"));
    }
}
