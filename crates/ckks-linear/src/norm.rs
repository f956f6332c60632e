//! An upper bound of the norm of an output's slot operator.
//!
//! Power iteration from random starts (J. D. Dixon, SIAM J. Numer. Anal. 20, 1983): for a
//! positive semidefinite operator B on R^d and x uniform on the sphere, `ξ = (xᵀB^k x)^(1/k)`
//! satisfies `λ_max ≤ θξ` except with probability at most `0.8·√d·θ^(-k/2)`. Here `B = AᴴA` on
//! complex vectors seen as real ones of twice the length, k = 16, and 8 independent starts are
//! iterated together; the largest ξ fails only if all do. θ is chosen so that the whole bound
//! fails with probability below 2^-40. The Frobenius norm is always a bound as well, and the
//! smaller one is taken.

use crate::layout::{OutputPiece, for_each_row_run};
use crate::plan::Plan;
use ckks::simd::{SimdLevel, multiversion};
use rand::RngExt as _;
use rayon::prelude::*;
use tensor_io::WeightMatrix;

/// Independent starting vectors.
const STARTS: usize = 8;
/// Exponent k of the iterated operator: k/2 applications of AᴴA.
const POWER: i32 = 16;
/// log2 of the failure probability of one output's bound.
pub const LOG_FAILURE: f64 = -40.0;
/// Covers the rounding of single-precision sums.
const ROUNDING: f64 = 1.001;

/// One complex entry for each start: real parts, then imaginary parts.
type Lane = [f32; 2 * STARTS];

/// An upper bound of ‖A‖ for output `o`, wrong with probability below 2^-40.
pub(crate) fn slot_operator_bound(plan: &Plan, weights: &WeightMatrix, o: usize, seed: u64) -> f64 {
    let output = &plan.outputs()[o];
    let columns = output.columns.clone();
    let frobenius_sqr: f64 = columns
        .clone()
        .map(|k| plan.folding().column(weights, k).norm_sqr())
        .sum();
    let frobenius = frobenius_sqr.sqrt();
    let rows = plan.folding().rows(plan.shape());
    // A handful of entries is bounded well enough by the certain norm.
    if frobenius == 0.0 || rows.min(columns.len()) < 4 {
        return frobenius;
    }
    let dimension = 2.0 * rows as f64;
    let log_single = LOG_FAILURE / STARTS as f64;
    let log_theta = ((0.8 * dimension.sqrt()).log2() - log_single) / (f64::from(POWER) / 2.0);
    let xi = largest_rayleigh_root(plan, weights, output, frobenius as f32, seed);
    // ξ is relative to the Frobenius norm; λ_max = ‖A‖².
    let bound = (xi * log_theta.exp2()).sqrt() * frobenius * ROUNDING;
    if bound.is_finite() {
        bound.min(frobenius)
    } else {
        frobenius
    }
}

