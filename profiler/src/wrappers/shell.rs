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

/// The body of an exported Fortran entry point, whose translations take the arguments, the caller and the entry's address. `through` and
/// `through_sited` leave it to the C function to count.
macro_rules! fortran_shell {
    ($entry:ident, $short:expr, $through:expr, $sited:expr, $through_sited:expr, $full:expr, ($($argument:ident),*)) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!(
            "movq xmm0, qword ptr [rsp]",
            "lea rax, [rip + {entry}]",
            "movq xmm1, rax",
            "cmp byte ptr [rip + {open}], {is_short}",
            "jne 2f",
            "cmp qword ptr [rax + {layer}], {ready}",
            "jb 5f",
            "ja 4f",
            "jmp {short}",
            "4:",
            "jmp {through}",
            "2:",
            "jb 5f",
            "cmp qword ptr [rax + {layer}], {ready}",
            "jb 5f",
            "ja 3f",
            "jmp {sited}",
            "3:",
            "jmp {through_sited}",
            "5:",
            "jmp {full}",
            is_short = const $crate::guest::short_path::SHORT,
            entry = sym $entry,
            layer = const $crate::fortran::Entry::LAYER,
            ready = const $crate::fortran::Entry::READY,
            open = sym $crate::guest::short_path::OPEN,
            short = sym $short,
            through = sym $through,
            sited = sym $sited,
            through_sited = sym $through_sited,
            full = sym $full,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            "fmov d0, x30",
            "adrp x16, {entry}",
            "add x16, x16, :lo12:{entry}",
            "fmov d1, x16",
            "adrp x17, {open}",
            "ldrb w17, [x17, :lo12:{open}]",
            // As above.
            "add x16, x16, {layer}",
            "ldar x16, [x16]",
            "cbz x16, 5f",
            "cmp w17, {is_short}",
            "b.lo 5f",
            "b.hi 3f",
            "cmp x16, {ready}",
            "b.hi 4f",
            "b {short}",
            "4:",
            "b {through}",
            "3:",
            "cmp x16, {ready}",
            "b.hi 6f",
            "b {sited}",
            "6:",
            "b {through_sited}",
            "5:",
            "b {full}",
            is_short = const $crate::guest::short_path::SHORT,
            entry = sym $entry,
            layer = const $crate::fortran::Entry::LAYER,
            ready = const $crate::fortran::Entry::READY,
            open = sym $crate::guest::short_path::OPEN,
            short = sym $short,
            through = sym $through,
            sited = sym $sited,
            through_sited = sym $through_sited,
            full = sym $full,
        );
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe {
            let entry = $crate::guest::caller::Address::of(&$entry);
            match $crate::guest::short_path::which() {
                _ if $entry.layer() == 0 => $full($($argument,)* $crate::guest::caller::Caller::UNKNOWN, entry),
                $crate::guest::short_path::SHORT if $entry.layer() != $crate::fortran::Entry::READY => $through($($argument,)* $crate::guest::caller::Caller::UNKNOWN, entry),
                $crate::guest::short_path::SHORT => $short($($argument,)* $crate::guest::caller::Caller::UNKNOWN, entry),
                $crate::guest::short_path::SITED if $entry.layer() != $crate::fortran::Entry::READY => $through_sited($($argument,)* $crate::guest::caller::Caller::UNKNOWN, entry),
                $crate::guest::short_path::SITED => $sited($($argument,)* $crate::guest::caller::Caller::UNKNOWN, entry),
                _ => $full($($argument,)* $crate::guest::caller::Caller::UNKNOWN, entry),
            }
        }
    }};
    ($entry:ident, $full:expr, ($($argument:ident),*)) => {{
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
