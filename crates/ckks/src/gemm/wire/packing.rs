//! Coefficients packed at a fixed number of bits, least significant bit first.
//!
//! Bit `k` of coefficient `i` of a row is bit `(bits·i + k) mod 8` of byte `⌊(bits·i + k)/8⌋`. A
//! row is padded with zero bits to whole bytes. Eight coefficients are `bits` whole bytes, so a
//! block of columns that starts at a multiple of eight is a byte range of its own.

use super::super::LOG_Q;

/// Coefficients that are a whole number of bytes at any number of bits.
const GROUP: usize = 8;

/// Bytes of `count` coefficients of `bits` bits.
pub const fn packed_len(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Packs coefficients below `2^bits` into `out`, `bits` from 1 to 52. Bits beyond the last
/// coefficient are zero. For a block of columns of a row, `out` is the row's bytes from
/// `packed_len(first_column, bits)` on, with `first_column` a multiple of 8.
///
/// # Panics
/// When `out` does not have exactly [`packed_len`] bytes: a programming error, not an input error.
pub fn pack(values: &[u64], bits: u32, out: &mut [u8]) {
    let needed = packed_len(values.len(), bits);
    assert_eq!(out.len(), needed, "a block has packed_len bytes");
    if bits == LOG_Q {
        return pack_pairs(values, out);
    }
    let mut words = out.chunks_mut(8);
    let mut store = |word: u64| {
        if let Some(out) = words.next() {
            match out.as_mut_array::<8>() {
                Some(out) => *out = word.to_le_bytes(),
                None => out.copy_from_slice(&word.to_le_bytes()[..out.len()]),
            }
        }
    };
    let (mut word, mut filled) = (0u64, 0);
    for &v in values {
        word |= v << filled;
        filled += bits;
        if filled >= u64::BITS {
            store(word);
            filled -= u64::BITS;
            word = v >> (bits - filled);
        }
    }
    if filled > 0 {
        store(word);
    }
}

/// Two coefficients of 52 bits are 13 bytes: 8 and 5.
fn pack_pairs(values: &[u64], out: &mut [u8]) {
    let (pairs, last) = values.as_chunks::<2>();
    let (chunks, rest) = out.as_chunks_mut::<13>();
    for (&[a, b], out) in pairs.iter().zip(chunks) {
        // The second word overlaps the first; what it repeats is the same.
        out[..8].copy_from_slice(&(a | b << 52).to_le_bytes());
        out[5..].copy_from_slice(&(a >> 40 | b << 12).to_le_bytes());
    }
    if let [last] = last {
        rest.copy_from_slice(&last.to_le_bytes()[..rest.len()]);
    }
}

/// Unpacks coefficients of `bits` bits, from 1 to 52. `bytes` starts at the first of them (a
/// multiple of 8; of 2 when `bits` is 52) and may be longer than they are, which is faster at the
/// end.
///
/// # Panics
/// When `bytes` is too short: a programming error, not an input error.
pub fn unpack(bytes: &[u8], bits: u32, out: &mut [u64]) {
    let needed = packed_len(out.len(), bits);
    assert!(bytes.len() >= needed, "coefficients take packed_len bytes");
    if bits == LOG_Q {
        return unpack_pairs(&bytes[..needed], out);
    }
    let mask = (1u64 << bits) - 1;
    let group_len = bits as usize;
    let places: [(usize, u32); GROUP] = std::array::from_fn(|i| {
        let bit = i * group_len;
        (bit / 8, bit as u32 % 8)
    });
    // Each coefficient is inside the 8 bytes that start where it starts: 7 + 52 bits. A group
    // whose last window ends inside `bytes` is read in place, the others from a padded copy.
    let window = places[GROUP - 1].0 + 8;
    let direct = match bytes.len() >= window {
        true => ((bytes.len() - window) / group_len + 1).min(out.len() / GROUP),
        false => 0,
    };
    let (head, tail) = out.split_at_mut(direct * GROUP);
    for (g, group) in head.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let bytes = &bytes[g * group_len..][..window];
        unpack_group(bytes, &places, mask, group);
    }
    for (g, out) in tail.chunks_mut(GROUP).enumerate() {
        let bytes = &bytes[(direct + g) * group_len..needed];
        let len = bytes.len().min(group_len);
        let mut padded = [0; LOG_Q as usize + 8];
        padded[..len].copy_from_slice(&bytes[..len]);
        let mut group = [0; GROUP];
        unpack_group(&padded[..window], &places, mask, &mut group);
        out.copy_from_slice(&group[..out.len()]);
    }
}

#[inline(always)]
fn unpack_group(bytes: &[u8], places: &[(usize, u32); GROUP], mask: u64, out: &mut [u64; GROUP]) {
    for (out, &(at, shift)) in out.iter_mut().zip(places) {
        let word = bytes[at..]
            .first_chunk()
            .map_or(0, |w| u64::from_le_bytes(*w));
        *out = word >> shift & mask;
    }
}

fn unpack_pairs(bytes: &[u8], out: &mut [u64]) {
    let (pairs, last) = out.as_chunks_mut::<2>();
    let (chunks, rest) = bytes.as_chunks::<13>();
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
    for ([a, b], bytes) in pairs.iter_mut().zip(chunks) {
        *a = word(&bytes[..8]) << 12 >> 12;
        *b = word(&bytes[5..]) >> 12;
    }
    if let [last] = last {
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        *last = u64::from_le_bytes(padded) << 12 >> 12;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bit stream of the specification, one bit at a time.
    fn stream(values: &[u64], bits: u32) -> Vec<u8> {
        let mut out = vec![0u8; packed_len(values.len(), bits)];
        for (i, v) in values.iter().enumerate() {
            for k in 0..bits as usize {
                let j = i * bits as usize + k;
                out[j / 8] |= ((v >> k & 1) as u8) << (j % 8);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn packing_is_the_bit_stream_of_the_specification(
            bits in 1u32..=52,
            words in prop::collection::vec(any::<u64>(), 0..70),
            more in 0usize..20,
        ) {
            let values: Vec<u64> = words.iter().map(|w| w & ((1 << bits) - 1)).collect();
            let expected = stream(&values, bits);
            let mut packed = vec![0xff; expected.len()];
            pack(&values, bits, &mut packed);
            prop_assert_eq!(&packed, &expected);
            // What follows is not read as part of the last coefficient.
            packed.resize(expected.len() + more, 0xff);
            let mut unpacked = vec![u64::MAX; values.len()];
            unpack(&packed, bits, &mut unpacked);
            prop_assert_eq!(unpacked, values);
        }
    }

    #[test]
    fn blocks_of_columns_are_byte_ranges() {
        for bits in [16, 24, 29, 47, 51, 52] {
            let values: Vec<u64> = (0..43u64)
                .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & ((1 << bits) - 1))
                .collect();
            let row = stream(&values, bits);
            for (start, end) in [(0, 8), (8, 24), (16, 43), (40, 43)] {
                let range = packed_len(start, bits)..packed_len(end, bits);
                let mut block = vec![0xff; range.len()];
                pack(&values[start..end], bits, &mut block);
                assert_eq!(block, row[range]);
                let mut unpacked = vec![0; end - start];
                unpack(&row[packed_len(start, bits)..], bits, &mut unpacked);
                assert_eq!(unpacked, values[start..end]);
            }
        }
    }
}
