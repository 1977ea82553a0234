//! Waits for ends of processes, for files that are removed, and for a signal to end, without looking again and again.

use std::fs::File;
use std::io::Read;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use commsee::profile::{State, life, recover};
use commsee::shard::Header;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use rustix::process::{Pid, PidfdFlags, Resource, getrlimit, pidfd_open, setrlimit};

/// A process that counts into a shard.
pub struct Process {
    /// Readable once the process has ended. `None`: its number means nothing here, or there is no descriptor for it.
    handle: Option<OwnedFd>,
    header: Header,
    shard: PathBuf,
    lives: bool,
}

impl Process {
    /// `None` where nothing here tells whether it lives.
    pub fn of(header: &Header, shard: &Path) -> Option<Process> {
        let open = |number: u32| pidfd_open(Pid::from_raw(number.try_into().ok()?)?, PidfdFlags::empty()).ok();
        // The number may be another process's by now.
        let handle = open(header.pid).filter(|_| recover::process_start(header.pid) == Some(header.process_start));
        let is_known = handle.is_some() || matches!(life(shard, header), State::Alive | State::Dead);
        is_known.then(|| Process { handle, header: *header, shard: shard.to_owned(), lives: true })
    }

    pub fn is_waitable(&self) -> bool {
        self.handle.is_some()
    }

    /// Whether a shard is its own.
    pub fn is_of(&self, header: &Header) -> bool {
        (self.header.pid, self.header.process_start) == (header.pid, header.process_start)
    }

    /// Finds out whether it still lives.
    pub fn look(&mut self) {
        self.lives = match &self.handle {
            Some(handle) => !is_readable(handle),
            None => life(&self.shard, &self.header) == State::Alive,
        }
    }

    /// At the last look. One that has ended since is news, for which [`Watch::wait`] does not wait.
    pub fn lives(&self) -> bool {
        self.lives
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The time is up.
    Nothing,
    Something,
    /// A signal whose default is to end a process.
    ToldToEnd,
}

pub struct Watch {
    files: OwnedFd,
    signals: File,
}

const TO_END: [libc::c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

impl Watch {
    pub fn new() -> Option<Watch> {
        // One descriptor for each process.
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        _ = setrlimit(Resource::Nofile, limit);
        let files = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok()?;
        // SAFETY: plain system calls; the descriptor is new.
        unsafe {
            let mut signals: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut signals);
            TO_END.iter().for_each(|signal| _ = libc::sigaddset(&mut signals, *signal));
            libc::sigprocmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut());
            let told = libc::signalfd(-1, &signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            (told >= 0).then(|| Watch { files, signals: File::from_raw_fd(told) })
        }
    }

    /// Wakes up when this file is removed, which is a change of its number of names as long as a process has it mapped.
    pub fn add(&self, path: &Path) {
        use inotify::WatchFlags;
        let changes = WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        // What cannot be watched is looked at from time to time.
        _ = inotify::add_watch(&self.files, path, changes);
    }

    /// Until something happens. `None`: however long that takes.
    pub fn wait<'a>(&mut self, processes: impl Iterator<Item = &'a Process>, timeout: Option<Duration>) -> Event {
        let own = [self.files.as_fd(), self.signals.as_fd()].into_iter();
        // Whoever was known to have ended would end every wait at once.
        let living = processes.filter(|process| process.lives).filter_map(|process| process.handle.as_ref());
        let mut all: Vec<PollFd> = own.chain(living.map(AsFd::as_fd)).map(wanted).collect();
        let timeout = timeout.map(|timeout| timeout.clamp(Duration::from_millis(1), Duration::from_secs(60)));
        let changes = poll(&mut all, timeout.and_then(|timeout| Timespec::try_from(timeout).ok()).as_ref());
        drop(all);
        let mut bytes = [0u8; 4096];
        while rustix::io::read(&self.files, &mut bytes).is_ok_and(|read| read > 0) {}
        let mut is_told = false;
        while self.signals.read(&mut bytes).is_ok_and(|read| read > 0) {
            is_told = true;
        }
        match changes {
            _ if is_told => Event::ToldToEnd,
            Ok(0) => Event::Nothing,
            _ => Event::Something,
        }
    }
}

fn wanted(descriptor: BorrowedFd) -> PollFd {
    PollFd::from_borrowed_fd(descriptor, PollFlags::IN)
}

fn is_readable(handle: &OwnedFd) -> bool {
    poll(&mut [wanted(handle.as_fd())], Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use bytemuck::Zeroable;
    use commsee::shard::Header;

    use super::*;

    /// A process that reads its input, as one with a shard.
    fn start() -> (Child, Process) {
        let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut header = Header::zeroed();
        header.pid = child.id();
        header.process_start = recover::process_start(child.id()).unwrap();
        let process = Process::of(&header, Path::new("/dev/shm/none.shard")).unwrap();
        (child, process)
    }

    /// Ends it, and leaves it to be waited for: so nobody else gets its number.
    fn end(child: &mut Child, process: &Process) {
        child.kill().unwrap();
        while !is_readable(process.handle.as_ref().unwrap()) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_end_that_came_after_the_look_is_not_slept_through() {
        const LONG: Option<Duration> = Some(Duration::from_secs(60));
        let mut watch = Watch::new().unwrap();
        let (mut child, mut process) = start();
        process.look();
        end(&mut child, &process);
        assert_eq!(watch.wait([&process].into_iter(), LONG), Event::Something);
        process.look();
        assert!(!process.lives());
        // Once it is known, it is waited for no more.
        assert_eq!(watch.wait([&process].into_iter(), Some(Duration::from_millis(1))), Event::Nothing);
        child.wait().unwrap();
    }
}
