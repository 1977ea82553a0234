//! One library within groups, another between them.

use super::{Exchange, Library, Task, Unavailable};
use crate::memory::Kind;
use crate::pattern::Message;

pub struct Mixed {
    pub within: Box<dyn Library>,
    pub across: Box<dyn Library>,
}

impl Library for Mixed {
    fn name(&self) -> String {
        format!("{}/{}", self.within.name(), self.across.name())
    }

    fn memory(&self) -> Kind {
        self.within.memory().max(self.across.memory())
    }

    fn takes_device_memory(&self) -> bool {
        self.within.takes_device_memory() && self.across.takes_device_memory()
    }

    fn gives_memory_to_mpi(&self) -> bool {
        self.within.gives_memory_to_mpi() || self.across.gives_memory_to_mpi()
    }

    fn is_pairwise(&self) -> bool {
        self.within.is_pairwise() && self.across.is_pairwise()
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
        let within = of(&*self.within, within)?;
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
