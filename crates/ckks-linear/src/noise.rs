//! Closed forms for noise and overflow, and the scales that follow from them.
//!
//! With σ = 3.19 errors, a uniform ternary secret, D digits of primes near q and key-switching
//! prime P, each coefficient of a baby-step ciphertext carries noise of variance
//! `V = f·(D·N·q²σ²/(12P²) + (1 + 2N/3)/12) + σ² + 1/12`, where f is the share of products that
//! use a rotated input; each slot then N·V. For output k of a plan, with weights `w_k` and input x:
//!
//! * encryption and baby steps: `‖w_k‖²·N·V/(2Δx²)`;
//! * rounding of the weights to integers at random: `‖x‖²·N/(12Δw²)`, times how often each row is
//!   met; nothing for zero layers;
//! * rounding of the answer to 2^t, with c summed copies: `c·N·(1 + 2N/3)/(24·Δ²)`,
//!   `Δ = ΔxΔw·2^t/Q`.
//!
//! Giant steps act after the product, at scale ΔxΔw, and are negligible.
//!
//! **Rounding.** Coefficients of weights are rounded at random: up with a probability equal to
//! their fraction f. The error has mean zero whatever the weights are, variance f(1 - f) — 1/6 on
//! average, 1/4 at most — and is independent of all others. Rounding to nearest has half that
//! variance for unstructured weights, but its errors are a function of the weights: equal, smooth
//! or nearly empty diagonals have equal or similar errors, which add up over a sum instead of
//! averaging out, to more than ten times the prediction (triangular and ramp-like matrices).
//! The randomness is a fixed function of the place, so that preparation repeats to the bit.
//!
//! **Overflow.** No coefficient exceeds the rms over the slots times the scale
//! (see [`ckks::encoder`]), and the rms of an output's slots is at most `‖A‖·‖x‖/√n`, where A is
//! the operator from x to all slots of that output ciphertext. So
//! `ΔxΔw·‖A‖·‖x‖/√n ≤ 0.98·Q/2` for every output is certain to decrypt right: the product of the
//! scales is fixed, K = 0.98·(Q/2)·√n/(‖A‖‖x‖), and the error is least at
//! `Δx/Δw = √(6V)·‖w‖/‖x‖`. Both terms are then proportional to ‖x‖, so the best
//! `Δw = (K‖x‖/(‖w‖√(6V)))^(1/2)` does not depend on x.

use crate::error::LinearError;
use crate::layout::InputLayout;
use crate::plan::Plan;
use crate::shape::Folding;
use ckks::rounding::MIN_ANSWER_BITS;
use ckks::security::ERROR_SIGMA;
use ckks::{CkksError, Context};
use std::ops::Range;

/// Norms of weights and vectors that double precision carries through all formulas; zero is
/// allowed besides.
pub const NORMS: Range<f64> = 1e-140..1e140;

/// Share of Q/2 that messages may fill; the rest covers all noise, which is below 2^-20 of it.
const HEADROOM: f64 = 0.98;

/// Noise constants of a plan under a context.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NoiseModel {
    degree: f64,
    slots: f64,
    q_half: f64,
    /// V: variance of each coefficient of a baby-step ciphertext.
    coefficient_variance: f64,
    /// Variance of the answer's rounding on each coefficient, in units of 2^t.
    answer_variance: f64,
    /// Scale factor of the answer's rounding, 2^t/Q.
    answer_factor: f64,
}

/// Scales for one vector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InputScale {
    /// Δx. Secret: it would leak ‖x‖.
    pub delta_x: f64,
}

