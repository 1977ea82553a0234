//! The variable by which the driver finds this library when a program initializes it (`cuInit`). It is set where a GPU may be used, and not in launchers and
//! shells: what they start may not find the library.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use commsee_runtime::module::Module;
use commsee_runtime::{guard, real};

const VARIABLE: &CStr = c"CUDA_INJECTION64_PATH";
/// What programs that may use a GPU have loaded when they begin: MPI libraries, CUDA, Python.
const LIBRARIES: [&[u8]; 5] = [b"libmpi", b"libcuda.so", b"libcudart", b"libnccl.so", b"libpython"];
/// Programs that load all of that later.
const INTERPRETERS: [&str; 2] = ["python", "julia"];
/// NVIDIA's tools, which set the variable for what they start, and some of which refuse to where it is set.
const TOOLS: [&str; 6] = ["ncu", "nsys", "compute-sanitizer", "cuda-gdb", "nvprof", "cuda-memcheck"];

/// The core has taken this module in: the driver shall find it.
pub fn prepare(module: &Module) {
    guard::guarded(|| {
        let Some(own) = own_path().filter(|_| may_use_gpu()) else { return };
        match std::env::var_os(OsStr::from_bytes(VARIABLE.to_bytes())).filter(|path| !path.is_empty()) {
            None => set(&own),
            Some(path) if is_same_file(&path, OsStr::from_bytes(own.to_bytes())) => {}
            Some(other) => {
                let other = other.to_string_lossy();
                module.note(&format!("CUDA_INJECTION64_PATH names another tool, {other}: copies are not counted"));
            }
        }
    });
}

/// By the C library's own function: some programs, bash among them, have one of the same name, which wants to be called when they have begun.
fn set(own: &CStr) {
    type Set = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
    let set = real::next(c"setenv");
    if !set.is_null() {
        // SAFETY: of that type; both are texts. In a constructor nobody else changes the environment.
        unsafe { std::mem::transmute::<*mut c_void, Set>(set)(VARIABLE.as_ptr(), own.as_ptr(), 1) };
    }
}

fn may_use_gpu() -> bool {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_loaded = |file: &[u8]| LIBRARIES.iter().any(|begin| file.starts_with(begin));
    let is_interpreter = INTERPRETERS.iter().any(|begin| name.starts_with(begin));
    !TOOLS.contains(&name.as_ref()) && (is_interpreter || !real::libraries(is_loaded).is_empty())
}

/// Where the loader has found this library: from the root on, since the program may go to another directory.
fn own_path() -> Option<CString> {
    let name = real::file_of(prepare as *const () as usize)?;
    let path = std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()?;
    CString::new(path.into_os_string().as_bytes()).ok()
}

fn is_same_file(path: &OsStr, own: &OsStr) -> bool {
    let file = |path| std::fs::metadata(path).map(|file| (file.dev(), file.ino()));
    matches!((file(path), file(own)), (Ok(one), Ok(other)) if one == other)
}
