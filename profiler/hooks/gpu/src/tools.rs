//! Other tools that ask for CUPTI while the program runs, such as PyTorch's own profiler: CUPTI has one user, and the program goes first. These functions
//! stand in front of CUPTI's, by which a tool begins.

use std::arch::naked_asm;
use std::ffi::{CStr, c_void};

use commsee_runtime::guard;
use commsee_runtime::real::{self, Library, Loaded, Real};

use crate::abi::{Code, NOT_INITIALIZED};
use crate::watch;

static CUPTI: Library = Library { name: c"libcupti.so", stem: b"libcupti" };

/// With up to four arguments, as all of them have.
type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> Code;

/// Exports a function that gives way, and then calls CUPTI's with its arguments. It tells which library called it: there may be several CUPTI.
macro_rules! stand_in_front_of {
    ($name:ident) => {
        /// # Safety
        /// As CUPTI's own.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> Code {
            unsafe extern "C" fn forward(
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
                guard::uncancelled(watch::give_way);
                match guard::guarded(|| of_caller(NAME, caller)).flatten().unwrap_or_else(|| ANY.address()) {
                    0 => NOT_INITIALIZED,
                    // SAFETY: CUPTI's function of this name, with the arguments that it was called with.
                    address => unsafe {
                        std::mem::transmute::<usize, Function>(address)(one, two, three, four)
                    },
                }
            }
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov r8, [rsp]", "jmp {}", sym forward);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x4, x30", "b {}", sym forward);
        }
    };
}

stand_in_front_of!(cuptiSubscribe);
stand_in_front_of!(cuptiSubscribe_v2);
// Some tools ask for records alone.
stand_in_front_of!(cuptiActivityRegisterCallbacks);

/// The function that the library with this address is linked with.
fn of_caller(name: &CStr, caller: usize) -> Option<usize> {
    let address = Loaded::with(caller)?.symbol(name) as usize;
    let is_own = real::file_of(address) == real::file_of(of_caller as *const () as usize);
    (address != 0 && !is_own).then_some(address)
}
