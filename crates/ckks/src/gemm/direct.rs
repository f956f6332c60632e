//! Inner products: single coefficients of a ring product.
//!
//! Coefficient `i` of `a·s` is `Σ_j a_j·t_(i-j)` with `t_k = s_k` for `k ≥ 0` and `-s_(k+N)` below.
//! Stored backwards, `w_p = t_(N-1-p)` for `p` in `0..2N`, this is the inner product of `a` with
//! the N words that start at `N-1-i`.

use crate::simd::multiversion;

/// Columns that share one pass over `a`.
const COLUMNS: usize = 4;

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
        let row = |column: usize| &window[n - 1 - column..][..n];
        let (groups, rest) = out.as_chunks_mut::<COLUMNS>();
        let first = groups.len() * COLUMNS;
        for (group, out) in groups.iter_mut().enumerate() {
            let rows: [&[u64]; COLUMNS] = std::array::from_fn(|c| row(group * COLUMNS + c));
            let mut sums = [0u64; COLUMNS];
            for j in 0..n {
                for c in 0..COLUMNS {
                    sums[c] = sums[c].wrapping_add(a[j].wrapping_mul(rows[c][j]));
                }
            }
            *out = sums;
        }
        for (column, out) in rest.iter_mut().enumerate() {
            let products = a.iter().zip(row(first + column));
            *out = products.fold(0, |sum, (a, w)| sum.wrapping_add(a.wrapping_mul(*w)));
        }
    }
}
