//! Rotation keys and baby steps: exactly the keys of the plan, for every n1.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::automorphism::GaloisElement;
use ckks::{Ciphertext, CkksError, GaloisKey, GaloisKeys};
use ckks_linear::error::LinearError;
use ckks_linear::evaluate::{AheadQuery, Query};
use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::planner::{PlanOptions, candidates};
use ckks_linear::shape::{Folding, LayerShape};
use ckks_secret::{SecretKey, SeededCsprng};
use support::{Trial, best, check_dense, context, dense, plan_with, vectors};

/// tuneinsight/lattigo#271: the result changes with the ratio of baby to giant steps. Every n1
/// that a layout allows, one after the other: each within its own prediction of float64, so all
/// within twice that of each other.
#[test]
fn case_06_every_ratio_of_baby_to_giant_steps() {
    for (kind, shape, folding) in [
        (PlanKind::Diagonal, (256, 256), Folding::Input),
        (PlanKind::Diagonal, (256, 256), Folding::Output),
        (PlanKind::Diagonal, (300, 200), Folding::Input),
        (PlanKind::Diagonal, (200, 300), Folding::Output),
        (PlanKind::Diagonal, (2100, 40), Folding::None),
        (PlanKind::DiagonalSquare, (100, 128), Folding::None),
    ] {
        let weights = dense(shape.0, shape.1, 71);
        let batch = vectors(1, shape.0, 72);
        let mut tried = Vec::new();
        for n1 in (1..=24).chain([31, 32, 33, 48, 64, 100, 128, 256]) {
            let plan = plan_with(kind, shape, 1, Some(folding), Some(n1));
            // Different n1 can round to the same plan.
            if tried.contains(&plan) {
                continue;
            }
            tried.push(plan.clone());
            let mut trial = Trial::new(&context(), plan, &weights);
            check_dense(&mut trial, &weights, &batch);
        }
        assert!(tried.len() >= 4, "{kind:?} {shape:?}: {}", tried.len());
    }
}

/// A report seen in one package: a small matrix with an unusual bound on rotations ends in
/// "evaluation key not found" while it runs. Here keys follow from the plan, whatever n1 is asked.
#[test]
fn case_29_unusual_rotation_bounds() {
    for shape in [
        (1, 1),
        (5, 3),
        (16, 16),
        (40, 40),
        (7, 300),
        (300, 7),
        (100, 130),
    ] {
        let weights = dense(shape.0, shape.1, 73);
        let batch = vectors(1, shape.0, 74);
        for n1 in [0, 1, 3, 5, 7, 13, 63, 64, 65, 1000, usize::MAX] {
            for kind in [PlanKind::Diagonal, PlanKind::DiagonalSquare] {
                if kind == PlanKind::DiagonalSquare && shape.0.max(shape.1) > 64 {
                    continue;
                }
                let plan = plan_with(kind, shape, 1, None, Some(n1));
                assert!(plan.baby_steps() >= 1);
                let mut trial = Trial::new(&context(), plan, &weights);
                check_dense(&mut trial, &weights, &batch);
            }
        }
    }
}

fn without(trial: &Trial, seed: u64, dropped: i64) -> GaloisKeys {
    let context = context();
    let mut rng = SeededCsprng::insecure(seed, 0);
    let secret = SecretKey::generate(&context, &mut rng);
    let elements: Vec<_> = trial
        .client
        .manifest()
        .plan
        .rotation_steps()
        .into_iter()
        .filter(|&step| step != dropped)
        .map(|step| GaloisElement::rotation(step, 4096))
        .collect();
    secret
        .galois_keys(&context, &elements, &mut rng)
        .unwrap()
        .iter()
        .map(|key| GaloisKey::expand(&context, key).unwrap())
        .collect()
}

fn several_layouts() -> Vec<Plan> {
    let mut plans = vec![
        best(256, 256),
        best(576, 960),
        best(2048, 96),
        plan_with(
            PlanKind::Diagonal,
            (300, 200),
            1,
            Some(Folding::Output),
            Some(6),
        ),
        plan_with(PlanKind::Diagonal, (2100, 40), 1, Some(Folding::None), None),
        plan_with(PlanKind::DiagonalSquare, (60, 64), 1, None, None),
    ];
    let shape = LayerShape::new(192, 784).unwrap();
    let options = PlanOptions::default();
    let more = candidates(PlanKind::Diagonal, shape, 2048, 2, &options).unwrap();
    plans.extend(more.into_iter().map(|c| c.plan));
    plans
}

