//! One library within groups, another between them, and one more within groups for what assembles what crossed.

use super::{Exchange, Library, Task, Unavailable};
use crate::memory::Kind;
use crate::pattern::Message;

pub struct Mixed {
    pub name: String,
    pub before: Box<dyn Library>,
    pub across: Box<dyn Library>,
    pub after: Box<dyn Library>,
}

impl Mixed {
    fn all(&self) -> impl Iterator<Item = &dyn Library> {
        [&*self.before, &*self.across, &*self.after].into_iter()
    }
}

impl Library for Mixed {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn memory(&self) -> Kind {
        self.all().map(|library| library.memory()).max().unwrap_or(Kind::Private)
    }

    fn takes_device_memory(&self) -> bool {
        self.all().all(|library| library.takes_device_memory())
    }

    fn gives_memory_to_mpi(&self) -> bool {
        self.all().any(|library| library.gives_memory_to_mpi())
    }

    fn is_pairwise(&self) -> bool {
        self.all().all(|library| library.is_pairwise())
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Exchange>, Unavailable> {
        if self.memory() == Kind::Device && !self.takes_device_memory() {
            let why = "one needs memory of the host, the other of a GPU".to_owned();
            return Err(Unavailable { library: self.name(), why });
        }
        let is_within = |message: &&Message| task.groups[message.source] == task.groups[message.destination];
        let (within, across): (Vec<&Message>, Vec<&Message>) = task.messages.iter().partition(is_within);
        let of = |library: &dyn Library, messages: Vec<&Message>| {
            let messages: Vec<Message> = messages.into_iter().copied().collect();
            match messages.is_empty() {
                true => Ok(None),
                false => library.prepare(&Task { messages: &messages, ..*task }).map(Some),
            }
        };
        // Collective, in one order on all ranks.
        let within = of(if task.assembles { &*self.after } else { &*self.before }, within)?;
        Ok(Box::new(Both { parts: [within, of(&*self.across, across)?] }))
    }
}

struct Both {
    parts: [Option<Box<dyn Exchange>>; 2],
}

impl Exchange for Both {
    fn load(&mut self) {
        self.parts.iter_mut().flatten().for_each(|part| part.load());
    }

    fn arm(&mut self) {
        self.parts.iter_mut().flatten().for_each(|part| part.arm());
    }

    fn start(&mut self) {
        // Across first: it takes longer.
        self.parts.iter_mut().rev().flatten().for_each(|part| part.start());
    }

    fn wait(&mut self) {
        self.parts.iter_mut().flatten().for_each(|part| part.wait());
    }

    fn land(&mut self) {
        self.parts.iter_mut().flatten().for_each(|part| part.land());
    }
}
