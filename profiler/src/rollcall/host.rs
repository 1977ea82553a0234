//! The roll of one host: a small file that the ranks of a job on this host map, in which each says that it records. Shared
//! memory, so that all see the same at the same time, and one atomic word decides for all. Ranks meet here before they send each other
//! messages of ours: whoever waits here sees when somebody will not come, which a rank that waits in a message does not.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use vocabulary::profile::namespaces;

use vocabulary::access;

use super::verdict::Verdict;
use crate::guest::signals;

/// In [`Head::state`]: nothing is decided yet.
const OPEN: u32 = 0;
/// All ranks of this host record, and that was told to the other hosts.
const PUBLISHED: u32 = 1;
/// One rank of this host finds out what the other hosts say.
const ASKING: u32 = 2;
const ALL: u32 = 3;
const SOME: u32 = 4;

const MAGIC: u64 = 0x726f_6c6c_0000_0003;

/// In [`Head::namespaces`]: ranks are in several ones, and do not know each other's processes.
const SEVERAL: u64 = u64::MAX;

/// In the word of a rank, beside its process: nobody waits for it any more. Processes have smaller numbers (`PID_MAX_LIMIT`, 2^22).
const DONE: u32 = 1 << 31;

#[repr(C)]
struct Head {
    /// [`MAGIC`] and the ranks of the job, so that nobody takes another file for a roll.
    magic: AtomicU64,
    ranks: AtomicU32,
    state: AtomicU32,
    joined: AtomicU32,
    finished: AtomicU32,
    /// The rank under which the other hosts were told of this one, plus one.
    told: AtomicU32,
    /// The rank that joined first, plus one.
    opener: AtomicU32,
    /// A moment that all ranks here count from.
    origin_ns: AtomicU64,
    /// Ranks that have come to `MPI_Finalize`, knowing that all record.
    arrived: AtomicU32,
    /// 1: ranks that are waited for will not come.
    given_up: AtomicU32,
    /// In which all ranks here are; or [`SEVERAL`].
    namespaces: AtomicU64,
}

const _: () = assert!(size_of::<Head>() == 56);

pub struct Roll {
    head: NonNull<Head>,
    ranks: u32,
    path: PathBuf,
}

// SAFETY: all that is behind the pointer are atomics.
unsafe impl Send for Roll {}
// SAFETY: as above.
unsafe impl Sync for Roll {}