/// The largest `(xᴴ(AᴴA)^k x)^(1/k)` over the starts, for A scaled to Frobenius norm 1.
fn largest_rayleigh_root(
    plan: &Plan,
    weights: &WeightMatrix,
    output: &OutputPiece,
    frobenius: f32,
    seed: u64,
) -> f64 {
    let rows = plan.folding().rows(plan.shape());
    let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(seed);
    let mut x: Vec<Lane> = (0..rows)
        .map(|_| std::array::from_fn(|_| gaussian(&mut rng)))
        .collect();
    let mut log_growth = [0.0f64; STARTS];
    normalise(&mut x);
    for _ in 0..POWER / 2 {
        x = apply_gram(plan, weights, output, 1.0 / frobenius, &x);
        // ‖(AᴴA)^(k/2) x‖² = xᴴ(AᴴA)^k x: collect the norms as the iteration is renormalised.
        for (log, norm) in log_growth.iter_mut().zip(normalise(&mut x)) {
            *log += norm.ln();
        }
    }
    log_growth
        .iter()
        .map(|log| (2.0 * log / f64::from(POWER)).exp())
        .fold(0.0, f64::max)
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

/// `AᴴA x`, slot by slot: each slot is a sum over contiguous runs of rows of one column.
fn apply_gram(
    plan: &Plan,
    weights: &WeightMatrix,
    output: &OutputPiece,
    scale: f32,
    x: &[Lane],
) -> Vec<Lane> {
    let rows = x.len();
    let tasks = rayon::current_num_threads() * 4;
    let chunk = plan.slots().div_ceil(tasks);
    (0..tasks)
        .into_par_iter()
        .map(|task| {
            let mut sum = vec![[0.0; 2 * STARTS]; rows];
            for p in task * chunk..plan.slots().min((task + 1) * chunk) {
                add_slot(plan, weights, output, scale, x, p, &mut sum);
            }
            sum
        })
        .reduce(
            || vec![[0.0; 2 * STARTS]; rows],
            |mut a, b| {
                for (x, y) in a.iter_mut().zip(&b) {
                    for (x, y) in x.iter_mut().zip(y) {
                        *x += y;
                    }
                }
                a
            },
        )
}

fn add_slot(
    plan: &Plan,
    weights: &WeightMatrix,
    output: &OutputPiece,
    scale: f32,
    x: &[Lane],
    p: usize,
    sum: &mut [Lane],
) {
    let mut value = [0.0; 2 * STARTS];
    let level = SimdLevel::detect();
    for_each_run(plan, output, p, |column, first, len| {
        let entries = plan
            .folding()
            .column(weights, output.columns.start + column);
        let (re, im) = slices(&entries, first, len);
        dot(
            level,
            re,
            im,
            entries.im_sign * scale,
            scale,
            &x[first..first + len],
            &mut value,
        );
    });
    for_each_run(plan, output, p, |column, first, len| {
        let entries = plan
            .folding()
            .column(weights, output.columns.start + column);
        let (re, im) = slices(&entries, first, len);
        scatter(
            level,
            re,
            im,
            entries.im_sign * scale,
            scale,
            &value,
            &mut sum[first..first + len],
        );
    });
}

fn slices<'a>(
    c: &crate::shape::ComplexColumn<'a>,
    first: usize,
    len: usize,
) -> (&'a [f32], &'a [f32]) {
    let im_end = (first + len).min(c.im.len());
    (&c.re[first..first + len], &c.im[first.min(im_end)..im_end])
}

multiversion! {
    /// `value += Σ_j (re_j·scale + i·im_j·im_scale)·x_j`.
    fn dot(re: &[f32], im: &[f32], im_scale: f32, scale: f32, x: &[Lane], value: &mut Lane) {
        let mut acc = *value;
        for (j, (&wr, lane)) in re.iter().zip(x).enumerate() {
            let wr = wr * scale;
            let wi = if j < im.len() { im[j] * im_scale } else { 0.0 };
            for s in 0..STARTS {
                acc[s] += wr * lane[s] - wi * lane[s + STARTS];
                acc[s + STARTS] += wr * lane[s + STARTS] + wi * lane[s];
            }
        }
        *value = acc;
    }
}

multiversion! {
    /// `sum_j += conj(re_j·scale + i·im_j·im_scale)·value`.
    fn scatter(re: &[f32], im: &[f32], im_scale: f32, scale: f32, value: &Lane, sum: &mut [Lane]) {
        for (j, (&wr, lane)) in re.iter().zip(sum.iter_mut()).enumerate() {
            let wr = wr * scale;
            let wi = if j < im.len() { im[j] * im_scale } else { 0.0 };
            for s in 0..STARTS {
                lane[s] += wr * value[s] + wi * value[s + STARTS];
                lane[s + STARTS] += wr * value[s + STARTS] - wi * value[s];
            }
        }
    }
}

/// The rows that slot `p` sums, as `(column, first row, length)` in rows of the whole matrix.
fn for_each_run(
    plan: &Plan,
    output: &OutputPiece,
    p: usize,
    mut visit: impl FnMut(usize, usize, usize),
) {
    for input in plan.inputs() {
        let Some(slot) = output.slot(input, p) else {
            continue;
        };
        let steps = output.steps(input);
        for group in 0..steps.groups {
            for_each_row_run(
                input,
                slot,
                group * steps.stride,
                steps.run,
                |_, first, len| {
                    visit(slot.column, input.rows.start + first, len);
                },
            );
        }
    }
}
