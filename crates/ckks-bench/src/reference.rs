//! The plaintext product `y = xW`, as the reference and as what a client could do itself.

use pulp::Arch;
use std::ops::{AddAssign, Mul, Range};
use std::thread::Builder;
use tensor_io::WeightMatrix;

/// Independent sums of a dot product: enough to fill the widest vector registers twice.
const LANES: usize = 32;

/// Outputs whose weights stay in the second-level cache while the vectors of a batch pass.
const BLOCK: usize = 32;

/// Multiply-adds that are worth a thread of their own: starting one takes about as long.
const MIN_WORK: usize = 1 << 18;

/// The products of all vectors of `x` (row by row) with the weights, on up to `threads` threads.
///
/// The element type sets the precision of the sums. In `f64` the product of two values of f32
/// precision is exact and only the additions round: this is the reference. In `f32` it is the
/// product that a client which holds the weights would compute.
#[must_use]
pub fn product<T>(weights: &WeightMatrix, x: &[T], threads: usize) -> Vec<T>
where
    T: Copy + Default + From<f32> + Mul<Output = T> + AddAssign + Send + Sync,
{
    product_with(weights, x, threads, Builder::new)
}

/// `builder` makes each thread, so that tests can make them fail.
fn product_with<T>(
    weights: &WeightMatrix,
    x: &[T],
    threads: usize,
    builder: impl Fn() -> Builder,
) -> Vec<T>
where
    T: Copy + Default + From<f32> + Mul<Output = T> + AddAssign + Send + Sync,
{
    let (d_in, d_out) = (weights.d_in(), weights.d_out());
    let vectors = x.len() / d_in;
    let mut y = vec![T::default(); vectors * d_out];
    let worth = weights.data().len().saturating_mul(vectors) / MIN_WORK;
    let ranges = split(d_out, threads.min(worth));
    let parts: Vec<(Range<usize>, Vec<T>)> = match ranges.as_slice() {
        [only] => vec![(only.clone(), outputs(weights, x, only.clone()))],
        several => std::thread::scope(|scope| {
            let workers: Vec<_> = several
                .iter()
                .map(|range| {
                    let work = || outputs(weights, x, range.clone());
                    (range, builder().spawn_scoped(scope, work))
                })
                .collect();
            workers
                .into_iter()
                .map(|(range, worker)| {
                    let part = match worker {
                        // A worker can only fail by a panic, which is passed on.
                        Ok(worker) => worker
                            .join()
                            .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                        // The system denies the thread, so this one does its part.
                        Err(_) => outputs(weights, x, range.clone()),
                    };
                    (range.clone(), part)
                })
                .collect()
        }),
    };
    for (range, part) in parts {
        for (vector, values) in part.chunks_exact(range.len()).enumerate() {
            y[vector * d_out..][range.clone()].copy_from_slice(values);
        }
    }
    y
}

/// Up to `parts` ranges of nearly equal length that cover `0..count`.
fn split(count: usize, parts: usize) -> Vec<Range<usize>> {
    let parts = parts.clamp(1, count.max(1));
    (0..parts)
        .map(|part| count * part / parts..count * (part + 1) / parts)
        .collect()
}

/// The outputs in `range` of every vector, vector after vector.
fn outputs<T>(weights: &WeightMatrix, x: &[T], range: Range<usize>) -> Vec<T>
where
    T: Copy + Default + From<f32> + Mul<Output = T> + AddAssign,
{
    let mut y = vec![T::default(); x.len() / weights.d_in() * range.len()];
    let fill = Fill {
        weights,
        x,
        range,
        y: &mut y,
    };
    Arch::new().dispatch(fill);
    y
}

/// The loop in a form that is compiled once for every vector width.
struct Fill<'a, T> {
    weights: &'a WeightMatrix,
    x: &'a [T],
    range: Range<usize>,
    y: &'a mut [T],
}

