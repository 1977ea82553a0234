//! Who sends how much to whom, in which steps. Every rank makes the same pattern by itself; nothing here knows MPI.

mod family;
mod file;
mod preset;
mod sequence;
mod stripe;

pub use family::{Direction, Family};
pub use file::{Matrix, MatrixError};
pub use preset::Preset;
pub use sequence::{Link, Part, Sequence};
pub use stripe::striped;

/// Groups of equal size: rank = group · g + index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Groups.
    pub n: usize,
    /// Ranks of a group.
    pub g: usize,
}

impl Shape {
    pub fn ranks(self) -> usize {
        self.n * self.g
    }

    pub fn rank(self, group: usize, index: usize) -> usize {
        group * self.g + index
    }

    pub fn group(self, rank: usize) -> usize {
        rank / self.g
    }
}

/// Which memory of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arena {
    /// What the rank has to give.
    Given,
    /// What arrives for good.
    Result,
    /// Pieces on their way to another rank.
    Relay,
}

/// Where a message begins in the memory of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub arena: Arena,
    pub offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    pub source: usize,
    pub destination: usize,
    pub bytes: u64,
    pub from: Place,
    pub to: Place,
}

/// Messages that are started together. A rank begins a step when its own part of the step before is done: there is no barrier between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    pub messages: Vec<Message>,
    /// Started together with the step before, without waiting for it.
    pub concurrent: bool,
    /// Alone, it is one that assembles inside groups what crossed before.
    pub assembles: bool,
}

/// What must lie in a rank's result at last, and whose it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub source: usize,
    pub source_offset: u64,
    pub destination: usize,
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub steps: Vec<Step>,
    pub deliveries: Vec<Delivery>,
    /// Ranks that it needs.
    pub ranks: usize,
}

impl Pattern {
    /// One step of messages, which lie one behind the other in what each rank gives and gets, in their order.
    pub fn of_pairs(ranks: usize, pairs: impl IntoIterator<Item = (usize, usize, u64)>) -> Pattern {
        let (mut given, mut got) = (vec![0; ranks], vec![0; ranks]);
        let mut messages = Vec::new();
        for (source, destination, bytes) in pairs {
            messages.push(Message {
                source,
                destination,
                bytes,
                from: Place { arena: Arena::Given, offset: given[source] },
                to: Place { arena: Arena::Result, offset: got[destination] },
            });
            given[source] += bytes;
            got[destination] += bytes;
        }
        let deliveries = messages.iter().map(Delivery::of).collect();
        Pattern { steps: vec![Step { messages, ..Step::default() }], deliveries, ranks }
    }

    /// `other` behind this one, or beside it: with memory of its own.
    pub fn then(mut self, other: &Pattern, concurrent: bool) -> Pattern {
        let ranks = self.ranks.max(other.ranks);
        self.ranks = ranks;
        let extents = self.extents();
        let moved = |rank: usize, place: Place| Place { offset: place.offset + extents[rank].of(place.arena), ..place };
        for (index, step) in other.steps.iter().enumerate() {
            let messages = step.messages.iter().map(|message| Message {
                from: moved(message.source, message.from),
                to: moved(message.destination, message.to),
                ..*message
            });
            let concurrent = if index == 0 { concurrent } else { step.concurrent };
            self.steps.push(Step { messages: messages.collect(), concurrent, assembles: step.assembles });
        }
        self.deliveries.extend(other.deliveries.iter().map(|delivery| Delivery {
            source_offset: delivery.source_offset + extents[delivery.source].given,
            offset: delivery.offset + extents[delivery.destination].result,
            ..*delivery
        }));
        self
    }

    /// Steps that depend on each other: those that start together are one.
    pub fn stage_count(&self) -> usize {
        self.steps.iter().filter(|step| !step.concurrent).count()
    }

    /// Each of them as a pattern of its own. What a step passes on is what its pattern gives.
    pub fn stages<G: PartialEq>(&self, group: impl Fn(usize) -> G) -> Vec<Pattern> {
        let mut stages: Vec<Pattern> = Vec::new();
        for (step, assembles) in self.steps.iter().zip(self.assembling(group)) {
            let pairs = step.messages.iter().map(|message| (message.source, message.destination, message.bytes));
            let mut alone = Pattern::of_pairs(self.ranks, pairs);
            alone.steps[0].assembles = assembles;
            match stages.pop() {
                Some(before) if step.concurrent => stages.push(before.then(&alone, true)),
                before => stages.extend(before.into_iter().chain([alone])),
            }
        }
        stages
    }

