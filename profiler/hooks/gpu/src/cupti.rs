//! CUPTI's library: which one, and its functions.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use commsee_runtime::real;

use crate::abi::{Callback, Code, Complete, Configuration, Record, Request, Subscriber};

/// The user's own choice.
const VARIABLE: &str = "COMMSEE_CUPTI";
/// The names that the loader may know it by, newest first.
const NAMES: [&CStr; 4] = [c"libcupti.so.13", c"libcupti.so.12", c"libcupti.so.11.8", c"libcupti.so"];

macro_rules! functions {
    ($($field:ident $symbol:literal ($($argument:ty),*);)*) => {
        pub struct Cupti {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> Code,)*
        }

        impl Cupti {
            fn of(library: *mut c_void) -> Option<Cupti> {
                // SAFETY: looks names up; the types are those of CUPTI's headers.
                unsafe {
                    Some(Cupti {
                        $($field: {
                            let address = libc::dlsym(library, $symbol.as_ptr());
                            if address.is_null() {
                                return None;
                            }
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> Code>(address)
                        },)*
                    })
                }
            }
        }
    };
}

functions! {
    version c"cuptiGetVersion" (*mut u32);
    result_text c"cuptiGetResultString" (Code, *mut *const c_char);
    subscribe c"cuptiSubscribe" (*mut Subscriber, Callback, *mut c_void);
    unsubscribe c"cuptiUnsubscribe" (Subscriber);
    callback_name c"cuptiGetCallbackName" (c_int, u32, *mut *const c_char);
    enable_callback c"cuptiEnableCallback" (u32, Subscriber, c_int, u32);
    register c"cuptiActivityRegisterCallbacks" (Request, Complete);
    enable c"cuptiActivityEnable" (c_int);
    disable c"cuptiActivityDisable" (c_int);
    configure_unified c"cuptiActivityConfigureUnifiedMemoryCounter" (*const Configuration, u32);
    flush c"cuptiActivityFlushAll" (u32);
    next_record c"cuptiActivityGetNextRecord" (*mut u8, usize, *mut *mut Record);
    dropped c"cuptiActivityGetNumDroppedRecords" (*mut c_void, u32, *mut usize);
    now c"cuptiGetTimestamp" (*mut u64);
}

impl Cupti {
    pub fn text(&self, code: Code) -> String {
        let mut text = std::ptr::null();
        // SAFETY: fills it in with a text that stays.
        unsafe {
            match (self.result_text)(code, &raw mut text) {
                0 if !text.is_null() => CStr::from_ptr(text).to_string_lossy().into_owned(),
                _ => format!("code {code}"),
            }
        }
    }
}

/// The one of this process; None where there is none.
pub fn find() -> Option<&'static Cupti> {
    static FOUND: OnceLock<Option<Cupti>> = OnceLock::new();
    FOUND.get_or_init(|| candidates().find_map(|name| Cupti::of(open(&name)?))).as_ref()
}

/// The one that was found before.
fn open(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: CUPTI is loaded, which does nothing by itself; it stays.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!library.is_null()).then_some(library)
}

/// The user's choice alone, or what is loaded, what the loader finds, and where CUDA's packages have it.
fn candidates() -> Box<dyn Iterator<Item = CString>> {
    if let Some(chosen) = std::env::var_os(VARIABLE).filter(|chosen| !chosen.is_empty()) {
        return Box::new(CString::new(chosen.as_bytes()).ok().into_iter());
    }
    let loaded = real::libraries(|file| file.starts_with(b"libcupti.so") || file.starts_with(b"libcupti-"));
    let named = NAMES.into_iter().map(CStr::to_owned);
    Box::new(loaded.into_iter().chain(named).chain(folders().flat_map(in_folder)))
}

fn in_folder(folder: PathBuf) -> impl Iterator<Item = CString> {
    NAMES.into_iter().filter_map(move |name| {
        let path = folder.join(OsStr::from_bytes(name.to_bytes()));
        path.is_file().then(|| CString::new(path.into_os_string().as_bytes()).ok()).flatten()
    })
}

/// CUDA's own folders, and those of Python's packages, where a library of CUDA is loaded from one.
fn folders() -> impl Iterator<Item = PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "NVHPC_CUDA_HOME"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from);
    let homes = homes.chain([PathBuf::from("/usr/local/cuda")]);
    let of_cuda = homes.flat_map(|home| [home.join("extras/CUPTI/lib64"), home.join("lib64")]);
    let is_cuda =
        |file: &[u8]| [&b"libcudart"[..], b"libcublas", b"libnccl.so"].iter().any(|stem| file.starts_with(stem));
    let of_packages = real::libraries(is_cuda).into_iter().filter_map(|library| {
        let folder = Path::new(OsStr::from_bytes(library.to_bytes())).parent()?.to_path_buf();
        let packages = folder.parent()?.parent()?.to_path_buf();
        Some([folder, packages.join("cuda_cupti/lib"), packages.join("cu13/lib")])
    });
    of_cuda.chain(of_packages.flatten())
}
