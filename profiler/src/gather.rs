//! Brings what all ranks counted to rank 0, which writes the profile: up a binomial tree, each process merging what its children
//! send with what it counted itself. So rank 0 hears from log2(ranks) others, and nobody holds more than a chunk of each child.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::thread;
use std::time::Duration;

use vocabulary::profile::{Writer, Written};
use vocabulary::settings;
use vocabulary::shard::Shard;
use vocabulary::stream::{Decoder, Detail, Encoder, Extent, Item, Leaf, Merge, Source};

use crate::abi::{Word, abi};
use crate::guard::guarded;
use crate::pmpi::{self, Group};
use crate::say::warn_once;
use crate::{say, shard, signals, snapshots};

/// Bytes of items that travel together, beyond what most libraries send without being asked: so a sender waits for its receiver.
const CHUNK_BYTES: usize = 256 << 10;
/// Large chunks go in messages of at most this size: far below what an `int` counts.
const MESSAGE_BYTES: usize = 1 << 20;

const TAG_EXTENT: c_int = 1;
const TAG_SIZE: c_int = 2;
const TAG_DATA: c_int = 3;
const TAG_DOWN: c_int = 4;

/// A communicator of our own over all of `MPI_COMM_WORLD`, and this process's place in the tree.
pub struct Gathering {
    comm: u64,
    rank: u32,
    ranks: u32,
}

/// What rank 0 decides for all.
#[derive(Clone, Copy)]
struct Decision {
    is_wanted: bool,
    detail: Detail,
    is_phased: bool,
}

/// Collective. Not a duplicate of `MPI_COMM_WORLD`: duplicating calls the copy functions of the program's attributes.
pub unsafe fn open() -> Option<Gathering> {
    unsafe {
        let group = Group::of(abi().world)?;
        let mut comm = 0;
        pmpi::comm_create(abi().world, group.handle(), &mut comm)?;
        // What goes wrong here must not end the program.
        pmpi::comm_set_errhandler(comm as Word, abi().errors_return);
        let rank = pmpi::comm_rank(comm as Word)? as u32;
        let ranks = pmpi::comm_size(comm as Word)? as u32;
        Some(Gathering { comm, rank, ranks })
    }
}

impl Gathering {
    fn comm(&self) -> Word {
        self.comm as Word
    }

    /// Collective. Gathers what was counted, then the snapshots that nobody has written yet; `left` says which this process has.
    /// Returns whether the profile is written, so that shards are needed no more.
    pub unsafe fn run(mut self, wanted: &Path, left: u64) -> bool {
        unsafe {
            let (written, left) = self.round(wanted, shard::parse(), left, say_lost);
            let state = self.spread([u64::from(written), left, 0]);
            let left = state.map_or(0, |state| state[1]);
            for number in (1..=snapshots::MOST).filter(|number| left >> number & 1 == 1) {
                self.round(&snapshots::wanted(number), snapshots::parse(number), 0, snapshots::say_lost);
            }
            pmpi::comm_free(&mut self.comm);
            state.is_some_and(|state| state[0] == 1)
        }
    }

