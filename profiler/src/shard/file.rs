//! The shard of this process: a file mapped into memory, so that the kernel keeps what was counted when the process dies.
//! It grows in place; addresses never move. Space is reserved in the file before it is touched, so that a full file
//! system gives a message and never a SIGBUS.

use std::ffi::CString;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use vocabulary::access;
use vocabulary::profile::recover::shard_name;
use vocabulary::shard::{
    BLOCK_HEADER_BYTES, BLOCK_MAGIC, BlockHeader, CELLS, CODE_TEXTS, COMMUNICATORS, COMPLETED, CONTEXTS, Cell,
    Communicator, Completed, Context, DATATYPES, EDGES, EVENTS, Edge, Event, FILE_CELLS, FILES, File as NamedFile,
    FileCell, HEADER_BYTES, Header, IN_FLIGHT_CALLS, InFlightCall, LABELS, LAYER_COMMUNICATORS, LayerCommunicator,
    MODULES, Module, Moment, NOTES, PEERS, PHASES, PLACES, Peer, Place, ROUTES, SITE_CELLS, SITES, SURROUNDINGS,
    Scheduled, Shard, Site, SiteCell, Sync, TRANSFERS, Text, Transfer, UNLOCKED, USES, Use,
};

use crate::guest::say::warn_once;
use crate::guest::signals::{self, Undisturbed};
use crate::guest::{clock, say};
use crate::shard::lock::Lock;
use crate::shard::{memory, paths};

/// Address space set aside for growth, at first: little, because the program may limit its address space later, and because batch systems
/// count it. Where it is limited already at most a small part of it, since the program needs the rest.
const RESERVE_BYTES: usize = 256 << 20;
const LEAST_RESERVE_BYTES: usize = 16 << 20;
/// The same where the system has no place with room behind.
const CLOSED_IN_BYTES: usize = 4 << 30;
/// As much as indexes can tell apart (`thread/`).
const MOST_BYTES: usize = 32 << 30;
/// Where nobody else is, so that there is room behind: programs and their heaps lie below or elsewhere, libraries and stacks above. The heap
/// of GCC's sanitizer of addresses begins at 2^46 + 2^45.
const CLEARINGS: [usize; 3] = [0x6000_0000_0000, 0x4800_0000_0000, 0x2800_0000_0000];
/// The file's size at first: the header and one block of each kind.
const FIRST_BYTES: usize = 32 << 10;
/// The file grows by a sixteenth, but at least and at most by this much: what is set aside is written to, and costs time and memory
/// whether it is used or not.
const GROWTH_BYTES: (usize, usize) = (32 << 10, 4 << 20);

struct Mapping {
    base: usize,
    reserved: usize,
    mapped: usize,
    used: usize,
    /// `None`: the counters are in memory that ends with the process.
    file: Option<File>,
    /// Some of them are, because the file could not grow.
    is_in_memory: bool,
    /// The file that all of them were written to at the end, where that is so.
    written: Option<PathBuf>,
}

struct File {
    path: PathBuf,
    /// Device and inode: growing opens the path again, because a program may close descriptors that are not its own.
    inode: (libc::dev_t, libc::ino_t),
    /// That this process lives; `None` where there are no locks.
    lock: Option<Lock>,
}

static MAPPING: Undisturbed<Option<Mapping>> = Undisturbed::new(None);
static HEADER: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// Makes the shard under this name in the first directory that takes it.
pub fn create(directories: &[String], name: &str, header: &Header) -> Result<(), String> {
    let mut mapping = reserve().ok_or("no address space for counters")?;
    let mut troubles = Vec::new();
    for directory in directories {
        let path = Path::new(directory).join(name);
        match File::create(&path) {
            Ok(file) => {
                mapping.file = Some(file);
                match mapping.grow(FIRST_BYTES) {
                    Ok(()) => break,
                    Err(error) => {
                        troubles.push(format!("{directory}: {error}"));
                        let _ = std::fs::remove_file(&path);
                        mapping.file = None;
                    }
                }
            }
            Err(error) => troubles.push(format!("{directory}: {error}")),
        }
    }
    if mapping.file.is_none() {
        mapping.grow(FIRST_BYTES).map_err(|error| format!("no memory for counters: {error}"))?;
        say::warn(&format!(
            "counters are kept in memory only, and are lost if the program does not reach MPI_Finalize ({}); set \
             COMMSEE_DIR to a directory with space",
            troubles.join("; ")
        ));
    } else {
        troubles.iter().for_each(|trouble| say::debug(&format!("shard not in {trouble}")));
    }
    mapping.used = HEADER_BYTES;
    let place = mapping.base as *mut Header;
    let mut header = *header;
    header.lock = mapping.file.as_ref().and_then(|file| file.lock.as_ref()).map_or(UNLOCKED, |lock| lock.kind);
    header.seal();
    // SAFETY: the first page is mapped and nobody else knows it yet.
    unsafe {
        place.write(header);
        (*place).used_bytes = HEADER_BYTES as u64;
    }
    HEADER.store(place, Ordering::Release);
    MAPPING.with(|here| *here = Some(mapping));
    Ok(())
}

