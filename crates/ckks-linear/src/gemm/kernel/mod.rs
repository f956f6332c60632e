//! Products of small integer weights with residues modulo 2^52.
//!
//! One call multiplies the weights of 8 outputs (a *panel*) with up to 128 columns over the whole
//! input width. Products and sums wrap modulo 2^64, of which 2^52 is a divisor, so nothing is
//! reduced before the end and every implementation gives the same bits.
//!
//! On CPUs with AVX-512 IFMA one instruction multiplies the low 52 bits of 8 pairs and adds the
//! low 52 bits of the products (Bae, Cheon, Hanrot, Park and Stehlé, CRYPTO 2024, reduce
//! plaintext-ciphertext products to such matrix products). Weights are stored in three bytes and
//! widened to 64 bits for a part of the input width at a time, which then serves all columns from
//! the first-level cache.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod portable;

pub(crate) use ckks::gemm::MODULUS_MASK as MASK;
use ckks::upcoming::prefetch;

/// Outputs of a panel.
pub(crate) const PANEL: usize = 8;
/// Columns of one vector of the layout.
pub(crate) const LANES: usize = 8;
/// Most vectors of a column block.
pub(crate) const GROUPS: usize = 16;
/// Columns of a full column block.
pub(crate) const COLUMNS: usize = LANES * GROUPS;
/// Bytes of a stored weight.
pub(crate) const WEIGHT_BYTES: usize = 3;
/// Stored bytes of one input's weights in a panel.
pub(crate) const ENTRY_BYTES: usize = PANEL * WEIGHT_BYTES;
/// Inputs whose weights are widened together: 8 KiB.
const DEPTH: usize = 128;

/// Residues of 8 neighbouring columns: one cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [u64; LANES]);
/// Sums of one panel: 8 outputs of up to 16 vectors of columns.
pub(crate) type Sums = [[Lanes; GROUPS]; PANEL];
/// Weights of one input in a panel, widened.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Entry([i64; PANEL]);

/// Proof that this machine has the instructions: only detection makes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detected(());

/// An implementation of the product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GemmKernel {
    /// Wrapping 64-bit products, on every machine.
    Portable,
    /// Two 32-bit products for each, on x86-64 with AVX2.
    Avx2(Detected),
    /// 52-bit multiply-adds, on x86-64 with AVX-512 IFMA and VBMI.
    Ifma(Detected),
}

impl GemmKernel {
    /// The kernels that this machine can run, slowest first.
    pub fn available() -> Vec<Self> {
        #[allow(
            unused_mut,
            reason = "other architectures have the portable kernel only"
        )]
        let mut kernels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                kernels.push(Self::Avx2(Detected(())));
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512ifma")
                && is_x86_feature_detected!("avx512vbmi")
            {
                kernels.push(Self::Ifma(Detected(())));
            }
        }
        kernels
    }

    /// The fastest kernel that this machine can run.
    pub fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::Portable)
    }

    /// Lower-case name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2(_) => "avx2",
            Self::Ifma(_) => "avx512-ifma",
        }
    }
}

/// Room for widened weights.
#[derive(Clone, Debug)]
pub(crate) struct Widened(Vec<Entry>);

impl Widened {
    pub(crate) fn new() -> Self {
        Self(vec![Entry([0; PANEL]); DEPTH])
    }
}

/// Adds `weights[j]·columns[j]` over all inputs j to the sums of one panel. Sums are right modulo
/// 2^52; their upper 12 bits differ between kernels.
///
/// `weights` starts with `[input][8 outputs]` three-byte weights and [`PADDING`] bytes more that
/// are read and ignored; what follows is fetched into the caches, as it is what will be multiplied
/// next. `columns` holds `[input][groups]` vectors.
pub(crate) fn panel(
    kernel: GemmKernel,
    weights: &[u8],
    columns: &[Lanes],
    groups: usize,
    widened: &mut Widened,
    sums: &mut Sums,
) {
    let inputs = columns.len() / groups;
    for first in (0..inputs).step_by(DEPTH) {
        let depth = DEPTH.min(inputs - first);
        let entries = &mut widened.0[..depth];
        // Weights are read in bursts, too short for the hardware to see them coming.
        let ahead = weights.get((first + depth) * ENTRY_BYTES..).unwrap_or(&[]);
        prefetch(&ahead[..ahead.len().min(DEPTH * ENTRY_BYTES)]);
        let weights = &weights[first * ENTRY_BYTES..(first + depth) * ENTRY_BYTES + PADDING];
        let columns = &columns[first * groups..(first + depth) * groups];
        match kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant is made only after detecting AVX2.
            GemmKernel::Avx2(_) => unsafe {
                portable::widen(weights, entries);
                avx2::accumulate(entries, columns, groups, sums);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant is made only after detecting AVX-512 IFMA and VBMI.
            GemmKernel::Ifma(_) => unsafe {
                ifma::widen(weights, entries);
                ifma::accumulate(entries, columns, groups, sums);
            },
            _ => {
                portable::widen(weights, entries);
                portable::accumulate(entries, columns, groups, sums);
            }
        }
    }
}

