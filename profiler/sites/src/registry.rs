//! What the process has seen: its modules, frames and sites, each with a number. Numbers are looked up without a lock; what is new is
//! added under one, by whoever keeps the rows.
//!
//! A module is known by its file, not by where that is mapped: a plugin that is closed and opened again keeps its number, and so do its
//! frames. What was closed is mapped nowhere from then on.

use std::ffi::{CStr, CString};
use std::ptr;

use commsee_runtime::signals::Undisturbed;
use commsee_runtime::table;

use crate::levels::Levels;
use crate::loader::{self, Changes, Extent, Found, Permanent};

/// Where what is added is kept. Numbers begin with 1, and `None` is no room for more.
pub trait Rows: Send {
    fn add_module(&mut self, file: &File, extent: Extent, is_passed_over: bool) -> Option<u32>;
    /// A module is mapped somewhere else now, or nowhere.
    fn move_module(&mut self, module: u32, extent: Option<Extent>);
    /// `address` is the file's own.
    fn add_frame(&mut self, module: u32, address: u64) -> Option<u32>;
    fn add_text(&mut self, text: &[u8]) -> Option<u32>;
    /// A frame of an interpreter; function and file are texts.
    fn add_interpreter_frame(&mut self, function: u32, file: u32, line: u32) -> Option<u32>;
    /// `outer` is 0 or a site.
    fn add_site(&mut self, frame: u32, outer: u32) -> Option<u32>;
}

/// More frames than this has no site.
pub const MOST_FRAMES: usize = 64;

/// What tells one module from all others.
pub struct File<'a> {
    pub path: &'a [u8],
    pub build_id: &'a [u8],
}

struct Module {
    number: u32,
    path: Box<[u8]>,
    build_id: Box<[u8]>,
    bytes: usize,
    /// `None` where it is closed.
    extent: Option<Extent>,
    is_passed_over: bool,
    is_permanent: bool,
    is_interpreter: bool,
}

/// What a frame's module says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// 0 where it is passed over, and where there was no room for it.
    pub frame: u32,
    pub is_passed_over: bool,
    /// It stays mapped as long as the process lives.
    pub is_permanent: bool,
    /// It is the code of an interpreter.
    pub is_interpreter: bool,
}

struct Registry {
    rows: Box<dyn Rows>,
    passed_over: Vec<CString>,
    program: Vec<u8>,
    permanent: Vec<usize>,
    /// An address in an interpreter, once one was found.
    interpreter: Option<usize>,
    changes: Changes,
    modules: Vec<Module>,
    /// Texts by number, from 1.
    texts: Vec<(u32, Box<[u8]>)>,
}

static REGISTRY: Undisturbed<Option<Registry>> = Undisturbed::new(None);
/// By module and address, by function, file and line.
static FRAMES: Levels = Levels::new();
static INTERPRETER_FRAMES: Levels = Levels::new();
/// By hash: indices of `texts`.
static TEXTS: Levels = Levels::new();
/// By frame and outer site.
static SITES: Levels = Levels::new();

/// Before anything is asked for. Patterns are those of files that are passed over.
pub fn start(rows: Box<dyn Rows>, patterns: &[&str]) {
    // A process that begins to record twice goes on with the numbers that it has given.
    if REGISTRY.with(|registry| registry.is_some()) {
        return;
    }
    let passed_over = patterns.iter().filter_map(|pattern| CString::new(*pattern).ok()).collect();
    let program = std::fs::read_link("/proc/self/exe").ok();
    let program = program.map(|path| std::os::unix::ffi::OsStringExt::into_vec(path.into_os_string()));
    let permanent = loader::permanent();
    let mut registry = Registry {
        rows,
        passed_over,
        program: program.unwrap_or_default(),
        permanent: permanent.iter().map(|module| module.start).collect(),
        interpreter: None,
        changes: loader::changes(),
        modules: Vec::new(),
        texts: Vec::new(),
    };
    registry.add_callers(&permanent);
    REGISTRY.with(|here| *here = Some(registry));
}

/// Nothing where nothing is recorded.
fn with<R>(work: impl FnOnce(&mut Registry) -> R) -> Option<R> {
    REGISTRY.with(|registry| registry.as_mut().map(work))
}

/// An address of the interpreter whose frames are to be shown instead of its own code.
pub fn set_interpreter(address: usize) {
    with(|registry| {
        registry.interpreter = Some(address);
        for module in &mut registry.modules {
            module.is_interpreter = module.extent.is_some_and(|extent| extent.holds(address));
        }
    });
}

/// Adds the frame of an address that was found just now. None where nothing is recorded, or nobody knows the code.
pub fn see(address: usize, found: &Found) -> Option<Seen> {
    with(|registry| registry.see(address, found))?
}

