//! Where the project lies, and what was built of it.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of the project.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| linked(real_root()))
}

fn real_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders further up")
}

/// The target folder of the running test.
pub fn target_folder() -> PathBuf {
    plain(own_folder().parent().expect("TARGET/PROFILE"))
}

/// The folder that such a variable names, in which `./test` put what it fetched.
pub fn fetched(variable: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os(variable)?);
    Some(plain(&folder.canonicalize().unwrap_or_else(|error| panic!("{variable}: {}: {error}", folder.display()))))
}

/// Where tests keep what they compile, and what lies there only for a moment.
pub fn temporary_folder() -> PathBuf {
    let folder = target_folder().join("tmp");
    fs::create_dir_all(&folder).expect("the folder of temporary files");
    folder
}

/// The preload library.
pub fn library() -> PathBuf {
    built("libcommsee.so")
}

/// The command.
pub fn through() -> PathBuf {
    built("through")
}

/// The hook module of a layer.
pub fn hook(layer: &str) -> PathBuf {
    built(&format!("libcommsee_{layer}.so"))
}

/// The library for static linking.
pub fn static_library() -> PathBuf {
    built("libcommsee.a")
}

/// A product of the workspace beside the running test: the same profile's, else the release profile's.
fn built(name: &str) -> PathBuf {
    let own = own_folder();
    let profile = own.file_name().expect("the profile");
    let [same, release] =
        [Path::new(profile), Path::new("release")].map(|profile| target_folder().join(profile).join(name));
    [same.clone(), release.clone()].into_iter().find(|path| path.exists()).unwrap_or_else(|| {
        panic!("neither {} nor {} exists: run `cargo build --release` first", same.display(), release.display())
    })
}

/// `TARGET/PROFILE`, of `TARGET/PROFILE/deps/TEST`.
fn own_folder() -> PathBuf {
    let executable = env::current_exe().expect("the path of this test");
    executable.ancestors().nth(2).expect("TARGET/PROFILE/deps/TEST").to_owned()
}

/// A folder by a path that is one word to everybody: `LD_PRELOAD` is split at spaces and colons, scripts, launchers and `cc $(pkg-config …)` split elsewhere,
/// and `%` begins a pattern in `COMMSEE_OUT`.
fn plain(folder: &Path) -> PathBuf {
    match folder.strip_prefix(real_root()) {
        Ok(below) => root().join(below),
        Err(_) => linked(folder),
    }
}

/// Where the path is not such a word, a symbolic link. It stays, and lies where hosts of a cluster see it, too.
fn linked(folder: &Path) -> PathBuf {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@".contains(byte) || !byte.is_ascii();
    if folder.as_os_str().as_bytes().iter().all(is_plain) {
        return folder.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    let link = PathBuf::from(format!("/var/tmp/commsee-tests-{:016x}", hasher.finish()));
    match symlink(folder, &link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.unwrap_or_else(|error| panic!("{}: {error}", link.display())),
    }
    assert_eq!(fs::read_link(&link).ok().as_deref(), Some(folder), "{} leads elsewhere: remove it", link.display());
    link
}
