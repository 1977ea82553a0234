//! System calls without the C library.

use std::arch::asm;

#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, arguments: [usize; 4]) -> isize {
    let result: isize;
    // SAFETY: the callers pass what the system call takes; it changes no other register.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") arguments[0], in("rsi") arguments[1],
            in("rdx") arguments[2], in("r10") arguments[3], out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, arguments: [usize; 4]) -> isize {
    let result: isize;
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") arguments[0] as isize => result, in("x1") arguments[1],
            in("x2") arguments[2], in("x3") arguments[3], options(nostack));
    }
    result
}

pub unsafe fn open(path: *const u8) -> isize {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_openat as usize, [libc::AT_FDCWD as usize, path as usize, flags, 0]) }
}

pub unsafe fn read(file: isize, place: *mut u8, bytes: usize) -> isize {
    // SAFETY: the caller passes a place for so many bytes.
    unsafe { call(libc::SYS_read as usize, [file as usize, place as usize, bytes, 0]) }
}

/// Pages become writable, or readable only. Below 0 if they cannot.
pub unsafe fn protect([begin, end]: [usize; 2], writable: bool) -> isize {
    let access = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: the caller passes whole pages of a loaded object.
    unsafe { call(libc::SYS_mprotect as usize, [begin, end - begin, access as usize, 0]) }
}

pub unsafe fn close(file: isize) {
    // SAFETY: the caller passes its own descriptor.
    unsafe { call(libc::SYS_close as usize, [file as usize, 0, 0, 0]) };
}
