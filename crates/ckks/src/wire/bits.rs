//! Coefficients packed at a fixed number of bits, least significant bit first.
//!
//! Bit `i·bits + k` of the stream is bit `k` of coefficient `i`; bit `j` of the stream is bit
//! `j mod 8` of byte `j / 8`. Ring degrees are multiples of 64, and 64 coefficients of `bits` bits
//! are `bits` whole little-endian 64-bit words, so there are no padding bits anywhere.

/// Coefficients of a group.
const GROUP: usize = 64;

/// Bytes of `count` coefficients; `count` is a multiple of 64.
pub(super) const fn packed_len(count: usize, bits: u32) -> usize {
    count / GROUP * bits as usize * 8
}

/// Appends coefficients below `2^bits`, a multiple of 64 of them, `bits` from 1 to 63.
pub(super) fn pack(values: &[u64], bits: u32, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + packed_len(values.len(), bits), 0);
    let groups = values.as_chunks::<GROUP>().0;
    for (group, bytes) in groups
        .iter()
        .zip(out[start..].chunks_exact_mut(bits as usize * 8))
    {
        let mut words = bytes.as_chunks_mut::<8>().0.iter_mut();
        let (mut word, mut filled) = (0u64, 0);
        for &v in group {
            word |= v << filled;
            filled += bits;
            if filled >= u64::BITS {
                if let Some(out) = words.next() {
                    *out = word.to_le_bytes();
                }
                filled -= u64::BITS;
                word = v >> (bits - filled);
            }
        }
    }
}

/// The coefficients that `bytes` hold; their length is a multiple of `8·bits`, `bits` from 1 to 63.
pub(super) fn unpack(bytes: &[u8], bits: u32) -> Vec<u64> {
    let mask = (1u64 << bits) - 1;
    let mut out = vec![0; bytes.len() / (bits as usize * 8) * GROUP];
    let groups = out.as_chunks_mut::<GROUP>().0;
    for (group, bytes) in groups.iter_mut().zip(bytes.chunks_exact(bits as usize * 8)) {
        let mut words = [0u64; GROUP];
        for (word, &bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(bytes);
        }
        for (i, out) in group.iter_mut().enumerate() {
            // With at most 63 bits, the last word used is word 62, and its successor is zero.
            let bit = i * bits as usize;
            let (at, shift) = (bit / GROUP % GROUP, bit % GROUP);
            let low = words[at] >> shift;
            let high = words[(at + 1) % GROUP] << 1 << (GROUP - 1 - shift);
            *out = (low | high) & mask;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_the_bit_stream_of_the_specification() {
        for bits in 1..=63 {
            let mask = (1u64 << bits) - 1;
            let values: Vec<u64> = (0..192u64)
                .map(|i| match i {
                    0 | 100 => mask,
                    1 => 0,
                    _ => i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask,
                })
                .collect();
            let mut packed = vec![0xaa];
            pack(&values, bits, &mut packed);
            let packed = &packed[1..];
            assert_eq!(packed.len(), packed_len(values.len(), bits));
            for (i, v) in values.iter().enumerate() {
                for k in 0..bits as usize {
                    let j = i * bits as usize + k;
                    assert_eq!(u64::from(packed[j / 8] >> (j % 8)) & 1, v >> k & 1);
                }
            }
            assert_eq!(unpack(packed, bits), values);
        }
    }
}
