//! The shortest and the longest call, in half a word each.

use bytemuck::{Pod, Zeroable};

/// A duration in ticks, in half a word: exact below 2²⁷ ticks (some 50 ms), beyond with 27 binary digits (an error below 2·10⁻⁸),
/// in the same order as durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct Bound(u32);

impl Bound {
    /// Longer than any.
    pub const LONGEST: Bound = Bound(u32::MAX);
    const DIGITS: u32 = 27;
    /// From here on it is rounded.
    pub const EXACT_BELOW: u64 = 1 << Bound::DIGITS;

    /// The nearest one that is not longer.
    #[inline(always)]
    pub const fn below(ticks: u64) -> Bound {
        if ticks >> Bound::DIGITS == 0 { Bound(ticks as u32) } else { Bound::cut(ticks).0 }
    }

    /// The nearest one that is not shorter.
    #[inline(always)]
    pub const fn above(ticks: u64) -> Bound {
        if ticks >> Bound::DIGITS == 0 {
            return Bound(ticks as u32);
        }
        let (cut, is_exact) = Bound::cut(ticks);
        Bound(cut.0 + !is_exact as u32)
    }

    /// The leading digits of a duration that has more, and whether they are all of it.
    #[cold]
    const fn cut(ticks: u64) -> (Bound, bool) {
        let dropped = u64::BITS - ticks.leading_zeros() - Bound::DIGITS;
        let digits = (ticks >> dropped) as u32;
        // Half of all numbers of so many digits begin with a one, and only those occur.
        let step = 1 << (Bound::DIGITS - 1);
        (Bound((1 << Bound::DIGITS) + (dropped - 1) * step + (digits - step)), (digits as u64) << dropped == ticks)
    }

    /// Whether a call of so many ticks is neither shorter nor longer than these two. Of a long one it is not said.
    #[inline(always)]
    pub const fn are_around(shortest: Bound, longest: Bound, ticks: u64) -> bool {
        ticks >> Bound::DIGITS == 0 && ticks as u32 >= shortest.0 && ticks as u32 <= longest.0
    }

    pub const fn ticks(self) -> u64 {
        if self.0 >> Bound::DIGITS == 0 {
            return self.0 as u64;
        }
        let step = 1 << (Bound::DIGITS - 1);
        let rest = self.0 - (1 << Bound::DIGITS);
        let (digits, dropped) = ((step + rest % step) as u64, rest / step + 1);
        if dropped > digits.leading_zeros() { u64::MAX } else { digits << dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_lie_around_durations_in_their_order() {
        let mut durations: Vec<u64> =
            (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, (1 << bit) + 1, 3 << bit]).collect();
        durations.extend([0, u64::MAX, u64::MAX - 1, (1 << 27) + 12_345, 123_456_789_012_345]);
        durations.sort_unstable();
        for pair in durations.windows(2) {
            assert!(Bound::below(pair[0]) <= Bound::below(pair[1]) && Bound::above(pair[0]) <= Bound::above(pair[1]));
        }
        for ticks in durations {
            let (below, above) = (Bound::below(ticks).ticks(), Bound::above(ticks).ticks());
            assert!(below <= ticks && ticks <= above, "{below} {ticks} {above}");
            assert!(ticks >> 27 > 0 || below == ticks && above == ticks);
            assert!((ticks - below) as f64 <= ticks as f64 * 2e-8);
            assert!(Bound::above(ticks) < Bound::LONGEST);
        }
    }
}
