//! What an exported function does: it jumps to the function that records its call, with its caller. On x86-64 and AArch64 it is written in assembly, so
//! that it saves no register, moves no argument, and knows its return address ([`crate::guest::caller`]).

/// The body of an exported C function: it takes its arguments, and goes to `recorded` with these and the caller. Calls that are not recorded
/// go straight to the real function, if that is known: `while_on` or `while_not_off` tells which are, of which the latter are those that are
/// followed while recording pauses.
macro_rules! shell {
    ($when:ident, $slot:expr, $recorded:ident, ($($argument:ident),*)) => {{
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        std::arch::naked_asm!(
            $crate::wrappers::shell::forward_unless!($when),
            functions = sym $crate::mpi::real::FUNCTIONS,
            state = sym $crate::guest::state::STATE,
            slot = const $slot,
            recorded = sym $recorded,
        );
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $recorded($($argument,)* $crate::guest::caller::Caller::UNKNOWN) }
    }};
}
pub(super) use shell;

/// The same without a look at whether calls are recorded.
macro_rules! jump {
    ($recorded:ident, ($($argument:ident),*)) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!("movq xmm0, qword ptr [rsp]", "jmp {recorded}", recorded = sym $recorded);
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!("fmov d0, x30", "b {recorded}", recorded = sym $recorded);
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $recorded($($argument,)* $crate::guest::caller::Caller::UNKNOWN) }
    }};
}
pub(super) use jump;

#[cfg(target_arch = "x86_64")]
macro_rules! forward_unless {
    // The state is `ON`.
    (while_on) => {
        $crate::wrappers::shell::forward_unless!("2", "jne")
    };
    // It is not `OFF`.
    (while_not_off) => {
        $crate::wrappers::shell::forward_unless!("0", "je")
    };
    ($state:literal, $jump:literal) => {
        concat!(
            "cmp byte ptr [rip + {state}], ",
            $state,
            "\n",
            $jump,
            " 3f\n",
            "2:\n",
            "movq xmm0, qword ptr [rsp]\n",
            "jmp {recorded}\n",
            "3:\n",
            "mov rax, qword ptr [rip + {functions} + 8 * {slot}]\n",
            "test rax, rax\n",
            "je 2b\n",
            "jmp rax",
        )
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! forward_unless {
    (while_on) => {
        $crate::wrappers::shell::forward_unless!("2", "ne")
    };
    (while_not_off) => {
        $crate::wrappers::shell::forward_unless!("0", "eq")
    };
    ($state:literal, $condition:literal) => {
        concat!(
            "adrp x17, {state}\n",
            "ldrb w17, [x17, :lo12:{state}]\n",
            "cmp w17, ",
            $state,
            "\n",
            "b.",
            $condition,
            " 3f\n",
            "2:\n",
            "fmov d0, x30\n",
            "b {recorded}\n",
            "3:\n",
            "adrp x16, {functions} + 8 * {slot}\n",
            "ldr x16, [x16, :lo12:{functions} + 8 * {slot}]\n",
            "cbz x16, 2b\n",
            "br x16",
        )
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use forward_unless;

/// The body of the function that records a call: finds the real function, enters the call, and runs what counts it.
macro_rules! recorded {
    ($thread:ident, $real:ident: $type:ty, $slot:expr, $operation:expr, $unseen:ident, ($($argument:ident),*), $caller:ident, $body:expr) => {
        // SAFETY: the type repeats the function's declaration in the standard; the program passes what it takes, and it is passed on.
        unsafe {
            let known = $crate::mpi::real::known($slot);
            let function = known.unwrap_or_else(|| $crate::mpi::real::function($slot));
            let $real = std::mem::transmute::<*mut std::ffi::c_void, $type>(function);
            // Otherwise the exported function has asked, where it is written in assembly.
            let has_asked = cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && known.is_some();
            if !has_asked && $crate::guest::state::$unseen() {
                return $real($($argument),*);
            }
            let Some(inside) = $crate::record::enter::enter($operation, $caller) else { return $real($($argument),*) };
            let $thread = inside.thread();
            $body
        }
    };
}
pub(super) use recorded;

/// An exported Fortran entry point: it takes its arguments, and goes to `recorded` with these, the caller and the entry's address. The words are its name, its entry,
/// `late` where not every library has it, and what [`fortran::Entry::new`](crate::fortran::Entry::new) takes.
macro_rules! fortran_entry {
    (late $name:ident, $entry:ident, $text:literal, $flags:tt, $recorded:ident $arguments:tt) => {
        $crate::wrappers::shell::fortran_entry!(@ (late) $name, $entry, $text, $flags, $recorded $arguments);
    };
    ($name:ident, $entry:ident, $text:literal, $flags:tt, $recorded:ident $arguments:tt) => {
        $crate::wrappers::shell::fortran_entry!(@ () $name, $entry, $text, $flags, $recorded $arguments);
    };
    (@ ($($late:ident)?) $name:ident, $entry:ident, $text:literal, ($f08:literal, $large:literal, $descriptors:literal), $recorded:ident($($argument:ident),*)) => {
        static $entry: $crate::fortran::Entry = $crate::fortran::Entry::new($text, $f08, $large, $descriptors);
        where_present! {
            $($late)?
            #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), unsafe(naked))]
            pub unsafe extern "C-unwind" fn $name($($argument: Word),*) -> Word {
                fortran_shell!($entry, $recorded, ($($argument),*))
            }
        }
    };
}
pub(super) use fortran_entry;

/// The body of an exported Fortran entry point: it takes its arguments, and goes to `recorded` with these, the caller and the entry's address.
macro_rules! fortran_shell {
    ($entry:ident, $recorded:ident, ($($argument:ident),*)) => {{
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!(
            "movq xmm0, qword ptr [rsp]",
            "lea rax, [rip + {entry}]",
            "movq xmm1, rax",
            "jmp {recorded}",
            entry = sym $entry,
            recorded = sym $recorded,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            "fmov d0, x30",
            "adrp x16, {entry}",
            "add x16, x16, :lo12:{entry}",
            "fmov d1, x16",
            "b {recorded}",
            entry = sym $entry,
            recorded = sym $recorded,
        );
        // SAFETY: the program passes what the function takes, and it is passed on.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $recorded($($argument,)* $crate::guest::caller::Caller::UNKNOWN, $crate::guest::caller::Address::of(&$entry)) }
    }};
}
pub(super) use fortran_shell;
