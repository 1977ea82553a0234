//! What the environment of a profiled program must hold.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf, absolute};

use commsee::settings;

use crate::cli::Profiling;
use crate::error::Error;

pub const PRELOAD: &str = "LD_PRELOAD";
/// Unlike `LD_PRELOAD`, its directories may have spaces: ld.so(8).
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
const LIBRARY: &str = "libcommsee.so";
pub const ADDRESS_SANITIZER: &str = "ASAN_OPTIONS";
/// AddressSanitizer ends a program in which a library is loaded before its runtime, since that library might define functions that the runtime
/// intercepts. Those of commsee define none.
const ANY_ORDER: &str = "verify_asan_link_order";
/// How the names of the libraries of hook modules begin.
const MODULE: &str = "libcommsee_";

pub type Variables = Vec<(&'static str, OsString)>;

/// The variables that load the profiler, and those that were asked for.
pub fn variables(profiling: &Profiling) -> Result<Variables, Error> {
    let library = library()?;
    let hooks = profiling.hooks.clone().or_else(|| env::var(settings::HOOKS).ok());
    let mut libraries = vec![library];
    libraries.extend(modules(&hooks.unwrap_or_default(), &places())?);
    let mut variables = vec![(PRELOAD, preloaded(&libraries, env::var_os(PRELOAD)))];
    variables.extend(searched(&libraries, env::var_os(LIBRARY_PATH)).map(|paths| (LIBRARY_PATH, paths)));
    variables.push((ADDRESS_SANITIZER, beside_others(env::var_os(ADDRESS_SANITIZER).unwrap_or_default())));
    if let Some(output) = &profiling.output {
        variables.push((settings::OUT, absolute_pattern(output.as_os_str()).into_os_string()));
    }
    variables.extend(profiling.hooks.as_ref().map(|hooks| (settings::HOOKS, hooks.into())));
    variables.extend(profiling.buckets.as_ref().map(|edges| (settings::BUCKETS, edges.into())));
    variables.extend(profiling.trace.as_ref().map(|size| (settings::TRACE, size.into())));
    variables.extend(profiling.sites.as_ref().map(|frames| (settings::SITES, frames.into())));
    variables.extend(profiling.datatypes.then(|| (settings::DATATYPES, "1".into())));
    Ok(variables)
}

/// The pattern of the profile's name, from the root on.
pub fn pattern(profiling: &Profiling) -> PathBuf {
    match &profiling.output {
        Some(output) => absolute_pattern(output.as_os_str()),
        None => absolute_pattern(&default_pattern()),
    }
}

/// The pattern of the profile's name that is in force without the option for it.
fn default_pattern() -> OsString {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    set(settings::OUT).or_else(|| set(settings::OUT_COMPATIBLE)).unwrap_or_else(|| settings::DEFAULT_OUT.into())
}

/// The pattern from the root on: the processes of a job may start in other directories.
fn absolute_pattern(pattern: &OsStr) -> PathBuf {
    if Path::new(pattern).is_absolute() {
        return PathBuf::from(pattern);
    }
    let directory = env::current_dir().unwrap_or_default().into_os_string().into_vec();
    // What looks like a pattern in the directory's own name is none.
    let escaped = directory.split(|byte| *byte == b'%').collect::<Vec<_>>().join(&b"%%"[..]);
    PathBuf::from(OsString::from_vec(escaped)).join(pattern)
}

/// Where libraries are: beside the one that `$COMMSEE_LIB` names, or beside this program and in the directories of
/// libraries beside its own.
fn places() -> Vec<PathBuf> {
    let directory = |path: &Path| path.parent().unwrap_or(Path::new(".")).to_owned();
    match named_library() {
        Some(path) => vec![directory(&path)],
        None => {
            let beside = directory(&env::current_exe().unwrap_or_default());
            ["", "../lib", "../lib64"].map(|place| beside.join(place)).to_vec()
        }
    }
}

fn named_library() -> Option<PathBuf> {
    env::var_os(settings::LIB).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn library() -> Result<PathBuf, Error> {
    let candidates = match named_library() {
        Some(path) => vec![path],
        None => places().iter().map(|place| place.join(LIBRARY)).collect(),
    };
    match found(&candidates)? {
        Some(library) => Ok(library),
        None => Err(Error::NoLibrary(candidates)),
    }
}

/// The libraries of hook modules, each once, in the order in which they are named.
fn modules(names: &str, places: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut libraries = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let library = match is_module_name(name) {
            true => found(&places.iter().map(|place| place.join(module_library(name))).collect::<Vec<_>>())?,
            false => None,
        };
        let missing = || Error::NoModule { name: name.to_owned(), there: there(places), places: places.to_vec() };
        let library = library.ok_or_else(missing)?;
        if !libraries.contains(&library) {
            libraries.push(library);
        }
    }
    Ok(libraries)
}

fn is_module_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Modules that somebody else wrote are found by the same rule.
fn module_library(name: &str) -> String {
    format!("{MODULE}{name}.so")
}

/// The names of all modules that are there.
fn there(places: &[PathBuf]) -> Vec<String> {
    let files = places.iter().filter_map(|place| place.read_dir().ok()).flatten().flatten();
    let names = files.filter_map(|file| {
        let name = file.file_name().to_string_lossy().strip_prefix(MODULE)?.strip_suffix(".so")?.to_owned();
        is_module_name(&name).then_some(name)
    });
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

/// The first of the files that is there, as it can be preloaded.
fn found(candidates: &[PathBuf]) -> Result<Option<PathBuf>, Error> {
    let Some(path) = candidates.iter().find(|path| path.is_file()) else { return Ok(None) };
    let Ok(whole) = path.canonicalize() else { return Ok(None) };
    // As it was named, it may lead there by a symbolic link.
    match [Some(whole.clone()), absolute(path).ok()].into_iter().flatten().find(|path| !has_separator(path)) {
        Some(path) => Ok(Some(path)),
        None => Err(Error::LibraryPath(whole)),
    }
}

/// What parts the directories of `LD_LIBRARY_PATH`, and the files of `LD_PRELOAD`.
fn has_separator(path: &Path) -> bool {
    path.as_os_str().as_bytes().iter().any(|byte| b":;".contains(byte))
}

/// In front of what is loaded already, each once.
fn preloaded(libraries: &[PathBuf], before: Option<OsString>) -> OsString {
    let before = before.unwrap_or_default();
    let others = before.as_bytes().split(|byte| b" :".contains(byte)).filter(|other| !other.is_empty());
    let preloaded = |library: &Path| match has_space(library) {
        true => library.file_name().unwrap_or_default().as_bytes().to_vec(),
        false => library.as_os_str().as_bytes().to_vec(),
    };
    let mut names: Vec<Vec<u8>> = Vec::new();
    for name in libraries.iter().map(|library| preloaded(library)).chain(others.map(<[u8]>::to_vec)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    OsString::from_vec(names.join(&b":"[..]))
}

fn has_space(path: &Path) -> bool {
    path.as_os_str().as_bytes().contains(&b' ')
}

/// Options of AddressSanitizer, with one that lets libraries be loaded before its runtime. What the user says of it stands.
pub fn beside_others(options: OsString) -> OsString {
    if options.as_bytes().windows(ANY_ORDER.len()).any(|word| word == ANY_ORDER.as_bytes()) {
        return options;
    }
    let mut words = options;
    if !words.is_empty() {
        words.push(":");
    }
    words.push(format!("{ANY_ORDER}=0"));
    words
}

/// Where libraries are searched that cannot be preloaded by their whole path, if there are any.
fn searched(libraries: &[PathBuf], before: Option<OsString>) -> Option<OsString> {
    let mut paths: Vec<&[u8]> = Vec::new();
    for library in libraries.iter().filter(|library| has_space(library)) {
        let directory = library.parent()?.as_os_str().as_bytes();
        if !paths.contains(&directory) {
            paths.push(directory);
        }
    }
    if paths.is_empty() {
        return None;
    }
    let before = before.unwrap_or_default();
    paths.extend(Some(before.as_bytes()).filter(|before| !before.is_empty()));
    Some(OsString::from_vec(paths.join(&b":"[..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_stands_once_and_first() {
        let library = [PathBuf::from("/l/libcommsee.so")];
        assert_eq!(preloaded(&library, None), "/l/libcommsee.so");
        assert_eq!(preloaded(&library, Some("/a.so /l/libcommsee.so:/b.so".into())), "/l/libcommsee.so:/a.so:/b.so");
        let both = ["/l/libcommsee.so", "/l/libcommsee_ucx.so"].map(PathBuf::from);
        let before = Some("/l/libcommsee_ucx.so:/b.so".into());
        assert_eq!(preloaded(&both, before), "/l/libcommsee.so:/l/libcommsee_ucx.so:/b.so");
    }

    #[test]
    fn options_of_the_sanitizer_stay_the_users() {
        let with = |options: &str| beside_others(options.into()).into_string().unwrap();
        assert_eq!(with(""), "verify_asan_link_order=0");
        assert_eq!(with("detect_leaks=0"), "detect_leaks=0:verify_asan_link_order=0");
        assert_eq!(with("verify_asan_link_order=1"), "verify_asan_link_order=1");
    }

    #[test]
    fn a_path_with_a_space_is_searched() {
        let libraries = ["/my tools/libcommsee.so", "/my tools/libcommsee_ucx.so"].map(PathBuf::from);
        assert_eq!(preloaded(&libraries, Some("/a.so".into())), "libcommsee.so:libcommsee_ucx.so:/a.so");
        assert_eq!(searched(&libraries, Some("/b:/c".into())), Some("/my tools:/b:/c".into()));
        assert_eq!(searched(&libraries, None), Some("/my tools".into()));
        assert_eq!(searched(&[PathBuf::from("/l/libcommsee.so")], Some("/b".into())), None);
    }

    #[test]
    fn modules_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        for file in ["libcommsee_ucx.so", "libcommsee_mine.so", "libcommsee_no-name.so", "libcommsee.so"] {
            std::fs::write(here.join(file), "").unwrap();
        }
        let places = [here.join("nowhere"), here.clone()];
        let libraries = modules("mine, ucx,,mine", &places).unwrap();
        assert_eq!(libraries, ["libcommsee_mine.so", "libcommsee_ucx.so"].map(|file| here.join(file)));
        assert!(modules("", &places).unwrap().is_empty());
        for wrong in ["nccl", "no-name", "../libcommsee_ucx", "ucx.so", "UCX"] {
            let text = modules(wrong, &places).unwrap_err().to_string();
            assert!(text.contains(wrong) && text.contains("known ones: mine, ucx"), "{text}");
        }
    }

    #[test]
    fn patterns_become_absolute() {
        assert_eq!(absolute_pattern(OsStr::new("/x/%t.db")), Path::new("/x/%t.db"));
        assert_eq!(absolute_pattern(OsStr::new("a.db")), env::current_dir().unwrap().join("a.db"));
    }
}
