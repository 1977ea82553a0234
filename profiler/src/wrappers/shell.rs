//! What an exported function does: it jumps to the path that its call takes. On x86-64 and AArch64 it is written in assembly, so that
//! it saves no register, moves no argument, and knows its return address ([`crate::guest::caller`]).

/// The body of an exported C function that has a short path: it takes its arguments, and goes the `way` that is open with these and the caller.
macro_rules! shell {
    ($way:ident, ($($argument:ident: $type:ty),*)) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!("movq xmm0, qword ptr [rsp]", "jmp qword ptr [rip + {way}]", way = sym $way);
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            // What was set up before another thread opened the way is there behind it.
            "adrp x16, {way}",
            "add x16, x16, :lo12:{way}",
            "ldar x16, [x16]",
            "fmov d0, x30",
            "br x16",
            way = sym $way,
        );
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe {
            type Way = unsafe extern "C-unwind" fn($($type,)* $crate::guest::caller::Caller) -> std::ffi::c_int;
            std::mem::transmute::<*mut (), Way>($way.open())($($argument,)* $crate::guest::caller::Caller::UNKNOWN)
        }
    }};
}
pub(super) use shell;

/// The way past the short path: to `full`, which takes the arguments and the caller, or straight to the real function. `recorded` tells when calls are
/// looked at that do not take the short path: `while_on`, or `while_not_off` for those that are followed while recording pauses.
macro_rules! around {
    ($recorded:ident, $slot:expr, $full:ident, ($($argument:ident),*)) => {{
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        std::arch::naked_asm!(
            $crate::wrappers::shell::forward_unless!($recorded),
            functions = sym $crate::mpi::real::FUNCTIONS,
            state = sym $crate::guest::state::STATE,
            slot = const $slot,
            full = sym $full,
        );
        // SAFETY: as above.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $full($($argument,)* $crate::guest::caller::Caller::UNKNOWN) }
    }};
}
pub(super) use around;

/// The body of an exported function that has only one path, which takes its arguments and the caller.
macro_rules! jump {
    ($full:ident, ($($argument:ident),*)) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!("movq xmm0, qword ptr [rsp]", "jmp {full}", full = sym $full);
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!("fmov d0, x30", "b {full}", full = sym $full);
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $full($($argument,)* $crate::guest::caller::Caller::UNKNOWN) }
    }};
}
pub(super) use jump;

/// Calls that are not recorded go straight to the real function, if that is known.
#[cfg(target_arch = "x86_64")]
macro_rules! forward_unless {
    // The state is `ON`.
    (while_on) => {
        $crate::wrappers::shell::forward_unless!("2", "je")
    };
    // It is not `OFF`.
    (while_not_off) => {
        $crate::wrappers::shell::forward_unless!("0", "jne")
    };
    ($state:literal, $jump:literal) => {
        concat!(
            "mov rax, qword ptr [rip + {functions} + 8 * {slot}]\n",
            "cmp byte ptr [rip + {state}], ",
            $state,
            "\n",
            $jump,
            " 3f\n",
            "test rax, rax\n",
            "je 3f\n",
            "jmp rax\n",
            "3:\n",
            "movq xmm0, qword ptr [rsp]\n",
            "jmp {full}",
        )
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! forward_unless {
    (while_on) => {
        $crate::wrappers::shell::forward_unless!("2", "eq")
    };
    (while_not_off) => {
        $crate::wrappers::shell::forward_unless!("0", "ne")
    };
    ($state:literal, $condition:literal) => {
        concat!(
            "adrp x16, {functions} + 8 * {slot}\n",
            "ldr x16, [x16, :lo12:{functions} + 8 * {slot}]\n",
            "adrp x17, {state}\n",
            "ldrb w17, [x17, :lo12:{state}]\n",
            "cmp w17, ",
            $state,
            "\n",
            "b.",
            $condition,
            " 3f\n",
            "cbz x16, 3f\n",
            "br x16\n",
            "3:\n",
            "fmov d0, x30\n",
            "b {full}",
        )
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use forward_unless;

/// The body of an exported Fortran entry point: it takes its arguments, and goes the way that its entry has, or to `full`, with these, the caller and
/// the entry's address.
macro_rules! fortran_shell {
    ($entry:ident, ($($argument:ident: $type:ty),*)) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!(
            "movq xmm0, qword ptr [rsp]",
            "lea rax, [rip + {entry}]",
            "movq xmm1, rax",
            "jmp qword ptr [rax + {way}]",
            entry = sym $entry,
            way = const $crate::fortran::Entry::WAY,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            "fmov d0, x30",
            "adrp x16, {entry}",
            "add x16, x16, :lo12:{entry}",
            "fmov d1, x16",
            // As above.
            "add x16, x16, {way}",
            "ldar x16, [x16]",
            "br x16",
            entry = sym $entry,
            way = const $crate::fortran::Entry::WAY,
        );
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe {
            type Way = unsafe extern "C-unwind" fn($($type,)* $crate::guest::caller::Caller, $crate::guest::caller::Address) -> $crate::mpi::abi::Word;
            let entry = $crate::guest::caller::Address::of(&$entry);
            std::mem::transmute::<*mut (), Way>($entry.way())($($argument,)* $crate::guest::caller::Caller::UNKNOWN, entry)
        }
    }};
    ($entry:ident, $full:expr, ($($argument:ident: $type:ty),*)) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!(
            "movq xmm0, qword ptr [rsp]",
            "lea rax, [rip + {entry}]",
            "movq xmm1, rax",
            "jmp {full}",
            entry = sym $entry,
            full = sym $full,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            "fmov d0, x30",
            "adrp x16, {entry}",
            "add x16, x16, :lo12:{entry}",
            "fmov d1, x16",
            "b {full}",
            entry = sym $entry,
            full = sym $full,
        );
        // SAFETY: as above.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $full($($argument,)* $crate::guest::caller::Caller::UNKNOWN, $crate::guest::caller::Address::of(&$entry)) }
    }};
}
pub(super) use fortran_shell;
