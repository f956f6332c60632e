//! The closed forms against observation, for every folding and layout.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks_linear::layout::InputLayout;
use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::planner::{PlanOptions, candidates};
use ckks_linear::shape::{Folding, LayerShape};
use support::{Trial, context, dense, errors, plan_with, vectors};

const FOLDINGS: [Folding; 4] = [
    Folding::Input,
    Folding::Output,
    Folding::Pair,
    Folding::None,
];

fn is_guarded(plan: &Plan) -> bool {
    matches!(plan.inputs()[0].layout, InputLayout::Guard { .. })
}

/// The best plan of a folding in one of the two layout families, if there is one.
fn of_family(d_in: usize, d_out: usize, folding: Folding, guarded: bool) -> Option<Plan> {
    let options = PlanOptions {
        folding: Some(folding),
        ..PlanOptions::default()
    };
    let shape = LayerShape::new(d_in, d_out).unwrap();
    candidates(PlanKind::Diagonal, shape, 2048, 2, &options)
        .unwrap()
        .into_iter()
        .map(|candidate| candidate.plan)
        .find(|plan| is_guarded(plan) == guarded)
}

/// Observed over predicted rms of two vectors. With at least 1,024 independent errors the observed
/// rms has a relative deviation of at most 2.2 %, so 1.5 is the model's tolerance, not chance's.
fn ratio(plan: Plan, seed: u64) -> f64 {
    let shape = plan.shape();
    assert!(shape.d_out() >= 512);
    let weights = dense(shape.d_in(), shape.d_out(), seed);
    let mut trial = Trial::new(&context(), plan, &weights);
    let batch = vectors(2, shape.d_in(), seed + 1);
    let outcome = trial.run_within(&batch, 1e-4).unwrap();
    let (worst, rms) = errors(&weights, &batch, &outcome.found);
    assert!(worst <= 1.5 * outcome.six_sigma, "{shape}: {worst:.2e}");
    rms / outcome.rms
}

#[test]
fn prediction_matches_observation_in_every_layout() {
    let mut families = [0, 0];
    for (d_in, d_out) in [
        (512, 512),
        (576, 960),
        (300, 700),
        (1536, 576),
        (64, 2048),
        (9, 600),
    ] {
        for folding in FOLDINGS {
            for guarded in [false, true] {
                let Some(plan) = of_family(d_in, d_out, folding, guarded) else {
                    continue;
                };
                families[usize::from(guarded)] += 1;
                let what = format!("{d_in}x{d_out}: {}", plan.describe());
                let ratio = ratio(plan, 151);
                assert!((1.0 / 1.5..=1.5).contains(&ratio), "{what}: {ratio:.2}");
            }
        }
    }
    assert!(families.iter().all(|&count| count >= 12), "{families:?}");
}

/// From no baby rotation at all (n1 = 1) to as many as there are.
#[test]
fn prediction_follows_the_baby_steps() {
    for folding in [Folding::Input, Folding::Output] {
        for n1 in [1, 2, 4, 32, 256] {
            let plan = plan_with(PlanKind::Diagonal, (512, 512), 1, Some(folding), Some(n1));
            let ratio = ratio(plan, 152);
            assert!(
                (1.0 / 1.5..=1.5).contains(&ratio),
                "{folding:?} n1={n1}: {ratio:.2}"
            );
        }
    }
}

#[test]
fn prediction_holds_for_the_padded_square() {
    for (d_in, d_out) in [(512, 512), (300, 600), (64, 513)] {
        let plan = plan_with(PlanKind::DiagonalSquare, (d_in, d_out), 1, None, None);
        let ratio = ratio(plan, 153);
        assert!(
            (1.0 / 1.5..=1.5).contains(&ratio),
            "{d_in}x{d_out}: {ratio:.2}"
        );
    }
}

/// Errors are as large as predicted whatever the size of x, and grow with it.
#[test]
fn prediction_scales_with_the_vector() {
    let weights = dense(512, 1024, 154);
    let plan = plan_with(PlanKind::Diagonal, (512, 1024), 1, None, None);
    let mut trial = Trial::new(&context(), plan, &weights);
    let mut predictions = Vec::new();
    for size in [1e-3, 1.0, 1e3, 1e6] {
        let mut batch = vectors(1, 512, 155);
        batch[0].iter_mut().for_each(|v| *v *= size);
        let outcome = trial.run_within(&batch, 1e-4).unwrap();
        let (_, rms) = errors(&weights, &batch, &outcome.found);
        let ratio = rms / outcome.rms;
        assert!((1.0 / 1.5..=1.5).contains(&ratio), "{size:e}: {ratio:.2}");
        predictions.push(outcome.rms / size);
    }
    let (low, high) = (
        predictions.iter().copied().fold(f64::MAX, f64::min),
        predictions[0],
    );
    assert!((high / low - 1.0).abs() < 1e-6, "{predictions:?}");
}
