//! The plain version that the vector ones are tested against.

use super::{Block, BlockInput, MacModulus};

pub(super) fn block(
    mac: &MacModulus,
    input: BlockInput<'_>,
    mut sink: impl FnMut(usize, usize, Block),
) {
    let q = mac.modulus;
    let radix = u64::from(q.radix());
    for (giant, span) in input.spans.iter().enumerate() {
        let (plaintexts, babies_of_terms) = input.terms(span);
        for column in 0..input.columns {
            let mut acc = [0u64; 16];
            let mut room = mac.chunk;
            for (&baby, plaintext) in babies_of_terms.iter().zip(plaintexts) {
                if room == 0 {
                    acc = acc.map(|t| (t & 0xffff_ffff) + (t >> 32) * radix);
                    room = mac.chunk;
                }
                let values = &input.babies[baby as usize * input.columns + column];
                for lane in 0..16 {
                    acc[lane] += u64::from(plaintext[lane]) * u64::from(values[lane]);
                }
                room -= 1;
            }
            let fold = |t: u64| (t & 0xffff_ffff) + (t >> 32) * radix;
            sink(giant, column, acc.map(|t| q.montgomery_reduce(fold(t))));
        }
    }
}