/// Tells anew whose the shard is, which was made before MPI was there, and gives its file the name that others look for.
pub fn renew(header: &Header, name: &str) {
    MAPPING.with(|mapping| {
        let (Some(mapping), Some(Live(place))) = (mapping.as_mut(), self::header()) else { return };
        // SAFETY: whoever writes to it meanwhile holds the lock, or adds to what is not part of the seal. Here and in `seal`, no volatile
        // access: of a whole header it is a move for each byte, 150 KB of code in all.
        let old = unsafe { place.as_ptr().read() };
        let Header { used_bytes, lost_calls, lost_events, lock, .. } = old;
        let mut new = Header { used_bytes, lost_calls, lost_events, lock, ..*header };
        new.seal();
        // SAFETY: as above.
        unsafe { place.as_ptr().write(new) };
        if let Some(file) = &mut mapping.file {
            let renamed = file.path.with_file_name(name);
            if !renamed.exists() && std::fs::rename(&file.path, &renamed).is_ok() {
                file.path = renamed;
            }
        }
    });
}

/// The header, once the shard exists.
pub fn header() -> Option<Live> {
    NonNull::new(HEADER.load(Ordering::Acquire)).map(Live)
}

/// The header of the shard as it lies in memory: several threads may write to it, and so may not be given a reference. What changes
/// while calls are counted is written as a whole, or added to.
#[derive(Clone, Copy)]
pub struct Live(NonNull<Header>);

/// Readers and writers of single fields.
macro_rules! fields {
    ($($field:ident $set:ident $atomic:ident $type:ty;)*) => {$(
        #[allow(dead_code)]
        pub fn $field(self) -> $type {
            // SAFETY: the mapping lives as long as the process, and the field has this type.
            unsafe { $atomic::from_ptr(&raw mut (*self.0.as_ptr()).$field) }.load(Ordering::Acquire)
        }

        #[allow(dead_code)]
        pub fn $set(self, value: $type) {
            // SAFETY: as above.
            unsafe { $atomic::from_ptr(&raw mut (*self.0.as_ptr()).$field) }.store(value, Ordering::Release);
        }
    )*};
}

impl Live {
    fields! {
        state set_state AtomicU32 u32;
        world_rank set_world_rank AtomicU32 u32;
        world_size set_world_size AtomicU32 u32;
        pid set_pid AtomicU32 u32;
        thread_level set_thread_level AtomicU32 u32;
        paused set_paused AtomicU32 u32;
        used_bytes set_used_bytes AtomicU64 u64;
        trace_begin_ns set_trace_begin_ns AtomicU64 u64;
    }

    /// A call that is missing from the counters.
    pub fn lose_call(self) {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0.as_ptr()).lost_calls) }.fetch_add(1, Ordering::Relaxed);
    }

    /// So many events that are missing from the timeline.
    pub fn lose_events(self, number: u64) {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0.as_ptr()).lost_events) }.fetch_add(number, Ordering::Relaxed);
    }

    pub fn run(self) -> [u64; 2] {
        // SAFETY: as above. It is written before a second thread comes.
        unsafe { (&raw const (*self.0.as_ptr()).run).read() }
    }

    pub fn set_run(self, run: [u64; 2]) {
        // SAFETY: called in `MPI_Init` only.
        unsafe { (&raw mut (*self.0.as_ptr()).run).write(run) };
    }

    /// Its writers hold the lock of the mapping, or are in `MPI_Finalize`.
    pub fn set_latest(self, moment: Moment) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0.as_ptr()).latest).write_volatile(moment) };
    }

    /// What the scheduler gave the main thread until the end of the run time.
    pub fn set_scheduled(self, scheduled: Scheduled) {
        // SAFETY: as above; called where the run time ends only.
        unsafe { (&raw mut (*self.0.as_ptr()).scheduled).cast::<Scheduled>().add(1).write(scheduled) };
    }

    /// The comparison of the clocks at the begin (0) or at the end (1).
    pub fn set_sync(self, end: usize, sync: Sync) {
        // SAFETY: as above; called in `MPI_Init` and `MPI_Finalize` only.
        unsafe { (&raw mut (*self.0.as_ptr()).syncs).cast::<Sync>().add(end.min(1)).write(sync) };
    }

    /// See [`Header::seal`]. Called in `MPI_Init` only.
    pub fn seal(self) {
        // SAFETY: as above. What other threads may be writing to meanwhile is not part of the sum.
        unsafe {
            let mut sealed = self.0.as_ptr().read();
            sealed.seal();
            (&raw mut (*self.0.as_ptr()).checksum).write(sealed.checksum);
        }
    }
}

