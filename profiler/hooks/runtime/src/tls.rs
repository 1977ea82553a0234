//! One pointer per thread, reached without a call. Rust's own `thread_local!` goes through `__tls_get_addr` in a shared object, which is a
//! function call; the initial-exec model needs two loads (docs/contributing/measurements.md). The libraries that use it are loaded with the program.

/// Makes `get` and `set` of one pointer to `$type` per thread, null at first. `$symbol`: a name that no other object has. With `at first
/// $place - $bytes` it points so many bytes before the static of that name instead.
#[macro_export]
macro_rules! thread_pointer {
    ($type:ty, $symbol:literal) => {
        $crate::thread_pointer!(@of $type, $symbol, {".tbss, \"awT\", @nobits", ".zero 8"}, {}, std::ptr::null_mut());
    };
    ($type:ty, $symbol:literal, at first $place:ident - $bytes:ident) => {
        $crate::thread_pointer!(
            @of $type,
            $symbol,
            {".tdata, \"awT\", @progbits", ".quad {place} - {bytes}"},
            {place = sym super::$place, bytes = const super::$bytes},
            (&raw const super::$place).cast_mut().cast::<Pointee>().wrapping_byte_sub(super::$bytes)
        );
    };
    (@of $type:ty, $symbol:literal, {$section:literal, $first:literal}, {$($operands:tt)*}, $otherwise:expr) => {
        type Pointee = $type;

        pub use place::{get, set};

        #[cfg(target_arch = "x86_64")]
        mod place {
            use super::Pointee;
            use std::arch::{asm, global_asm};

            global_asm!(
                concat!(".pushsection ", $section),
                ".p2align 3",
                concat!(".globl ", $symbol),
                concat!(".hidden ", $symbol),
                concat!(".type ", $symbol, ", @object"),
                concat!(".size ", $symbol, ", 8"),
                concat!($symbol, ":"),
                $first,
                ".popsection",
                $($operands)*
            );

            #[inline(always)]
            pub fn get() -> *mut Pointee {
                let thread: *mut Pointee;
                // SAFETY: reads this thread's variable, which is defined above.
                unsafe {
                    asm!(
                        concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {0}, qword ptr fs:[{0}]",
                        out(reg) thread,
                        options(nostack, preserves_flags, readonly),
                    );
                }
                thread
            }

            pub fn set(thread: *mut Pointee) {
                // SAFETY: writes this thread's variable, which is defined above.
                unsafe {
                    asm!(
                        concat!("mov {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
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
            use super::Pointee;
            use std::arch::{asm, global_asm};

            global_asm!(
                concat!(".pushsection ", $section),
                ".p2align 3",
                concat!(".globl ", $symbol),
                concat!(".hidden ", $symbol),
                concat!(".type ", $symbol, ", @object"),
                concat!(".size ", $symbol, ", 8"),
                concat!($symbol, ":"),
                $first,
                ".popsection",
                $($operands)*
            );

            #[inline(always)]
            fn place() -> *mut *mut Pointee {
                let place: *mut *mut Pointee;
                // SAFETY: computes the address of this thread's variable, which is defined above.
                unsafe {
                    asm!(
                        "mrs {0}, tpidr_el0",
                        concat!("adrp {1}, :gottprel:", $symbol),
                        concat!("ldr {1}, [{1}, :gottprel_lo12:", $symbol, "]"),
                        "add {0}, {0}, {1}",
                        out(reg) place,
                        out(reg) _,
                        options(nostack, preserves_flags, readonly),
                    );
                }
                place
            }

            #[inline(always)]
            pub fn get() -> *mut Pointee {
                unsafe { *place() }
            }

            pub fn set(thread: *mut Pointee) {
                unsafe { *place() = thread }
            }
        }

        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        mod place {
            use super::Pointee;
            use std::cell::Cell;

            thread_local!(static THREAD: Cell<*mut Pointee> = const { Cell::new($otherwise) });

            #[inline(always)]
            pub fn get() -> *mut Pointee {
                THREAD.try_with(Cell::get).unwrap_or($otherwise)
            }

            pub fn set(thread: *mut Pointee) {
                let _ = THREAD.try_with(|place| place.set(thread));
            }
        }
    };
}
