//! Locks of files that say who lives: the kernel gives them up with the process, however it ends. They belong to an open file
//! description (fcntl(2), "Open file description locks"): one is not given up when the program closes some other descriptor of
//! the file, and stays while anything refers to the description, be it a mapping alone.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Who sees the locks of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// One kernel has it, and so all who use it.
    Local,
    /// Several kernels, and all of them see them.
    Hosts,
    /// Perhaps several kernels, each with locks of its own.
    Doubtful,
}

/// File systems of one kernel, by the number that `statfs` gives: tmpfs, ramfs, ext2 to ext4, XFS, Btrfs, ZFS, overlay, F2FS, bcachefs,
/// JFS, ReiserFS, NILFS2. What is not known may be shared.
const LOCAL: [u32; 12] = [
    0x0102_1994,
    0x8584_58f6,
    0x0000_ef53,
    0x5846_5342,
    0x9123_683e,
    0x2fc1_2fc1,
    0x794c_7630,
    0xf2f5_2010,
    0xca45_1a4e,
    0x3153_464a,
    0x5265_4973,
    0x0000_3434,
];

/// Takes the lock of an open file; whether it is ours now. Goes on while the open file description does.
pub fn take(file: RawFd) -> io::Result<bool> {
    // SAFETY: the structure is filled in; a number that is no descriptor is refused.
    match unsafe { libc::fcntl(file, libc::F_OFD_SETLK, &whole_file()) } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            error => Err(error),
        },
    }
}

/// Whether somebody holds the lock of a file; `None` where that cannot be told.
pub fn is_held(path: &Path) -> Option<bool> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut query = whole_file();
    // SAFETY: the descriptor is open, and the structure filled in.
    let is_known = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut query) } == 0;
    is_known.then_some(query.l_type != libc::F_UNLCK as libc::c_short)
}

fn whole_file() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        // Of these locks it must be 0.
        l_pid: 0,
    }
}

/// Who sees the locks of files in a directory. One system call on a file system of one kernel.
pub fn reach(directory: &Path) -> Reach {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    if kind(directory).is_some_and(|kind| LOCAL.contains(&kind)) {
        return Reach::Local;
    }
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    directory.canonicalize().map_or(Reach::Doubtful, |directory| between_hosts(&mounts, &directory))
}

fn kind(directory: &Path) -> Option<u32> {
    let path = CString::new(directory.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends with a zero byte; the structure is plain data that the call fills.
    unsafe {
        let mut facts: libc::statfs = std::mem::zeroed();
        (libc::statfs(path.as_ptr(), &mut facts) == 0).then_some(facts.f_type as u32)
    }
}

/// What the mount says that holds a path, in the lines of proc_pid_mountinfo(5): the longest mount point, the latest of equal ones.
fn between_hosts(mounts: &[u8], path: &Path) -> Reach {
    let mut found = (0, Reach::Doubtful);
    for line in mounts.split(|byte| *byte == b'\n') {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let end = words.iter().position(|word| *word == b"-").unwrap_or(words.len());
        let (Some(point), Some(kind)) = (words.get(4), words.get(end + 1)) else { continue };
        let options = words.get(end + 3).copied().unwrap_or_default();
        let point = unescaped(point);
        let length = point.as_os_str().len();
        if path.starts_with(&point) && length >= found.0 {
            let options: Vec<&[u8]> = options.split(|byte| *byte == b',').collect();
            found = (length, if is_seen_by_all(kind, &options) { Reach::Hosts } else { Reach::Doubtful });
        }
    }
    found.1
}

/// Whether the locks of fcntl(2) hold between hosts: nfs(5), mount.lustre(8), gfs2(5); on GPFS and CephFS they always do. FUSE, SMB, BeeGFS and
/// what virtual machines share with their host may keep them for themselves, and do not say whether they do.
fn is_seen_by_all(kind: &[u8], options: &[&[u8]]) -> bool {
    let says = |option: &[u8]| options.contains(&option);
    match kind {
        b"nfs" | b"nfs4" => !(says(b"nolock") || says(b"local_lock=all") || says(b"local_lock=posix")),
        b"lustre" => says(b"flock") && !says(b"localflock"),
        b"gfs2" => !says(b"localflocks"),
        b"gpfs" | b"ceph" => true,
        _ => false,
    }
}

/// Blanks and the like stand there as `\040`.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
30 22 0:40 / /home rw shared:2 - nfs4 server:/home rw,vers=4.2,local_lock=none,addr=10.0.0.1\n\
31 22 0:41 / /old rw - nfs server:/old rw,vers=3,nolock,local_lock=all\n\
32 22 0:42 / /mine rw - nfs server:/mine rw,vers=3,local_lock=posix\n\
33 22 0:43 / /flocks rw - nfs server:/flocks rw,vers=3,local_lock=flock\n\
34 22 0:44 / /lustre rw - lustre mgs:/fs rw,flock,user_xattr\n\
35 34 0:45 / /lustre/one rw - lustre mgs:/one rw,localflock\n\
36 34 0:46 / /lustre/none rw - lustre mgs:/none rw\n\
37 22 0:47 / /gpfs\\040a rw - gpfs gpfs rw\n\
38 22 0:48 / /ceph rw - ceph mon:/ rw\n\
39 22 0:49 / /sshfs rw - fuse.sshfs host: rw\n\
40 30 0:50 / /home/over rw - beegfs beegfs rw\n\
41 40 0:51 / /home/over rw - nfs4 server:/over rw\n";

    #[test]
    fn the_mount_that_holds_a_path_tells_who_sees_its_locks() {
        let expected = [
            ("/home/me/run", Reach::Hosts),
            ("/home", Reach::Hosts),
            ("/homely", Reach::Doubtful),
            ("/old/a", Reach::Doubtful),
            ("/mine/a", Reach::Doubtful),
            ("/flocks/a", Reach::Hosts),
            ("/lustre/a", Reach::Hosts),
            ("/lustre/one/a", Reach::Doubtful),
            ("/lustre/none/a", Reach::Doubtful),
            ("/gpfs a/b", Reach::Hosts),
            ("/gpfs", Reach::Doubtful),
            ("/ceph/a", Reach::Hosts),
            ("/sshfs/a", Reach::Doubtful),
            ("/home/over/a", Reach::Hosts),
        ];
        for (path, reach) in expected {
            assert_eq!(between_hosts(MOUNTS, Path::new(path)), reach, "{path}");
        }
        assert_eq!(between_hosts(b"", Path::new("/home")), Reach::Doubtful);
    }

    #[test]
    fn directories_of_one_kernel_are_known() {
        assert_eq!(reach(Path::new("/dev/shm")), Reach::Local);
        assert_eq!(reach(Path::new("/proc")), Reach::Doubtful);
        assert_eq!(reach(Path::new("/missing")), Reach::Doubtful);
    }
}