/// The loader has unmapped something: what was closed has no place any more.
pub fn renew(changes: Changes) {
    with(|registry| registry.renew(changes));
}

/// The site of a frame in the frames outside of it; 0 where there is no room.
#[inline]
pub fn site(frame: u32, outer: u32) -> u32 {
    if frame == 0 {
        return 0;
    }
    let key = u64::from(frame) << 32 | u64::from(outer);
    match SITES.get(key) {
        0 => new_site(key),
        site => site,
    }
}

/// The sites of a stack, the outermost first. The next stack of a thread has most of its outer frames in common with it.
pub struct Path {
    base: u32,
    length: usize,
    frames: [u32; MOST_FRAMES],
    sites: [u32; MOST_FRAMES],
}

impl Path {
    pub const fn empty() -> Path {
        Path { base: 0, length: 0, frames: [0; MOST_FRAMES], sites: [0; MOST_FRAMES] }
    }

    /// The site of frames in those of another site, the innermost first; 0 where there is no room.
    pub fn site(&mut self, frames: &[u32], base: u32) -> u32 {
        let mut site = base;
        let mut is_known = self.base == base;
        (self.base, self.length) = (base, if is_known { self.length } else { 0 });
        let places = self.frames.iter_mut().zip(&mut self.sites);
        for (at, (frame, (known, known_site))) in frames.iter().rev().zip(places).enumerate() {
            is_known &= at < self.length && *known == *frame;
            if !is_known {
                (*known, *known_site) = (*frame, self::site(*frame, site));
                self.length = at + usize::from(*known_site != 0);
            }
            site = *known_site;
            if site == 0 {
                return 0;
            }
        }
        site
    }
}

#[cold]
#[inline(never)]
fn new_site(key: u64) -> u32 {
    let add = |rows: &mut Box<dyn Rows>| numbered(&SITES, key, || rows.add_site((key >> 32) as u32, key as u32));
    with(|registry| add(&mut registry.rows)).flatten().unwrap_or(0)
}

/// The frame of a line that an interpreter runs; 0 where there is no room.
pub fn interpreter_frame(function: &[u8], file: &[u8], line: u32) -> u32 {
    with(|registry| registry.interpreter_frame(function, file, line)).flatten().unwrap_or(0)
}

/// The number of a key, which is given one where it has none. Under the lock.
fn numbered(levels: &Levels, key: u64, add: impl FnOnce() -> Option<u32>) -> Option<u32> {
    match levels.get(key) {
        0 => {
            let number = if levels.reserve() { add()? } else { return None };
            levels.put(key, number);
            Some(number)
        }
        number => Some(number),
    }
}

/// A value with a number of bits, or nothing.
fn within(value: u64, bits: u32) -> Option<u64> {
    (value >> bits == 0).then_some(value)
}

impl Registry {
    fn see(&mut self, address: usize, found: &Found) -> Option<Seen> {
        self.renew(found.changes);
        let module = self.module(found)?;
        let (number, bias) = (module.number, found.extent?.bias);
        let seen = Seen {
            frame: 0,
            is_passed_over: module.is_passed_over,
            is_permanent: module.is_permanent,
            is_interpreter: module.is_interpreter,
        };
        if module.is_passed_over {
            return Some(seen);
        }
        Some(Seen { frame: self.frame(number, address.wrapping_sub(bias)).unwrap_or(0), ..seen })
    }

    fn frame(&mut self, module: u32, address: usize) -> Option<u32> {
        let key = within(module.into(), 16)? << 48 | within(address as u64, 48)?;
        numbered(&FRAMES, key, || self.rows.add_frame(module, address as u64))
    }

    fn interpreter_frame(&mut self, function: &[u8], file: &[u8], line: u32) -> Option<u32> {
        let (function, file) = (self.text(function)?, self.text(file)?);
        let key = within(function.into(), 21)? << 43 | within(file.into(), 21)? << 22 | within(line.into(), 22)?;
        numbered(&INTERPRETER_FRAMES, key, || self.rows.add_interpreter_frame(function, file, line))
    }

    fn text(&mut self, text: &[u8]) -> Option<u32> {
        let mut key = text.iter().fold(1, |hash, byte| table::hash(hash ^ u64::from(*byte)).rotate_left(29)).max(1);
        // Of several texts with one hash the next ones go on.
        loop {
            match (TEXTS.get(key) as usize).checked_sub(1) {
                None => break,
                Some(at) if *self.texts[at].1 == *text => return Some(self.texts[at].0),
                Some(_) => key = key.wrapping_add(1).max(1),
            }
        }
        let kept = copy(text)?;
        self.texts.try_reserve(1).ok()?;
        let at = u32::try_from(self.texts.len()).ok()? + 1;
        if !TEXTS.reserve() {
            return None;
        }
        let number = self.rows.add_text(text)?;
        self.texts.push((number, kept));
        TEXTS.put(key, at);
        Some(number)
    }

