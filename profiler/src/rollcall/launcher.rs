//! Which process started this one, and what it told it.

use std::env;
use std::mem::MaybeUninit;

use vocabulary::host::boot;

/// The process of the launcher that started this one and its siblings. There may be shells and scripts in between; the
/// nearest one counts, since launchers start launchers.
pub struct Launcher {
    pub pid: u32,
    /// Its child that became this process, or started it.
    pub child: u32,
    pub kind: Kind,
    /// None of the processes above is a launcher's.
    pub is_hidden: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Hydra,
    /// Open MPI's ORTE and PRRTE.
    OpenMpi,
    Slurm,
    Other,
}

const LAUNCHERS: [(&str, Kind); 9] = [
    ("hydra_", Kind::Hydra),
    ("pmi_proxy", Kind::Hydra),
    ("orted", Kind::OpenMpi),
    ("prte", Kind::OpenMpi),
    ("mpirun", Kind::OpenMpi),
    ("mpiexec", Kind::OpenMpi),
    ("slurmstepd", Kind::Slurm),
    ("palsd", Kind::Other),
    ("flux-shell", Kind::Other),
];

pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

pub fn launcher() -> Launcher {
    let parent = std::os::unix::process::parent_id();
    let (mut ancestor, mut child) = (parent, std::process::id());
    while ancestor > 1 {
        let Some((name, next)) = name_and_parent(ancestor) else { break };
        if let Some((_, kind)) = LAUNCHERS.iter().find(|(known, _)| name.starts_with(known)) {
            return Launcher { pid: ancestor, child, kind: *kind, is_hidden: false };
        }
        (child, ancestor) = (ancestor, next);
    }
    let kind = if hydra_socket().is_some() { Kind::Hydra } else { Kind::Other };
    Launcher { pid: parent, child: std::process::id(), kind, is_hidden: true }
}

impl Launcher {
    /// What only this launcher's processes on this machine share, where it is hidden: a container has processes of its own, or was started by
    /// a daemon. Of MPICH's proxy that is the port that it was told to offer, or its socket to `mpiexec`.
    pub fn shared(&self) -> Option<String> {
        if !self.is_hidden {
            return None;
        }
        let socket = hydra_socket()?;
        if let Some(port) = variable("PMI_PORT") {
            return Some(port);
        }
        let mut known = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: fills the place where it succeeds.
        let known = unsafe { (libc::fstat(socket, known.as_mut_ptr()) == 0).then(|| known.assume_init()) }?;
        (known.st_mode & libc::S_IFMT == libc::S_IFSOCK).then(|| format!("{}\n{:x?}", known.st_ino, boot()))
    }
}

/// The descriptor that MPICH's proxy talks to `mpiexec` by, which its processes inherit.
fn hydra_socket() -> Option<libc::c_int> {
    variable("HYDI_CONTROL_FD")?.parse().ok()
}

/// From `/proc/PID/stat`: the second field is the name in parentheses, the fourth the parent.
pub fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let parent = stat.get(close + 2..)?.split(' ').nth(1)?.parse().ok()?;
    Some((stat.get(open + 1..close)?.to_owned(), parent))
}

/// From a file of `/proc/PID` in which each word ends with a zero byte.
pub fn words(pid: u32, file: &str) -> Option<Vec<String>> {
    let words = std::fs::read(format!("/proc/{pid}/{file}")).ok()?;
    Some(words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}
