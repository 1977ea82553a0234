//! Striping: a message between groups is split over the ranks of the sender's group, each piece goes to the other group by the rank that has it, and is
//! assembled there. Three steps that depend on each other, so that one message uses all the network interfaces of a host.

use super::{Arena, Message, Pattern, Place, Shape, Step, piece};

/// Each message between groups over all g ranks of its groups; messages inside of a group stay as they are, in the step that crosses.
pub fn striped(pattern: &Pattern, shape: Shape) -> Pattern {
    let mut relay = vec![0u64; pattern.ranks];
    let mut take = |rank: usize, bytes: u64| {
        let offset = relay[rank];
        relay[rank] += bytes;
        Place { arena: Arena::Relay, offset }
    };
    let mut steps = Vec::new();
    for step in &pattern.steps {
        let [mut split, mut translate, mut assemble] = [const { Vec::new() }; 3];
        for message in &step.messages {
            let (from, to) = (shape.group(message.source), shape.group(message.destination));
            if from == to {
                translate.push(*message);
                continue;
            }
            for index in 0..shape.g {
                let (bytes, begin) = piece(message.bytes, shape.g, index);
                // A message without bytes stays one message.
                if bytes == 0 && (index > 0 || message.bytes > 0) {
                    continue;
                }
                let part = |place: Place| Place { offset: place.offset + begin, ..place };
                let (near, far) = (shape.rank(from, index), shape.rank(to, index));
                let mut leaves = part(message.from);
                if near != message.source {
                    let kept = take(near, bytes);
                    split.push(Message { destination: near, bytes, from: leaves, to: kept, ..*message });
                    leaves = kept;
                }
                let mut arrives = part(message.to);
                if far != message.destination {
                    let kept = take(far, bytes);
                    assemble.push(Message { source: far, bytes, from: kept, to: arrives, ..*message });
                    arrives = kept;
                }
                translate.push(Message { source: near, destination: far, bytes, from: leaves, to: arrives });
            }
        }
        let mut concurrent = step.concurrent;
        for messages in [split, translate, assemble] {
            if !messages.is_empty() {
                steps.push(Step { messages, concurrent: std::mem::take(&mut concurrent), ..Step::default() });
            }
        }
    }
    Pattern { steps, ..pattern.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Direction, Family, Preset, Sequence};

    #[test]
    fn what_assembles_follows_what_crosses() {
        let shape = Shape { n: 2, g: 2 };
        let of = |pattern: Pattern| pattern.assembling(|rank| shape.group(rank));
        let rail = Family::Rail.pattern(Direction::Bi, shape, 1, 100).unwrap();
        let twice = striped(&rail.clone().then(&rail, false), shape);
        assert_eq!(of(twice.clone()), [false, false, true, false, false, true]);
        let sequence = |text: &str| text.parse::<Sequence>().unwrap().pattern(shape, 1, 100).unwrap();
        assert_eq!(of(sequence("self>dense+self>self>self")), [false, false, false, true, true]);
        assert_eq!(of(sequence("self>self")), [false, false]);
        // Up the tree inside groups and between them, and down again.
        assert_eq!(of(Preset::AllreduceTree.pattern(4, 100)), [false, false, false, true]);
        // A step alone stays what it was.
        let alone: Vec<bool> = twice.stages(|rank| shape.group(rank)).into_iter().flat_map(of).collect();
        assert_eq!(alone, of(twice));
    }
}
