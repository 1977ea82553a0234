//! Other tools that ask for CUPTI while the program runs, such as PyTorch's own profiler: CUPTI has one user, and the program goes first. These functions
//! stand in front of those of CUPTI by which a tool begins.

use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::{CStr, c_void};

use commsee_runtime::guard;
use commsee_runtime::real::{self, Library, Real};

use crate::abi::{Code, NOT_INITIALIZED};
use crate::watch;

static CUPTI: Library = Library { name: c"libcupti.so", stem: b"libcupti" };

/// With up to four arguments, as all of them have.
type Function = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> Code;

/// Exports a function that lets the caller have CUPTI, and then calls CUPTI's own. The caller's return address goes with its arguments.
macro_rules! stand_in_front_of {
    ($name:ident, $begin:expr) => {
        /// # Safety
        /// As CUPTI's own.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name() -> Code {
            unsafe extern "C-unwind" fn forward(
                one: *mut c_void,
                two: *mut c_void,
                three: *mut c_void,
                four: *mut c_void,
                caller: usize,
            ) -> Code {
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
                static ANY: Real = Real::new(&CUPTI, NAME);
                let call = Call::begin();
                let Some(function) = call.function(NAME, &ANY, caller) else { return NOT_INITIALIZED };
                if call.is_outermost() {
                    guard::uncancelled($begin);
                }
                // SAFETY: CUPTI's function of this name, with the arguments that it was called with.
                unsafe { function(one, two, three, four) }
            }
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov r8, [rsp]", "jmp {}", sym forward);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x4, x30", "b {}", sym forward);
        }
    };
}

stand_in_front_of!(cuptiSubscribe, watch::give_way);
stand_in_front_of!(cuptiSubscribe_v2, watch::give_way);
// Some tools ask for records alone, in either order.
stand_in_front_of!(cuptiActivityRegisterCallbacks, watch::give_buffers);
stand_in_front_of!(cuptiActivityEnable, watch::give_way);
stand_in_front_of!(cuptiActivityEnableContext, watch::give_way);
stand_in_front_of!(cuptiActivityEnableAndDump, watch::give_way);

thread_local! {
    static IS_FORWARDING: Cell<bool> = const { Cell::new(false) };
}

/// A call of one of these. A tool that stands in front of CUPTI, too, comes here again within it.
struct Call {
    is_inner: bool,
}

impl Call {
    fn begin() -> Call {
        Call { is_inner: IS_FORWARDING.replace(true) }
    }

    fn is_outermost(&self) -> bool {
        !self.is_inner
    }

    /// The function of this name that the loader would have found: the next one of the whole program's, else that which the library of the caller is linked
    /// with; or any. None where there is none.
    fn function(&self, name: &CStr, any: &Real, caller: usize) -> Option<Function> {
        let found = guard::guarded(|| match real::next(name) as usize {
            0 if self.is_outermost() => of_caller(name, caller),
            0 => None,
            address => Some(address),
        });
        let address = found.flatten().unwrap_or_else(|| any.address());
        // SAFETY: null, or a function of CUPTI's that is exported here under its name.
        unsafe { std::mem::transmute::<usize, Option<Function>>(address) }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        IS_FORWARDING.set(self.is_inner);
    }
}

fn of_caller(name: &CStr, caller: usize) -> Option<usize> {
    let library = real::file_of(caller)?;
    // SAFETY: RTLD_NOLOAD loads nothing. The caller is in the midst of a call, and holds what it is linked with.
    let address = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if handle.is_null() {
            return None;
        }
        let address = libc::dlsym(handle, name.as_ptr()) as usize;
        libc::dlclose(handle);
        address
    };
    let is_own = real::file_of(address) == real::file_of(of_caller as *const () as usize);
    (address != 0 && !is_own).then_some(address)
}
