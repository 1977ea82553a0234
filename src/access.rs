//! New files and folders are their owner's, whatever the umask says. The umask belongs to the program and all of its threads, so it is not
//! changed: what it took from the owner is given back afterwards.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// What the owner of a file needs.
pub const READ_AND_WRITE: u32 = 0o600;
/// What the owner of a folder needs.
pub const ALL: u32 = 0o700;

/// Opens a file that may be new.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path)?;
    grant(file.as_raw_fd());
    Ok(file)
}

/// Writes a whole file.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    open(OpenOptions::new().write(true).create(true).truncate(true), path)?.write_all(content)
}

/// Makes a folder.
pub fn folder(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    grant_by_name(path, ALL);
    Ok(())
}

/// Makes a folder and those above it that are missing.
pub fn folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), folders)?;
    match folder(path, 0o777) {
        Err(_) if path.is_dir() => Ok(()),
        made => made,
    }
}

/// Lets the owner of an open file read and write it. File systems that cannot keep this do not forbid it either.
pub fn grant(file: RawFd) {
    // SAFETY: plain data that the call fills; a number that is no descriptor is refused.
    unsafe {
        let mut facts: libc::stat = std::mem::zeroed();
        if libc::fstat(file, &mut facts) == 0 && facts.st_mode & READ_AND_WRITE != READ_AND_WRITE {
            libc::fchmod(file, facts.st_mode & 0o7777 | READ_AND_WRITE);
        }
    }
}

/// The same by name, also where the process that made it has not come to that yet. What is somebody else's the system refuses, and no
/// symbolic link is followed.
pub fn grant_by_name(path: &Path, needed: u32) {
    let Ok(mode) = fs::symlink_metadata(path).map(|facts| facts.permissions().mode() & 0o7777) else { return };
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
    if mode & needed != needed {
        // SAFETY: the path ends with a zero byte.
        unsafe { libc::fchmodat(libc::AT_FDCWD, path.as_ptr(), mode | needed, libc::AT_SYMLINK_NOFOLLOW) };
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Makes one of each in the folder that the environment names: a part of the next test, in a process of its own because the umask
    /// is all threads'.
    #[test]
    fn maker() {
        let Some(place) = std::env::var_os("COMMSEE_TEST_ACCESS") else { return };
        let place = Path::new(&place);
        // SAFETY: changes this process alone.
        unsafe { libc::umask(0o777) };
        folders(&place.join("a/b")).unwrap();
        write(&place.join("a/b/c"), b"told").unwrap();
        folders(&place.join("a/b")).unwrap();
    }

    #[test]
    fn the_owner_may_read_what_the_umask_forbids() {
        let place = tempfile::tempdir().unwrap();
        let maker = module_path!().split_once("::").unwrap().1.to_owned() + "::maker";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &maker]).env("COMMSEE_TEST_ACCESS", place.path());
        assert!(command.output().unwrap().status.success());
        for (name, expected) in [("a", 0o700), ("a/b", 0o700), ("a/b/c", 0o600)] {
            let mode = fs::metadata(place.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, expected, "{name}");
        }
    }
}