    /// Of each step, whether it assembles inside groups what crossed between them: it follows a step that crosses, or all of those.
    pub fn assembling<G: PartialEq>(&self, group: impl Fn(usize) -> G) -> Vec<bool> {
        let mut stage_of = Vec::new();
        let mut crosses = Vec::new();
        for step in &self.steps {
            if !step.concurrent || crosses.is_empty() {
                crosses.push(false);
            }
            let stage = crosses.len() - 1;
            crosses[stage] |= step.messages.iter().any(|one| group(one.source) != group(one.destination));
            stage_of.push(stage);
        }
        let last = crosses.iter().rposition(|crosses| *crosses);
        let follows = |stage: usize| stage > 0 && crosses[stage - 1] || last.is_some_and(|last| last < stage);
        let is_one = |(step, stage): (&Step, usize)| step.assembles || !crosses[stage] && follows(stage);
        self.steps.iter().zip(stage_of).map(is_one).collect()
    }

    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.steps.iter().flat_map(|step| &step.messages)
    }

    pub fn total_bytes(&self) -> u64 {
        self.messages().map(|message| message.bytes).sum()
    }

    pub fn largest_message_bytes(&self) -> u64 {
        self.messages().map(|message| message.bytes).max().unwrap_or(0)
    }

    /// What the busiest of those that `part` tells apart sends to others, or receives if that is more.
    pub fn busiest_bytes(&self, part: impl Fn(usize) -> usize) -> u64 {
        let mut sums = std::collections::HashMap::<usize, (u64, u64)>::new();
        for message in self.messages() {
            let (from, to) = (part(message.source), part(message.destination));
            if from != to {
                sums.entry(from).or_default().0 += message.bytes;
                sums.entry(to).or_default().1 += message.bytes;
            }
        }
        sums.into_values().map(|(sent, received)| sent.max(received)).max().unwrap_or(0)
    }

    /// Bytes of each arena that each rank needs.
    pub fn extents(&self) -> Vec<Extent> {
        let mut extents = vec![Extent::default(); self.ranks];
        for message in self.messages() {
            extents[message.source].reach(message.from, message.bytes);
            extents[message.destination].reach(message.to, message.bytes);
        }
        for delivery in &self.deliveries {
            let given = Place { arena: Arena::Given, offset: delivery.source_offset };
            extents[delivery.source].reach(given, delivery.bytes);
            extents[delivery.destination]
                .reach(Place { arena: Arena::Result, offset: delivery.offset }, delivery.bytes);
        }
        extents
    }
}

impl Delivery {
    fn of(message: &Message) -> Delivery {
        Delivery {
            source: message.source,
            source_offset: message.from.offset,
            destination: message.destination,
            offset: message.to.offset,
            bytes: message.bytes,
        }
    }
}

/// Sizes of a rank's arenas, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub given: u64,
    pub result: u64,
    pub relay: u64,
}

impl Extent {
    pub fn of(&self, arena: Arena) -> u64 {
        match arena {
            Arena::Given => self.given,
            Arena::Result => self.result,
            Arena::Relay => self.relay,
        }
    }

    fn reach(&mut self, place: Place, bytes: u64) {
        let size = match place.arena {
            Arena::Given => &mut self.given,
            Arena::Result => &mut self.result,
            Arena::Relay => &mut self.relay,
        };
        *size = (*size).max(place.offset + bytes);
    }

    pub fn total(&self) -> u64 {
        self.given + self.result + self.relay
    }
}

/// Length and begin of piece `index` of `parts` pieces of `bytes`: the first ones have the remainder, a byte each.
pub fn piece(bytes: u64, parts: usize, index: usize) -> (u64, u64) {
    let (parts, index) = (parts as u64, index as u64);
    let (whole, rest) = (bytes / parts, bytes % parts);
    (whole + u64::from(index < rest), index * whole + index.min(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole() {
        for (bytes, parts) in [(0, 1), (7, 3), (3, 7), (u64::from(u32::MAX) * 5 + 1, 6)] {
            let mut end = 0;
            for index in 0..parts {
                let (length, offset) = piece(bytes, parts, index);
                assert_eq!(offset, end);
                end += length;
            }
            assert_eq!(end, bytes);
        }
    }

    #[test]
    fn what_follows_has_its_own_memory() {
        let first = Pattern::of_pairs(2, [(0, 1, 10)]);
        let both = first.clone().then(&Pattern::of_pairs(3, [(0, 1, 4), (1, 2, 6)]), true);
        assert_eq!(both.ranks, 3);
        assert_eq!(both.extents()[0], Extent { given: 14, result: 0, relay: 0 });
        assert_eq!(both.extents()[1], Extent { given: 6, result: 14, relay: 0 });
        assert_eq!(both.deliveries[1].offset, 10);
        assert!(both.steps[1].concurrent && !both.steps[0].concurrent);
        assert_eq!((both.total_bytes(), both.largest_message_bytes()), (20, 10));
        assert_eq!(both.busiest_bytes(|rank| rank), 14);
        assert_eq!(both.busiest_bytes(|rank| rank / 2), 6);
    }

    #[test]
    fn steps_that_start_together_are_one_stage() {
        let step = |bytes| Pattern::of_pairs(3, [(0, 1, bytes), (1, 2, 1)]);
        let pattern = step(10).then(&step(4), false).then(&step(6), true);
        let stages = pattern.stages(|_| 0);
        assert_eq!((stages.len(), pattern.stage_count()), (2, 2));
        assert_eq!(stages[0], step(10));
        assert_eq!(stages[1], step(4).then(&step(6), true));
    }
}
