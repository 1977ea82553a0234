//! Reads memory of which nobody knows whether it is there: outside of the program's constants the system looks, and says so where it is not.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(target_pointer_width = "64")]
type Header = libc::Elf64_Phdr;
#[cfg(target_pointer_width = "32")]
type Header = libc::Elf32_Phdr;

/// The least size of a page: what begins within one is there as far as it goes, or not at all.
const PAGE_BYTES: usize = 4096;

/// Copies what lies at an address, and returns how many bytes of it there are.
pub fn read(address: usize, into: &mut [u8]) -> usize {
    let mut read = read_constants(address, into);
    while read < into.len() {
        let Some(place) = address.checked_add(read) else { break };
        let length = (into.len() - read).min(PAGE_BYTES - place % PAGE_BYTES);
        if !copy(place, &mut into[read..read + length]) {
            break;
        }
        read += length;
    }
    read
}

/// The same as far as it is what the program itself was started with and cannot write, such as texts in its code: that stays as long as the
/// process does, and to ask the system takes a microsecond.
fn read_constants(address: usize, into: &mut [u8]) -> usize {
    if !ARE_KNOWN.load(Ordering::Acquire) {
        find_constants();
    }
    let holds = |[begin, end]: &[AtomicUsize; 2]| {
        let end = end.load(Ordering::Relaxed);
        (begin.load(Ordering::Relaxed)..end).contains(&address).then_some(end)
    };
    let Some(end) = CONSTANTS.iter().find_map(holds) else { return 0 };
    let length = into.len().min(end - address);
    // SAFETY: it is mapped, and nobody writes there.
    unsafe { ptr::copy_nonoverlapping(ptr::without_provenance(address), into.as_mut_ptr(), length) };
    length
}

/// Programs have three: headers, code and constants.
const SEGMENTS: usize = 4;

/// Where the kernel mapped the segments of the program that cannot be written.
static CONSTANTS: [[AtomicUsize; 2]; SEGMENTS] = [const { [const { AtomicUsize::new(0) }; 2] }; SEGMENTS];
static ARE_KNOWN: AtomicBool = AtomicBool::new(false);

/// Whoever comes meanwhile, be it a handler of a signal, finds the same, and waits for nobody.
#[cold]
fn find_constants() {
    // SAFETY: the kernel tells where the headers of the program are, which stay mapped.
    let headers = unsafe {
        let (place, count) = (libc::getauxval(libc::AT_PHDR), libc::getauxval(libc::AT_PHNUM));
        match (libc::getauxval(libc::AT_PHENT) as usize, place) {
            (_, 0) => &[],
            (bytes, _) if bytes != size_of::<Header>() => &[],
            _ => std::slice::from_raw_parts(ptr::with_exposed_provenance::<Header>(place as usize), count as usize),
        }
    };
    let Some(own) = headers.iter().find(|header| header.p_type == libc::PT_PHDR) else {
        return ARE_KNOWN.store(true, Ordering::Release);
    };
    let base = (headers.as_ptr() as usize).wrapping_sub(own.p_vaddr as usize);
    let is_constant =
        |header: &&Header| header.p_type == libc::PT_LOAD && header.p_flags & (libc::PF_R | libc::PF_W) == libc::PF_R;
    for ([begin, end], header) in CONSTANTS.iter().zip(headers.iter().filter(is_constant)) {
        let place = base.wrapping_add(header.p_vaddr as usize);
        begin.store(place, Ordering::Relaxed);
        end.store(place.saturating_add(header.p_filesz as usize), Ordering::Relaxed);
    }
    ARE_KNOWN.store(true, Ordering::Release);
}

/// Copies pieces, one behind the other, with as few calls of the system as it takes. False where one of them is not there.
pub fn read_pieces(pieces: &[(usize, usize)], into: &mut [u8]) -> bool {
    /// What the system takes at a time (`IOV_MAX` is 1024).
    const MOST: usize = 64;
    let mut rest = into;
    for pieces in pieces.chunks(MOST) {
        let bytes = pieces.iter().map(|(_, bytes)| bytes).sum();
        let Some((own, others)) = rest.split_at_mut_checked(bytes) else { return false };
        rest = others;
        let mut remote = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; MOST];
        for (place, (address, bytes)) in remote.iter_mut().zip(pieces) {
            *place = libc::iovec { iov_base: ptr::without_provenance_mut(*address), iov_len: *bytes };
        }
        let local = libc::iovec { iov_base: own.as_mut_ptr().cast(), iov_len: bytes };
        // SAFETY: as in `copy`.
        let copied = unsafe {
            libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), pieces.len() as libc::c_ulong, 0)
        };
        if copied == bytes as isize {
            continue;
        }
        // One of them is not there, or the call is forbidden.
        let mut at = 0;
        for (address, bytes) in pieces {
            if read(*address, &mut own[at..at + bytes]) < *bytes {
                return false;
            }
            at += bytes;
        }
    }
    true
}

/// Copies bytes that lie on one page.
fn copy(place: usize, into: &mut [u8]) -> bool {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: ptr::without_provenance_mut(place), iov_len: into.len() };
    // SAFETY: the system checks the remote address; the local one is our own.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    if copied == -1 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT) {
        // Containers may forbid this call.
        return copy_through_pipe(place, into);
    }
    copied == into.len() as isize
}

/// A pipe takes as many bytes as we ever read at a time.
fn copy_through_pipe(place: usize, into: &mut [u8]) -> bool {
    let mut ends = [-1; 2];
    // SAFETY: plain system calls on descriptors of our own; what `write` cannot read it reports.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) != 0 {
            return false;
        }
        let length = into.len();
        let is_there = libc::write(ends[1], ptr::without_provenance(place), length) == length as isize
            && libc::read(ends[0], into.as_mut_ptr().cast(), length) == length as isize;
        for end in ends {
            libc::close(end);
        }
        is_there
    }
}