/// Where the shard begins in memory; it never moves.
pub fn base() -> usize {
    HEADER.load(Ordering::Acquire) as usize
}

/// A new block for entries of one kind, or `None` when there is no memory left.
pub fn block(kind: u32, bytes: usize) -> Option<NonNull<BlockHeader>> {
    MAPPING.with(|mapping| {
        let place = mapping.as_mut()?.block(kind, bytes)?;
        calibrate_now();
        Some(place)
    })
}

/// Compares ticks with the clock, as is done now and then, so that a shard that is never finished can be read in nanoseconds.
pub fn calibrate() {
    MAPPING.with(|_| calibrate_now());
}

/// Under the lock.
fn calibrate_now() {
    if let Some(header) = header() {
        header.set_latest(clock::moment());
    }
}

/// What was counted so far.
pub fn parse() -> Option<Shard> {
    MAPPING.with(|mapping| Shard::parse(mapping.as_ref()?.used()).ok())
}

/// The bytes that a reader needs: every block cut behind its last used entry.
pub fn image() -> Vec<u8> {
    MAPPING.with(|mapping| mapping.as_ref().map(|mapping| packed(mapping.used())).unwrap_or_default())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut image = bytes[..HEADER_BYTES].to_vec();
    let mut offset = HEADER_BYTES;
    while offset + BLOCK_HEADER_BYTES <= bytes.len() {
        let mut block: BlockHeader = bytemuck::pod_read_unaligned(&bytes[offset..offset + BLOCK_HEADER_BYTES]);
        let (size, kind) = (block.bytes as usize, block.kind);
        let entry = match kind {
            COMMUNICATORS => size_of::<Communicator>(),
            CELLS => size_of::<Cell>(),
            EDGES => size_of::<Edge>(),
            LABELS | PHASES | DATATYPES | ROUTES | NOTES | CODE_TEXTS | SURROUNDINGS => size_of::<Text>(),
            USES => size_of::<Use>(),
            IN_FLIGHT_CALLS => size_of::<InFlightCall>(),
            PEERS => size_of::<Peer>(),
            TRANSFERS => size_of::<Transfer>(),
            LAYER_COMMUNICATORS => size_of::<LayerCommunicator>(),
            CONTEXTS => size_of::<Context>(),
            EVENTS => size_of::<Event>(),
            MODULES => size_of::<Module>(),
            PLACES => size_of::<Place>(),
            SITES => size_of::<Site>(),
            SITE_CELLS => size_of::<SiteCell>(),
            COMPLETED => size_of::<Completed>(),
            FILES => size_of::<NamedFile>(),
            FILE_CELLS => size_of::<FileCell>(),
            // As it is.
            _ => size.saturating_sub(BLOCK_HEADER_BYTES) / (block.used as usize).max(1),
        };
        let used = BLOCK_HEADER_BYTES + block.used as usize * entry;
        if block.used > 0 {
            block.bytes = used as u32;
            image.extend_from_slice(bytemuck::bytes_of(&block));
            image.extend_from_slice(&bytes[offset + BLOCK_HEADER_BYTES..offset + used]);
        }
        offset += size.max(BLOCK_HEADER_BYTES);
    }
    let length = image.len() as u64;
    let place = std::mem::offset_of!(Header, used_bytes);
    image[place..place + 8].copy_from_slice(&length.to_ne_bytes());
    image
}

