//! The programs that a command line names, and what their files tell of how they are loaded.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr;

use object::elf::{DT_NEEDED, PT_INTERP};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Architecture, Object, ObjectSymbol};

use crate::symbols::elf::Image;

/// A file that can be executed.
pub struct Program {
    /// As the command line has it.
    pub word: String,
    /// Without symbolic links, as a process tells its own.
    pub path: PathBuf,
    /// `None`: a script.
    pub elf: Option<Elf>,
}

pub struct Elf {
    pub architecture: Architecture,
    pub is_64: bool,
    /// The loader starts it, and takes `LD_PRELOAD` into account.
    pub is_dynamic: bool,
    pub needed: Vec<String>,
    /// It has an `MPI_Init` of its own, which nothing preloaded replaces.
    pub defines_init: bool,
}

/// The programs among the words, in their order.
pub fn named(words: &[OsString]) -> Vec<Program> {
    words.iter().filter_map(|word| Program::find(word)).collect()
}

impl Program {
    fn find(word: &OsStr) -> Option<Program> {
        if word.is_empty() || word.as_bytes().starts_with(b"-") {
            return None;
        }
        let in_path = || env::split_paths(&env::var_os("PATH")?).map(|place| place.join(word)).find(|path| runs(path));
        let path = match word.as_bytes().contains(&b'/') {
            true => Some(PathBuf::from(word)).filter(|path| runs(path)),
            // Open MPI looks in the working directory as well.
            false => in_path().or_else(|| Some(PathBuf::from(word)).filter(|path| runs(path))),
        };
        let path = path?.canonicalize().ok()?;
        let elf = Elf::open(&path);
        Some(Program { word: word.to_string_lossy().into_owned(), path, elf })
    }

    /// Whether the kernel gives it other rights than the user has: then the loader ignores `LD_PRELOAD` (ld.so(8), "Secure-execution mode").
    pub fn is_secure(&self) -> bool {
        // SAFETY: ask for numbers.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let Ok(facts) = fs::metadata(&self.path) else { return false };
        let has = |bit: libc::mode_t| facts.mode() & bit != 0;
        let is_other = has(libc::S_ISUID) && facts.uid() != user || has(libc::S_ISGID) && facts.gid() != group;
        is_other || user != 0 && has_capabilities(&self.path)
    }
}

fn runs(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both texts end with a zero byte; without a place only the size is told.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), ptr::null_mut(), 0) > 0 }
}

impl Elf {
    pub fn open(path: &Path) -> Option<Elf> {
        match Image::open(path)?.elf()? {
            object::File::Elf32(elf) => Some(Elf::read(&elf)),
            object::File::Elf64(elf) => Some(Elf::read(&elf)),
            _ => None,
        }
    }

    fn read<Header: FileHeader<Endian = object::Endianness>>(elf: &ElfFile<'_, Header>) -> Elf {
        let is_init = |name: Result<&str, _>| name.is_ok_and(|name| name == "MPI_Init");
        let mut symbols = elf.dynamic_symbols().chain(elf.symbols());
        let needed = elf.elf_dynamic_table().ok().map(|table| {
            let libraries = table.iter().filter(|entry| entry.tag == DT_NEEDED);
            let names = libraries.filter_map(|entry| table.string(entry).ok());
            names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        });
        Elf {
            architecture: elf.architecture(),
            is_64: elf.is_64(),
            is_dynamic: elf.elf_program_headers().iter().any(|header| header.p_type(elf.endian()) == PT_INTERP),
            needed: needed.unwrap_or_default(),
            defines_init: symbols.any(|symbol| symbol.is_definition() && is_init(symbol.name())),
        }
    }

    /// Whether it needs an MPI library itself.
    pub fn needs_mpi(&self) -> bool {
        self.needed.iter().any(|name| name.starts_with("libmpi"))
    }
}
