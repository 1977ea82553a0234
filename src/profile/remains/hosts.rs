//! What the hosts of a job leave where all of them see it, for whoever comes after a job that did not end well. Each host has a note in
//! the folder of the job: which host it is, and where its ranks have their shards. When these have been carried into the folder the note
//! is renamed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::recover::{Run, find as find_runs};
use crate::access;
use crate::ranks::Ranks;
use crate::shard::read_file;

/// How the names of notes end: shards are on the host, or in the folder.
const HOST: &str = "host";
const CARRIED: &str = "carried";
/// The ranks of a host that record: what hosts agree on before they send messages.
pub const RECORDS: &str = "records";
/// What joins the shards in a folder holds this file.
const CLAIM: &str = "profile.claim";
/// The kind of folder in which hosts tell notes.
pub const JOINED: &str = "joined";

/// The profile that was made of a folder whose hosts did not all carry.
const MADE: &str = "profile";

/// Which ranks a profile has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub path: PathBuf,
    pub ranks: String,
}

/// What a host tells at the start of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// 32 hexadecimal digits.
    pub run: String,
    /// `COMMSEE_LAUNCH`, or nothing.
    pub launch: String,
    /// Name of the host.
    pub host: String,
    /// World rank of the process that tells it.
    pub rank: u32,
    /// Ranks of the job, and of it on this host where the launcher says that.
    pub world_size: u32,
    pub local_ranks: Option<u32>,
    /// Where shards may lie on this host.
    pub directories: Vec<PathBuf>,
    /// The file in which the ranks of this host find each other, on this host.
    pub roll: Option<PathBuf>,
    /// Name of the profile.
    pub wanted: PathBuf,
    pub command: String,
    pub started_unix_ns: u64,
    /// Slurm's number of the job, by which its hosts can be reached.
    pub slurm_job: Option<String>,
}

impl Note {
    /// [`Note::roll`], if that is what it says.
    pub fn own_roll(&self) -> Option<&Path> {
        let name = self.roll.as_deref()?.file_name()?.to_str()?;
        let is_roll =
            self.run.len() == 32 && name.starts_with(&format!("commsee-{}-", self.run)) && !name.ends_with(".shard");
        self.roll.as_deref().filter(|_| is_roll)
    }
}

/// A note as it lies in a folder.
pub struct Told {
    pub note: Note,
    pub path: PathBuf,
}

/// The folder of a job, hidden beside its profile or wherever its hosts all see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder(PathBuf);

impl Folder {
    /// `run`: 32 hexadecimal digits; `kind` tells several folders of a job apart, [`JOINED`] is that of the notes.
    pub fn new(parent: &Path, run: &str, kind: &str) -> Folder {
        Folder(parent.join(format!(".commsee-{run}.{kind}")))
    }

    /// The folder that a note lies in.
    pub fn of_note(note: &Path) -> Option<Folder> {
        note.parent().map(|folder| Folder(folder.to_owned()))
    }

    /// All folders in these directories that are this user's.
    pub fn find(directories: &[PathBuf]) -> Vec<Folder> {
        let entries = directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
        let mut folders: Vec<Folder> =
            entries.filter(|entry| is_folder(&entry.file_name())).map(|entry| Folder(entry.path())).collect();
        folders.retain(Folder::is_ours);
        folders.sort();
        folders.dedup();
        folders
    }

    /// The folder that shards lie in, if it is one.
    pub fn of_shard(shard: &Path) -> Option<Folder> {
        let folder = shard.parent()?;
        folder.file_name().is_some_and(is_folder).then(|| Folder(folder.to_owned()))
    }

    /// Notes name files to be removed and hosts to be reached: those of others are not believed, by root least of all.
    pub fn is_ours(&self) -> bool {
        // SAFETY: asks for a number.
        let user = unsafe { libc::geteuid() };
        fs::symlink_metadata(&self.0).is_ok_and(|facts| facts.is_dir() && facts.uid() == user)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn exists(&self) -> bool {
        self.0.is_dir()
    }

    pub fn make(&self) -> io::Result<()> {
        match access::folder(&self.0, 0o700) {
            // Whoever made it may not have come to its mode yet.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                access::grant_by_name(&self.0, access::ALL);
                Ok(())
            }
            made => made,
        }
    }

