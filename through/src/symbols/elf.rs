//! An ELF file, mapped.

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use object::{Object, ObjectSection, SectionFlags, elf};

pub struct Image {
    pub path: PathBuf,
    map: Mmap,
}

impl Image {
    pub fn open(path: &Path) -> Option<Image> {
        // A path in a profile may lead to a device or a pipe, which would never end.
        let file = path.metadata().ok().filter(|metadata| metadata.is_file()).and_then(|_| File::open(path).ok())?;
        // SAFETY: the map is only read. Whoever cuts the file off meanwhile ends this process, and damages nothing.
        let map = unsafe { Mmap::map(&file) }.ok()?;
        let image = Image { path: path.to_owned(), map };
        image.elf().is_some().then_some(image)
    }

    pub fn elf(&self) -> Option<object::File<'_>> {
        object::File::parse(&*self.map).ok()
    }

    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    pub fn data(&self) -> &[u8] {
        &self.map
    }

    pub fn build_id(&self) -> Option<Vec<u8>> {
        self.elf()?.build_id().ok()?.map(<[u8]>::to_vec)
    }

    /// Whether it has units of DWARF, compressed or not.
    pub fn has_debug_data(&self) -> bool {
        self.elf().is_some_and(|elf| elf.section_by_name(".debug_info").is_some_and(|section| has_data(&section)))
    }
}

/// Separate debug data keeps the headers of the sections that it lacks.
fn has_data(section: &object::Section) -> bool {
    section.file_range().is_some_and(|(_, bytes)| bytes > 0)
}

/// Whether instructions of the program may lie at an address.
pub fn is_code(elf: &object::File, address: u64) -> bool {
    elf.sections().any(|section| {
        let is_executable =
            matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_EXECINSTR));
        is_executable && (section.address()..section.address().saturating_add(section.size())).contains(&address)
    })
}
