//! The dense weight matrix of a linear layer.

use crate::error::TensorError;

/// Side of the square tiles in which a matrix is transposed (a tile fits in the first cache).
const TILE: usize = 32;

/// A dense weight matrix of a linear layer `y_k = sum_j W[j,k] * x_j`.
///
/// Stored output-major: `data()[k * d_in + j] = W[j,k]`, so row `k` holds the weights of output
/// `k`. This is the Hugging Face orientation `[out, in]`. All values are finite.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightMatrix {
    d_in: usize,
    d_out: usize,
    data: Vec<f32>,
}

impl WeightMatrix {
    /// Takes `d_out` rows of `d_in` weights each (`data[k * d_in + j]` is output `k`, input `j`).
    ///
    /// # Errors
    ///
    /// [`TensorError::Empty`] if a size is 0, [`TensorError::SizeOverflow`] or
    /// [`TensorError::WrongLength`] if `data` does not have `d_in * d_out` values, and
    /// [`TensorError::NonFiniteWeight`] naming the first NaN or infinity.
    pub fn from_output_major(
        d_in: usize,
        d_out: usize,
        data: Vec<f32>,
    ) -> Result<WeightMatrix, TensorError> {
        const WHAT: &str = "a weight matrix (outputs x inputs)";
        if d_in == 0 || d_out == 0 {
            return Err(TensorError::Empty {
                what: WHAT,
                rows: d_out,
                width: d_in,
            });
        }
        let expected = d_in.checked_mul(d_out).ok_or(TensorError::SizeOverflow {
            what: WHAT,
            rows: d_out as u64,
            width: d_in as u64,
        })?;
        if data.len() != expected {
            return Err(TensorError::WrongLength {
                what: WHAT,
                rows: d_out,
                width: d_in,
                expected,
                actual: data.len(),
            });
        }
        if let Some(at) = data.iter().position(|value| !value.is_finite()) {
            return Err(TensorError::NonFiniteWeight {
                output: at / d_in,
                input: at % d_in,
                value: data[at],
            });
        }
        Ok(WeightMatrix { d_in, d_out, data })
    }

    /// Number of inputs (width of a row).
    #[must_use]
    pub fn d_in(&self) -> usize {
        self.d_in
    }

    /// Number of outputs (number of rows).
    #[must_use]
    pub fn d_out(&self) -> usize {
        self.d_out
    }

    /// All weights, output-major, `d_out * d_in` values.
    #[must_use]
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// All weights, output-major, without a copy.
    #[must_use]
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }

    /// The `d_in` weights of output `k`.
    ///
    /// # Panics
    ///
    /// If `k >= d_out`, as slice indexing does.
    #[must_use]
    pub fn row(&self, k: usize) -> &[f32] {
        assert!(
            k < self.d_out,
            "output {k} of a matrix with {} outputs",
            self.d_out
        );
        &self.data[k * self.d_in..(k + 1) * self.d_in]
    }

    /// The rows in order of the outputs.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.data.chunks_exact(self.d_in)
    }

    /// The matrix with inputs and outputs exchanged.
    #[must_use]
    pub fn transpose(&self) -> WeightMatrix {
        WeightMatrix {
            d_in: self.d_out,
            d_out: self.d_in,
            data: transposed(self.d_out, self.d_in, &self.data),
        }
    }
}

/// The transpose of `rows` x `width` row-major values (lengths already checked).
pub(crate) fn transposed<T: Copy + Default>(rows: usize, width: usize, data: &[T]) -> Vec<T> {
    let mut out = vec![T::default(); data.len()];
    for row_tile in (0..rows).step_by(TILE) {
        for column_tile in (0..width).step_by(TILE) {
            for row in row_tile..(row_tile + TILE).min(rows) {
                for column in column_tile..(column_tile + TILE).min(width) {
                    out[column * rows + row] = data[row * width + column];
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_outputs() {
        let w = WeightMatrix::from_output_major(3, 2, vec![1., 2., 3., 4., 5., 6.]).unwrap();
        assert_eq!((w.d_in(), w.d_out()), (3, 2));
        assert_eq!(w.row(1), [4., 5., 6.]);
        let t = w.transpose();
        assert_eq!((t.d_in(), t.d_out()), (2, 3));
        assert_eq!(t.data(), [1., 4., 2., 5., 3., 6.]);
        assert_eq!(t.rows().len(), 3);
        assert_eq!(t.transpose(), w);
    }

    #[test]
    fn transpose_over_tile_borders() {
        let (rows, width) = (TILE + 1, 2 * TILE + 3);
        let data: Vec<usize> = (0..rows * width).collect();
        let out = transposed(rows, width, &data);
        for row in 0..rows {
            for column in 0..width {
                assert_eq!(out[column * rows + row], row * width + column);
            }
        }
    }

    #[test]
    fn refusals() {
        let refuse = |d_in, d_out, data| {
            WeightMatrix::from_output_major(d_in, d_out, data).expect_err("must be refused")
        };
        assert!(matches!(
            refuse(0, 2, vec![]),
            TensorError::Empty {
                rows: 2,
                width: 0,
                ..
            }
        ));
        assert!(matches!(
            refuse(2, 2, vec![0.0; 3]),
            TensorError::WrongLength {
                expected: 4,
                actual: 3,
                ..
            }
        ));
        assert!(matches!(
            refuse(usize::MAX, 2, vec![]),
            TensorError::SizeOverflow { .. }
        ));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = refuse(3, 2, vec![0., 0., 0., 0., bad, f32::NAN]);
            assert!(
                matches!(
                    error,
                    TensorError::NonFiniteWeight {
                        output: 1,
                        input: 1,
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
}