    /// Writes a file of the folder, which appears whole or not at all.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        self.make()?;
        let aside = self.0.join(format!("{name}.{}.part", std::process::id()));
        let path = self.0.join(name);
        let written = (|| {
            let mut file = self.create(&aside)?;
            file.write_all(content)?;
            // Not synced: closing a file is what other hosts see it by.
            drop(file);
            fs::rename(&aside, &path)
        })();
        written.inspect_err(|_| _ = fs::remove_file(&aside)).map(|()| path)
    }

    /// A new file. The folder may be in a directory where others can make folders of this name, with links in them.
    fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).custom_flags(NOT_FOLLOWED);
        let open = || access::open(&options, path);
        let file = match open() {
            // Of a process that died, and had the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(path).and_then(|()| open())?
            }
            opened => opened?,
        };
        let folder = fs::symlink_metadata(&self.0)?;
        // Compared with the new file: a file server may give both another owner than this user.
        if folder.is_dir() && folder.uid() == file.metadata()?.uid() {
            return Ok(file);
        }
        let _ = fs::remove_file(path);
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} belongs to another user", self.0.display())))
    }

    /// Tells of a host. Returns the note's file.
    pub fn tell(&self, note: &Note) -> io::Result<PathBuf> {
        let text = serde_json::to_vec_pretty(note)?;
        let path = self.note(note.rank);
        self.write(&path.file_name().unwrap_or_default().to_string_lossy(), &text)
    }

    /// The note of a host, by the rank that tells it.
    pub fn note(&self, rank: u32) -> PathBuf {
        self.0.join(format!("{rank}.{HOST}"))
    }

    /// What the hosts told. What cannot be read is passed over.
    pub fn told(&self) -> Vec<Told> {
        let mut all: Vec<Told> = self.files(&[HOST, CARRIED]).into_iter().filter_map(|path| read(&path)).collect();
        all.sort_by_key(|told| told.note.rank);
        all
    }

    /// The hosts that have not carried their shards yet.
    pub fn waiting(&self) -> Vec<Told> {
        let mut waiting: Vec<Told> = self.waiting_notes().iter().filter_map(|path| read(path)).collect();
        waiting.sort_by_key(|told| told.note.rank);
        waiting
    }

    /// Their notes, by name alone.
    pub fn waiting_notes(&self) -> Vec<PathBuf> {
        self.files(&[HOST])
    }

    /// The ranks of a host that record, if it told them to the other hosts.
    pub fn ranks_of(&self, note: &Note) -> Option<Ranks> {
        let told = self.files(&[RECORDS]).into_iter().filter_map(|file| fs::read_to_string(file).ok());
        // One that told more than once has told of more each time.
        let of_host = told.map(|text| Ranks::read(&text)).filter(|ranks| ranks.contains(note.rank));
        of_host.max_by_key(Ranks::count)
    }

    /// Files by the ends of their names.
    pub fn files(&self, ends: &[&str]) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        let has_end = |path: &PathBuf| path.extension().is_some_and(|end| ends.iter().any(|known| *known == end));
        entries.filter(has_end).collect()
    }

    /// A file server's client believes its own changes at once: after one it asks again for what is in the folder.
    pub fn look_again(&self) {
        let fresh = self.0.join(format!("{}.look", std::process::id()));
        if self.create(&fresh).is_ok() {
            let _ = fs::remove_file(&fresh);
        }
    }

    /// Moves a shard into the folder, as far as it is in use.
    pub fn carry(&self, shard: &Path) -> io::Result<()> {
        let name = shard.file_name().and_then(OsStr::to_str).ok_or(io::ErrorKind::InvalidInput)?;
        self.write(name, &read_file(shard)?)?;
        fs::remove_file(shard)
    }

    /// Whether the folder has a copy of this shard.
    pub fn has(&self, shard: &OsStr) -> bool {
        self.0.join(shard).exists()
    }

    /// The shards of this host lie in the folder now.
    pub fn set_carried(note: &Path) -> io::Result<()> {
        fs::rename(note, note.with_extension(CARRIED))
    }

    /// For whoever makes the profile; nobody else does meanwhile.
    pub fn claim(&self) -> Option<Claim> {
        Claim::take(&self.claim_path())
    }

    pub fn claim_path(&self) -> PathBuf {
        self.0.join(CLAIM)
    }

    /// The profile that was made of what had been carried.
    pub fn made(&self) -> Option<Made> {
        serde_json::from_slice(&fs::read(self.0.join(MADE)).ok()?).ok()
    }

    pub fn set_made(&self, made: &Made) -> io::Result<()> {
        self.write(MADE, &serde_json::to_vec(made)?).map(|_| ())
    }

    /// What was carried here.
    pub fn run(&self) -> Option<Run> {
        find_runs(std::slice::from_ref(&self.0)).into_iter().max_by_key(|run| run.shards.len())
    }

    /// Where the profile goes: under its wanted name, and into the folder's own directory if the wanted one may be another on each host.
    pub fn wanted(&self) -> Option<PathBuf> {
        let wanted = self.told().into_iter().next()?.note.wanted;
        let here = self.0.parent()?;
        Some(if wanted.parent() == Some(here) { wanted } else { here.join(wanted.file_name()?) })
    }

    /// Removes the folder with all that is in it.
    pub fn remove(&self) {
        let claim = self.claim_path();
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| *path != claim).for_each(|path| _ = fs::remove_file(path));
        // Last: whoever takes it finds nothing to make a profile of.
        let _ = fs::remove_file(claim);
        self.remove_if_empty();
    }

    pub fn remove_if_empty(&self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn is_folder(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(".commsee-") && name.strip_suffix(JOINED).is_some_and(|rest| rest.ends_with('.'))
}

/// Reads a note.
pub fn read(path: &Path) -> Option<Told> {
    /// Nobody's note is longer.
    const MOST_BYTES: u64 = 1 << 20;
    let mut text = Vec::new();
    let file = OpenOptions::new().read(true).custom_flags(NOT_FOLLOWED).open(path).ok()?;
    io::Read::read_to_end(&mut io::Read::take(file, MOST_BYTES), &mut text).ok()?;
    let note = serde_json::from_slice(&text).ok()?;
    Some(Told { note, path: path.to_owned() })
}

const NOT_FOLLOWED: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

#[cfg(test)]
mod tests {
    use super::*;

    fn note(rank: u32) -> Note {
        Note {
            run: "0".repeat(32),
            launch: String::new(),
            host: format!("node{rank}"),
            rank,
            world_size: 4,
            local_ranks: Some(2),
            directories: vec!["/dev/shm".into()],
            roll: None,
            wanted: "/private/a.db".into(),
            command: "./heat \"1\"\n".into(),
            started_unix_ns: 1,
            slurm_job: None,
        }
    }

    #[test]
    fn notes_are_read_as_they_were_told() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), &note(0).run, JOINED);
        for rank in [2, 0] {
            folder.tell(&note(rank)).unwrap();
        }
        let told = folder.told();
        assert_eq!(told.iter().map(|told| &told.note).collect::<Vec<_>>(), [&note(0), &note(2)]);
        Folder::set_carried(&told[0].path).unwrap();
        assert_eq!(folder.waiting().len(), 1);
        assert_eq!(Folder::find(&[place.path().to_owned()]), std::slice::from_ref(&folder));
        // The wanted directory may be another one on each host.
        assert_eq!(folder.wanted(), Some(place.path().join("a.db")));
        folder.remove();
        assert!(!folder.exists() && Folder::find(&[place.path().to_owned()]).is_empty());
    }

    #[test]
    fn nobody_takes_the_claim_of_a_folder_that_is_not_cleared() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), &note(0).run, JOINED);
        for _ in 0..5 {
            folder.make().unwrap();
            let claim = folder.claim().unwrap();
            for rank in 0..500 {
                fs::write(folder.path().join(format!("commsee-{rank}.shard")), "").unwrap();
            }
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    while folder.exists() {
                        if folder.claim().is_some() {
                            assert!(folder.files(&["shard"]).is_empty(), "some are there still");
                        }
                    }
                });
                folder.remove();
                drop(claim);
                folder.remove();
                let _ = fs::remove_dir_all(folder.path());
                other.join().unwrap();
            });
        }
    }

    #[test]
    fn no_link_in_a_folder_leads_to_other_files() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), &note(0).run, JOINED);
        folder.make().unwrap();
        let precious = place.path().join("precious");
        fs::write(&precious, "kept").unwrap();
        let pid = std::process::id();
        for name in [format!("{pid}.look"), format!("0.host.{pid}.part")] {
            std::os::unix::fs::symlink(&precious, folder.path().join(name)).unwrap();
        }
        folder.look_again();
        let path = folder.tell(&note(0)).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
        assert!(fs::symlink_metadata(path).unwrap().is_file());
    }

    /// As root, who may give things away.
    #[test]
    fn a_folder_of_somebody_else_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), &note(0).run, JOINED);
        folder.make().unwrap();
        if std::os::unix::fs::chown(folder.path(), Some(12345), None).is_err() {
            return;
        }
        assert!(folder.tell(&note(0)).is_err());
        assert!(folder.files(&[HOST, "part"]).is_empty());
        assert!(Folder::find(&[place.path().to_owned()]).is_empty());
    }

    #[test]
    fn a_note_names_no_file_for_removal_but_a_roll_of_its_run() {
        let roll = |path: &str| Note { roll: Some(path.into()), ..note(0) }.own_roll().is_some();
        assert!(roll(&format!("/dev/shm/commsee-{}-01234567.joined", note(0).run)));
        assert!(!roll("/etc/passwd") && !roll(&format!("/dev/shm/commsee-{}-0.shard", note(0).run)));
        assert!(!roll(&format!("/dev/shm/commsee-{}-0.joined", "1".repeat(32))));
    }

    #[test]
    fn what_is_no_note_is_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path(), &note(0).run, JOINED);
        folder.write("1-1.host", b"{}").unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("2-2.host")).unwrap();
        assert!(folder.told().is_empty());
    }
}
