//! Whether all that an array holds are alike, as the library is compiled with it.

#[path = "../profiler/src/guest/alike.rs"]
mod alike;

use alike::{are_all, are_all_anywhere};

/// At each length around those of vectors and blocks, and in any place, at any alignment that handles may have.
fn others_are_found<T: Copy + Eq + Into<u64>>(one: T, other: T) {
    for first in 0..4 {
        for length in 0..100 {
            let mut array = vec![one; first + length];
            // What lies before and behind does not count.
            array[..first].fill(other);
            array.push(other);
            // SAFETY: so many are there.
            let are_all = |array: &[T], one| unsafe {
                let (array, is_so) = (array[first..].as_ptr(), are_all(array[first..].as_ptr(), length, one));
                assert_eq!(is_so, are_all_anywhere(array, length, one), "{length} from {first}");
                is_so
            };
            assert!(are_all(&array, one), "{length}");
            assert!(length == 0 || !are_all(&array, other), "{length}");
            for place in first..first + length {
                array[place] = other;
                assert!(!are_all(&array, one), "{place} of {length} from {first}");
                array[place] = one;
            }
        }
    }
}

#[test]
fn one_that_differs_in_a_bit_is_found_wherever_it_is() {
    others_are_found(0x2c00_0000_u32, 0x2c00_0001);
    others_are_found(0x2c00_0000_u32, 0xac00_0000);
    others_are_found(0x7f12_3456_7890_u64, 0x7f12_3456_7891);
    others_are_found(0x7f12_3456_7890_u64, 0x7f12_3456_7890 | 1 << 63);
}
