//! Brings what all ranks counted to rank 0, which writes the profile: up a binomial tree, each process merging what its children
//! send with what it counted itself. So rank 0 hears from log2(ranks) others, and nobody holds more than a chunk of each child.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Instant;

use vocabulary::buckets::MAX_EDGES;
use vocabulary::profile::Writer;
use vocabulary::shard::Shard;
use vocabulary::stream::{Detail, Extent, Merge, OTHER_EDGES, ProcessStream, Source};

use crate::guest::guard::guarded;
use crate::guest::say::warn_once;
use crate::guest::{say, signals};
use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi::{self, Group};
use crate::rollcall::RollCall;
use crate::run::tree::{Down, FromChild, Tree, Up};
use crate::run::{output, parting, snapshots};
use crate::shard;

/// All ranks, while they gather.
pub struct Gathering<'a> {
    tree: Tree<'a>,
    /// When rank 0 has last told the others something.
    told: Cell<Instant>,
}

/// What rank 0 decides for all.
#[derive(Clone, Copy)]
struct Decision {
    is_wanted: bool,
    detail: Detail,
    extent: Extent,
}

/// Words of an [`Extent`].
const EXTENT_WORDS: usize = 4 + MAX_EDGES;

fn words_of(extent: Extent) -> [u64; EXTENT_WORDS] {
    let mut words = [0; EXTENT_WORDS];
    let flags = [extent.is_phased, extent.is_some, extent.has_lost_edges].map(u64::from);
    words[0] = extent.rows;
    words[1..4].copy_from_slice(&flags);
    words[4..].copy_from_slice(&extent.edges_bytes);
    words
}

fn extent_of(words: &[u64]) -> Extent {
    let mut edges_bytes = [0; MAX_EDGES];
    edges_bytes.copy_from_slice(&words[4..EXTENT_WORDS]);
    let [is_phased, is_some, has_lost_edges] = [1, 2, 3].map(|at| words[at] == 1);
    Extent { rows: words[0], is_phased, is_some, edges_bytes, has_lost_edges }
}

/// Collective. Not a duplicate of `MPI_COMM_WORLD`: duplicating calls the copy functions of the program's attributes.
pub unsafe fn open(roll_call: &RollCall) -> Option<Gathering<'_>> {
    // SAFETY: all ranks are here, and MPI is.
    unsafe {
        let group = Group::of(abi().world)?;
        let mut comm = 0;
        pmpi::comm_create(abi().world, group.handle(), &mut comm)?;
        // What goes wrong here must not end the program.
        pmpi::comm_set_errhandler(comm as Word, abi().errors_return);
        let rank = pmpi::comm_rank(comm as Word)? as u32;
        let ranks = pmpi::comm_size(comm as Word)? as u32;
        Some(Gathering { tree: Tree { comm, rank, ranks, roll_call }, told: Cell::new(Instant::now()) })
    }
}

