//! A pattern that is ready to run: start and wait of each step apart, so that a program can do something else meanwhile.
//!
//! ```no_run
//! use groupbench::composition::Composition;
//! use groupbench::library::Choice;
//! use groupbench::mpi::World;
//! use groupbench::pattern::{Direction, Family, Shape};
//!
//! let universe = mpi::initialize().unwrap();
//! let world = World::new(&universe.world());
//! let shape = Shape { n: 2, g: 2 };
//! let pattern = Family::Rail.pattern(Direction::Omni, shape, 2, 1 << 20).unwrap();
//! let library: Choice = "twosided".parse().unwrap();
//! let mut composition = Composition::new(&world, pattern, shape, &*library.library()).unwrap();
//! composition.arm();
//! composition.start(0);
//! // … what does not need the messages …
//! composition.wait(0);
//! ```

use crate::library::{Exchange, Library, Task, Unavailable, admit, groups};
use crate::memory::{Memory, NoMemory};
use crate::mpi::{Comm, World};
use crate::pattern::{Pattern, Place, Shape, Step};

pub struct Composition {
    // Before the memory that they use.
    exchanges: Vec<Box<dyn Exchange>>,
    memory: Memory,
    pattern: Pattern,
}

#[derive(Debug, thiserror::Error)]
pub enum CompositionError {
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    #[error("the pattern needs {needed} ranks, and there are {ranks}")]
    FewRanks { needed: usize, ranks: usize },
}

impl Composition {
    /// Collective over the world. The pattern's ranks are those of the world, `shape` says which of them are a group.
    pub fn new(
        world: &World,
        pattern: Pattern,
        shape: Shape,
        library: &dyn Library,
    ) -> Result<Composition, CompositionError> {
        let ranks: Vec<usize> = (0..shape.ranks()).collect();
        Composition::placed(world, pattern, &groups(shape, &ranks, world.size().max(ranks.len())), library)
    }

    /// Collective over the world. `groups`: the group of each rank of the world.
    pub fn placed(
        world: &World,
        pattern: Pattern,
        groups: &[Option<usize>],
        library: &dyn Library,
    ) -> Result<Composition, CompositionError> {
        Composition::over(world, world.measured(), pattern, groups, library)
    }

    /// The same over another communicator of all ranks.
    pub(crate) fn over(
        world: &World,
        comm: &Comm,
        pattern: Pattern,
        groups: &[Option<usize>],
        library: &dyn Library,
    ) -> Result<Composition, CompositionError> {
        if pattern.ranks > world.size() {
            return Err(CompositionError::FewRanks { needed: pattern.ranks, ranks: world.size() });
        }
        admit(world, library)?;
        let memory = Memory::new(world, &pattern, library.memory())?;
        let assembling = pattern.assembling(|rank| groups[rank]);
        let prepared = |(step, part): (usize, &Step)| {
            let (messages, assembles) = (&part.messages[..], assembling[step]);
            library.prepare(&Task { world, comm, memory: &memory, messages, step, groups, assembles })
        };
        let exchanges = pattern.steps.iter().enumerate().map(prepared).collect::<Result<_, _>>()?;
        Ok(Composition { exchanges, memory, pattern })
    }

    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    pub fn steps(&self) -> usize {
        self.exchanges.len()
    }

    /// Posts all that may be posted early. Once before each execution, on all ranks; no step may be under way.
    pub fn arm(&mut self) {
        self.exchanges.iter_mut().for_each(|exchange| exchange.arm());
    }

    pub fn start(&mut self, step: usize) {
        self.exchanges[step].start();
    }

    pub fn wait(&mut self, step: usize) {
        self.exchanges[step].wait();
    }

    /// Arms and starts one step, with what this rank gives as its memory has it now.
    pub fn begin(&mut self, step: usize) {
        let exchange = &mut self.exchanges[step];
        exchange.load();
        exchange.arm();
        exchange.start();
    }

    /// Waits for a step that `begin` started; what arrived lies where the pattern wants it.
    pub fn finish(&mut self, step: usize) {
        self.exchanges[step].wait();
        self.exchanges[step].land();
    }

    /// This rank's memory from a place on; nothing behind what its messages reach.
    pub fn at(&self, place: Place) -> Option<*mut u8> {
        (place.offset <= self.memory.extent().of(place.arena)).then(|| self.memory.at(place))
    }

    /// All steps of an armed pattern: concurrent ones together, dependent ones when this rank has done its part of those before.
    pub fn run(&mut self) {
        let mut first = 0;
        while first < self.exchanges.len() {
            let more = self.pattern.steps[first + 1..].iter().take_while(|step| step.concurrent).count();
            let together = &mut self.exchanges[first..=first + more];
            together.iter_mut().for_each(|exchange| exchange.start());
            together.iter_mut().for_each(|exchange| exchange.wait());
            first += more + 1;
        }
    }

    /// Runs once with contents of its own, and counts bytes that are not where they belong, on all ranks together. Collective, not measured.
    pub fn verify(&mut self, world: &World, seed: u64) -> u64 {
        self.fill(seed);
        self.arm();
        world.barrier();
        self.run();
        self.exchanges.iter_mut().for_each(|exchange| exchange.land());
        let wrong = self.memory.wrong(&self.pattern, seed);
        world.all_sum(wrong)
    }

    /// Writes what this rank gives; what it will get is poisoned.
    pub fn fill(&mut self, seed: u64) {
        self.memory.prepare(&self.pattern, seed);
        self.exchanges.iter_mut().for_each(|exchange| exchange.load());
    }
}
