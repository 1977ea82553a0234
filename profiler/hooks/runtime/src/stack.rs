//! How far a thread's stack goes, by which a library finds out that the program has jumped out of a call (`longjmp`): nobody is told,
//! but the stack has become shorter than it was there.

/// Where the stack ends that this is called on; 0 where that cannot be had.
#[inline(always)]
pub fn pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only reads a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        pointer = 0;
    }
    pointer
}

/// What tells this thread from all others that are alive, read without a call; 0 where that cannot be had.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the first word of a thread's own data is its address (System V ABI).
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nomem, nostack, preserves_flags, pure));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: only reads a register.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags, pure));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        pointer = 0;
    }
    pointer
}