impl NoiseModel {
    /// The constants for a plan whose answers are rounded to `answer_bits`.
    pub fn new(plan: &Plan, context: &Context, answer_bits: u32) -> Self {
        let n = context.degree() as f64;
        let counts = plan.counts();
        let babies: usize = plan.baby_steps().max(1);
        let rotated = if counts.baby_rotations == 0 {
            0.0
        } else {
            1.0 - 1.0 / babies as f64
        };
        let switching = context.parameters().p().map_or(0.0, |p| {
            let p = f64::from(p.value());
            let digits: f64 = context
                .parameters()
                .q()
                .iter()
                .map(|q| (f64::from(q.value()) / p).powi(2))
                .sum();
            digits * n * ERROR_SIGMA.powi(2) / 12.0 + (1.0 + 2.0 * n / 3.0) / 12.0
        });
        let q = context.parameters().q_product() as f64;
        Self {
            degree: n,
            slots: n / 2.0,
            q_half: q / 2.0,
            coefficient_variance: rotated * switching + ERROR_SIGMA.powi(2) + 1.0 / 12.0,
            answer_variance: (1.0 + 2.0 * n / 3.0) / 12.0,
            answer_factor: f64::from(answer_bits).exp2() / q,
        }
    }

    /// ΔxΔw‖x‖ that fills the modulus, for the largest operator norm over all outputs.
    fn capacity(&self, operator_norm: f64) -> f64 {
        HEADROOM * self.q_half * self.slots.sqrt() / operator_norm
    }

    /// The layer's scale Δw: best for the largest column norm, for any input. Zero weights are
    /// exact at any scale; theirs keeps the rounding of the answer small.
    pub fn weight_scale(&self, operator_norm: f64, column_norm: f64) -> f64 {
        if operator_norm == 0.0 || column_norm == 0.0 {
            return self.q_half;
        }
        let ratio = (self.coefficient_variance / ROUNDING_VARIANCE).sqrt();
        (self.capacity(operator_norm) / (column_norm * ratio)).sqrt()
    }

    /// The client's scale Δx for a group of vectors of joint norm `input_norm`: the largest that
    /// cannot overflow. The zero vector, which never does, gets that of the smallest of [`NORMS`].
    pub fn input_scale(
        &self,
        weight_scale: f64,
        operator_norm: f64,
        input_norm: f64,
    ) -> InputScale {
        let input_norm = if input_norm == 0.0 {
            NORMS.start
        } else {
            input_norm
        };
        // A zero layer bounds Δx by the input alone: its coefficients must stay below Q/2 too.
        let product = if operator_norm == 0.0 {
            f64::INFINITY
        } else {
            self.capacity(operator_norm) / (weight_scale * input_norm)
        };
        let own = HEADROOM * self.q_half / input_norm;
        InputScale {
            delta_x: product.min(own),
        }
    }

    /// Standard deviation of the error of one output.
    pub fn sigma(&self, terms: &ErrorTerms) -> f64 {
        let fresh = terms.column_norm.powi(2) * self.degree * self.coefficient_variance
            / (2.0 * terms.delta_x.powi(2));
        let weights =
            terms.input_norm.powi(2) * terms.meetings * self.degree * terms.rounding_variance
                / (2.0 * terms.weight_scale.powi(2));
        let scale = terms.delta_x * terms.weight_scale * self.answer_factor;
        let answer = terms.copies * self.degree * self.answer_variance / (2.0 * scale.powi(2));
        (fresh + weights + answer).sqrt()
    }
}

/// What the error of one output depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorTerms {
    /// ‖w_k‖, with both rows for folded outputs.
    pub column_norm: f64,
    /// ‖x‖ of the group.
    pub input_norm: f64,
    /// Δx.
    pub delta_x: f64,
    /// Δw.
    pub weight_scale: f64,
    /// How often each row is met by the summed slots, at least 1.
    pub meetings: f64,
    /// Summed copies.
    pub copies: f64,
    /// Variance of the rounding error of each coefficient of the weights.
    pub rounding_variance: f64,
}

/// Variance of rounding at random, averaged over fractions.
const ROUNDING_VARIANCE: f64 = 1.0 / 6.0;

