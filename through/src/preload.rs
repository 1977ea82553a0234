//! What the environment of a profiled program must hold.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use commsee::settings;

use crate::cli::Profiling;
use crate::error::Error;

pub const PRELOAD: &str = "LD_PRELOAD";
/// Where the library is, for installations that keep it apart from `through`.
const LIBRARY: &str = "libcommsee.so";

pub type Variables = Vec<(&'static str, OsString)>;

/// The variables that load the profiler, and those that were asked for.
pub fn variables(profiling: &Profiling) -> Result<Variables, Error> {
    let mut variables = vec![(PRELOAD, preloaded(&library()?, env::var_os(PRELOAD)))];
    if let Some(output) = &profiling.output {
        variables.push((settings::OUT, absolute_pattern(output.as_os_str()).into_os_string()));
    }
    variables.extend(profiling.hooks.as_ref().map(|hooks| (settings::HOOKS, hooks.into())));
    variables.extend(profiling.buckets.as_ref().map(|edges| (settings::BUCKETS, edges.into())));
    Ok(variables)
}

/// The pattern of the profile's name that is in force without the option for it.
pub fn default_pattern() -> OsString {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    set(settings::OUT).or_else(|| set(settings::OUT_COMPATIBLE)).unwrap_or_else(|| settings::DEFAULT_OUT.into())
}

/// The pattern from the root on: the processes of a job may start in other directories.
pub fn absolute_pattern(pattern: &OsStr) -> PathBuf {
    if Path::new(pattern).is_absolute() {
        return PathBuf::from(pattern);
    }
    let directory = env::current_dir().unwrap_or_default().into_os_string().into_vec();
    // What looks like a pattern in the directory's own name is none.
    let escaped = directory.split(|byte| *byte == b'%').collect::<Vec<_>>().join(&b"%%"[..]);
    PathBuf::from(OsString::from_vec(escaped)).join(pattern)
}

/// Finds the library in `$COMMSEE_LIB`, beside this program, or in the directory of libraries beside its own.
fn library() -> Result<PathBuf, Error> {
    let candidates = match env::var_os(settings::LIB).filter(|path| !path.is_empty()) {
        Some(path) => vec![PathBuf::from(path)],
        None => {
            let program = env::current_exe().unwrap_or_default();
            let directory = program.parent().unwrap_or(Path::new("."));
            ["", "../lib", "../lib64"].map(|place| directory.join(place).join(LIBRARY)).to_vec()
        }
    };
    let found = candidates.iter().find(|path| path.is_file());
    let library = found.and_then(|path| path.canonicalize().ok()).ok_or(Error::NoLibrary(candidates))?;
    match library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        true => Err(Error::LibraryPath(library)),
        false => Ok(library),
    }
}

/// In front of what is loaded already.
fn preloaded(library: &Path, before: Option<OsString>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    let before = before.unwrap_or_default();
    let others = before.as_bytes().split(|byte| b" :".contains(byte));
    for other in others.filter(|other| !other.is_empty() && *other != library.as_os_str().as_bytes()) {
        list.push(":");
        list.push(OsStr::from_bytes(other));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_stands_once_and_first() {
        let library = Path::new("/l/libcommsee.so");
        assert_eq!(preloaded(library, None), "/l/libcommsee.so");
        assert_eq!(preloaded(library, Some("/a.so /l/libcommsee.so:/b.so".into())), "/l/libcommsee.so:/a.so:/b.so");
    }

    #[test]
    fn patterns_become_absolute() {
        assert_eq!(absolute_pattern(OsStr::new("/x/%t.db")), Path::new("/x/%t.db"));
        assert_eq!(absolute_pattern(OsStr::new("a.db")), env::current_dir().unwrap().join("a.db"));
    }
}
