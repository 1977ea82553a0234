//! Whether all that an array holds are alike, in a few instructions for many of them.

use std::slice;

/// Whether an array of so many holds nothing but this one.
///
/// # Safety
/// There are so many.
#[inline(always)]
pub unsafe fn are_all<T: Copy + Eq + Into<u64>>(array: *const T, length: usize, one: T) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        let word: u64 = one.into();
        let two = if size_of::<T>() == 4 { word << 32 | word } else { word };
        // SAFETY: as demanded of this one; the processor has AVX2.
        return unsafe { avx2::are_all(array.cast(), length * size_of::<T>(), two) };
    }
    // SAFETY: as demanded of this one.
    unsafe { are_all_anywhere(array, length, one) }
}

/// The same on any processor.
///
/// # Safety
/// As above.
pub unsafe fn are_all_anywhere<T: Copy + Eq>(array: *const T, length: usize, one: T) -> bool {
    let Some(others) = length.checked_sub(1) else { return true };
    // SAFETY: as demanded of this one.
    unsafe {
        let bytes = |from: usize| slice::from_raw_parts(array.add(from).cast::<u8>(), others * size_of::<T>());
        // Each is the one behind it: the C library compares faster than a loop here.
        array.read_unaligned() == one && bytes(0) == bytes(1)
    }
}

/// By registers of 32 bytes, which takes half as many instructions as the C library's comparison.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_testz_si256,
        _mm256_xor_si256,
    };

    const VECTOR_BYTES: usize = size_of::<__m256i>();
    /// So many are compared before it is asked whether all are alike.
    const BLOCK: usize = 8;

    /// Whether so many bytes hold nothing but these eight, or half of them where both halves are alike.
    ///
    /// # Safety
    /// There are so many.
    #[target_feature(enable = "avx2")]
    pub unsafe fn are_all(first: *const u8, bytes: usize, eight: u64) -> bool {
        if bytes < VECTOR_BYTES {
            // SAFETY: as demanded.
            return unsafe { are_few(first, bytes, eight) };
        }
        let wanted = _mm256_set1_epi64x(eight as i64);
        // SAFETY: there is as much as a vector from each place up to the last.
        let differ = |at: usize| unsafe { _mm256_xor_si256(_mm256_loadu_si256(first.add(at).cast()), wanted) };
        let last = bytes - VECTOR_BYTES;
        let mut at = 0;
        while at + BLOCK * VECTOR_BYTES <= bytes {
            let found = (0..BLOCK)
                .fold(_mm256_setzero_si256(), |found, index| _mm256_or_si256(found, differ(at + index * VECTOR_BYTES)));
            if _mm256_testz_si256(found, found) == 0 {
                return false;
            }
            at += BLOCK * VECTOR_BYTES;
        }
        // Some of the last vector has been compared, unless the bytes are a multiple of it.
        let mut found = differ(last);
        while at < last {
            found = _mm256_or_si256(found, differ(at));
            at += VECTOR_BYTES;
        }
        _mm256_testz_si256(found, found) != 0
    }

    /// # Safety
    /// As above.
    unsafe fn are_few(first: *const u8, bytes: usize, eight: u64) -> bool {
        let eight = eight.to_ne_bytes();
        // SAFETY: as demanded.
        (0..bytes).all(|at| unsafe { *first.add(at) } == eight[at % eight.len()])
    }
}
