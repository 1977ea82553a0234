//! Where a profile is written: aside under a name of its own, and under the wanted name only when it is whole. What
//! stands there already is never touched; the next free name is taken instead.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::access;

/// A file that is being written for a wanted name.
pub struct Reserved {
    wanted: PathBuf,
    aside: PathBuf,
}

impl Reserved {
    /// Creates the file aside, in the directory of the wanted name, readable by others as the umask says.
    pub fn create(wanted: &Path) -> io::Result<Reserved> {
        let name = wanted.file_name().ok_or_else(|| io::Error::other("the name of a file is missing"))?;
        // A number behind the name of a device would be a file among devices.
        if fs::metadata(wanted).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::other("it exists and is not a regular file"));
        }
        for attempt in 0..1000 {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{attempt}.part", std::process::id()));
            let aside = wanted.with_file_name(hidden);
            match access::open(OpenOptions::new().write(true).create_new(true).mode(0o666), &aside) {
                Ok(_) => return Ok(Reserved { wanted: wanted.to_owned(), aside }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no free name for a temporary file"))
    }

    /// The file to write into.
    pub fn aside(&self) -> &Path {
        &self.aside
    }

    /// Gives the whole file its name: the wanted one, else `NAME-1`, `NAME-2`, …; not one before number `first`. Returns the name taken.
    pub fn publish(self, first: u32) -> io::Result<PathBuf> {
        fs::File::open(&self.aside)?.sync_all()?;
        for number in first..10_000 {
            let name = numbered(&self.wanted, number);
            match link_new(&self.aside, &name) {
                Ok(()) => return Ok(name),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("the wanted name and 9999 numbered ones are taken"))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // After `publish` the name is gone already; otherwise nothing half-written stays behind.
        let _ = fs::remove_file(&self.aside);
    }
}

/// `run.db`, `run-1.db`, `run-2.db`, …
pub fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Renames without ever replacing: by `renameat2`, by a hard link where the file system knows no such rename or a sandbox forbids
/// it (with whatever error it likes), and where neither can be by claiming the name first.
fn link_new(from: &Path, to: &Path) -> io::Result<()> {
    let c_path = |path: &Path| std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (source, target) = (c_path(from)?, c_path(to)?);
    let (here, flags) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
    // By its number: C libraries before 2.28 have no function for it.
    // SAFETY: both are strings that end with a zero byte and outlive the call.
    let renamed = unsafe { libc::syscall(libc::SYS_renameat2, here, source.as_ptr(), here, target.as_ptr(), flags) };
    if renamed == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Err(error);
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).open(to)?;
            fs::rename(from, to).inspect_err(|_| _ = fs::remove_file(to))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = folder.path().join("run.db");
        for (number, content) in ["first", "second", "third"].iter().enumerate() {
            let place = Reserved::create(&wanted).unwrap();
            fs::write(place.aside(), content).unwrap();
            assert_eq!(place.publish(0).unwrap(), numbered(&wanted, number as u32));
        }
        assert_eq!(fs::read_to_string(&wanted).unwrap(), "first");
        assert_eq!(fs::read_to_string(folder.path().join("run-2.db")).unwrap(), "third");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn nothing_stays_of_a_file_that_was_given_up() {
        let folder = tempfile::tempdir().unwrap();
        drop(Reserved::create(&folder.path().join("run.db")).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Reserved::create(&folder.path().join("missing/run.db")).is_err());
    }

    #[test]
    fn no_file_is_made_beside_what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Reserved::create(folder.path()).is_err());
        assert!(Reserved::create(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn numbers_go_before_the_extension() {
        assert_eq!(numbered(Path::new("/a/run.x.db"), 2), Path::new("/a/run.x-2.db"));
        assert_eq!(numbered(Path::new("run"), 1), Path::new("run-1"));
    }
}
