//! Scales, predicted errors and answer lengths of the `gemm` plan.
//!
//! Output k has integer weights `w̃_k = round(s_k·w_k)` of Euclidean norm at most about `2^24`, and
//! vector i is encrypted as `round(Δ_i·x_i)` with `Δ_i = C/(max_k‖w̃_k‖·‖x_i‖)`, C = 0.98·2^51. By
//! Cauchy and Schwarz no product leaves ±C, so nothing overflows modulo 2^52, whatever the values;
//! the rest of 2^51 covers rounding and noise, which stay below 2^-13 of it.
//!
//! The error of an answer `y_k = ⟨w_k, x_i⟩` has mean zero and variance
//!
//! * rounding of the weights at random: `‖x_i‖²/(6·s_k²)`;
//! * encryption noise and rounding of the messages at random: `‖w̃_k‖²·(σ² + 1/6)/(s_kΔ_i)²`;
//! * rounding of the answer by t_b bits and of W·A by t_a bits, with a uniform ternary secret:
//!   `(4^t_b/12 + N·(2/3)·4^t_a/12)/(s_kΔ_i)²`.
//!
//! Relative to ‖w_k‖·‖x_i‖ the first two have a standard deviation of 2^-25.3 each where no output's
//! weights are dominated by a few. Rounding is at random on both sides for the reason that [`crate::noise`]
//! gives: errors that are functions of the data add up.

use ckks::gemm::{LOG_Q, MIN_BITS};
use ckks::security::ERROR_SIGMA;

/// Norm that the integer weights of an output are scaled to, 2^24.
pub(crate) const WEIGHT_NORM: f64 = 16_777_216.0;

/// Largest magnitude that three signed bytes hold on both sides.
pub(crate) const LARGEST_WEIGHT: f64 = 8_388_607.0;

/// Largest magnitude of a product, 0.98·2^51.
pub(crate) const CAPACITY: f64 = 0.98 * 2_251_799_813_685_248.0;

/// Variance of rounding at random, averaged over fractions.
const ROUNDING_VARIANCE: f64 = 1.0 / 6.0;

/// How one output's weights became integers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WeightScale {
    /// s_k: integer weights by real weights.
    pub scale: f64,
    /// Euclidean norm of the integer weights.
    pub norm: f64,
}

impl WeightScale {
    /// Of an output without weights.
    pub const ZERO: Self = Self {
        scale: 1.0,
        norm: 0.0,
    };

    /// Norm of the real weights, up to their rounding.
    pub fn real_norm(&self) -> f64 {
        self.norm / self.scale
    }
}

/// Bits that are sent of each coefficient of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerLength {
    /// Of the part that depends on the vectors.
    pub answer: u32,
    /// Of W·A.
    pub mask_products: u32,
}

/// Share of ‖w‖·‖x‖ that the root mean square error may reach by default.
pub const DEFAULT_ERROR_BUDGET: f64 = 1.2e-7;
/// The least share that can be asked for: weights and noise take most of it.
pub const LEAST_ERROR_BUDGET: f64 = 4.0e-8;

impl AnswerLength {
    /// The fewest bits, counting both parts equally, whose error stays within `budget`, a share of
    /// ‖w‖·‖x‖ that is clamped to what the plan can keep.
    pub fn within(budget: f64, degree: usize) -> Self {
        let budget = budget.max(LEAST_ERROR_BUDGET);
        let full = Self {
            answer: LOG_Q,
            mask_products: LOG_Q,
        };
        let typical = WeightScale {
            scale: 1.0,
            norm: WEIGHT_NORM,
        };
        let relative = |length: Self| {
            let norm = 1.0;
            let delta = CAPACITY / (WEIGHT_NORM * norm);
            variance(&typical, norm, delta, length, degree).sqrt() / WEIGHT_NORM
        };
        let mut best = full;
        for answer in MIN_BITS..=LOG_Q {
            for mask_products in MIN_BITS..=LOG_Q {
                let length = Self {
                    answer,
                    mask_products,
                };
                if length.sum() < best.sum() && relative(length) <= budget {
                    best = length;
                }
            }
        }
        best
    }

    fn sum(self) -> u32 {
        self.answer + self.mask_products
    }
}

/// Variance of the error of one output, for a vector of norm `input_norm` at scale `delta`.
pub(crate) fn variance(
    weights: &WeightScale,
    input_norm: f64,
    delta: f64,
    length: AnswerLength,
    degree: usize,
) -> f64 {
    if weights.norm == 0.0 {
        // Sums over zeros are zero, and so are their roundings.
        return 0.0;
    }
    let weight_rounding = ROUNDING_VARIANCE * (input_norm / weights.scale).powi(2);
    let noise = weights.norm.powi(2) * (ERROR_SIGMA.powi(2) + ROUNDING_VARIANCE);
    // Divided before it is squared: the product of the scales may have no finite square.
    let residues = (noise + rounding(length, degree)).sqrt() / weights.scale / delta;
    weight_rounding + residues.powi(2)
}

/// Variance of the rounding of answer and W·A, in units of the residues.
fn rounding(length: AnswerLength, degree: usize) -> f64 {
    let dropped = |bits: u32| {
        if bits >= LOG_Q {
            0.0
        } else {
            4f64.powi((LOG_Q - bits) as i32) / 12.0
        }
    };
    dropped(length.answer) + degree as f64 * (2.0 / 3.0) * dropped(length.mask_products)
}
