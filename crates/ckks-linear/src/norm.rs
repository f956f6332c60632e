//! An upper bound of the norm of an output's slot operator.
//!
//! Power iteration from random starts (J. D. Dixon, SIAM J. Numer. Anal. 20, 1983): for a
//! positive semidefinite operator B on R^d and x uniform on the sphere, `ξ = (xᵀB^k x)^(1/k)`
//! satisfies `λ_max ≤ θξ` except with probability at most `0.8·√d·θ^(-k/2)`. Here `B = AᴴA` on
//! complex vectors seen as real ones of twice the length, k = 16, and 8 independent starts are
//! iterated together; the largest ξ fails only if all do. θ is chosen so that the whole bound
//! fails with probability below 2^-40. The Frobenius norm is always a bound as well, and the
//! smaller one is taken. It also stands in where single precision fails the iteration, which
//! certain lower bounds of λ_max tell.

use crate::lanes::{Lane, STARTS, dot, scatter};
use crate::layout::{OutputPiece, for_each_row_run};
use crate::plan::Plan;
use crate::shape::ComplexColumn;
use ckks::simd::SimdLevel;
use rand::RngExt as _;
use rayon::prelude::*;
use tensor_io::WeightMatrix;

/// Exponent k of the iterated operator: k/2 applications of AᴴA.
const POWER: i32 = 16;
/// log2 of the failure probability of one output's bound.
pub const LOG_FAILURE: f64 = -40.0;
/// Covers the rounding of single-precision sums.
const ROUNDING: f64 = 1.001;

/// An upper bound of ‖A‖ for output `o`, wrong with probability below 2^-40. Finite for every
/// matrix of finite single-precision entries, and 0 for zero matrices only; the same on any number
/// of threads.
pub(crate) fn slot_operator_bound(plan: &Plan, weights: &WeightMatrix, o: usize, seed: u64) -> f64 {
    let output = &plan.outputs()[o];
    let columns = output.columns.clone();
    let (mut frobenius_sqr, mut largest_sqr) = (0.0, 0.0f64);
    for norm_sqr in columns
        .clone()
        .map(|k| plan.folding().column(weights, k).norm_sqr())
    {
        frobenius_sqr += norm_sqr;
        largest_sqr = largest_sqr.max(norm_sqr);
    }
    let frobenius = frobenius_sqr.sqrt();
    let rows = plan.folding().rows(plan.shape());
    // A handful of entries is bounded well enough by the certain norm.
    if frobenius == 0.0 || rows < 4 {
        return frobenius;
    }
    let dimension = 2.0 * rows as f64;
    let log_single = LOG_FAILURE / STARTS as f64;
    let log_theta = ((0.8 * dimension.sqrt()).log2() - log_single) / (f64::from(POWER) / 2.0);
    let operator = Operator::new(plan, weights, output, frobenius);
    let bound_sqr = operator.largest_rayleigh_root(seed) * log_theta.exp2() * ROUNDING.powi(2);
    // λ_max is at least the mean nonzero eigenvalue, and the squared norm of each slot's row, one
    // of which has its share of the longest column. A bound below that, or none at all, tells that
    // single precision did not carry the iteration.
    let rank = rows.min(plan.slots()) as f64;
    let copies = plan.summed_copies(output).max(1) as f64;
    let certain = (frobenius_sqr / rank).max(largest_sqr / copies) * operator.unit.powi(2);
    if bound_sqr.is_finite() && bound_sqr >= certain {
        (bound_sqr.sqrt() / operator.unit).min(frobenius)
    } else {
        frobenius
    }
}

/// The operator A of one output, scaled by a power of two to a Frobenius norm in 1..2, so that
/// single precision carries matrices of any size.
struct Operator<'a> {
    plan: &'a Plan,
    weights: &'a WeightMatrix,
    output: &'a OutputPiece,
    rows: usize,
    level: SimdLevel,
    /// The scale.
    unit: f64,
    /// The part of the scale that weights are multiplied by.
    entry_scale: f32,
    /// The square of the rest, which products with AᴴA are multiplied by; 1 unless the norm is
    /// near the ends of single precision.
    value_scale: f32,
}

impl<'a> Operator<'a> {
    fn new(
        plan: &'a Plan,
        weights: &'a WeightMatrix,
        output: &'a OutputPiece,
        frobenius: f64,
    ) -> Self {
        // Norms of single-precision matrices are normal doubles between 2^-149 and 2^146.
        let exponent = -frobenius.log2().floor() as i32;
        // Both factors are normal in single precision.
        let entry = exponent.clamp(-126, 126);
        Self {
            plan,
            weights,
            output,
            rows: plan.folding().rows(plan.shape()),
            level: SimdLevel::detect(),
            unit: 2f64.powi(exponent),
            entry_scale: 2f32.powi(entry),
            value_scale: 2f32.powi(2 * (exponent - entry)),
        }
    }