    /// The modules whose code may call what is passed over: the program, and what is linked with such files. So a call that never returns
    /// has a module also where nothing else was ever asked of its caller.
    fn add_callers(&mut self, permanent: &[Permanent]) {
        let Some(mut found) = Found::boxed() else { return };
        let mut is_passed_over = |module: &Permanent| {
            loader::find(module.start, false, &mut found);
            self.passed_over.iter().any(|pattern| is_like(pattern, found.path()))
        };
        let over: Vec<usize> = permanent.iter().filter(|it| is_passed_over(it)).map(|module| module.start).collect();
        for (at, module) in permanent.iter().enumerate() {
            let calls = at == 0 || module.linked.iter().any(|start| over.contains(start));
            if calls && !over.contains(&module.start) {
                loader::find(module.start, false, &mut found);
                self.module(&found);
            }
        }
    }

    /// The module that an address was found in.
    fn module(&mut self, found: &Found) -> Option<&Module> {
        let extent = found.extent?;
        let is_program = found.path().is_empty();
        let mut absolute = None;
        if !is_program && found.path()[0] != b'/' {
            absolute = absolute_path(found.path());
        }
        let path = if is_program { &self.program[..] } else { absolute.as_deref().unwrap_or(found.path()) };
        let file = File { path, build_id: found.build_id() };
        let bytes = extent.end - extent.start;
        let is_it =
            |module: &Module| *module.path == *file.path && *module.build_id == *file.build_id && module.bytes == bytes;
        if let Some(at) = self.modules.iter().position(is_it) {
            let module = &mut self.modules[at];
            if module.extent != Some(extent) {
                module.extent = Some(extent);
                module.is_permanent = self.permanent.contains(&extent.start);
                module.is_interpreter = self.interpreter.is_some_and(|address| extent.holds(address));
                self.rows.move_module(module.number, module.extent);
            }
            return self.modules.get(at);
        }
        self.modules.try_reserve(1).ok()?;
        let (path, build_id) = (copy(file.path)?, copy(file.build_id)?);
        let own = see_own as *const () as usize;
        let is_passed_over = extent.holds(own) && !is_program || self.passed_over.iter().any(|it| is_like(it, &path));
        let number = self.rows.add_module(&file, extent, is_passed_over)?;
        self.modules.push(Module {
            number,
            path,
            build_id,
            bytes,
            extent: Some(extent),
            is_passed_over,
            is_permanent: self.permanent.contains(&extent.start),
            is_interpreter: self.interpreter.is_some_and(|address| extent.holds(address)),
        });
        self.modules.last()
    }

    fn renew(&mut self, changes: Changes) {
        if changes.unmapped == self.changes.unmapped {
            return;
        }
        self.changes = changes;
        let mut found = Found::boxed();
        for module in self.modules.iter_mut().filter(|module| !module.is_permanent) {
            let Some(extent) = module.extent else { continue };
            let is_there = found.as_mut().is_some_and(|found| {
                loader::find(extent.start, false, found);
                let is_same_file = *module.build_id == *found.build_id()
                    && (*module.path == *found.path()
                        || absolute_path(found.path()).is_some_and(|it| it == module.path));
                found.extent == Some(extent) && is_same_file
            });
            if !is_there {
                module.extent = None;
                self.rows.move_module(module.number, None);
            }
        }
    }
}

/// An address in the library that this is part of.
fn see_own() {}

fn copy(bytes: &[u8]) -> Option<Box<[u8]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).ok()?;
    copy.extend_from_slice(bytes);
    Some(copy.into_boxed_slice())
}

/// The path of a file that the loader knows by another one.
fn absolute_path(path: &[u8]) -> Option<Box<[u8]>> {
    // The virtual library of the kernel has a name only.
    if path.first() == Some(&b'/') || !path.contains(&b'/') {
        return None;
    }
    let path = CString::new(path).ok()?;
    // SAFETY: a text; the place that comes back is a text as well, and is ours to free.
    unsafe {
        let whole = libc::realpath(path.as_ptr(), ptr::null_mut());
        if whole.is_null() {
            return None;
        }
        let copied = copy(CStr::from_ptr(whole).to_bytes());
        libc::free(whole.cast());
        copied
    }
}

/// Whether a file has a name like this. A pattern with a slash is one of whole paths.
fn is_like(pattern: &CString, path: &[u8]) -> bool {
    let is_whole = pattern.as_bytes().contains(&b'/');
    let name = if is_whole { path } else { path.rsplit(|byte| *byte == b'/').next().unwrap_or(path) };
    let Ok(name) = CString::new(name) else { return false };
    // SAFETY: both are texts.
    unsafe { libc::fnmatch(pattern.as_ptr(), name.as_ptr(), 0) == 0 }
}
