//! What the hosts of a job tell each other, where no memory is shared: a note of each in a directory beside the wanted profile, which
//! all of them see if they share a file system. Whoever sees the notes of all ranks decides, by a link that can be made
//! only once; a note and a link appear whole or not at all.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use vocabulary::ranks::Ranks;

use super::Verdict;

/// The link's name; what it points to is the decision.
const DECISION: &str = "decision";
const ALL: &str = "all";
const SOME: &str = "some";
/// How the note of a host ends: its ranks record, or their shards lie in this directory now.
const RECORDS: &str = "records";
const BROUGHT: &str = "brought";

/// File systems between hosts, by the number that `statfs` gives: NFS, Lustre, GPFS, BeeGFS, Ceph, SMB, PanFS, AFS, OrangeFS, FUSE.
const BETWEEN_HOSTS: [u32; 10] = [
    0x6969,
    0x0bd0_0bd0,
    0x4750_4653,
    0x1983_0326,
    0x00c3_6400,
    0xff53_4d42,
    0xaad7_aaea,
    0x5346_414f,
    0x2003_0528,
    0x6573_5546,
];
/// Memory of one host: tmpfs, ramfs.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Of several directories the one that other hosts most likely see as well; the first if all are alike.
pub fn most_shared(directories: &[PathBuf]) -> Option<&PathBuf> {
    directories.iter().min_by_key(|directory| match file_system(directory) {
        Some(kind) if BETWEEN_HOSTS.contains(&kind) => 0,
        Some(kind) if !IN_MEMORY.contains(&kind) => 1,
        _ => 2,
    })
}

fn file_system(directory: &Path) -> Option<u32> {
    let path = CString::new(directory.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends with a zero byte; the structure is plain data that the call fills.
    unsafe {
        let mut facts: libc::statfs = std::mem::zeroed();
        (libc::statfs(path.as_ptr(), &mut facts) == 0).then_some(facts.f_type as u32)
    }
}

pub struct Hosts {
    directory: PathBuf,
}

impl Hosts {
    /// `directories`: any of them may be one that other hosts see.
    pub fn new(directories: &[PathBuf], run: &str) -> Hosts {
        let shared = most_shared(directories).map(PathBuf::as_path).unwrap_or(Path::new("."));
        Hosts { directory: shared.join(format!(".commsee-{run}")) }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn note(&self, rank: u32, kind: &str) -> PathBuf {
        self.directory.join(format!("{rank}.{kind}"))
    }

    /// Tells the others the ranks of this host. Returns the rank that the note is called after.
    pub fn tell(&self, present: &[u32]) -> io::Result<u32> {
        let first = *present.first().ok_or(io::ErrorKind::NotFound)?;
        match fs::DirBuilder::new().mode(0o700).create(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let aside = self.note(first, &format!("{}.part", std::process::id()));
        let written = (|| {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
            write!(file, "{}", present.iter().copied().collect::<Ranks>())?;
            file.sync_all()?;
            fs::rename(&aside, self.note(first, RECORDS))
        })();
        written.inspect_err(|_| _ = fs::remove_file(&aside)).map(|()| first)
    }

    /// What was decided.
    pub fn verdict(&self) -> Option<Verdict> {
        let decided = fs::read_link(self.directory.join(DECISION)).ok()?;
        Some(if decided == Path::new(ALL) { Verdict::All } else { Verdict::Some })
    }

    /// Decides, if nobody has yet, and returns what is decided. `told`: the rank under which this host's note stands.
    pub fn decide(&self, verdict: Verdict, told: Option<u32>) -> Verdict {
        let target = if verdict == Verdict::All { ALL } else { SOME };
        if symlink(target, self.directory.join(DECISION)).is_ok() {
            return verdict;
        }
        self.verdict().unwrap_or_else(|| {
            // Nothing can be decided from here. Without this host's note nobody else finds all.
            told.iter().for_each(|rank| _ = fs::remove_file(self.note(*rank, RECORDS)));
            self.verdict().unwrap_or(Verdict::Some)
        })
    }

    /// How many ranks have told that they record.
    pub fn count(&self) -> u64 {
        // A file server's client believes its own changes at once: after one it asks again for what is in the directory.
        let fresh = self.directory.join(format!("{}.look", std::process::id()));
        let _ = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh);
        let _ = fs::remove_file(&fresh);
        let notes = self.notes(RECORDS);
        notes.iter().filter_map(|note| Some(Ranks::read(&fs::read_to_string(note).ok()?).count())).sum()
    }

    fn notes(&self, kind: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.filter(|path| path.extension().is_some_and(|extension| extension == kind)).collect()
    }

    /// The shards of this host lie in the directory now. Returns whether those of all hosts do that told anything, and it is for
    /// this process to make the profile.
    pub fn brought(&self, told: Option<u32>) -> bool {
        let is_told = told.is_some_and(|rank| fs::rename(self.note(rank, RECORDS), self.note(rank, BROUGHT)).is_ok());
        // Who removes the link is the only one to do so.
        is_told && self.notes(RECORDS).is_empty() && fs::remove_file(self.directory.join(DECISION)).is_ok()
    }

    /// Removes all of it.
    pub fn remove(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten() {
            let _ = fs::remove_file(entry.path());
        }
        let _ = fs::remove_dir(&self.directory);
    }
}
