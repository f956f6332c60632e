//! Inner products: single coefficients of a ring product.
//!
//! Coefficient `i` of `a·s` is `Σ_j a_j·t_(i-j)` with `t_k = s_k` for `k ≥ 0` and `-s_(k+N)` below.
//! Stored backwards, `w_p = t_(N-1-p)` for `p` in `0..2N`, this is the inner product of `a` with
//! the N words that start at `N-1-i`.

use crate::simd::multiversion;

/// Columns that share one pass over `a`.
const COLUMNS: usize = 4;
/// Words of one AVX-512 register.
const LANES: usize = 8;

/// The words `w_p`, signed values modulo `2^64`; `out` has twice the length of `small`.
pub(super) fn window(small: &[i32], out: &mut [u64]) {
    let n = small.len();
    assert_eq!(out.len(), 2 * n, "a window has 2N words");
    // t_(N-1-p) is s_(N-1-p) for p < N, and -s_(2N-1-p) from there on.
    let (positive, negative) = out.split_at_mut(n);
    for ((positive, negative), &s) in positive.iter_mut().zip(negative).zip(small.iter().rev()) {
        *positive = s as i64 as u64;
        *negative = (s as i64 as u64).wrapping_neg();
    }
}

multiversion! {
    /// The first `out.len()` coefficients modulo `2^64`. Multiplications, not selections: time does
    /// not depend on the secret.
    pub(super) fn inner_products(a: &[u64], window: &[u64], out: &mut [u64]) {
        let n = a.len();
        let (a, window) = (&a[..n], &window[..2 * n]);
        let groups = a.as_chunks::<LANES>().0;
        for (group, out) in out.chunks_mut(COLUMNS).enumerate() {
            // Windows of the group's columns, the last column's first; columns beyond the block
            // repeat the first window.
            let first = n - 1 - group * COLUMNS;
            let mut windows = [&[] as &[[u64; LANES]]; COLUMNS];
            for (c, w) in windows.iter_mut().enumerate() {
                let start = if c < out.len() { first - c } else { first };
                *w = &window[start..start + n].as_chunks::<LANES>().0[..groups.len()];
            }
            let mut sums = [[0u64; LANES]; COLUMNS];
            for (k, a) in groups.iter().enumerate() {
                for (sums, window) in sums.iter_mut().zip(&windows) {
                    let w = &window[k];
                    for lane in 0..LANES {
                        sums[lane] = sums[lane].wrapping_add(a[lane].wrapping_mul(w[lane]));
                    }
                }
            }
            for (out, sums) in out.iter_mut().zip(sums) {
                *out = sums.iter().fold(0, |sum, v| sum.wrapping_add(*v));
            }
        }
    }
}
