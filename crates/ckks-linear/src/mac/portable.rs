//! The plain version that the vector ones are tested against.

use super::{BlockInput, BlockOutput, MacModulus};

/// # Safety
/// As [`super::block`].
pub(super) unsafe fn block(mac: &MacModulus, input: BlockInput<'_>, output: BlockOutput<'_>) {
    let q = mac.modulus;
    let radix = u64::from(q.radix());
    let fold = |t: u64| (t & 0xffff_ffff) + (t >> 32) * radix;
    for group in input.groups() {
        for (giant, span) in input.spans.iter().enumerate() {
            let (plaintexts, babies_of_terms) = input.terms(span);
            for column in 0..group.width {
                let mut acc = [0u64; 16];
                let mut room = mac.chunk;
                for (&baby, plaintext) in babies_of_terms.iter().zip(plaintexts) {
                    if room == 0 {
                        acc = acc.map(fold);
                        room = mac.chunk;
                    }
                    let values = &group.babies[baby as usize * group.width + column];
                    for lane in 0..16 {
                        acc[lane] += u64::from(plaintext[lane]) * u64::from(values[lane]);
                    }
                    room -= 1;
                }
                let sum = acc.map(|t| q.montgomery_reduce(fold(t)));
                let at = output.place(input.columns, giant, group.first + column);
                // SAFETY: by the caller's promise.
                unsafe { output.write(at, sum) };
            }
        }
    }
}
