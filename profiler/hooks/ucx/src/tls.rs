//! One pointer per thread, reached without a call. Rust's own `thread_local!` goes through `__tls_get_addr` in a shared
//! object, which is a function call; the initial-exec model needs two loads (docs/explanation/cost.md).

use crate::thread::Thread;

pub use place::{get, set};

#[cfg(target_arch = "x86_64")]
mod place {
    use super::Thread;
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss, \"awT\", @nobits",
        ".p2align 3",
        ".globl commsee_ucx_thread",
        ".hidden commsee_ucx_thread",
        ".type commsee_ucx_thread, @object",
        ".size commsee_ucx_thread, 8",
        "commsee_ucx_thread:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub fn get() -> *mut Thread {
        let thread: *mut Thread;
        // SAFETY: reads this thread's variable, which is defined above.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + commsee_ucx_thread@GOTTPOFF]",
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) thread,
                options(nostack, preserves_flags, readonly),
            );
        }
        thread
    }

    pub fn set(thread: *mut Thread) {
        // SAFETY: writes this thread's variable, which is defined above.
        unsafe {
            asm!(
                "mov {0}, qword ptr [rip + commsee_ucx_thread@GOTTPOFF]",
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) thread,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod place {
    use super::Thread;
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss, \"awT\", @nobits",
        ".p2align 3",
        ".globl commsee_ucx_thread",
        ".hidden commsee_ucx_thread",
        ".type commsee_ucx_thread, @object",
        ".size commsee_ucx_thread, 8",
        "commsee_ucx_thread:",
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    fn place() -> *mut *mut Thread {
        let place: *mut *mut Thread;
        // SAFETY: computes the address of this thread's variable, which is defined above.
        unsafe {
            asm!(
                "mrs {0}, tpidr_el0",
                "adrp {1}, :gottprel:commsee_ucx_thread",
                "ldr {1}, [{1}, :gottprel_lo12:commsee_ucx_thread]",
                "add {0}, {0}, {1}",
                out(reg) place,
                out(reg) _,
                options(nostack, preserves_flags, readonly),
            );
        }
        place
    }

    #[inline(always)]
    pub fn get() -> *mut Thread {
        unsafe { *place() }
    }

    pub fn set(thread: *mut Thread) {
        unsafe { *place() = thread }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod place {
    use super::Thread;
    use std::cell::Cell;

    thread_local!(static THREAD: Cell<*mut Thread> = const { Cell::new(std::ptr::null_mut()) });

    #[inline(always)]
    pub fn get() -> *mut Thread {
        THREAD.try_with(Cell::get).unwrap_or(std::ptr::null_mut())
    }

    pub fn set(thread: *mut Thread) {
        let _ = THREAD.try_with(|place| place.set(thread));
    }
}
