//! Shapes on which other libraries answer wrong or refuse. The oracle is the float64 product.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::modulus::ntt_primes;
use ckks::{Complex64, Context, Parameters, kernels};
use ckks_linear::evaluate::Query;
use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::planner::{PlanOptions, candidates, plan};
use ckks_linear::shape::{Folding, LayerShape};
use std::sync::Arc;
use support::{Trial, best, check_dense, context, dense, errors, plan_with, product, vectors};

/// One vector through the cheapest plan, held to the prediction and to 2e-5.
fn right(d_in: usize, d_out: usize) {
    let weights = dense(d_in, d_out, 21);
    let mut trial = Trial::new(&context(), best(d_in, d_out), &weights);
    let worst = check_dense(&mut trial, &weights, &vectors(1, d_in, 22));
    assert!(worst <= 2e-5, "{d_in}x{d_out}: {worst:.2e}");
}

/// The same through the zero-padded square.
fn right_as_square(d_in: usize, d_out: usize) {
    let weights = dense(d_in, d_out, 23);
    let plan = plan_with(PlanKind::DiagonalSquare, (d_in, d_out), 1, None, None);
    let mut trial = Trial::new(&context(), plan, &weights);
    check_dense(&mut trial, &weights, &vectors(1, d_in, 24));
}

/// OpenMined/TenSEAL#504: wrong once d_in + d_out > slots + 1.
#[test]
fn case_01_wide_sum_of_widths() {
    for (d_in, d_out) in [
        (1024, 1025),
        (1024, 1026),
        (1500, 1500),
        (2047, 2),
        (2, 2047),
        (2048, 2),
        (2000, 300),
    ] {
        right(d_in, d_out);
    }
}

/// OpenMined/TenSEAL#500: 192 × 784 refused although 12 × 784 works.
#[test]
fn case_02_neither_width_divides_the_other() {
    for (d_in, d_out) in [(192, 784), (784, 192), (12, 784), (784, 12)] {
        right(d_in, d_out);
        right_as_square(d_in, d_out);
    }
}

/// OpenMined/TenSEAL#303: 4,097 values do not fit 4,096 slots.
#[test]
fn case_03_more_values_than_slots() {
    for (d_in, d_out) in [(4097, 3), (3, 4097), (2049, 17), (4097, 40), (8193, 1)] {
        right(d_in, d_out);
    }
    // Real slots hold half as many: three inputs, two outputs.
    let plan = plan_with(
        PlanKind::Diagonal,
        (4097, 2100),
        1,
        Some(Folding::None),
        None,
    );
    assert!(plan.inputs().len() >= 3 && plan.outputs().len() >= 2);
    let weights = dense(4097, 2100, 32);
    let mut trial = Trial::new(&context(), plan, &weights);
    check_dense(&mut trial, &weights, &vectors(1, 4097, 33));
    right_as_square(2049, 5);
    right_as_square(5, 2049);
}

/// tuneinsight/lattigo#142: right only for powers of two.
#[test]
fn case_08_sizes_that_are_no_powers_of_two() {
    for (d_in, d_out) in [
        (5, 3),
        (7, 7),
        (576, 1536),
        (1, 1),
        (1, 2048),
        (2048, 1),
        (127, 131),
        (131, 127),
        (509, 521),
        (1021, 1031),
        (97, 2003),
        (2003, 97),
        (3, 1),
        (1, 3),
        (2, 2),
    ] {
        right(d_in, d_out);
    }
    for (d_in, d_out) in [
        (5, 3),
        (7, 7),
        (1, 1),
        (1, 2048),
        (2048, 1),
        (127, 131),
        (509, 521),
    ] {
        right_as_square(d_in, d_out);
    }
}

/// Every folding of small and awkward shapes, with a batch that fills and one that leaves half of
/// a pair.
#[test]
fn case_08_every_folding_of_odd_sizes() {
    for (d_in, d_out) in [(1, 1), (5, 3), (3, 5), (7, 7), (127, 131), (33, 257)] {
        let weights = dense(d_in, d_out, 25);
        for folding in [
            Folding::Input,
            Folding::Output,
            Folding::Pair,
            Folding::None,
        ] {
            let plan = plan_with(PlanKind::Diagonal, (d_in, d_out), 3, Some(folding), None);
            assert_eq!(plan.folding(), folding);
            let mut trial = Trial::new(&context(), plan, &weights);
            check_dense(&mut trial, &weights, &vectors(3, d_in, 26));
        }
    }
}

/// google/heir#1578: more rows than columns fails.
#[test]
fn case_10_tall_and_wide() {
    for (long, short) in [(1536, 576), (960, 64), (3000, 7), (2048, 31)] {
        right(long, short);
        right(short, long);
    }
}

/// google/heir PR#1716: a fold keyed on the padded shape. Widths on both sides of a power of two
/// give exactly d_out numbers, all of them right.
#[test]
fn case_11_widths_around_powers_of_two() {
    for d_in in [31, 32, 33, 65, 127, 129] {
        for d_out in [63, 64, 65] {
            right(d_in, d_out);
        }
    }
    for (d_in, d_out) in [
        (511, 513),
        (513, 511),
        (1023, 1025),
        (1025, 1023),
        (2049, 65),
    ] {
        right(d_in, d_out);
    }
}