/// Sees to it that all that was counted is in the file, with the state that the process has reached. Called when nothing is counted any more.
pub fn make_final(state: u32) -> Result<PathBuf, String> {
    let Some(header) = header() else { return Err("there are no counters".to_owned()) };
    let place = |mapping: &Mapping| {
        let file = mapping.file.as_ref().map(|file| file.path.clone());
        (file, mapping.is_in_memory, mapping.written.clone())
    };
    let (file, is_in_memory, written) = MAPPING.with(|mapping| mapping.as_ref().map(place)).unwrap_or_default();
    match (&file, written) {
        (_, Some(path)) => return Ok(path),
        (Some(path), None) if !is_in_memory => {
            header.set_state(state);
            return Ok(path.clone());
        }
        _ => {}
    }
    let image = final_image(image(), state);
    let name = shard_name(header.run(), header.world_rank());
    let beside = paths::profile().parent().map(Path::to_owned);
    let directories = paths::of_shards().into_iter().map(PathBuf::from).chain(beside);
    let places = file.into_iter().chain(directories.map(|directory| directory.join(&name)));
    let mut trouble = String::new();
    for path in places {
        match write_whole(&image, &path) {
            Ok(()) => {
                MAPPING.with(|mapping| mapping.iter_mut().for_each(|mapping| mapping.written = Some(path.clone())));
                header.set_state(state);
                return Ok(path);
            }
            Err(error) => trouble = format!("{}: {error}", path.display()),
        }
    }
    Err(trouble)
}

/// Whole or not at all under its name, where the shard as far as it was in a file may stand.
fn write_whole(image: &[u8], path: &Path) -> io::Result<()> {
    let aside = path.with_extension("part");
    let written = (|| {
        let mut options = std::fs::OpenOptions::new();
        let mut file = access::open(options.write(true).create_new(true).mode(0o600), &aside)?;
        file.write_all(image)?;
        std::fs::rename(&aside, path)
    })();
    written.inspect_err(|_| _ = std::fs::remove_file(&aside))
}

/// An image that becomes a file of its own, which nobody holds a lock of though this process lives.
fn final_image(mut image: Vec<u8>, state: u32) -> Vec<u8> {
    if let Some(bytes) = image.get_mut(..HEADER_BYTES) {
        let mut header: Header = bytemuck::pod_read_unaligned(bytes);
        (header.lock, header.state) = (UNLOCKED, state);
        header.seal();
        bytes.copy_from_slice(bytemuck::bytes_of(&header));
    }
    image
}

/// Removes the file: the profile holds everything that is in it.
pub fn remove() {
    let Some(path) = path() else { return };
    if let Err(error) = std::fs::remove_file(&path) {
        say::warn(&format!("{} cannot be removed ({error}); you can delete it", path.display()));
    }
}

/// The shard is another process's from now on: this one is its child.
pub fn forget() {
    HEADER.store(ptr::null_mut(), Ordering::Release);
}

/// The file, if there is one.
pub fn path() -> Option<PathBuf> {
    let path = |mapping: &Mapping| mapping.written.clone().or_else(|| Some(mapping.file.as_ref()?.path.clone()));
    MAPPING.with(|mapping| mapping.as_ref().and_then(path))
}

fn reserve() -> Option<Mapping> {
    // A multiple of the least, and so of a page: what is set aside later begins where this ends.
    let limit = (address_space() / 64 / LEAST_RESERVE_BYTES).max(1) * LEAST_RESERVE_BYTES;
    let (first, closed_in) = (RESERVE_BYTES.min(limit), CLOSED_IN_BYTES.min(limit));
    let made = |(base, reserved)| Mapping {
        base,
        reserved,
        mapped: 0,
        used: 0,
        file: None,
        is_in_memory: false,
        written: None,
    };
    let sizes = std::iter::successors(Some(closed_in), |bytes| Some(bytes / 2));
    let anywhere = || {
        sizes.take_while(|bytes| *bytes >= LEAST_RESERVE_BYTES).find_map(|bytes| Some((set_aside(0, bytes)?, bytes)))
    };
    let found = CLEARINGS.iter().find_map(|place| Some((set_aside_there(*place, first)?, first))).or_else(anywhere);
    found.map(made)
}

/// Address space without access, at `place` if that is free, else anywhere.
fn set_aside(place: usize, bytes: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, which takes nobody's place.
    let base = unsafe { libc::mmap(place as *mut libc::c_void, bytes, libc::PROT_NONE, flags, -1, 0) };
    (base != libc::MAP_FAILED).then_some(base as usize)
}

/// The same there, or nothing. Not by `MAP_FIXED_NOREPLACE`: ThreadSanitizer changes a place that it does not like to 0 and leaves the flag,
/// and where root may map address 0, it ends the program.
fn set_aside_there(place: usize, bytes: usize) -> Option<usize> {
    let base = set_aside(place, bytes)?;
    if base != place {
        // SAFETY: what has just been mapped.
        unsafe { libc::munmap(base as *mut libc::c_void, bytes) };
        return None;
    }
    Some(base)
}

