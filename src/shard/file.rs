//! Reads the file of a shard as far as it consists of blocks. What its header says of its size is not trusted, and neither
//! is the size that the file system tells: a hole of a terabyte costs nothing to make.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::header::*;
use super::layout::*;

/// The profiler's blocks have no more. Their entries may lie in a hole of the file.
const MOST_BLOCK_BYTES: u64 = 64 << 10;

/// The header of a shard's file, or `None` where it is no shard. No symbolic link is followed, and no pipe waited for.
pub fn read_header(path: &Path) -> Option<Header> {
    let header = header_of(&mut open(path).ok()?).ok()?;
    (header.magic == MAGIC).then_some(header)
}

/// The bytes of a shard's file for [`super::Shard::parse`], up to the first that belong to no block.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let header = header_of(&mut file)?;
    let mut bytes = bytemuck::bytes_of(&header).to_vec();
    while (bytes.len() as u64) < header.used_bytes {
        let start = bytes.len();
        file.by_ref().take(BLOCK_HEADER_BYTES as u64).read_to_end(&mut bytes)?;
        let Ok(block) = bytemuck::try_pod_read_unaligned::<BlockHeader>(&bytes[start..]) else { break };
        let body_bytes = u64::from(block.bytes).checked_sub(BLOCK_HEADER_BYTES as u64);
        let Some(body_bytes) = body_bytes.filter(|_| block.magic == BLOCK_MAGIC) else { break };
        if body_bytes > MOST_BLOCK_BYTES
            || file.by_ref().take(body_bytes).read_to_end(&mut bytes)? < body_bytes as usize
        {
            break;
        }
    }
    Ok(bytes)
}

fn header_of(file: &mut File) -> io::Result<Header> {
    let mut bytes = [0u8; HEADER_BYTES];
    file.read_exact(&mut bytes)?;
    Ok(bytemuck::pod_read_unaligned(&bytes))
}

/// Directories of shards are everybody's, and names can be read there: another user's file could pass for one of ours.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let facts = file.metadata()?;
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    if !facts.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    if user != 0 && facts.uid() != user {
        return Err(io::Error::other("another user's file"));
    }
    Ok(file)
}