/// google/heir PR#1716: padding never leaks. Slots that no row of the layout occupies are filled
/// with numbers of the size of the inputs; no output moves by more than rounded zeros allow.
#[test]
fn case_11_garbage_in_padding_slots_does_not_reach_outputs() {
    let context = context();
    let mut padded = 0;
    for (d_in, d_out, kind) in [
        (5, 3, PlanKind::Diagonal),
        (300, 200, PlanKind::Diagonal),
        (33, 100, PlanKind::Diagonal),
        (576, 960, PlanKind::Diagonal),
        (1536, 576, PlanKind::Diagonal),
        (127, 131, PlanKind::Diagonal),
        (100, 50, PlanKind::DiagonalSquare),
    ] {
        let weights = dense(d_in, d_out, 27);
        let plans: Vec<Plan> = candidates(
            kind,
            LayerShape::new(d_in, d_out).unwrap(),
            2048,
            2,
            &PlanOptions::default(),
        )
        .unwrap()
        .into_iter()
        .map(|c| c.plan)
        .collect();
        for plan in plans {
            padded += garbage_stays_out(&context, plan, &weights);
        }
    }
    assert!(padded > 10_000, "the shapes have padding: {padded}");
}

/// Returns how many padding slots were filled.
fn garbage_stays_out(
    context: &Arc<Context>,
    plan: Plan,
    weights: &tensor_io::WeightMatrix,
) -> usize {
    let (d_in, what) = (weights.d_in(), plan.describe());
    let x = &vectors(1, d_in, 28)[0];
    let mut trial = Trial::new(context, plan.clone(), weights);
    let (mut inputs, scale) = trial.encrypt(&[x]).unwrap();
    let mut filled = 0;
    for (piece, ciphertext) in plan.inputs().iter().zip(&mut inputs) {
        let is_padding = |p: usize| piece.row_at(&plan.outputs()[0], p).is_none();
        let garbage: Vec<Complex64> = (0..2048)
            .map(|p| f64::from(u8::from(is_padding(p))) * Complex64::new(1.0, -1.0))
            .collect();
        filled += (0..2048).filter(|&p| is_padding(p)).count();
        let garbage = context.encode(&garbage, 2f64.powi(28)).unwrap();
        for limb in 0..context.q_limbs() {
            kernels::add_assign(
                context.level(),
                context.modulus(limb),
                ciphertext.c0.limb_mut(limb),
                garbage.limb(limb),
            );
        }
    }
    let query = Query {
        keys: &trial.keys,
        inputs: &inputs,
    };
    let (outputs, _) = trial.layer.evaluate(context, &[query]).unwrap();
    let found = trial.decrypt(&outputs[0], &scale);
    assert_eq!(found[0].len(), weights.d_out());
    let expected = product(weights, x);
    let worst = expected
        .iter()
        .zip(&found[0])
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    // Zeros of a plaintext are rounded like its other entries, so the garbage G adds the error of
    // an input of its norm: 9 sigma for ‖x‖ + ‖G‖, against a leak of about one weight.
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let share = 1.0 + (2.0 * filled as f64).sqrt() / norm;
    let limit = 1.5 * trial.client.predict(&scale).six_sigma * share;
    assert!(
        worst <= limit,
        "{what}: {worst:.2e} > {limit:.2e}, {filled} slots"
    );
    assert!(
        limit < 1e-3,
        "{what}: too coarse to notice a leak: {limit:.2e}"
    );
    filled
}

/// encryptorion-lab/phantom-fhe#8: the smallest sets give 7.5e29 instead of 1. Every degree from
/// the smallest row of the security table, with what modulus it carries; the tolerance is the
/// predicted 9 sigma, which the modulus alone makes coarse.
#[test]
fn case_17_smallest_parameter_sets() {
    // Degree, ciphertext primes and key-switching prime in bits, relative gate, shapes.
    let without_rotations: &[(usize, usize)] = &[(1, 1), (2, 3), (5, 3), (7, 7)];
    let with_rotations: &[(usize, usize)] = &[(1, 1), (5, 3), (64, 64), (100, 90)];
    for (degree, q_bits, q_count, p_bits, gate, shapes) in [
        (1024, 26, 1, None, 0.1, without_rotations),
        (2048, 26, 2, None, 1e-4, without_rotations),
        (2048, 26, 1, Some(27), 0.1, with_rotations),
        (4096, 27, 2, Some(28), 1e-3, with_rotations),
    ] {
        let q = ntt_primes(q_bits, degree, q_count).unwrap();
        let p = p_bits.map(|bits| ntt_primes(bits, degree, 1).unwrap()[0]);
        let parameters = Parameters::new("smallest", degree, &q, p).unwrap();
        let context = Context::new(parameters).unwrap();
        for &(d_in, d_out) in shapes {
            let shape = LayerShape::new(d_in, d_out).unwrap();
            let options = PlanOptions::default();
            let plan = plan(PlanKind::Diagonal, shape, degree / 2, 1, &options).unwrap();
            assert!(p.is_some() || plan.rotation_steps().is_empty());
            let weights = dense(d_in, d_out, 29);
            let bits = context.max_answer_bits().min(40);
            let mut trial = Trial::with_answer_bits(&context, plan, &weights, 30, bits);
            let batch = vectors(1, d_in, 31);
            let outcome = trial.run_within(&batch, gate).unwrap();
            let (worst, _) = errors(&weights, &batch, &outcome.found);
            assert!(
                worst <= 1.5 * outcome.six_sigma,
                "N={degree} {shape}: {worst:.2e} {outcome:?}"
            );
            assert!(
                outcome.six_sigma <= 0.25,
                "N={degree} {shape}: says nothing, {:.2e}",
                outcome.six_sigma
            );
        }
    }
}
