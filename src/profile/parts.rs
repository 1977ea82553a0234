//! The shards that a profile was made of, in the profile: where ranks are missing, and nobody gathered, it is a part that others may be
//! joined with. Shards are mostly zeros.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// What fast and small costs: of 0 to 10.
const EFFORT: u8 = 3;
/// No data of this format becomes more than 1032 times as long.
const MOST_BYTES_PER_BYTE: u64 = 1032;

pub fn pack(shard: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(shard, EFFORT)
}

/// The shard of so many bytes; `None` where the data are damaged.
pub fn unpack(data: &[u8], bytes: u64) -> Option<Vec<u8>> {
    if bytes > (data.len() as u64).saturating_mul(MOST_BYTES_PER_BYTE) {
        return None;
    }
    decompress_to_vec_zlib_with_limit(data, bytes as usize).ok().filter(|shard| shard.len() as u64 == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_and_nothing_else() {
        let shard: Vec<u8> = (0..40_000u32).map(|at| if at % 16 == 0 { (at / 100) as u8 } else { 0 }).collect();
        let data = pack(&shard);
        assert!(data.len() < shard.len() / 8, "{} of {}", data.len(), shard.len());
        assert_eq!(unpack(&data, shard.len() as u64).unwrap(), shard);
        assert_eq!(unpack(&pack(&vec![0; 1 << 20]), 1 << 20).unwrap().len(), 1 << 20);
        for bytes in [0, shard.len() as u64 - 1, shard.len() as u64 + 1, u64::MAX] {
            assert_eq!(unpack(&data, bytes), None, "{bytes}");
        }
        let mut damaged = data.clone();
        damaged[data.len() / 2] ^= 4;
        assert_eq!(unpack(&damaged, shard.len() as u64), None);
        assert_eq!(unpack(&data[..data.len() / 2], shard.len() as u64), None);
    }
}
