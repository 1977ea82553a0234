//! Starts `through watch` on each host of a job over several: it outlives the ranks, and carries what they leave on their host to
//! where the user finds it. The program must not notice: no memory is copied, no signal comes when a child ends, no descriptor is
//! shared, and the process that stays is no child of the rank.

use std::env;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use vocabulary::settings;

use crate::guest::{errno, signals};

/// Stack of each of the two processes that lead to the watcher; they only make system calls.
const STACK_BYTES: usize = 64 << 10;

/// Starts the watcher of a note. Returns whether there is one now.
pub fn start(note: &Path) -> bool {
    if env::var(settings::WATCH).is_ok_and(|wanted| !settings::is_on(Some(&wanted))) {
        return false;
    }
    if adopts() {
        return false;
    }
    let Some(program) = program() else { return false };
    let Ok(program) = CString::new(program.into_os_string().into_vec()) else { return false };
    let Ok(note) = CString::new(note.as_os_str().as_bytes()) else { return false };
    errno::kept(|| signals::not_cancelled(|| launch(&program, &note)))
}

/// Whether the watcher would become a child of this program, which may wait for all of its children: as process 1 of a container, or
/// where it asked for that.
fn adopts() -> bool {
    let mut is_asked: c_int = 0;
    // SAFETY: plain system calls; the place is of the right type.
    unsafe { libc::getpid() == 1 || libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut is_asked) == 0 && is_asked != 0 }
}

/// `through`, beside this library or in `../bin` of it.
fn program() -> Option<PathBuf> {
    let library = own_file()?;
    let beside = library.parent()?;
    let is_program = |path: &PathBuf| {
        // SAFETY: the path ends with a zero byte.
        CString::new(path.as_os_str().as_bytes())
            .is_ok_and(|name| path.is_file() && unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0)
    };
    ["through", "../bin/through"].iter().map(|name| beside.join(name)).find(is_program)
}

/// The file that this code was loaded from.
fn own_file() -> Option<PathBuf> {
    // SAFETY: plain data that the call fills; the name belongs to the loader and stays.
    unsafe {
        let mut facts: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own_file as *const c_void, &mut facts) == 0 || facts.dli_fname.is_null() {
            return None;
        }
        let name = OsStr::from_bytes(CStr::from_ptr(facts.dli_fname).to_bytes());
        Path::new(name).canonicalize().ok()
    }
}

/// What the two processes need, made before since they must not allocate.
struct Plan {
    program: *const c_char,
    arguments: [*const c_char; 4],
    environment: Vec<*const c_char>,
    second_stack: *mut c_void,
    /// Set by the process that could not become the watcher.
    has_failed: AtomicBool,
}

fn launch(program: &CStr, note: &CStr) -> bool {
    let kept = env::vars_os().filter(|(name, _)| is_kept(name));
    let variables: Vec<CString> = kept
        .filter_map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok())
        .collect();
    let mut environment: Vec<*const c_char> = variables.iter().map(|variable| variable.as_ptr()).collect();
    environment.push(ptr::null());
    // SAFETY: the stacks are new; the processes share this one's memory, but only until they have become another program or ended,
    // which clone waits for (CLONE_VFORK). No signal handler runs meanwhile: all signals are held back.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        let stacks = libc::mmap(ptr::null_mut(), 2 * STACK_BYTES, access, flags, -1, 0);
        if stacks == libc::MAP_FAILED {
            return false;
        }
        let mut plan = Plan {
            program: program.as_ptr(),
            arguments: [program.as_ptr(), c"watch".as_ptr(), note.as_ptr(), ptr::null()],
            environment,
            second_stack: stacks.byte_add(2 * STACK_BYTES),
            has_failed: AtomicBool::new(false),
        };
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        // No signal when it ends: a program's handler of SIGCHLD is not ours to call, and its wait() does not see such children.
        let child = libc::clone(lead, stacks.byte_add(STACK_BYTES), QUIETLY, (&raw mut plan).cast::<c_void>());
        let mut status = 0;
        let has_ended = child > 0 && libc::waitpid(child, &mut status, libc::__WCLONE) == child;
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        libc::munmap(stacks, 2 * STACK_BYTES);
        has_ended && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 && !plan.has_failed.into_inner()
    }
}

/// The signal at its end, which stands in the lowest byte, is none.
const QUIETLY: c_int = libc::CLONE_VM | libc::CLONE_VFORK;

/// The child: starts the watcher and ends, so that it is the parent of nobody.
extern "C" fn lead(plan: *mut c_void) -> c_int {
    // SAFETY: the rank waits, and its plan lives.
    unsafe {
        // Launchers end the processes of a session, terminals those of a group.
        libc::syscall(libc::SYS_setsid);
        let stack = (*plan.cast::<Plan>()).second_stack;
        let status = i32::from(libc::clone(become_watcher, stack, QUIETLY, plan) < 0);
        libc::syscall(libc::SYS_exit_group, status);
        status
    }
}

extern "C" fn become_watcher(plan: *mut c_void) -> c_int {
    // SAFETY: as above; these are system calls, the program's descriptors and handlers are a copy. The C library's functions of these
    // names may be those of another tool in the program, which would write down in its memory what is done here.
    unsafe {
        let plan = &*plan.cast::<Plan>();
        // A launcher waits until all have closed the ends of its pipes.
        if libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32) != 0 {
            let mut limit: libc::rlimit = std::mem::zeroed();
            libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, ptr::null::<libc::rlimit>(), &raw mut limit);
            (0..limit.rlim_cur.min(1 << 16)).for_each(|descriptor| _ = libc::syscall(libc::SYS_close, descriptor));
        }
        for _ in 0..3 {
            libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/dev/null".as_ptr(), libc::O_RDWR, 0);
        }
        // A handler of the program's must not run here.
        let default = [0u64; KERNEL_ACTION_WORDS];
        let none = ptr::null_mut::<u64>();
        (1..=64).for_each(|signal| {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, size_of::<u64>());
        });
        // The watcher itself wants these; one that comes before it is there must not end it.
        let held_back = libc::SIGTERM.bit() | libc::SIGINT.bit() | libc::SIGHUP.bit() | libc::SIGQUIT.bit();
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const held_back, none, size_of::<u64>());
        libc::syscall(libc::SYS_execve, plan.program, plan.arguments.as_ptr(), plan.environment.as_ptr());
        // In the rank's memory, too.
        plan.has_failed.store(true, Ordering::Release);
        libc::syscall(libc::SYS_exit_group, 1);
        1
    }
}

/// The kernel's structure (handler, flags, restorer where there is one, mask), of which all zero is the default.
const KERNEL_ACTION_WORDS: usize = 4;

trait Bit {
    /// In the kernel's set of signals.
    fn bit(self) -> u64;
}

impl Bit for c_int {
    fn bit(self) -> u64 {
        1 << (self - 1)
    }
}

/// It is no part of the program: what is preloaded into that, and its settings, are none of it.
fn is_kept(name: &OsStr) -> bool {
    !name.as_bytes().starts_with(b"LD_")
}