impl Mapping {
    fn block(&mut self, kind: u32, bytes: usize) -> Option<NonNull<BlockHeader>> {
        if self.used + bytes > self.mapped {
            let growth = (self.mapped / 16).clamp(GROWTH_BYTES.0, GROWTH_BYTES.1).max(bytes);
            if let Err(error) = self.grow(growth) {
                memory::say_refused(format_args!(" from now on ({error})"));
                return None;
            }
        }
        let place = (self.base + self.used) as *mut BlockHeader;
        // SAFETY: the place is mapped and belongs to nobody yet.
        unsafe {
            place.write(BlockHeader { magic: BLOCK_MAGIC, kind, bytes: bytes as u32, used: 0, reserved: [0; 12] });
        }
        self.used += bytes;
        fence(Ordering::Release);
        if let Some(header) = header() {
            header.set_used_bytes(self.used as u64);
        }
        NonNull::new(place)
    }

    fn used(&self) -> &[u8] {
        // SAFETY: everything up to `used` is mapped and stays so while the lock is held. Other threads may still count; a
        // torn count cannot occur, as counters are words.
        unsafe { std::slice::from_raw_parts(self.base as *const u8, self.used) }
    }

    /// As much again, right behind. `None` where that is somebody's, or would take too much of a limited address space.
    fn set_more_aside(&mut self) -> Option<()> {
        let (end, bytes) = (self.base + self.reserved, self.reserved);
        if self.reserved + bytes > MOST_BYTES.min(address_space() / 64) {
            return None;
        }
        set_aside_there(end, bytes)?;
        self.reserved += bytes;
        Some(())
    }

    fn grow(&mut self, wanted: usize) -> io::Result<()> {
        let bytes = wanted.next_multiple_of(page_bytes());
        while self.mapped + bytes > self.reserved {
            self.set_more_aside().ok_or_else(|| io::Error::other("the address space set aside is used up"))?;
        }
        let place = (self.base + self.mapped) as *mut libc::c_void;
        if let Some(file) = &self.file {
            match file.map(place, self.mapped, bytes) {
                Ok(()) => {
                    self.mapped += bytes;
                    return Ok(());
                }
                // A shard that cannot be started is a reason to look elsewhere, one that cannot grow to go on in memory.
                Err(error) if self.mapped == 0 => return Err(error),
                Err(error) => warn_once!(
                    "{} cannot grow ({error}): new counters are kept in memory only, and are lost if the program does \
                     not reach MPI_Finalize",
                    file.path.display()
                ),
            }
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: replaces a part of our own reservation.
        let mapped = unsafe { libc::mmap(place, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        self.mapped += bytes;
        self.is_in_memory = true;
        Ok(())
    }
}

impl File {
    fn create(path: &Path) -> io::Result<File> {
        let fd = Descriptor::open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
        access::grant(fd.0);
        let inode = fd.inode().inspect_err(|_| _ = std::fs::remove_file(path))?;
        Ok(File { path: path.to_owned(), inode, lock: Lock::take(fd.0, path) })
    }

    fn map(&self, place: *mut libc::c_void, offset: usize, bytes: usize) -> io::Result<()> {
        let fd = Descriptor::open(&self.path, libc::O_RDWR)?;
        if fd.inode()? != self.inode {
            return Err(io::Error::other("the file was replaced"));
        }
        // SAFETY: plain system calls on our own descriptor and our own reservation.
        unsafe {
            // A signal may interrupt it, one of a timer again and again.
            let allocate = || libc::posix_fallocate(fd.0, offset as libc::off_t, bytes as libc::off_t);
            let attempts = || (0..100).map(|_| allocate()).find(|code| *code != libc::EINTR).unwrap_or(libc::EINTR);
            let code = signals::held_back(attempts);
            if code != 0 {
                return Err(io::Error::from_raw_os_error(code));
            }
            // The space is there already, so that mapping all of it now costs less than a fault for every page.
            let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_POPULATE;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = libc::mmap(place, bytes, access, flags, fd.0, offset as libc::off_t);
            if mapped == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

struct Descriptor(libc::c_int);

impl Descriptor {
    /// Only the owner may read it, children do not inherit it, and no symbolic link is followed.
    fn open(path: &Path, flags: libc::c_int) -> io::Result<Descriptor> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC | libc::O_NOFOLLOW, 0o600) };
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Descriptor(fd)) }
    }

    fn inode(&self) -> io::Result<(libc::dev_t, libc::ino_t)> {
        // SAFETY: the structure is plain data, filled by the call.
        unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            match libc::fstat(self.0, &mut status) {
                0 => Ok((status.st_dev, status.st_ino)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: our own descriptor, closed once.
        unsafe { libc::close(self.0) };
    }
}

/// The limit of this process's address space (`ulimit -v`).
fn address_space() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: fills the structure it is given.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

fn page_bytes() -> usize {
    // SAFETY: no argument that could be wrong.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
