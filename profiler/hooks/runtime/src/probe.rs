//! Reads memory of which nobody knows whether it is there: the system looks, and says so where it is not.

use std::ptr;

/// The least size of a page: what begins within one is there as far as it goes, or not at all.
const PAGE_BYTES: usize = 4096;

/// Copies what lies at an address, and returns how many bytes of it there are.
pub fn read(address: usize, into: &mut [u8]) -> usize {
    let mut read = 0;
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