/// Variance of the rounding error of each coefficient of a layer's weights: none for zero weights.
pub(crate) fn rounding_variance(operator_norm: f64) -> f64 {
    if operator_norm == 0.0 {
        0.0
    } else {
        ROUNDING_VARIANCE
    }
}

/// Refuses answer lengths that the context cannot give.
///
/// # Errors
/// [`CkksError::AnswerBits`].
pub(crate) fn check_answer_bits(context: &Context, bits: u32) -> Result<(), LinearError> {
    let max = context.max_answer_bits();
    if (MIN_ANSWER_BITS..=max).contains(&bits) {
        Ok(())
    } else {
        Err(CkksError::AnswerBits { bits, max }.into())
    }
}

/// The error to expect before weights and vectors are known: x uniform in ±1 and W uniform in
/// ±1/√d_in, the published experiment's data. The operator's norm is taken as that of a random
/// matrix of the slot operator's density (row and column norms added; Bai–Yin), with the margin
/// that the certified bound usually has.
pub fn expected_rms(plan: &Plan, context: &Context, answer_bits: u32) -> f64 {
    /// What the certified bound exceeds the norm by, typically.
    const BOUND_MARGIN: f64 = 1.4;
    let noise = NoiseModel::new(plan, context, answer_bits);
    let (d_in, folding) = (plan.shape().d_in() as f64, plan.folding());
    let folded = if matches!(folding, Folding::Input | Folding::Output) {
        2.0
    } else {
        1.0
    };
    let variance = folded / (3.0 * d_in);
    let rows = folding.rows(plan.shape()) as f64;
    let vectors = folding.vectors_per_group() as f64;
    let column_norm = (rows * variance).sqrt();
    let input_norm = (vectors * d_in / 3.0).sqrt();
    let mut operator_norm = 0.0f64;
    for output in plan.outputs() {
        let entries = rows * output.columns.len() as f64;
        let per_slot = plan
            .inputs()
            .iter()
            .map(|i| output.steps(i).len())
            .sum::<usize>() as f64;
        let per_row = entries / rows;
        let random = variance.sqrt() * (per_slot.min(rows).sqrt() + per_row.sqrt()) * BOUND_MARGIN;
        operator_norm = operator_norm.max(random.min((entries * variance).sqrt()));
    }
    let weight_scale = noise.weight_scale(operator_norm, column_norm);
    let InputScale { delta_x } = noise.input_scale(weight_scale, operator_norm, input_norm);
    let copies = plan
        .outputs()
        .first()
        .map_or(1.0, |o| plan.summed_copies(o) as f64);
    noise.sigma(&ErrorTerms {
        column_norm,
        input_norm,
        delta_x,
        weight_scale,
        meetings: meetings(plan, 0),
        copies,
        rounding_variance: ROUNDING_VARIANCE,
    })
}

/// Products with a row that the summed slots of a column take part in, over the rows there are: 1
/// for a layout without repetition. Products with the padding of a period do not count.
pub(crate) fn meetings(plan: &Plan, output: usize) -> f64 {
    let output = &plan.outputs()[output];
    let copies = plan.summed_copies(output) as f64;
    let products: f64 = plan
        .inputs()
        .iter()
        .map(|input| {
            let filled = match input.layout {
                InputLayout::Periodic { period } => input.rows.len() as f64 / period as f64,
                InputLayout::Guard { .. } => 1.0,
            };
            output.steps(input).len() as f64 * filled
        })
        .sum();
    let rows = plan.folding().rows(plan.shape()) as f64;
    (copies * products / rows).max(1.0)
}

/// Column norms of the complex matrix, as the noise sees them.
pub(crate) fn column_norms(
    folding: Folding,
    weights: &tensor_io::WeightMatrix,
    columns: usize,
) -> Vec<f64> {
    (0..columns)
        .map(|k| folding.column(weights, k).norm_sqr().sqrt())
        .collect()
}
