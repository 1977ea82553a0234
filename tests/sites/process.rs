//! A process that writes its shard, one at a time: the shard is the whole process's.

use std::cell::RefCell;

use bytemuck::Zeroable;
use commsee::calls::TABLE_HASH;
use commsee::shard::{
    BLOCK_HEADER_BYTES, COMMUNICATORS, Communicator, FINISHED, FIRST_COMM, FORMAT, Frame, HEADER_BYTES, Header,
    IN_FLIGHT_CALLS, InFlightCall, MAGIC, Module, Moment, PASSED_OVER, PHASES, RUNNING, Shard, Site, SiteCell,
    set_text,
};
use parking_lot::{Mutex, MutexGuard};

use crate::shard;
use crate::shard::code::Code;
use crate::shard::index::Index;
use crate::shard::texts::Texts;

static ONE_AT_A_TIME: Mutex<()> = parking_lot::const_mutex(());

/// What is written into the shard of one rank.
pub struct Process {
    pub code: RefCell<Code>,
    cells: Index<SiteCell>,
    _alone: MutexGuard<'static, ()>,
    _directory: tempfile::TempDir,
}

/// Nanoseconds are ticks.
const END_TICKS: u64 = 1_000_000;

impl Process {
    pub fn new(rank: u32, ranks: u32) -> Process {
        Process::in_state(rank, ranks, FINISHED)
    }

    /// One that was killed.
    pub fn killed(rank: u32, ranks: u32) -> Process {
        Process::in_state(rank, ranks, RUNNING)
    }

    fn in_state(rank: u32, ranks: u32, state: u32) -> Process {
        let alone = ONE_AT_A_TIME.lock();
        let directory = tempfile::tempdir().unwrap();
        let moment = |ns| Moment { ticks: ns, monotonic_ns: ns };
        let mut header = Header {
            magic: MAGIC,
            format: FORMAT,
            state,
            table_hash: TABLE_HASH,
            run: [1, 2],
            world_rank: rank,
            world_size: ranks,
            pid: u32::MAX / 2 + rank,
            edge_count: 1,
            handle_mask: u64::MAX,
            entered: moment(0),
            started: moment(10),
            latest: moment(END_TICKS),
            ..Header::zeroed()
        };
        header.edges_bytes[0] = 128;
        set_text(&mut header.host, &format!("host{}", rank / 2));
        set_text(&mut header.command, "./solver");
        let directories = [directory.path().to_str().unwrap().to_owned()];
        shard::create(&directories, "one.shard", &header).unwrap();
        let cells = Index::new().unwrap();
        let process = Process { code: RefCell::new(Code::new()), cells, _alone: alone, _directory: directory };
        process.communicator(1, b'W', 0);
        process
    }

    /// Puts entries of one kind into a block of their own.
    pub fn put<T: Copy>(&self, kind: u32, entries: &[T]) {
        let block = shard::block(kind, BLOCK_HEADER_BYTES + size_of_val(entries)).unwrap();
        // SAFETY: the block has room for them behind its header.
        unsafe {
            let place = (block.as_ptr() as usize + BLOCK_HEADER_BYTES) as *mut T;
            entries.iter().enumerate().for_each(|(at, entry)| place.add(at).write_unaligned(*entry));
            (*block.as_ptr()).used = entries.len() as u32;
        }
    }

    /// A communicator with this identity, made at a site. Its number is [`number`].
    pub fn communicator(&self, identity: u32, letter: u8, site: u32) {
        let mut record = Communicator {
            identity: [identity.into(), 9],
            number: number(identity),
            letter,
            size: 2,
            counter: identity - 1,
            ..Communicator::zeroed()
        };
        record.set_site(site);
        self.put(COMMUNICATORS, &[record]);
    }

    pub fn phase(&self, phase: u8, name: &str) {
        Texts::new(PHASES).add(phase.into(), 0, name).unwrap();
    }

    /// A module from this address on, whose own addresses begin with 0.
    pub fn module(&self, path: &str, build_id: &[u8], start: u64) -> u32 {
        let mut module = Module { start, end: start + MODULE_BYTES, bias: start, ..Module::zeroed() };
        module.set_build_id(build_id);
        module.flags = if path.contains("libmpi") { PASSED_OVER } else { 0 };
        self.code.borrow_mut().add_module(module, path.as_bytes()).unwrap()
    }

    pub fn frame(&self, module: u32, address: u64) -> u32 {
        self.code.borrow_mut().add_frame(Frame::of_module(module, address)).unwrap()
    }

    pub fn python(&self, function: &str, file: &str, line: u32) -> u32 {
        let code = &mut *self.code.borrow_mut();
        let [function, file] = [function, file].map(|text| code.add_text(text.as_bytes()).unwrap());
        code.add_frame(Frame::of_interpreter(function, file, line)).unwrap()
    }

    pub fn site(&self, frame: u32, outer: u32) -> u32 {
        self.code.borrow_mut().add_site(Site { frame, outer }).unwrap()
    }

    /// The same counts of another thread, which has blocks of its own.
    pub fn another_thread_counts(&self, key: u64, site: u32, calls: u64) {
        Process::add(&Index::new().unwrap(), key, site, calls);
    }

    /// Counts so many calls of 8 sent and 16 received bytes and 100 ns.
    pub fn count(&self, key: u64, site: u32, calls: u64) {
        Process::add(&self.cells, key, site, calls);
    }

    fn add(cells: &Index<SiteCell>, key: u64, site: u32, calls: u64) {
        let whole = SiteCell::new(key, site).key();
        let cell = cells.find(whole).unwrap_or_else(|| cells.add(whole, SiteCell::new(key, site)));
        // SAFETY: the index holds addresses of live entries.
        let cell = unsafe { &mut *cell };
        cell.calls = cell.calls.wrapping_add(calls);
        cell.bytes_sent += 8u64.wrapping_mul(calls);
        cell.bytes_recv += 16u64.wrapping_mul(calls);
        cell.ticks += 100u64.wrapping_mul(calls);
    }

    /// Is in a call that returns to an address.
    pub fn is_inside(&self, operation: u16, begin_ticks: u64, caller: u64) {
        let word = InFlightCall::word(operation, false, begin_ticks);
        let call = InFlightCall { word, comm: FIRST_COMM.into(), begin_ticks, caller, ..InFlightCall::zeroed() };
        self.put(IN_FLIGHT_CALLS, &[call]);
    }

    /// As the process sends it. New blocks have compared the clocks: that is taken back.
    pub fn image(&self) -> Vec<u8> {
        let mut image = shard::image();
        let header: &mut Header = bytemuck::from_bytes_mut(&mut image[..HEADER_BYTES]);
        header.latest = Moment { ticks: END_TICKS, monotonic_ns: END_TICKS };
        image
    }

    pub fn shard(&self) -> Shard {
        Shard::parse(&self.image()).unwrap()
    }
}

pub const MODULE_BYTES: u64 = 0x1_0000;

pub fn number(identity: u32) -> u32 {
    FIRST_COMM + identity - 1
}