/// Multiply-adds per second that one core of this machine does at most with a kernel's
/// instruction, measured in some 10 ms on registers alone: what [`GemmKernel::Ifma`] is compared
/// with. `None` for kernels that have no such instruction.
pub fn peak_multiply_adds_per_second(kernel: GemmKernel) -> Option<f64> {
    match kernel {
        #[cfg(target_arch = "x86_64")]
        GemmKernel::Ifma(_) => {
            const ROUNDS: usize = 100_000;
            const SAMPLES: usize = 8;
            let mut best = f64::INFINITY;
            for sample in 0..SAMPLES {
                let start = std::time::Instant::now();
                // SAFETY: the variant is made only after detecting AVX-512 IFMA.
                std::hint::black_box(unsafe { ifma::chains(ROUNDS, sample as i64 + 3) });
                best = best.min(start.elapsed().as_secs_f64());
            }
            Some((ROUNDS * ifma::CHAINS * LANES) as f64 / best)
        }
        _ => None,
    }
}

/// Bytes behind the last weight that widening may read.
pub(crate) const PADDING: usize = 8;

/// Stores one weight, -2^23 ≤ w < 2^23.
pub(crate) fn store(weight: i32, out: &mut [u8]) {
    out[..WEIGHT_BYTES].copy_from_slice(&weight.to_le_bytes()[..WEIGHT_BYTES]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a stream of numbers (SplitMix64).
    fn numbers(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Values {
        Random,
        Largest,
        Smallest,
        Mixed,
    }

    fn weight(values: Values, number: u64) -> i32 {
        let (least, most) = (-(1 << 23), (1 << 23) - 1);
        match values {
            Values::Random => (number % (1 << 24)) as i32 - (1 << 23),
            Values::Largest => most,
            Values::Smallest => least,
            Values::Mixed => [least, most, 0, -1, 1][number as usize % 5],
        }
    }

    fn residue(values: Values, number: u64) -> u64 {
        match values {
            Values::Random => number & MASK,
            Values::Largest | Values::Smallest => MASK,
            Values::Mixed => {
                [0, 1, MASK, 1 << 51, (1 << 31) - 1, 1 << 31, (1 << 32) - 1][number as usize % 7]
            }
        }
    }

    #[test]
    fn every_kernel_agrees_with_wide_integers() {
        let mut next = numbers(1);
        for inputs in [1, 3, 127, 128, 129, 700] {
            for groups in 1..=GROUPS {
                for values in [
                    Values::Random,
                    Values::Largest,
                    Values::Smallest,
                    Values::Mixed,
                ] {
                    let weights: Vec<[i32; PANEL]> = (0..inputs)
                        .map(|_| std::array::from_fn(|_| weight(values, next())))
                        .collect();
                    let columns: Vec<Lanes> = (0..inputs * groups)
                        .map(|_| Lanes(std::array::from_fn(|_| residue(values, next()))))
                        .collect();
                    let mut stored = vec![0; inputs * ENTRY_BYTES];
                    for (bytes, &weight) in stored
                        .chunks_exact_mut(WEIGHT_BYTES)
                        .zip(weights.as_flattened())
                    {
                        store(weight, bytes);
                    }
                    // Whatever stands behind the weights is not read as a weight.
                    stored.extend([0xa5; PADDING]);
                    for kernel in GemmKernel::available() {
                        let start = MASK - 5;
                        let mut sums = [[Lanes([start; LANES]); GROUPS]; PANEL];
                        let widened = &mut Widened::new();
                        panel(kernel, &stored, &columns, groups, widened, &mut sums);
                        for (output, sums) in sums.iter().enumerate() {
                            for (group, sums) in sums.iter().enumerate() {
                                for (lane, sum) in sums.0.iter().enumerate() {
                                    let mut exact = i128::from(start);
                                    for j in (0..inputs).filter(|_| group < groups) {
                                        exact += i128::from(weights[j][output])
                                            * i128::from(columns[j * groups + group].0[lane]);
                                    }
                                    assert_eq!(
                                        i128::from(sum & MASK),
                                        exact.rem_euclid(1 << 52),
                                        "{kernel:?} {values:?} inputs {inputs} groups {groups}"
                                    );
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
