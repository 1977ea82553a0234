//! Who joins what several processes left: a file whose lock a living process holds. The kernel gives the lock up when the process
//! ends, however it ends, so nobody has to wait for one that was killed meanwhile.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::locks;
use crate::access;

/// Others may take a claim and give it back between two of our system calls; so often in a row nobody does.
const TRIES: u32 = 100;

/// A claim that this process holds. It is given back, and its file removed, when it is dropped.
pub struct Claim {
    path: PathBuf,
    /// The lock goes with it.
    _file: File,
}

impl Claim {
    /// Takes a claim; `None` while a living process holds it, or where no file can be made. What a dead one left is taken over.
    pub fn take(path: &Path) -> Option<Claim> {
        for _ in 0..TRIES {
            let (file, is_new) = match open(path, true) {
                Ok(file) => (file, true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => match open(path, false) {
                    Ok(file) => (file, false),
                    // Given back just now.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(_) => return None,
                },
                Err(_) => return None,
            };
            match locks::take(file.as_raw_fd()) {
                Ok(true) if is_named(&file, path) => {}
                // Its holder gave it back, and removed it, after it was opened here.
                Ok(true) => continue,
                Ok(false) => return None,
                // Some file systems have no locks: there whoever makes the file has the claim, and a dead one keeps it.
                Err(_) if is_new => {}
                Err(_) => return None,
            }
            return Some(Claim { path: path.to_owned(), _file: file });
        }
        None
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The name goes before the lock, so that nobody takes over a file that is about to be removed.
        let _ = fs::remove_file(&self.path);
    }
}

/// No symbolic link is followed, and no pipe waited for: directories of shards are everybody's.
fn open(path: &Path, is_new: bool) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    access::open(OpenOptions::new().write(true).create_new(is_new).mode(0o600).custom_flags(flags), path)
}

/// Whether the file still has this name.
fn is_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(own), Ok(named)) => (own.dev(), own.ino()) == (named.dev(), named.ino()),
        (_, Err(error)) => error.kind() != ErrorKind::NotFound,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::Mutex;
    use std::{env, thread};

    use super::super::locks::is_held;
    use super::*;

    /// Takes the claim that the environment names, says so and waits: a part of the next test.
    #[test]
    fn holder() {
        let Some(path) = env::var_os("COMMSEE_TEST_CLAIM") else { return };
        let _claim = Claim::take(Path::new(&path)).expect("nobody else has it");
        fs::write(Path::new(&path).with_extension("taken"), "").unwrap();
        io::Read::read(&mut io::stdin(), &mut [0]).unwrap();
        panic!("killed before");
    }

    #[test]
    fn the_claim_of_a_killed_process_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.claim");
        let mut command = Command::new(env::current_exe().unwrap());
        let holder = module_path!().split_once("::").unwrap().1.to_owned() + "::holder";
        command.args(["--exact", &holder]).env("COMMSEE_TEST_CLAIM", &path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        while !path.with_extension("taken").exists() {
            assert!(child.try_wait().unwrap().is_none());
            thread::yield_now();
        }
        assert!(Claim::take(&path).is_none(), "a living process has it");
        assert_eq!(is_held(&path), Some(true));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(path.exists(), "its file stays");
        assert_eq!(is_held(&path), Some(false));
        let claim = Claim::take(&path).expect("its holder is dead");
        assert_eq!(is_held(&path), Some(true));
        assert!(Claim::take(&path).is_none());
        drop(claim);
        assert!(!path.exists());
    }

    #[test]
    fn one_at_a_time_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.claim");
        let inside = Mutex::new(());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        if let Some(claim) = Claim::take(&path) {
                            let alone = inside.try_lock().expect("one at a time");
                            assert!(path.exists());
                            drop((alone, claim));
                        }
                    }
                });
            }
        });
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_file_of_ours_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.claim");
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(Claim::take(&path).is_none() && is_held(&path).is_none());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(Claim::take(&path).is_none());
        assert!(Claim::take(&folder.path().join("missing/a.claim")).is_none());
    }
}
