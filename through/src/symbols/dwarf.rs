//! Lines and inlined functions, from debug data.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use addr2line::gimli::{self, EndianSlice, RunTimeEndian, SectionId};
use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use object::{Object, ObjectSection};
use typed_arena::Arena;

use super::Name;
use super::demangle::demangled;
use super::elf::{Image, is_code};
use super::find::Files;

type Reader<'a> = EndianSlice<'a, RunTimeEndian>;
type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;

/// What debug data borrows, as long as a module is looked at.
#[derive(Default)]
struct Memory {
    sections: Arena<Vec<u8>>,
    images: Arena<Image>,
}

/// Names at every address that there was time for, nothing being known of some of them, and whether these were all.
pub fn lines(files: &Files, addresses: &BTreeSet<u64>, until: Option<Instant>) -> (BTreeMap<u64, Vec<Name>>, bool) {
    let nothing = || (addresses.iter().map(|address| (*address, Vec::new())).collect(), true);
    let Some(image) = files.debug.map(|at| &files.images[at]) else { return nothing() };
    let memory = Memory::default();
    let Some(source) = Source::of(files, image, &memory) else { return nothing() };
    let mut found = BTreeMap::new();
    for address in addresses {
        if until.is_some_and(|until| Instant::now() > until) {
            return (found, false);
        }
        found.insert(*address, source.names(*address).unwrap_or_default());
    }
    (found, true)
}

struct Source<'a> {
    elf: object::File<'a>,
    context: Context<Reader<'a>>,
    package: Option<gimli::DwarfPackage<Reader<'a>>>,
    directory: &'a Path,
    memory: &'a Memory,
}

impl<'a> Source<'a> {
    fn of(files: &'a Files, image: &'a Image, memory: &'a Memory) -> Option<Source<'a>> {
        let elf = image.elf()?;
        let mut dwarf = Dwarf::load(|id| Ok::<_, gimli::Error>(section(&elf, Some(id.name()), memory))).ok()?;
        if let Some(shared) = files.shared.as_ref().and_then(Image::elf) {
            dwarf.load_sup(|id| Ok::<_, gimli::Error>(section(&shared, Some(id.name()), memory))).ok()?;
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let context = Context::from_dwarf(dwarf).ok()?;
        let package = files.package.as_ref().and_then(Image::elf).and_then(|package| {
            let load = |id: SectionId| Ok::<_, gimli::Error>(section(&package, id.dwo_name(), memory));
            gimli::DwarfPackage::load(load, EndianSlice::new(&[], endian(&package))).ok()
        });
        Some(Source { elf, context, package, directory: &files.directory, memory })
    }

    /// Where debug data contradicts itself, less of it.
    fn names(&self, address: u64) -> Option<Vec<Name>> {
        // Whoever looks it up adds 1.
        if address == u64::MAX {
            return None;
        }
        let frames = self.loaded(self.context.find_frames(address));
        let mut names = Vec::new();
        let mut outermost = None;
        let mut frames = frames.ok();
        while let Some(Ok(Some(frame))) = frames.as_mut().map(|frames| frames.next()) {
            let function = frame.function.as_ref();
            let function = function.map(|function| demangled(&function.name.to_string_lossy(), function.language));
            let (file, line) = frame.location.map_or((None, None), |at| (at.file.map(str::to_owned), at.line));
            // Without a line a file says nothing.
            names.push(Name { function, offset: None, file: file.filter(|_| line.is_some()), line });
            outermost = frame.dw_die_offset;
        }
        if outermost.is_some_and(|function| self.is_left_out(address, function)) {
            return None;
        }
        if names.is_empty() {
            let at = self.context.find_location(address).ok()??;
            names.push(Name { file: at.file.map(str::to_owned), line: at.line, ..Name::default() });
        }
        names.retain(|name| name.function.is_some() || name.line.is_some());
        Some(names)
    }

    /// Whether the linker left the function out: it begins at 0 then, and may seem to reach up to functions that are there.
    fn is_left_out(&self, address: u64, function: gimli::UnitOffset<usize>) -> bool {
        let Some(unit) = self.loaded(self.context.find_dwarf_and_unit(address)) else { return false };
        let ranges = unit.entry(function).and_then(|entry| unit.die_ranges(&entry));
        let Ok(mut ranges) = ranges else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&address) && is_code(&self.elf, range.begin) {
                return false;
            }
        }
        true
    }

    /// What is found when all units are there that it needs.
    fn loaded<L: LookupContinuation<Buf = Reader<'a>>>(&self, mut result: LookupResult<L>) -> L::Output {
        loop {
            match result {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => result = continuation.resume(self.split_off(load)),
            }
        }
    }

    /// A unit that was split off: out of the package, or a file of its own.
    fn split_off(&self, load: SplitDwarfLoad<Reader<'a>>) -> Option<Arc<Dwarf<'a>>> {
        if let Some(package) = &self.package
            && let Ok(Some(unit)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return Some(Arc::new(unit));
        }
        let path = |text: &Reader| PathBuf::from(OsStr::from_bytes(text.slice()));
        let named = load.path.as_ref().map(path)?;
        let compiled = load.comp_dir.as_ref().map(path).unwrap_or_default().join(&named);
        // Moved with the binary.
        let beside = self.directory.join(named.file_name()?);
        [compiled, beside].iter().find_map(|path| self.unit_of(path, &load))
    }

    fn unit_of(&self, path: &Path, load: &SplitDwarfLoad<Reader<'a>>) -> Option<Arc<Dwarf<'a>>> {
        let elf = self.memory.images.alloc(Image::open(path)?).elf()?;
        let mut dwarf = Dwarf::load(|id| Ok::<_, gimli::Error>(section(&elf, id.dwo_name(), self.memory))).ok()?;
        let header = dwarf.units().next().ok()??;
        if dwarf.unit(header).ok()?.dwo_id != Some(load.dwo_id) {
            return None;
        }
        dwarf.make_dwo(&load.parent);
        Some(Arc::new(dwarf))
    }
}

fn endian(elf: &object::File) -> RunTimeEndian {
    if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
}

/// What only debuggers need: to decompress it would take a quarter of the time. Packages of units are cut along all of their sections.
const NOT_NEEDED: [SectionId; 6] = [
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugMacinfo,
    SectionId::DebugMacro,
    SectionId::DebugNames,
    SectionId::DebugTypes,
];

/// A section, decompressed; an empty one where there is none.
fn section<'a>(elf: &object::File<'a>, name: Option<&str>, memory: &'a Memory) -> Reader<'a> {
    let is_needed = |name: &&str| NOT_NEEDED.iter().all(|id| id.name() != *name);
    let data = name
        .filter(is_needed)
        .and_then(|name| elf.section_by_name(name))
        .and_then(|section| section.uncompressed_data().ok());
    let bytes: &'a [u8] = match data {
        Some(Cow::Borrowed(bytes)) => bytes,
        Some(Cow::Owned(bytes)) => memory.sections.alloc(bytes),
        None => &[],
    };
    EndianSlice::new(bytes, endian(elf))
}