impl<'a> Gathering<'a> {
    pub fn tree(&self) -> &Tree<'a> {
        &self.tree
    }

    /// Collective. Gathers what was counted, then the snapshots that nobody has written yet; `left` says which this process has.
    /// Returns whether the profile is written, so that shards are needed no more.
    pub unsafe fn run(&self, wanted: &Path, left: u64) -> bool {
        // SAFETY: as above.
        unsafe {
            let (written, left) = self.round(wanted, shard::parse(), left, output::say_lost);
            self.told.set(Instant::now());
            let state = self.tree.spread([u64::from(written), left, 0]);
            let left = state.map_or(0, |state| state[1]);
            for number in (1..=snapshots::MOST).filter(|number| left >> number & 1 == 1) {
                self.round(&snapshots::wanted(number), snapshots::parse(number), 0, snapshots::say_lost);
            }
            state.is_some_and(|state| state[0] == 1)
        }
    }

    /// Collective. All leave for the library's `MPI_Finalize`.
    pub unsafe fn close(mut self) {
        // SAFETY: as above.
        let rest = unsafe { parting::meet(&self.tree, self.told.get()) };
        self.tree.roll_call.leave();
        if !self.tree.is_broken() {
            // SAFETY: all have met.
            unsafe { pmpi::comm_free(&mut self.tree.comm) };
        }
        signals::rest(rest);
    }

    /// Collective. One profile of the shards that all ranks have. At rank 0: whether it is written, and which snapshots any rank has
    /// left. `lost` says why not.
    unsafe fn round(&self, wanted: &Path, own: Option<Shard>, left: u64, lost: fn(&str)) -> (bool, u64) {
        // SAFETY: as above.
        unsafe {
            let (extent, left) = self.sum_up(own.as_ref().map(Extent::of).unwrap_or_default(), left);
            let writer = if self.tree.rank == 0 { self.create(wanted, lost) } else { None };
            let (detail, trouble) = Detail::wanted(extent);
            if let Some(trouble) = trouble.filter(|_| self.tree.rank == 0) {
                warn_once!("{trouble}");
            }
            if extent.has_lost_edges && self.tree.rank == 0 {
                warn_once!("{OTHER_EDGES}");
            }
            let decision = self.decide(Decision { is_wanted: writer.is_some(), detail, extent });
            let Some(decision) = decision else {
                // The parent may have heard that counters are wanted, and waits for them.
                Up::of(&self.tree).end(false);
                return (false, left);
            };
            if !decision.is_wanted {
                return (false, left);
            }
            let written = match writer {
                Some(writer) => self.write(writer, decision, own, wanted, lost),
                None => {
                    self.pass_on(decision, own);
                    false
                }
            };
            (written, left)
        }
    }

    fn create(&self, wanted: &Path, lost: fn(&str)) -> Option<Writer> {
        signals::held_back(|| output::create(wanted)).inspect_err(|trouble| lost(trouble)).ok()
    }

    /// Rank 0: everything into the profile.
    unsafe fn write(
        &self,
        writer: Writer,
        decision: Decision,
        own: Option<Shard>,
        wanted: &Path,
        lost: fn(&str),
    ) -> bool {
        let (written, is_whole) = self.merged(decision, own, |mut merge| {
            signals::held_back(|| writer.write(decision.detail, &mut merge)).map_err(|error| error.to_string())
        });
        let written = match written {
            Some(Ok(written)) => written,
            Some(Err(trouble)) => {
                lost(&trouble);
                return false;
            }
            None => return false,
        };
        let missing = u64::from(self.tree.ranks).saturating_sub(written.ranks);
        if missing > 0 {
            say::warn(&format!("the counters of {missing} ranks did not arrive and are missing from the profile"));
        }
        if !is_whole {
            say::warn(
                "some counters were cut off on the way to rank 0 and are missing from the profile; `through recover` makes a \
                 complete one from the shards",
            );
        }
        output::say_where(&written, wanted);
        missing == 0 && is_whole
    }

    /// All others: everything to the parent.
    unsafe fn pass_on(&self, decision: Decision, own: Option<Shard>) {
        let up = RefCell::new(Up::of(&self.tree));
        let (_, is_whole) = self.merged(decision, own, |mut merge| {
            let mut up = up.borrow_mut();
            while let Some(item) = merge.next() {
                up.push(&item);
            }
        });
        if up.into_inner().end(is_whole).is_none() {
            say::warn("the counters could not be sent to rank 0; `through recover` can still read them");
        }
    }

    /// Does something with the merged streams of this process and its children, and tells whether these were whole. Whatever
    /// happens, the children get rid of theirs.
    fn merged<T>(
        &self,
        decision: Decision,
        own: Option<Shard>,
        work: impl FnOnce(Merge<Box<dyn Source + '_>>) -> T,
    ) -> (Option<T>, bool) {
        let down: Vec<RefCell<Down>> = self.tree.children().map(|child| Down::of(&self.tree, child)).collect();
        let result = guarded(|| {
            let mut sources: Vec<Box<dyn Source + '_>> = Vec::new();
            if let Some(mut shard) = own {
                shard.coarsen(&decision.extent.buckets());
                sources.push(Box::new(ProcessStream::new(shard, decision.detail, decision.extent.is_phased)));
            }
            sources.extend(down.iter().map(|child| Box::new(FromChild(child)) as Box<dyn Source>));
            work(Merge::new(sources))
        });
        let mut is_whole = result.is_some();
        for child in &down {
            is_whole &= child.borrow_mut().end();
        }
        (result, is_whole)
    }

    /// What must be known of all before; right at rank 0.
    unsafe fn sum_up(&self, own: Extent, left: u64) -> (Extent, u64) {
        // Behind the extent: which snapshots are left.
        let words = |extent: Extent, left: u64| {
            let mut words = [left; EXTENT_WORDS + 1];
            words[..EXTENT_WORDS].copy_from_slice(&words_of(extent));
            words
        };
        let add = |sum: &mut [u64; EXTENT_WORDS + 1], more: [u64; EXTENT_WORDS + 1]| {
            let left = sum[EXTENT_WORDS] | more[EXTENT_WORDS];
            *sum = words(extent_of(sum).and(extent_of(&more)), left);
        };
        // SAFETY: all ranks come here.
        let all = unsafe { self.tree.sum_up(words(own, left), add) };
        (extent_of(&all), all[EXTENT_WORDS])
    }

    /// What rank 0 hands over becomes everybody's.
    unsafe fn decide(&self, decision: Decision) -> Option<Decision> {
        let mut words = [0; 2 + EXTENT_WORDS];
        words[..2].copy_from_slice(&[u64::from(decision.is_wanted), decision.detail.number()]);
        words[2..].copy_from_slice(&words_of(decision.extent));
        // SAFETY: all ranks come here.
        let words = unsafe { self.tree.spread(words) }?;
        let (detail, extent) = (Detail::of_number(words[1]), extent_of(&words[2..]));
        Some(Decision { is_wanted: words[0] == 1, detail, extent })
    }
}
