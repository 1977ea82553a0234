//! Communicators as the plugin is told of them. What NCCL is given for one is its address here, which stays: NCCL's own memory of a
//! communicator is many thousand times as much.

use std::ffi::{CStr, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use commsee_hook::Communicator;
use commsee_runtime::memory;

use crate::expected::Taken;
use crate::module::Module;
use crate::{communicators, expected, peers, unseen};

/// Marks identities that are made of NCCL's own, which are 64 bits: "nccl".
const OF_NCCL: u64 = 0x6e63_636c;

pub struct Known {
    pub ranks: u32,
    pub rank: u32,
    maker: Maker,
    is_finalized: AtomicBool,
    /// Another one was told as the same: maybe of other processes.
    is_ambiguous: AtomicBool,
}

enum Maker {
    /// A wrapper, which tells the core of it: by this number; 0 until it is known which one.
    Wrapper(AtomicU32),
    /// The program, past the wrappers: the core's number of it, and its identity.
    Unseen(u32, [u64; 2]),
}

/// All that there ever were.
static ALL: Mutex<Vec<&'static Known>> = Mutex::new(Vec::new());

fn with_all<T>(work: impl FnOnce(&mut Vec<&'static Known>) -> T) -> T {
    work(&mut ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

impl Known {
    /// NCCL has made one. None if there is no memory for it.
    pub fn new(module: &Module, identity: u64, name: &CStr, ranks: u32, rank: u32) -> Option<&'static Known> {
        let taken = expected::take(ranks, rank);
        let maker = match taken {
            Taken::Known(number) => Maker::Wrapper(AtomicU32::new(number)),
            Taken::Later => Maker::Wrapper(AtomicU32::new(0)),
            Taken::Unseen => {
                // NCCL's identity is the same for each Shrink of a communicator: those of as many ranks are taken for one.
                let identity = [identity, u64::from(ranks) << 32 | OF_NCCL];
                module.own_identity(peers::identity(identity, rank));
                let label = name.as_ptr();
                unseen::add(ranks, rank, identity);
                let told = Communicator { ranks, rank, identity, label, letter: b'i' as _, ..Communicator::NONE };
                Maker::Unseen(module.communicator_number(&told), identity)
            }
        };
        let (is_finalized, is_ambiguous) = (AtomicBool::new(false), AtomicBool::new(false));
        let known = memory::keep(Known { ranks, rank, maker, is_finalized, is_ambiguous })?;
        if let (Taken::Later, Maker::Wrapper(number)) = (taken, &known.maker) {
            expected::pend(ranks, rank, identity, number);
        }
        with_all(|all| {
            for other in all.iter().filter(|other| other.is_same(known)) {
                other.is_ambiguous.store(true, Ordering::Relaxed);
                known.is_ambiguous.store(true, Ordering::Relaxed);
            }
            if all.try_reserve(1).is_ok() {
                all.push(known);
            }
        });
        Some(known)
    }

    pub fn finalized(&self, module: &Module) {
        self.is_finalized.store(true, Ordering::Relaxed);
        if let Maker::Unseen(_, identity) = self.maker {
            unseen::remove(self.ranks, self.rank, identity);
        }
        let is_used = |other: &&Known| other.is_same(self) && !other.is_finalized.load(Ordering::Relaxed);
        // Those that are taken for one are freed with the last.
        if let (Some(number), false) = (self.unseen(), with_all(|all| all.iter().any(is_used))) {
            module.communicator_freed(number);
        }
    }

    /// Whether no wrapper has made them, and the core takes them for one.
    fn is_same(&self, other: &Known) -> bool {
        self.unseen().is_some() && self.unseen() == other.unseen()
    }

    /// The core's number, where no wrapper has made it.
    fn unseen(&self) -> Option<u32> {
        match &self.maker {
            Maker::Wrapper(_) => None,
            Maker::Unseen(number, _) => Some(*number),
        }
    }

    /// The wrappers' number, where one has made it.
    pub fn wrapped(&self) -> Option<u32> {
        match &self.maker {
            Maker::Wrapper(number) => Some(number.load(Ordering::Acquire)),
            Maker::Unseen(..) => None,
        }
    }

    /// The core's number, once there is one; 0 is none.
    pub fn number(&self) -> u32 {
        self.told().map_or(0, |(number, _)| number)
    }

    /// The core's number of a process by its rank here; 0 is none.
    pub fn peer(&self, module: &Module, rank: i32) -> u32 {
        match (self.told(), u32::try_from(rank)) {
            (Some((_, identity)), Ok(rank)) if rank < self.ranks && !self.is_ambiguous.load(Ordering::Relaxed) => {
                module.peer(peers::identity(identity, rank))
            }
            _ => 0,
        }
    }

    fn told(&self) -> Option<(u32, [u64; 2])> {
        match &self.maker {
            Maker::Wrapper(number) => communicators::of_expected(number.load(Ordering::Acquire)),
            Maker::Unseen(number, identity) => Some((*number, *identity)),
        }
    }
}

/// The one that NCCL was given this for.
///
/// # Safety
/// It is from this process, and null or from [`Known::new`].
pub unsafe fn known(context: *mut c_void) -> Option<&'static Known> {
    // SAFETY: as demanded; none is ever freed.
    unsafe { context.cast::<Known>().as_ref() }
}