    /// The largest `(xᴴ(AᴴA)^k x)^(1/k)` over the starts; NaN when any start is lost.
    fn largest_rayleigh_root(&self, seed: u64) -> f64 {
        let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(seed);
        let mut x: Vec<Lane> = (0..self.rows)
            .map(|_| std::array::from_fn(|_| gaussian(&mut rng)))
            .collect();
        let mut log_growth = [0.0f64; STARTS];
        normalise(&mut x);
        for _ in 0..POWER / 2 {
            x = self.apply_gram(&x);
            // ‖(AᴴA)^(k/2) x‖² = xᴴ(AᴴA)^k x: collect the norms as the iteration is renormalised.
            for (log, norm) in log_growth.iter_mut().zip(normalise(&mut x)) {
                *log += norm.ln();
            }
        }
        log_growth
            .iter()
            .map(|log| (2.0 * log / f64::from(POWER)).exp())
            .fold(0.0, max_or_nan)
    }

    /// `AᴴA x`, slot by slot: each slot is a sum over contiguous runs of rows of one column. Each
    /// entry is a sum in the order of the slots, however the work is divided.
    fn apply_gram(&self, x: &[Lane]) -> Vec<Lane> {
        let values: Vec<Lane> = (0..self.plan.slots())
            .into_par_iter()
            .with_min_len(16)
            .map(|p| self.value(x, p))
            .collect();
        let mut sum = vec![[0.0; 2 * STARTS]; x.len()];
        let chunk = x.len().div_ceil(rayon::current_num_threads()).max(16);
        sum.par_chunks_mut(chunk).enumerate().for_each(|(i, part)| {
            for (p, value) in values.iter().enumerate() {
                self.add_slot(value, p, i * chunk, part);
            }
        });
        sum
    }

    /// Entry `p` of `A x`, times `value_scale`.
    fn value(&self, x: &[Lane], p: usize) -> Lane {
        let mut value = [0.0; 2 * STARTS];
        self.for_each_run(p, |entries, first, len| {
            let (re, im) = slices(entries, first, len);
            let im_scale = entries.im_sign * self.entry_scale;
            let x = &x[first..first + len];
            dot(
                self.level,
                re,
                im,
                im_scale,
                self.entry_scale,
                x,
                &mut value,
            );
        });
        value.map(|v| v * self.value_scale)
    }

    /// Adds slot `p`'s row of Aᴴ times its value to the rows from `start` that `part` holds.
    fn add_slot(&self, value: &Lane, p: usize, start: usize, part: &mut [Lane]) {
        self.for_each_run(p, |entries, first, len| {
            let end = (first + len).min(start + part.len());
            let first = first.max(start);
            if first >= end {
                return;
            }
            let (re, im) = slices(entries, first, end - first);
            let im_scale = entries.im_sign * self.entry_scale;
            let sum = &mut part[first - start..end - start];
            scatter(self.level, re, im, im_scale, self.entry_scale, value, sum);
        });
    }

    /// The rows that slot `p` sums, as `(column, first row, length)`.
    fn for_each_run(&self, p: usize, mut visit: impl FnMut(&ComplexColumn<'_>, usize, usize)) {
        for input in self.plan.inputs() {
            let Some(slot) = self.output.slot(input, p) else {
                continue;
            };
            let column = self.output.columns.start + slot.column;
            let entries = self.plan.folding().column(self.weights, column);
            let steps = self.output.steps(input);
            for group in 0..steps.groups {
                let from = group * steps.stride;
                for_each_row_run(input, slot, from, steps.run, |_, first, len| {
                    visit(&entries, input.rows.start + first, len);
                });
            }
        }
    }
}

/// The larger number; NaN, unlike with [`f64::max`], if there is one.
pub(crate) fn max_or_nan(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// Euclidean norm, also of values whose squares double precision does not hold. Zero for zeros
/// alone.
pub(crate) fn euclidean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let energy: f64 = values.clone().map(|value| value * value).sum();
    if (1e-280..1e280).contains(&energy) {
        return energy.sqrt();
    }
    let largest = values.clone().fold(0.0, |m: f64, value| m.max(value.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let energy: f64 = values.map(|value| (value / largest).powi(2)).sum();
    largest * energy.sqrt()
}

/// Standard normal by Box–Muller; only directions matter.
fn gaussian(rng: &mut impl rand::Rng) -> f32 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    (radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()) as f32
}

/// Scales each start to norm 1 and returns the norms.
fn normalise(x: &mut [Lane]) -> [f64; STARTS] {
    let mut sums = [0.0f64; STARTS];
    for lane in x.iter() {
        for s in 0..STARTS {
            let (re, im) = (f64::from(lane[s]), f64::from(lane[s + STARTS]));
            sums[s] += re * re + im * im;
        }
    }
    let norms = sums.map(f64::sqrt);
    let inverse = norms.map(|norm| if norm > 0.0 { (1.0 / norm) as f32 } else { 0.0 });
    for lane in x {
        for s in 0..STARTS {
            lane[s] *= inverse[s];
            lane[s + STARTS] *= inverse[s];
        }
    }
    norms
}

fn slices<'a>(c: &ComplexColumn<'a>, first: usize, len: usize) -> (&'a [f32], &'a [f32]) {
    let im_end = (first + len).min(c.im.len());
    (&c.re[first..first + len], &c.im[first.min(im_end)..im_end])
}
