//! Where the binary of a module lies, and its debug data.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use commsee::settings;
use object::Object;

use super::elf::Image;
use super::{Module, cache};

/// Whether a binary without a build id may be used. Its path is all that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// If its state has not changed since then, in seconds since 1970. Nobody can set that time.
    UnchangedSince(i64),
    Always,
    Never,
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Search {
    /// Directories of separate debug data.
    pub debug_directories: Vec<PathBuf>,
    /// The user's cache directory.
    pub cache: Option<PathBuf>,
    pub trust: Trust,
}

impl Search {
    /// As the environment says.
    pub fn of_environment(trust: Trust) -> Search {
        let named = env::var_os(settings::DEBUG_DIRS).filter(|named| !named.is_empty());
        let named = named.unwrap_or_else(|| "/usr/lib/debug".into());
        Search {
            debug_directories: env::split_paths(&named).filter(|path| path.is_absolute()).collect(),
            cache: cache::of_user(),
            trust,
        }
    }

    /// `/usr/lib/debug/.build-id/ab/cdef.debug`, as gdb has it.
    fn by_id(&self, id: &[u8], suffix: &'static str) -> impl Iterator<Item = PathBuf> {
        let name = hex(id);
        let directories: &[PathBuf] = if name.len() > 2 { &self.debug_directories } else { &[] };
        directories.iter().map(move |directory| {
            let (head, tail) = name.split_at(2);
            directory.join(".build-id").join(head).join(format!("{tail}{suffix}"))
        })
    }

    /// What a client of debuginfod fetched before.
    fn downloaded(&self, id: &[u8]) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join("debuginfod_client").join(hex(id)).join("debuginfo"))
    }
}

pub struct Files {
    /// Whose symbol tables are read: debug data first.
    pub images: Vec<Image>,
    /// Which of them has units of DWARF.
    pub debug: Option<usize>,
    /// What debug data refers to that several binaries share.
    pub shared: Option<Image>,
    /// Units that were split off, in one file.
    pub package: Option<Image>,
    /// Where such units lie in files of their own, beside where they were compiled.
    pub directory: PathBuf,
    /// Changes where one of the files is replaced.
    pub identity: String,
}

/// Nothing, where there is neither the binary nor its debug data.
pub fn find(module: &Module, search: &Search) -> Option<Files> {
    let id = module.build_id.as_deref();
    let is_module = |image: &Image| match (id, image.build_id()) {
        (Some(id), own) => own.as_deref() == Some(id),
        (None, Some(_)) => false,
        (None, None) => is_trusted(&image.path, search.trust),
    };
    let binary = Some(&module.path).filter(|path| path.is_absolute()).and_then(|path| Image::open(path));
    let mut binary = binary.filter(is_module);
    if binary.is_none() {
        binary =
            id.into_iter().flat_map(|id| search.by_id(id, "")).filter_map(|path| Image::open(&path)).find(is_module);
    }
    let mut debug = None;
    if !binary.as_ref().is_some_and(Image::has_debug_data) {
        let of_id = id.into_iter().flat_map(|id| search.by_id(id, ".debug").chain(search.downloaded(id)));
        let by_id = of_id.filter_map(|path| Image::open(&path)).find(is_module);
        debug = by_id.or_else(|| linked(binary.as_ref()?, id, search)).filter(Image::has_debug_data);
    }
    let directory = module.path.parent().map(Path::to_owned).unwrap_or_default();
    let images: Vec<Image> = debug.into_iter().chain(binary).collect();
    let first = images.first()?;
    let debug = images.iter().position(Image::has_debug_data);
    let shared = debug.and_then(|at| shared(&images[at], search));
    let package = images.iter().map(|image| &image.path).chain([&module.path]).find_map(|path| {
        let name = [path.as_os_str().as_bytes(), b".dwp"].concat();
        Image::open(Path::new(OsStr::from_bytes(&name)))
    });
    let all = [first].into_iter().chain(&images[1..]).chain(&shared).chain(&package);
    let identity: Vec<String> = all.map(|image| state(&image.path)).collect();
    let identity = identity.join("\n");
    Some(Files { images, debug, shared, package, directory, identity })
}

fn is_trusted(path: &Path, trust: Trust) -> bool {
    match trust {
        Trust::Always => true,
        Trust::Never => false,
        Trust::UnchangedSince(seconds) => path.metadata().is_ok_and(|metadata| metadata.ctime() < seconds),
    }
}

fn state(path: &Path) -> String {
    let times = path.metadata().map(|metadata| (metadata.len(), metadata.mtime(), metadata.mtime_nsec()));
    format!("{} {:?}", path.display(), times.unwrap_or_default())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file that `.gnu_debuglink` names.
fn linked(binary: &Image, id: Option<&[u8]>, search: &Search) -> Option<Image> {
    let elf = binary.elf()?;
    let (name, crc) = elf.gnu_debuglink().ok()??;
    let name = Path::new(OsStr::from_bytes(name)).file_name()?;
    let directory = binary.path.canonicalize().ok()?.parent()?.to_owned();
    let beneath = directory.strip_prefix("/").unwrap_or(&directory).to_owned();
    let beside = [directory.join(name), directory.join(".debug").join(name)];
    let elsewhere = search.debug_directories.iter().map(|debug| debug.join(&beneath).join(name));
    let is_same = |image: &Image| match id {
        Some(id) => image.build_id().as_deref() == Some(id),
        None => crc32(image.data()) == crc,
    };
    beside.into_iter().chain(elsewhere).filter_map(|path| Image::open(&path)).find(is_same)
}

/// The file that `.gnu_debugaltlink` names.
fn shared(debug: &Image, search: &Search) -> Option<Image> {
    let elf = debug.elf()?;
    let (name, id) = elf.gnu_debugaltlink().ok()??;
    let directory = fs::canonicalize(&debug.path).ok()?.parent()?.to_owned();
    let named = directory.join(OsStr::from_bytes(name));
    let all = [named].into_iter().chain(search.by_id(id, ".debug"));
    all.filter_map(|path| Image::open(&path)).find(|image| image.build_id().as_deref() == Some(id))
}

/// The checksum of `.gnu_debuglink`: that of zlib.
fn crc32(data: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|byte| {
        (0..8).fold(byte as u32, |rest, _| if rest & 1 == 1 { rest >> 1 ^ 0xedb8_8320 } else { rest >> 1 })
    });
    !data.iter().fold(!0, |sum: u32, byte| sum >> 8 ^ table[usize::from(sum as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
