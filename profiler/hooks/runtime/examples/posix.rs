//! A whole hook module: what the program writes by `write`. docs/howto/write-a-module.md goes through it.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use commsee_hook::{AT_ONCE, Call, Role, Route};
use commsee_runtime::module::Module;
use commsee_runtime::real::Library;
use commsee_runtime::{guard, real};

commsee_runtime::module!(c"posix", "the files of the C library");

static LIBC: Library = Library { name: c"libc.so.6", stem: b"libc" };

/// # Safety
/// As for the library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn write(file: c_int, data: *const c_void, bytes: usize) -> isize {
    type Write = unsafe extern "C-unwind" fn(c_int, *const c_void, usize) -> isize;
    let Some(real) = real!(LIBC, write, Write) else { return -1 };
    // SAFETY: the program's own arguments.
    let written = unsafe { real(file, data, bytes) };
    if let (Some(module), Ok(written)) = (get(), u64::try_from(written)) {
        let mut call = Call::NONE;
        // SAFETY: the call may be written.
        if unsafe { module.here(&raw mut call) } {
            module.count(&call, route(module), 0, written, written, AT_ONCE);
        }
    }
    written
}

/// Asked for once.
fn route(module: &Module) -> u32 {
    static NUMBER: OnceLock<u32> = OnceLock::new();
    let names = Route { layer: c"posix".as_ptr(), function: c"write".as_ptr(), role: Role::Wire as u32, ..Route::NONE };
    guard::guarded(|| *NUMBER.get_or_init(|| module.route_number(&names))).unwrap_or(0)
}