impl Roll {
    /// Opens the roll of a job, or makes it, in the first of the directories where that works, and enters this rank. `None` as
    /// well if the rank stands there already: then the roll is that of another job, which died.
    pub fn join<'a>(directories: impl Iterator<Item = &'a Path>, name: &str, rank: u32, ranks: u32) -> Option<Roll> {
        let roll = directories.into_iter().find_map(|directory| Roll::open(directory.join(name), ranks))?;
        if roll.enter(rank)? == 0 {
            roll.head().opener.store(rank + 1, Ordering::Release);
        }
        Some(roll)
    }

    fn open(path: PathBuf, ranks: u32) -> Option<Roll> {
        let bytes = size_of::<Head>() + ranks as usize * size_of::<AtomicU32>();
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: plain system calls on a descriptor of our own; the mapping is new, and its space is reserved before it is touched.
        let place = unsafe {
            let made = libc::open(name.as_ptr(), flags | libc::O_CREAT | libc::O_EXCL, 0o600);
            if made < 0 {
                // The rank that made it may not have come to its mode yet.
                access::grant_by_name(&path, access::READ_AND_WRITE);
            } else {
                access::grant(made);
            }
            let fd = if made < 0 { libc::open(name.as_ptr(), flags) } else { made };
            if fd < 0 {
                return None;
            }
            let place = map(fd, bytes);
            libc::close(fd);
            if place.is_none() && made >= 0 {
                // Of no use to others either.
                libc::unlink(name.as_ptr());
            }
            place?
        };
        let roll = Roll { head: place.cast(), ranks, path };
        let set = |known: Result<u64, u64>| known.is_ok() || known == Err(MAGIC);
        let is_roll = set(roll.head().magic.compare_exchange(0, MAGIC, Ordering::AcqRel, Ordering::Acquire));
        let known = roll.head().ranks.compare_exchange(0, ranks, Ordering::AcqRel, Ordering::Acquire);
        (is_roll && (known.is_ok() || known == Err(ranks))).then_some(roll)
    }

    fn head(&self) -> &Head {
        // SAFETY: mapped for as long as the process lives.
        unsafe { self.head.as_ref() }
    }

    /// The process of a rank that has joined; 0 of others.
    fn process(&self, rank: u32) -> &AtomicU32 {
        // SAFETY: there are `ranks` words behind the head.
        unsafe { &*self.head.as_ptr().add(1).cast::<AtomicU32>().add((rank % self.ranks) as usize) }
    }

    fn is_present(&self, rank: u32) -> bool {
        self.process(rank).load(Ordering::Acquire) != 0
    }

    /// Returns how many have entered before.
    fn enter(&self, rank: u32) -> Option<u32> {
        let (head, own) = (self.head(), std::process::id());
        let known = head.namespaces.compare_exchange(0, namespaces(), Ordering::AcqRel, Ordering::Acquire);
        if known.is_err_and(|known| known != namespaces()) {
            head.namespaces.store(SEVERAL, Ordering::Release);
        }
        let is_taken = self.process(rank).compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire).is_err();
        if is_taken || head.state.load(Ordering::Acquire) == ALL {
            self.give_up();
            return None;
        }
        Some(head.joined.fetch_add(1, Ordering::AcqRel))
    }

    /// Whatever was decided: not all ranks will come.
    pub fn give_up(&self) {
        self.head().given_up.store(1, Ordering::Release);
        self.head().state.store(SOME, Ordering::Release);
    }

    /// This rank has come to `MPI_Finalize`, where all that joined are expected.
    pub fn arrive(&self) {
        self.head().arrived.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether all that joined have come there.
    pub fn have_arrived(&self) -> bool {
        self.head().arrived.load(Ordering::Acquire) >= self.joined()
    }

    /// How many ranks that joined have died before they were done. None where the processes of some cannot be seen.
    pub fn died(&self) -> u32 {
        if self.head().namespaces.load(Ordering::Acquire) != namespaces() {
            return 0;
        }
        let has_died = |rank: &u32| {
            let process = self.process(*rank).load(Ordering::Acquire);
            process != 0 && process & DONE == 0 && !is_alive(process)
        };
        (0..self.ranks).filter(has_died).count() as u32
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rank that joined first.
    pub fn opener(&self) -> Option<u32> {
        self.head().opener.load(Ordering::Acquire).checked_sub(1)
    }

    pub fn joined(&self) -> u32 {
        self.head().joined.load(Ordering::Acquire)
    }

    /// The ranks that joined.
    pub fn present(&self) -> Vec<u32> {
        (0..self.ranks).filter(|rank| self.is_present(*rank)).collect()
    }

    /// The rank under which the other hosts were told.
    pub fn told(&self) -> Option<u32> {
        self.head().told.load(Ordering::Acquire).checked_sub(1)
    }

    pub fn set_told(&self, rank: Option<u32>) {
        self.head().told.store(rank.map_or(0, |rank| rank + 1), Ordering::Release);
    }

    /// What the first rank that asks offers.
    pub fn origin_ns(&self, offered_ns: u64) -> u64 {
        let known = self.head().origin_ns.compare_exchange(0, offered_ns, Ordering::AcqRel, Ordering::Acquire);
        known.err().unwrap_or(offered_ns)
    }

    /// Whether no rank before this one joined.
    pub fn is_first(&self, rank: u32) -> bool {
        !(0..rank).any(|other| self.is_present(other))
    }

    /// What was decided.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.head().state.load(Ordering::Acquire) {
            ALL => Some(Verdict::All),
            SOME => Some(Verdict::Some),
            _ => None,
        }
    }

    fn go_on(&self, from: u32, to: u32) -> bool {
        self.head().state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Decides, if nobody has yet.
    pub fn decide(&self, verdict: Verdict) {
        self.go_on(OPEN, if verdict == Verdict::All { ALL } else { SOME });
    }

    /// Whether it is this rank that tells the other hosts.
    pub fn publish(&self) -> bool {
        self.go_on(OPEN, PUBLISHED)
    }

    pub fn is_published(&self) -> bool {
        self.head().state.load(Ordering::Acquire) == PUBLISHED
    }

    /// Whether it is this rank that asks the other hosts.
    pub fn ask(&self) -> bool {
        self.go_on(PUBLISHED, ASKING) || self.go_on(OPEN, ASKING)
    }

    pub fn answer(&self, verdict: Verdict) {
        self.go_on(ASKING, if verdict == Verdict::All { ALL } else { SOME });
    }

    /// Nobody waits for this rank any more.
    pub fn set_done(&self, rank: u32) {
        self.process(rank).fetch_or(DONE, Ordering::AcqRel);
    }

    /// This rank's shard is final. Returns whether it is the last of those that joined, and that will come.
    pub fn finish(&self, rank: u32) -> bool {
        self.set_done(rank);
        let lost = if self.head().given_up.load(Ordering::Acquire) == 1 { self.died() } else { 0 };
        self.head().finished.fetch_add(1, Ordering::AcqRel) + 1 + lost >= self.joined()
    }

    /// Who has mapped the roll keeps it; nobody finds it any more.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn is_alive(process: u32) -> bool {
    // SAFETY: sends no signal.
    unsafe { libc::kill(process as libc::pid_t, 0) == 0 || *libc::__errno_location() != libc::ESRCH }
}

/// Maps the file of a roll, which must be ours and no other user's.
unsafe fn map(fd: libc::c_int, bytes: usize) -> Option<NonNull<libc::c_void>> {
    // SAFETY: plain system calls on the caller's descriptor; the structure is plain data that the call fills.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let is_ours = libc::fstat(fd, &mut status) == 0
            && status.st_mode & libc::S_IFMT == libc::S_IFREG
            && status.st_mode & 0o077 == 0
            && status.st_uid == libc::geteuid();
        let allocate = || libc::posix_fallocate(fd, 0, bytes as libc::off_t);
        // A signal may interrupt it, one of a timer again and again.
        let has_room = || (0..100).map(|_| allocate()).find(|code| *code != libc::EINTR) == Some(0);
        if !is_ours || !signals::held_back(has_room) {
            return None;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let place = libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0);
        if place == libc::MAP_FAILED { None } else { NonNull::new(place) }
    }
}