/// CAPS-UMU/FIDESlib#23: "rotation index not found". A missing key is an error that names the
/// step, before anything is evaluated, and with the inputs as they were; and
/// microsoft/SEAL#94, HEonGPU#12: keys exhaust memory: none is there that is not needed.
#[test]
fn case_13_case_19_each_key_is_needed_and_missed_by_name() {
    for plan in several_layouts() {
        let shape = plan.shape();
        let weights = dense(shape.d_in(), shape.d_out(), 75);
        let mut trial = Trial::new(&context(), plan.clone(), &weights);
        let steps = plan.rotation_steps();
        assert_eq!(steps.len(), trial.keys.len());
        assert!(steps.iter().all(|&s| (1..2048).contains(&s)), "{steps:?}");
        assert!(steps.windows(2).all(|w| w[0] < w[1]), "{steps:?}");
        let x = vectors(1, shape.d_in(), 76);
        let (inputs, _) = trial.encrypt(&[&x[0]]).unwrap();
        let before = inputs.clone();
        let masks: Vec<_> = inputs.iter().map(|c| c.c1.clone()).collect();
        // All steps of small sets, a spread of large ones.
        for &step in steps.iter().step_by(steps.len().div_ceil(12).max(1)) {
            let keys = without(&trial, 77, step);
            assert_eq!(keys.len(), steps.len() - 1);
            let query = Query {
                keys: &keys,
                inputs: &inputs,
            };
            let good = Query {
                keys: &trial.keys,
                inputs: &inputs,
            };
            for queries in [vec![query], vec![good, query]] {
                let error = trial.layer.evaluate(&trial.context, &queries).unwrap_err();
                names(&error, step);
            }
            let ahead = AheadQuery {
                keys: &keys,
                masks: &masks,
            };
            names(
                &trial
                    .layer
                    .evaluate_ahead(&trial.context, &[ahead])
                    .unwrap_err(),
                step,
            );
        }
        assert_eq!(inputs, before);
    }
}

fn names(error: &LinearError, step: i64) {
    assert!(
        matches!(error, LinearError::Ckks(CkksError::MissingGaloisKey { .. })),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains(&format!("rotation by {step} ")),
        "{step}: {text}"
    );
}

/// lattigo PR#159: evaluation changed its inputs. They stay as they were, and a second evaluation
/// gives the same bits; also after errors.
#[test]
fn case_09_inputs_are_untouched() {
    for plan in several_layouts() {
        let shape = plan.shape();
        let weights = dense(shape.d_in(), shape.d_out(), 78);
        let mut trial = Trial::new(&context(), plan, &weights);
        let x = vectors(1, shape.d_in(), 79);
        let given = x.clone();
        let encoded = trial
            .client
            .encode(&trial.context, &[&x[0]], 1e-4, true)
            .unwrap();
        let (inputs, scale) = trial.encrypt(&[&x[0]]).unwrap();
        let before = inputs.clone();
        let evaluate = |inputs: &[Ciphertext]| {
            let query = Query {
                keys: &trial.keys,
                inputs,
            };
            trial.layer.evaluate(&trial.context, &[query])
        };
        let (first, _) = evaluate(&inputs).unwrap();
        assert_eq!(inputs, before);
        let mut many = inputs.clone();
        many.push(inputs[0].clone());
        for wrong in [&inputs[..inputs.len() - 1], &many] {
            let error = evaluate(wrong).unwrap_err();
            assert!(
                matches!(error, LinearError::Count { expected, found, .. }
                    if expected == inputs.len() && found == wrong.len()),
                "{error:?}"
            );
        }
        let (second, _) = evaluate(&inputs).unwrap();
        assert_eq!(first, second);
        assert_eq!(inputs, before);
        let answers = first[0].clone();
        trial.decrypt(&first[0], &scale);
        assert_eq!(first[0], answers);
        assert_eq!(x, given);
        assert_eq!(encoded.plaintexts.len(), inputs.len());
    }
}

/// FIDESlib#23 from the other side: keys that the plan does not name change nothing.
#[test]
fn case_19_more_keys_than_needed_change_nothing() {
    let weights = dense(300, 200, 80);
    let mut trial = Trial::new(&context(), best(300, 200), &weights);
    let x = vectors(1, 300, 81);
    let (inputs, _) = trial.encrypt(&[&x[0]]).unwrap();
    let evaluate = |trial: &Trial| {
        let query = Query {
            keys: &trial.keys,
            inputs: &inputs,
        };
        trial.layer.evaluate(&trial.context, &[query]).unwrap().0
    };
    let exact = evaluate(&trial);
    let extra: Vec<_> = [1000, 1500, 2047]
        .map(|step| GaloisElement::rotation(step, 4096))
        .into_iter()
        .chain([GaloisElement::conjugation(4096)])
        .collect();
    let mut rng = SeededCsprng::insecure(82, 0);
    for key in &trial
        .secret
        .galois_keys(&trial.context, &extra, &mut rng)
        .unwrap()
    {
        trial
            .keys
            .insert(GaloisKey::expand(&trial.context, key).unwrap());
    }
    assert_eq!(evaluate(&trial), exact);
}