impl<T> pulp::WithSimd for Fill<'_, T>
where
    T: Copy + Default + From<f32> + Mul<Output = T> + AddAssign,
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Fill {
            weights,
            x,
            range,
            y,
        } = self;
        let width = range.len();
        for first in (0..width).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(width);
            for (x, y) in x
                .chunks_exact(weights.d_in())
                .zip(y.chunks_exact_mut(width))
            {
                for (offset, y) in y[block.clone()].iter_mut().enumerate() {
                    *y = dot(x, weights.row(range.start + first + offset));
                }
            }
        }
    }
}

#[inline(always)]
fn dot<T>(x: &[T], w: &[f32]) -> T
where
    T: Copy + Default + From<f32> + Mul<Output = T> + AddAssign,
{
    let mut sums = [T::default(); LANES];
    let (x_blocks, x_rest) = x.as_chunks::<LANES>();
    let (w_blocks, w_rest) = w.as_chunks::<LANES>();
    for (x, w) in x_blocks.iter().zip(w_blocks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * T::from(w[lane]);
        }
    }
    for (lane, (&x, &w)) in x_rest.iter().zip(w_rest).enumerate() {
        sums[lane] += x * T::from(w);
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            let upper = sums[lane + width];
            sums[lane] += upper;
        }
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // Columns of W are outputs: y = (1·1 + 2·3 + 3·5, 1·2 + 2·4 + 3·6).
        let w = WeightMatrix::from_output_major(3, 2, vec![1., 3., 5., 2., 4., 6.]).unwrap();
        assert_eq!(product(&w, &[1.0f64, 2.0, 3.0], 1), [22.0, 28.0]);
        assert_eq!(
            product(&w, &[1.0f32, 2.0, 3.0, -1.0, 0.0, 0.0], 2),
            [22., 28., -1., -2.]
        );
    }

    #[test]
    fn ranges_cover_everything_once() {
        for (count, parts) in [(1, 1), (1, 8), (7, 3), (8, 8), (100, 7)] {
            let covered: Vec<usize> = split(count, parts).into_iter().flatten().collect();
            assert_eq!(covered, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn threads_change_nothing() {
        let w = crate::synthetic::weights(1, 700, 401).unwrap();
        let x = crate::synthetic::inputs(1, 0, 5, 700).unwrap();
        let one = product(&w, x.data(), 1);
        assert!(
            w.data().len() * 5 / MIN_WORK >= 5,
            "enough work for five threads"
        );
        for threads in [2, 3, 5, 64] {
            assert_eq!(product(&w, x.data(), threads), one);
        }
    }

    #[test]
    fn threads_that_cannot_start_change_nothing() {
        let w = crate::synthetic::weights(1, 700, 401).unwrap();
        let x = crate::synthetic::inputs(1, 0, 5, 700).unwrap();
        let one = product(&w, x.data(), 1);
        let asked = std::cell::Cell::new(0);
        // No address space holds every second stack.
        let builder = || {
            asked.set(asked.get() + 1);
            match asked.get() % 2 {
                0 => Builder::new().stack_size(1 << 60),
                _ => Builder::new(),
            }
        };
        assert_eq!(product_with(&w, x.data(), 4, builder), one);
        assert_eq!(asked.get(), 4);
    }

    proptest! {
        /// Integers below 2^12: every sum is an integer below 2^53, so any order is exact.
        #[test]
        fn equals_exact_integers(
            d_in in 1usize..100, d_out in 1usize..70, vectors in 1usize..4, seed in any::<u32>(),
        ) {
            let mut state = u64::from(seed);
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                i128::from(state >> 52) - 2048
            };
            let w: Vec<i128> = (0..d_in * d_out).map(|_| next()).collect();
            let x: Vec<i128> = (0..d_in * vectors).map(|_| next()).collect();
            let mut expected = Vec::new();
            for vector in 0..vectors {
                for output in 0..d_out {
                    let terms = (0..d_in).map(|j| x[vector * d_in + j] * w[output * d_in + j]);
                    expected.push(terms.sum::<i128>() as f64);
                }
            }
            let weights = w.iter().map(|&value| value as f32).collect();
            let weights = WeightMatrix::from_output_major(d_in, d_out, weights).unwrap();
            let x: Vec<f64> = x.iter().map(|&value| value as f64).collect();
            prop_assert_eq!(product(&weights, &x, 4), expected);
        }
    }
}
