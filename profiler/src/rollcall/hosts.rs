//! What the hosts of a job tell each other, where no memory is shared: files in a folder beside the wanted profile, which
//! all of them see if they share a file system. Whoever sees that all ranks record decides, by a link that can be made
//! only once; a file and a link appear whole or not at all. The folder tells those who come after the job, too, which hosts it was on
//! (`vocabulary::profile::hosts`).

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use vocabulary::profile::Claim;
pub use vocabulary::profile::hosts::JOINED;
use vocabulary::profile::hosts::{Folder, RECORDS};
use vocabulary::ranks::Ranks;

use super::verdict::Verdict;

/// The link's name; what it points to is the decision.
const DECISION: &str = "decision";
const ALL: &str = "all";
const SOME: &str = "some";

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
    // That of the root is each container's own, of whatever kind: Podman makes it by FUSE.
    let is_root = |directory: &Path| device(directory).is_some_and(|own| device(Path::new("/")) == Some(own));
    directories.iter().min_by_key(|directory| match file_system(directory) {
        Some(kind) if BETWEEN_HOSTS.contains(&kind) && !is_root(directory) => 0,
        Some(kind) if !IN_MEMORY.contains(&kind) => 1,
        _ => 2,
    })
}

fn device(directory: &Path) -> Option<u64> {
    Some(fs::metadata(directory).ok()?.dev())
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
    folder: Folder,
}

impl Hosts {
    /// `directories`: any of them may be one that other hosts see.
    pub fn new(directories: &[PathBuf], run: &str, kind: &str) -> Hosts {
        let shared = most_shared(directories).map(PathBuf::as_path).unwrap_or(Path::new("."));
        Hosts { folder: Folder::new(shared, run, kind) }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The name tells how many ranks, so that nobody has to open thousands of files.
    fn records(first: u32, count: usize) -> String {
        format!("{first}-{count}.{RECORDS}")
    }

    /// Tells the others that more ranks of this host record, now all of `present`. Returns the rank that the file is called after.
    pub fn tell(&self, more: &[u32], present: &[u32]) -> io::Result<u32> {
        let first = *more.first().ok_or(io::ErrorKind::NotFound)?;
        let ranks = present.iter().copied().collect::<Ranks>().to_string();
        self.folder.write(&Hosts::records(first, more.len()), ranks.as_bytes())?;
        Ok(first)
    }

    /// What was decided.
    pub fn verdict(&self) -> Option<Verdict> {
        let decided = fs::read_link(self.folder.path().join(DECISION)).ok()?;
        Some(if decided == Path::new(ALL) { Verdict::All } else { Verdict::Some })
    }

    /// Decides, if nobody has yet, and returns what is decided. `told`: the rank that this host told under.
    pub fn decide(&self, verdict: Verdict, told: Option<u32>) -> Verdict {
        let target = if verdict == Verdict::All { ALL } else { SOME };
        if symlink(target, self.folder.path().join(DECISION)).is_ok() {
            return verdict;
        }
        // Nobody finds all without what this host tells. A link that says so is none of ours: the folder may be somebody else's.
        let Some(told) = told else { return Verdict::Some };
        self.verdict().unwrap_or_else(|| {
            // Nothing can be decided from here.
            let prefix = format!("{told}-");
            let is_own =
                |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
            self.folder.files(&[RECORDS]).iter().filter(|path| is_own(path)).for_each(|path| _ = fs::remove_file(path));
            self.verdict().unwrap_or(Verdict::Some)
        })
    }

    /// How many ranks have told that they record.
    pub fn count(&self) -> u64 {
        self.folder.look_again();
        let ranks = |path: &PathBuf| path.file_stem()?.to_str()?.split_once('-')?.1.parse::<u64>().ok();
        self.folder.files(&[RECORDS]).iter().filter_map(ranks).sum()
    }

    /// The shards of this host, of which this rank told, lie in the folder now. Returns the claim to make the profile if those of all hosts
    /// do, and nobody else makes it.
    pub fn carried(&self, opener: u32) -> Option<Claim> {
        Folder::set_carried(&self.folder.note(opener)).ok()?;
        self.folder.look_again();
        if self.folder.waiting_notes().is_empty() { self.folder.claim() } else { None }
    }

    /// All hosts know the verdict: takes away what this one told for it, and the verdict, so that a next program under the same
    /// launcher finds neither. Its note stays for those who come after the job, if it does not end well from here on.
    pub fn settle(&self, present: &[u32]) {
        self.take_back(present);
        if present.contains(&0) {
            let _ = fs::remove_file(self.folder.path().join(DECISION));
        }
        self.folder.remove_if_empty();
    }

    /// Removes what tells of these ranks, in one part or in several.
    fn take_back(&self, present: &[u32]) {
        let Some(first) = present.first() else { return };
        if fs::remove_file(self.folder.path().join(Hosts::records(*first, present.len()))).is_ok() {
            return;
        }
        let first = |path: &PathBuf| path.file_stem()?.to_str()?.split_once('-')?.0.parse::<u32>().ok();
        let is_own = |path: &&PathBuf| first(path).is_some_and(|first| present.contains(&first));
        self.folder.files(&[RECORDS]).iter().filter(is_own).for_each(|path| _ = fs::remove_file(path));
    }

    /// The profile is made: removes the note, and the last host the folder.
    pub fn forget(&self, opener: u32) {
        let _ = fs::remove_file(self.folder.note(opener));
        self.folder.remove_if_empty();
    }

    /// Removes all of it.
    pub fn remove(&self) {
        self.folder.remove();
    }
}
