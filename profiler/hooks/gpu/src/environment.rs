//! The variable by which the driver finds this library when a program initializes it (`cuInit`).

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use commsee_runtime::guard;
use commsee_runtime::module::Module;

const VARIABLE: &CStr = c"CUDA_INJECTION64_PATH";
/// NVIDIA's tools, which set it for what they start, and some of which refuse to where it is set.
const TOOLS: [&str; 6] = ["ncu", "nsys", "compute-sanitizer", "cuda-gdb", "nvprof", "cuda-memcheck"];

/// The core has taken this module in: the driver shall find it. A launcher may have been here before, whose variables its children have.
pub fn prepare(module: &Module) {
    guard::guarded(|| {
        let Some(own) = own_path() else { return };
        let found = std::env::var_os(OsStr::from_bytes(VARIABLE.to_bytes())).filter(|path| !path.is_empty());
        if is_tool() {
            if found.is_some_and(|path| is_same_file(&path, OsStr::from_bytes(own.to_bytes()))) {
                // SAFETY: a text. In a constructor nobody else changes the environment.
                unsafe { libc::unsetenv(VARIABLE.as_ptr()) };
            }
            return;
        }
        match found {
            None => {
                // SAFETY: both are texts. In a constructor nobody else changes the environment.
                unsafe { libc::setenv(VARIABLE.as_ptr(), own.as_ptr(), 1) };
            }
            Some(path) if is_same_file(&path, OsStr::from_bytes(own.to_bytes())) => {}
            Some(other) => {
                let other = other.to_string_lossy();
                module.note(&format!("CUDA_INJECTION64_PATH names another tool, {other}: copies are not counted"));
            }
        }
    });
}

fn is_tool() -> bool {
    let name = std::env::current_exe().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    name.is_some_and(|name| TOOLS.contains(&name.as_str()))
}

/// Where the loader has found this library: from the root on, since the program may go to another directory.
fn own_path() -> Option<CString> {
    // SAFETY: dladdr fills it in; its name is the loader's, and stays.
    let name = unsafe {
        let mut own: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(prepare as *const _, &mut own) != 0 && !own.dli_fname.is_null();
        is_known.then(|| CStr::from_ptr(own.dli_fname))
    }?;
    let path = std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()?;
    CString::new(path.into_os_string().as_bytes()).ok()
}

fn is_same_file(path: &OsStr, own: &OsStr) -> bool {
    let file = |path| std::fs::metadata(path).map(|file| (file.dev(), file.ino()));
    matches!((file(path), file(own)), (Ok(one), Ok(other)) if one == other)
}