    /// Collective. One profile of the shards that all ranks have. At rank 0: whether it is written, and which snapshots any rank has
    /// left. `lost` says why not.
    unsafe fn round(&self, wanted: &Path, own: Option<Shard>, left: u64, lost: fn(&str)) -> (bool, u64) {
        unsafe {
            let (extent, left) = self.sum_up(own.as_ref().map(Extent::of).unwrap_or_default(), left);
            let writer = if self.rank == 0 { self.create(wanted, lost) } else { None };
            let (detail, trouble) = Detail::wanted(std::env::var(settings::DETAIL).ok().as_deref(), extent);
            if let Some(trouble) = trouble.filter(|_| self.rank == 0) {
                warn_once!("{trouble}");
            }
            let decision = self.decide(Decision { is_wanted: writer.is_some(), detail, is_phased: extent.is_phased });
            let Some(decision) = decision.filter(|decision| decision.is_wanted) else { return (false, left) };
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
        signals::held_back(|| create(wanted)).inspect_err(|trouble| lost(trouble)).ok()
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
        let Written { path, ranks } = match written {
            Some(Ok(written)) => written,
            Some(Err(trouble)) => {
                lost(&trouble);
                return false;
            }
            None => return false,
        };
        let missing = u64::from(self.ranks).saturating_sub(ranks);
        if missing > 0 {
            say::warn(&format!("the counters of {missing} ranks did not arrive and are missing from the profile"));
        }
        if !is_whole {
            say::warn(
                "some counters did not arrive whole, and the profile lacks them; `through recover` makes one of the shards",
            );
        }
        say_where(&path, wanted);
        missing == 0 && is_whole
    }

    /// All others: everything to the parent.
    unsafe fn pass_on(&self, decision: Decision, own: Option<Shard>) {
        let up = RefCell::new(Up { gathering: self, encoder: Encoder::default(), is_broken: false });
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
        let down: Vec<RefCell<Down>> = children(self.rank, self.ranks).map(|child| Down::of(self, child)).collect();
        let result = guarded(|| {
            let mut sources: Vec<Box<dyn Source + '_>> = Vec::new();
            if let Some(shard) = own {
                sources.push(Box::new(Leaf::new(shard, decision.detail, decision.is_phased)));
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

    /// Adds up over the tree what must be known before; right at rank 0.
    unsafe fn sum_up(&self, own: Extent, left: u64) -> (Extent, u64) {
        let (mut extent, mut all_left) = (own, left);
        for child in children(self.rank, self.ranks) {
            let mut facts = [0u64; 3];
            if unsafe { self.receive(bytemuck::cast_slice_mut(&mut facts), child, TAG_EXTENT) }.is_some() {
                extent = extent.and(Extent { rows: facts[0], is_phased: facts[1] == 1 });
                all_left |= facts[2];
            }
        }
        if self.rank > 0 {
            let facts = [extent.rows, u64::from(extent.is_phased), all_left];
            unsafe { self.send(bytemuck::cast_slice(&facts), parent(self.rank), TAG_EXTENT) };
        }
        (extent, all_left)
    }

    /// What rank 0 hands over becomes everybody's.
    unsafe fn decide(&self, decision: Decision) -> Option<Decision> {
        let words = [u64::from(decision.is_wanted), decision.detail.number(), u64::from(decision.is_phased)];
        let words = unsafe { self.spread(words) }?;
        Some(Decision { is_wanted: words[0] == 1, detail: Detail::of_number(words[1]), is_phased: words[2] == 1 })
    }

    /// What rank 0 says comes down the tree to everybody.
    unsafe fn spread(&self, mut words: [u64; 3]) -> Option<[u64; 3]> {
        let received = match self.rank {
            0 => Some(()),
            rank => unsafe { self.receive(bytemuck::cast_slice_mut(&mut words), parent(rank), TAG_DOWN) },
        };
        // Also what did not come is passed on, so that nobody waits for it: nothing is wanted then.
        words = received.map_or([0; 3], |()| words);
        for child in children(self.rank, self.ranks) {
            unsafe { self.send(bytemuck::cast_slice(&words), child, TAG_DOWN) };
        }
        received.map(|()| words)
    }

    unsafe fn send(&self, bytes: &[u8], to: u32, tag: c_int) -> Option<()> {
        let place = bytes.as_ptr().cast::<c_void>();
        unsafe { pmpi::send(place, bytes.len() as c_int, abi().byte, to as c_int, tag, self.comm()) }
    }

    unsafe fn receive(&self, bytes: &mut [u8], from: u32, tag: c_int) -> Option<()> {
        let place = bytes.as_mut_ptr().cast::<c_void>();
        let ignore = abi().status_ignore;
        self.wait_for(from, tag);
        unsafe { pmpi::recv(place, bytes.len() as c_int, abi().byte, from as c_int, tag, self.comm(), ignore) }
    }
}

impl Gathering {
    /// Waits for a message without keeping a processor busy: where ranks share them, libraries that spin take them from rank 0,
    /// for which all wait.
    fn wait_for(&self, from: u32, tag: c_int) {
        let mut pause = FIRST_PAUSE;
        for attempt in 0.. {
            let mut is_there = 0;
            // SAFETY: asks about our own communicator.
            let asked = unsafe { pmpi::iprobe(from as c_int, tag, self.comm(), &mut is_there, abi().status_ignore) };
            if asked.is_none() || is_there != 0 {
                return;
            }
            if attempt >= ATTEMPTS_AT_ONCE {
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// How often is asked without a pause: some 20 µs, as long as a message takes in a machine.
const ATTEMPTS_AT_ONCE: u32 = 100;
const FIRST_PAUSE: Duration = Duration::from_micros(20);
/// What a level of the tree may lose.
const LONGEST_PAUSE: Duration = Duration::from_micros(500);

/// The binomial tree: below rank r are the ranks up to the next multiple of its lowest set bit.
fn parent(rank: u32) -> u32 {
    rank & rank.wrapping_sub(1)
}

fn children(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let own_bits = if rank == 0 { u32::BITS } else { rank.trailing_zeros() };
    (0..own_bits).map_while(move |bit| rank.checked_add(1 << bit)).take_while(move |child| *child < ranks)
}

/// What comes after a chunk: another one, or nothing, all that came being whole or not.
const WHOLE_END: u64 = 0;
const GOES_ON: u64 = 1;
const BROKEN_END: u64 = 2;

/// The way to the parent.
struct Up<'a> {
    gathering: &'a Gathering,
    encoder: Encoder,
    is_broken: bool,
}

impl Up<'_> {
    fn push(&mut self, item: &Item) {
        self.encoder.push(item);
        if self.encoder.len() >= CHUNK_BYTES {
            self.send(GOES_ON);
        }
    }

    /// `None` if anything could not be sent.
    fn end(mut self, is_whole: bool) -> Option<()> {
        self.send(if is_whole && !self.is_broken { WHOLE_END } else { BROKEN_END });
        (!self.is_broken).then_some(())
    }

    fn send(&mut self, state: u64) {
        let (chunk, parent) = (self.encoder.take(), parent(self.gathering.rank));
        let facts = [chunk.len() as u64, state];
        // SAFETY: the slices outlive the calls.
        let sent = unsafe {
            let facts = self.gathering.send(bytemuck::cast_slice(&facts), parent, TAG_SIZE);
            let parts = chunk.chunks(MESSAGE_BYTES);
            facts.and_then(|()| parts.into_iter().try_for_each(|part| self.gathering.send(part, parent, TAG_DATA)))
        };
        self.is_broken |= sent.is_none();
    }
}

/// The way from one child.
struct Down<'a> {
    gathering: &'a Gathering,
    child: u32,
    chunk: Decoder,
    goes_on: bool,
    is_whole: bool,
}

impl<'a> Down<'a> {
    fn of(gathering: &'a Gathering, child: u32) -> RefCell<Down<'a>> {
        RefCell::new(Down { gathering, child, chunk: Decoder::new(Vec::new()), goes_on: true, is_whole: true })
    }

    fn next_chunk(&mut self) -> Option<Vec<u8>> {
        let mut facts = [0u64; 2];
        let mut chunk = Vec::new();
        (self.goes_on, self.is_whole) = (false, self.is_whole && self.chunk.is_whole());
        let is_whole = std::mem::replace(&mut self.is_whole, false);
        // SAFETY: the slices outlive the calls.
        unsafe {
            self.gathering.receive(bytemuck::cast_slice_mut(&mut facts), self.child, TAG_SIZE)?;
            chunk.resize(usize::try_from(facts[0]).ok()?, 0);
            let mut parts = chunk.chunks_mut(MESSAGE_BYTES);
            parts.try_for_each(|part| self.gathering.receive(part, self.child, TAG_DATA))?;
        }
        (self.goes_on, self.is_whole) = (facts[1] == GOES_ON, is_whole && facts[1] != BROKEN_END);
        Some(chunk)
    }

    /// Receives what is left; returns whether all was whole.
    fn end(&mut self) -> bool {
        while self.goes_on {
            // Nobody has seen it.
            self.next_chunk();
            self.is_whole = false;
        }
        self.is_whole && self.chunk.is_whole()
    }
}

struct FromChild<'a>(&'a RefCell<Down<'a>>);

impl Source for FromChild<'_> {
    fn next(&mut self) -> Option<Item> {
        let mut down = self.0.borrow_mut();
        loop {
            if let Some(item) = down.chunk.next() {
                return Some(item);
            }
            if !down.goes_on {
                return None;
            }
            let chunk = down.next_chunk()?;
            down.chunk = Decoder::new(chunk);
        }
    }
}

pub fn say_lost(trouble: &str) {
    say::warn(&match shard::path() {
        Some(_) => format!("no profile could be written ({trouble}); `through recover` can make it of the shards"),
        None => format!(
            "no profile could be written ({trouble}), and what this process counted is lost; `through recover` reads the shards \
             that other ranks may have left"
        ),
    });
}

/// Opens the profile under the wanted name, or where that cannot be, under the same name beside the shards.
pub fn create(output: &Path) -> Result<Writer, String> {
    let trouble = match Writer::create(output) {
        Ok(writer) => return Ok(writer),
        Err(error) => error.to_string(),
    };
    let name = output.file_name().unwrap_or_default();
    let directories = settings::shard_directories(std::env::var(settings::DIR).ok(), std::env::var("TMPDIR").ok());
    let others = directories.iter().map(|directory| Path::new(directory).join(name));
    let found = others.filter(|path| path != output).find_map(|path| Writer::create(&path).ok());
    found.ok_or(trouble)
}

/// Silent where the profile is where the user wants it and `COMMSEE_LOG` asks for warnings only.
pub fn say_where(path: &Path, wanted: &Path) {
    let shown = path.display();
    if path == wanted {
        say::info(&format!("profile in {shown}"));
    } else if path.parent() == wanted.parent() {
        say::warn(&format!("{} exists already; profile in {shown}", wanted.display()));
    } else {
        say::warn(&format!("{} cannot be written; profile in {shown}", wanted.display()));
    }
}
