//! Shapes and the ways to view a real matrix as a complex one.

use crate::error::{LinearError, MAX_WIDTH};
use ckks::Complex64;
use std::fmt;
use tensor_io::WeightMatrix;

/// Widths of a layer `y = xW`, with W of d_in × d_out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LayerShape {
    d_in: usize,
    d_out: usize,
}

impl LayerShape {
    /// Checks the widths.
    ///
    /// # Errors
    /// [`LinearError::Shape`] outside 1 to 262,144.
    pub fn new(d_in: usize, d_out: usize) -> Result<Self, LinearError> {
        let fits = |width| (1..=MAX_WIDTH).contains(&width);
        if fits(d_in) && fits(d_out) {
            Ok(Self { d_in, d_out })
        } else {
            Err(LinearError::Shape { d_in, d_out })
        }
    }

    /// Input width.
    pub fn d_in(self) -> usize {
        self.d_in
    }

    /// Output width.
    pub fn d_out(self) -> usize {
        self.d_out
    }
}

impl fmt::Display for LayerShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.d_in, self.d_out)
    }
}

/// How real vectors and weights become complex slots and a complex matrix M (rows × columns).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Folding {
    /// `z_j = x_j + i·x_(j+h)`, `M_jk = W_jk - i·W_(j+h)k`, `y_k = Re Σ_j M_jk z_j`,
    /// h = ⌈d_in/2⌉: half the rows.
    Input,
    /// Real slots, `M_jk = W_jk + i·W_j(k+h)`, so that slot k is `y_k + i·y_(k+h)`,
    /// h = ⌈d_out/2⌉: half the columns.
    Output,
    /// `M = W`; two vectors share a ciphertext as real and imaginary part.
    Pair,
    /// `M = W`, one vector for each ciphertext, imaginary parts unused.
    None,
}

impl Folding {
    /// Rows of the complex matrix.
    pub fn rows(self, shape: LayerShape) -> usize {
        if self == Self::Input {
            shape.d_in.div_ceil(2)
        } else {
            shape.d_in
        }
    }

    /// Columns of the complex matrix.
    pub fn columns(self, shape: LayerShape) -> usize {
        if self == Self::Output {
            shape.d_out.div_ceil(2)
        } else {
            shape.d_out
        }
    }

    /// Vectors that share one set of input ciphertexts.
    pub fn vectors_per_group(self) -> usize {
        if self == Self::Pair { 2 } else { 1 }
    }

    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Input => "two inputs folded into one complex slot",
            Self::Output => "two outputs folded into one complex slot",
            Self::Pair => "two vectors in the real and imaginary parts",
            Self::None => "real slots",
        }
    }

    /// The real rows (of output-major weights) that make complex column `k`: the row that gives
    /// the real parts with its offset, and the one that gives the imaginary parts with its sign.
    pub(crate) fn column<'a>(self, weights: &'a WeightMatrix, k: usize) -> ComplexColumn<'a> {
        let row = weights.row(k);
        match self {
            Self::Input => {
                let h = weights.d_in().div_ceil(2);
                ComplexColumn {
                    re: &row[..h],
                    im: &row[h..],
                    im_sign: -1.0,
                }
            }
            Self::Output => {
                let other = k + weights.d_out().div_ceil(2);
                let im = if other < weights.d_out() {
                    weights.row(other)
                } else {
                    &[]
                };
                ComplexColumn {
                    re: row,
                    im,
                    im_sign: 1.0,
                }
            }
            Self::Pair | Self::None => ComplexColumn {
                re: row,
                im: &[],
                im_sign: 1.0,
            },
        }
    }
}

/// One column of the complex matrix, as two real slices; the imaginary one may be shorter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComplexColumn<'a> {
    pub(crate) re: &'a [f32],
    pub(crate) im: &'a [f32],
    pub(crate) im_sign: f32,
}

impl ComplexColumn<'_> {
    /// Entry of row `j`.
    #[inline]
    pub(crate) fn at(&self, j: usize) -> Complex64 {
        let im = self.im.get(j).map_or(0.0, |&v| f64::from(v * self.im_sign));
        Complex64::new(f64::from(self.re[j]), im)
    }

    /// Sum of the squared magnitudes.
    pub(crate) fn norm_sqr(&self) -> f64 {
        self.re
            .iter()
            .chain(self.im)
            .map(|&v| f64::from(v) * f64::from(v))
            .sum()
    }
}
