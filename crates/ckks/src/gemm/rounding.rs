//! Coefficients modulo `2^52` rounded to fewer bits before they are sent.

use super::{LOG_Q, MODULUS_MASK};
use crate::simd::{SimdLevel, multiversion};

/// Fewest bits of a rounded coefficient.
pub const MIN_BITS: u32 = 16;

/// `v` modulo `2^52` rounded to the nearest multiple of `2^(52-bits)` and divided by it, modulo
/// `2^bits`: `((v + 2^(51-bits)) >> (52-bits)) mod 2^bits`, ties upwards. `bits` from 1 to 52; 52
/// only reduces. Bits of `v` above the 52nd are ignored.
#[inline]
pub const fn round(v: u64, bits: u32) -> u64 {
    let shift = LOG_Q - bits;
    let half = (1u64 << shift) >> 1;
    ((v & MODULUS_MASK) + half) >> shift & (MODULUS_MASK >> shift)
}

multiversion! {
    fn round_in_place(values: &mut [u64], bits: u32) {
        for v in values.iter_mut() {
            *v = round(*v, bits);
        }
    }
}

/// [`round`] on every value.
pub fn round_all(values: &mut [u64], bits: u32) {
    round_in_place(SimdLevel::detect(), values, bits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_nearest_modulo_a_power_of_two() {
        let q = 1i128 << 52;
        let values = [
            0,
            1,
            2,
            3,
            q / 2 - 1,
            q / 2,
            q / 2 + 1,
            q - 2,
            q - 1,
            0x9_e377_9b97_f4a7,
        ];
        for bits in [16u32, 24, 29, 51, 52] {
            let step = 1i128 << (52 - bits);
            let near = [
                step / 2 - 1,
                step / 2,
                step / 2 + 1,
                step - 1,
                q - step / 2,
                q - step / 2 - 1,
            ];
            for v in values
                .into_iter()
                .chain(near)
                .filter(|v| (0..q).contains(v))
            {
                // floor(v/step + 1/2), in exact integers.
                let expected = (2 * v + step).div_euclid(2 * step).rem_euclid(1 << bits);
                assert_eq!(i128::from(round(v as u64, bits)), expected, "{v} {bits}");
                let with_carry = v as u64 | 0xabc << 52;
                assert_eq!(i128::from(round(with_carry, bits)), expected);
                for level in SimdLevel::available() {
                    let mut all = vec![v as u64; 37];
                    round_in_place(level, &mut all, bits);
                    assert!(all.iter().all(|&r| i128::from(r) == expected));
                }
            }
        }
    }
}
