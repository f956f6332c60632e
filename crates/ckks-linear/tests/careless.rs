//! Callers that mix things up: an error that says what, never a panic, never garbage without a word.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::modulus::ntt_primes;
use ckks::{CkksError, Context, GaloisKey, GaloisKeys, Parameters};
use ckks_linear::client::LayerClient;
use ckks_linear::cost::CostModel;
use ckks_linear::error::LinearError;
use ckks_linear::evaluate::{AheadQuery, Query};
use ckks_linear::manifest::LayerManifest;
use ckks_linear::plan::PlanKind;
use ckks_linear::planner::{PlanOptions, candidates, plan};
use ckks_linear::prepared::PreparedLayer;
use ckks_linear::shape::{Folding, LayerShape};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use support::{Trial, best, context, dense, vectors};

/// N = 4096 like the default, but other primes: everything has the same shape.
fn other_primes() -> Arc<Context> {
    let q = ntt_primes(30, 4096, 2).unwrap();
    let p = ntt_primes(31, 4096, 2).unwrap()[1];
    Context::new(Parameters::new("other", 4096, &q, Some(p)).unwrap()).unwrap()
}

fn larger() -> Arc<Context> {
    Context::named("diagonal-8192").unwrap()
}

fn trial_under(context: &Arc<Context>, d_in: usize, d_out: usize) -> Trial {
    let shape = LayerShape::new(d_in, d_out).unwrap();
    let options = PlanOptions::default();
    let plan = plan(PlanKind::Diagonal, shape, context.slots(), 1, &options).unwrap();
    Trial::new(context, plan, &dense(d_in, d_out, 161))
}

#[test]
fn shapes_out_of_range_are_refused() {
    for (d_in, d_out) in [
        (0, 0),
        (0, 5),
        (5, 0),
        (262_145, 1),
        (1, 262_145),
        (usize::MAX, 1),
        (usize::MAX, usize::MAX),
    ] {
        let refused = LayerShape::new(d_in, d_out);
        assert_eq!(refused, Err(LinearError::Shape { d_in, d_out }));
    }
    assert!(LayerShape::new(262_144, 262_144).is_ok());
    let shape = LayerShape::new(5, 3).unwrap();
    for kind in [PlanKind::Diagonal, PlanKind::DiagonalSquare] {
        let options = PlanOptions::default();
        assert_eq!(
            plan(kind, shape, 2048, 0, &options),
            Err(LinearError::EmptyBatch)
        );
        assert!(candidates(kind, shape, 2048, 0, &options).is_err());
    }
}

/// Costs that are no costs still give a plan, and a right one.
#[test]
fn meaningless_costs_still_give_a_plan() {
    let shape = LayerShape::new(300, 200).unwrap();
    for value in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let options = PlanOptions {
            cost: CostModel {
                key_switch_ns: value,
                link_bytes_per_second: value,
                ..CostModel::default()
            },
            ..PlanOptions::default()
        };
        let plan = plan(PlanKind::Diagonal, shape, 2048, 1, &options).unwrap();
        let weights = dense(300, 200, 162);
        let mut trial = Trial::new(&context(), plan, &weights);
        support::check_dense(&mut trial, &weights, &vectors(1, 300, 163));
    }
}

#[test]
fn weights_of_another_shape_or_context_are_refused() {
    let prepare = |context: &Context, d_in: usize, d_out: usize| {
        PreparedLayer::prepare(
            context,
            best(300, 200),
            &dense(d_in, d_out, 164),
            40,
            &|_| (),
        )
        .map(|_| ())
    };
    for (d_in, d_out) in [(200, 300), (300, 201), (299, 200), (1, 1), (600, 100)] {
        let error = prepare(&context(), d_in, d_out).unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error:?}");
    }
    // A plan for 2,048 slots under a context of 4,096.
    let error = prepare(&larger(), 300, 200).unwrap_err();
    assert!(
        matches!(
            error,
            LinearError::Count {
                what: "slots of the context",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn vectors_of_another_width_or_number_are_refused() {
    for folding in [Folding::Input, Folding::Pair] {
        let plan = support::plan_with(PlanKind::Diagonal, (300, 200), 2, Some(folding), None);
        let trial = Trial::new(&context(), plan, &dense(300, 200, 165));
        let encode = |group: &[&[f64]]| {
            trial
                .client
                .encode(&trial.context, group, 1e-4, true)
                .map(|_| ())
        };
        let x = vectors(3, 300, 166);
        for group in [
            vec![],
            vec![&x[0][..299]],
            vec![&x[0][..0]],
            vec![&x[0][..], &x[1][..], &x[2][..]],
            vec![&x[0][..], &x[1][..5]],
        ] {
            let error = encode(&group).unwrap_err();
            assert!(matches!(error, LinearError::Count { .. }), "{error:?}");
        }
        let two = encode(&[&x[0], &x[1]]);
        assert_eq!(two.is_ok(), folding == Folding::Pair);
    }
}

#[test]
fn answers_of_another_number_or_length_are_refused() {
    let mut trial = trial_under(&context(), 300, 5000);
    let x = vectors(1, 300, 167);
    let (_, scale) = trial.encrypt(&[&x[0]]).unwrap();
    let outputs = trial.client.manifest().plan.outputs().len();
    assert!(outputs > 1);
    for count in [0, 1, outputs + 1] {
        let coefficients = vec![vec![0i64; 4096]; count];
        let error = trial
            .client
            .decode(&trial.context, &scale, &coefficients)
            .unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error:?}");
    }
    for length in [0, 2048, 4095, 8192] {
        let coefficients = vec![vec![0i64; length]; outputs];
        let error = trial
            .client
            .decode(&trial.context, &scale, &coefficients)
            .unwrap_err();
        assert!(
            matches!(error, LinearError::Ckks(CkksError::Shape { .. })),
            "{error:?}"
        );
    }
    // The extremes of the type decode to finite numbers.
    for value in [i64::MIN, i64::MAX] {
        let coefficients = vec![vec![value; 4096]; outputs];
        let found = trial
            .client
            .decode(&trial.context, &scale, &coefficients)
            .unwrap();
        assert!(found[0].len() == 5000 && found[0].iter().all(|v| v.is_finite()));
    }
}

/// A layer under another context is refused on both sides, whatever the shapes.
#[test]
fn layers_of_other_parameters_are_refused() {
    let mut trial = trial_under(&context(), 300, 200);
    let (inputs, _) = trial.encrypt(&[&vectors(1, 300, 168)[0]]).unwrap();
    let masks: Vec<_> = inputs.iter().map(|c| c.c1.clone()).collect();
    for other in [larger(), other_primes()] {
        let query = Query {
            keys: &trial.keys,
            inputs: &inputs,
        };
        let refused = trial.layer.evaluate(&other, &[query]).map(|_| ());
        mismatch(&refused);
        let query = AheadQuery {
            keys: &trial.keys,
            masks: &masks,
        };
        mismatch(&trial.layer.evaluate_ahead(&other, &[query]).map(|_| ()));
        mismatch(&trial.layer.evaluate_online(&other, Vec::new()).map(|_| ()));
        let manifest = trial.layer.manifest().clone();
        mismatch(&LayerClient::new(&other, manifest, 40).map(|_| ()));
    }
}

fn mismatch(result: &Result<(), LinearError>) {
    assert!(
        matches!(
            result,
            Err(LinearError::Ckks(CkksError::ContextMismatch { .. }))
        ),
        "{result:?}"
    );
}

/// A client that is handed another context than its own: of the same degree, encoding would be at
/// the wrong modulus and decoding at the wrong scale.
#[test]
fn clients_refuse_other_contexts() {
    let mut trial = trial_under(&context(), 300, 200);
    let x = vectors(1, 300, 169);
    let (_, scale) = trial.encrypt(&[&x[0]]).unwrap();
    let outputs = trial.client.manifest().plan.outputs().len();
    for other in [larger(), other_primes()] {
        let coefficients = vec![vec![1i64; other.degree()]; outputs];
        mismatch(
            &trial
                .client
                .encode(&other, &[&x[0]], 1e-4, true)
                .map(|_| ()),
        );
        mismatch(
            &trial
                .client
                .decode(&other, &scale, &coefficients)
                .map(|_| ()),
        );
    }
}

/// Ciphertexts of another degree are refused; of other primes they cannot be told from their
/// shape, so garbage, but no panic.
#[test]
fn ciphertexts_of_other_parameters() {
    let trial = trial_under(&context(), 300, 200);
    let x = vectors(1, 300, 170);
    let mut foreign = trial_under(&larger(), 300, 200);
    let (inputs, _) = foreign.encrypt(&[&x[0]]).unwrap();
    let inputs = vec![inputs[0].clone(); trial.client.manifest().plan.inputs().len()];
    let query = Query {
        keys: &trial.keys,
        inputs: &inputs,
    };
    let error = trial.layer.evaluate(&trial.context, &[query]).unwrap_err();
    assert!(
        matches!(error, LinearError::Ckks(CkksError::Shape { .. })),
        "{error:?}"
    );
    let mut foreign = trial_under(&other_primes(), 300, 200);
    let (inputs, _) = foreign.encrypt(&[&x[0]]).unwrap();
    let query = Query {
        keys: &trial.keys,
        inputs: &inputs,
    };
    if let Ok((outputs, _)) = trial.layer.evaluate(&trial.context, &[query]) {
        assert_eq!(
            outputs[0].len(),
            trial.client.manifest().plan.outputs().len()
        );
    }
}

/// Keys of other parameters, at the same Galois elements: refused, as the documentation of
/// evaluation promises.
#[test]
fn keys_of_a_larger_ring_are_refused() {
    keys_are_refused(&larger());
}

#[test]
fn keys_of_a_smaller_ring_are_refused() {
    let q = ntt_primes(26, 2048, 1).unwrap();
    let p = ntt_primes(27, 2048, 1).unwrap()[0];
    let smaller = Context::new(Parameters::new("smaller", 2048, &q, Some(p)).unwrap()).unwrap();
    keys_are_refused(&smaller);
}

#[test]
fn keys_of_other_primes_are_refused() {
    keys_are_refused(&other_primes());
}

fn keys_are_refused(other: &Context) {
    use ckks::automorphism::GaloisElement;
    let mut trial = trial_under(&context(), 300, 200);
    let (inputs, _) = trial.encrypt(&[&vectors(1, 300, 171)[0]]).unwrap();
    let mut rng = ckks_secret::SeededCsprng::insecure(172, 0);
    let secret = ckks_secret::SecretKey::generate(other, &mut rng);
    // The exponents that the layer will ask for, in the other ring.
    let elements: Vec<_> = trial
        .client
        .manifest()
        .plan
        .rotation_steps()
        .into_iter()
        .map(|step| GaloisElement::rotation(step, 4096).exponent())
        .filter_map(|exponent| GaloisElement::from_exponent(exponent, other.degree()))
        .collect();
    let mut keys: GaloisKeys = GaloisKeys::default();
    let own = trial.client.manifest().plan.rotation_steps();
    let own: Vec<_> = own
        .into_iter()
        .map(|s| GaloisElement::rotation(s, 4096))
        .collect();
    let seeded = trial
        .secret
        .galois_keys(&trial.context, &own, &mut rng)
        .unwrap();
    for key in &seeded {
        keys.insert(GaloisKey::expand(&trial.context, key).unwrap());
    }
    for key in &secret.galois_keys(other, &elements, &mut rng).unwrap() {
        keys.insert(GaloisKey::expand(other, key).unwrap());
    }
    let query = Query {
        keys: &keys,
        inputs: &inputs,
    };
    let found = trial.layer.evaluate(&trial.context, &[query]).map(|_| ());
    assert!(matches!(found, Err(LinearError::Ckks(_))), "{found:?}");
}

/// A set without a key-switching prime serves layers without rotations, and says so for others.
#[test]
fn sets_without_key_switching_refuse_rotations() {
    let q = ntt_primes(29, 4096, 2).unwrap();
    let context = Context::new(Parameters::new("no P", 4096, &q, None).unwrap()).unwrap();
    let shape = LayerShape::new(300, 200).unwrap();
    let plan = best(300, 200);
    assert!(!plan.rotation_steps().is_empty());
    let mut rng = ckks_secret::SeededCsprng::insecure(173, 0);
    let secret = ckks_secret::SecretKey::generate(&context, &mut rng);
    let elements = [ckks::automorphism::GaloisElement::rotation(1, 4096)];
    let error = secret
        .galois_keys(&context, &elements, &mut rng)
        .unwrap_err();
    assert!(
        error.to_string().contains("no key-switching prime"),
        "{error}"
    );
    let layer = PreparedLayer::prepare(&context, plan, &dense(300, 200, 174), 40, &|_| ());
    let layer = match layer {
        Ok(layer) => layer,
        Err(error) => {
            assert!(matches!(
                error,
                LinearError::Ckks(CkksError::NoKeySwitching { .. })
            ));
            return;
        }
    };
    let zero = ckks::RnsPoly::zero(2, 4096);
    let inputs = vec![
        ckks::Ciphertext {
            c0: zero.clone(),
            c1: zero,
        };
        layer.manifest().plan.inputs().len()
    ];
    let keys = GaloisKeys::default();
    let query = Query {
        keys: &keys,
        inputs: &inputs,
    };
    assert!(layer.evaluate(&context, &[query]).is_err(), "{shape}");
}

/// Manifests come from the server, which is not trusted. Numbers that are no norms or scales, and
/// lists of another length, are refused: by the client's construction or by its encoding, never by
/// a panic and never by a prediction that anything is fine.
#[test]
fn malformed_manifests_are_refused() {
    let trial = trial_under(&context(), 300, 200);
    let good = trial.layer.manifest().clone();
    let x = vectors(1, 300, 175).remove(0);
    let columns = good.column_norms.len();
    let bad = |change: &dyn Fn(&mut LayerManifest)| {
        let mut manifest = good.clone();
        change(&mut manifest);
        manifest
    };
    let mut manifests = vec![
        ("short list", bad(&|m| m.column_norms.truncate(columns - 1))),
        ("long list", bad(&|m| m.column_norms.push(1.0))),
        ("no list", bad(&|m| m.column_norms.clear())),
        // Norms of columns without any for the operator they belong to.
        ("no operator norm", bad(&|m| m.operator_norm = 0.0)),
    ];
    for value in [f64::NAN, f64::INFINITY, -1.0, f64::NEG_INFINITY] {
        manifests.push(("operator norm", bad(&|m| m.operator_norm = value)));
        manifests.push(("weight scale", bad(&|m| m.weight_scale = value)));
        manifests.push(("one column norm", bad(&|m| m.column_norms[5] = value)));
        manifests.push(("column norms", bad(&|m| m.column_norms.fill(value))));
    }
    manifests.push(("weight scale", bad(&|m| m.weight_scale = 0.0)));
    let mut accepted = Vec::new();
    for (what, manifest) in manifests {
        let norms = (
            manifest.operator_norm,
            manifest.weight_scale,
            manifest.column_norms.get(5).copied(),
        );
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let client = LayerClient::new(&trial.context, manifest, 40)?;
            client.encode(&trial.context, &[&x], 1e-4, true).map(|_| ())
        }));
        match outcome {
            Ok(Err(_)) => {}
            Ok(Ok(())) => accepted.push(format!("{what} {norms:?}: accepted")),
            Err(_) => accepted.push(format!("{what} {norms:?}: panicked")),
        }
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
}

/// Answer lengths that the context cannot give are refused where the client or the layer takes
/// them, not after a round trip.
#[test]
fn impossible_answer_bits_are_refused() {
    let context = context();
    let layer = |bits| {
        PreparedLayer::prepare(&context, best(5, 3), &dense(5, 3, 176), bits, &|_| ()).map(|_| ())
    };
    let manifest = trial_under(&context, 5, 3).layer.manifest().clone();
    for bits in [0, 15, context.max_answer_bits() + 1, 64, 2000, u32::MAX] {
        let client = LayerClient::new(&context, manifest.clone(), bits).map(|_| ());
        assert!(
            client.is_err() && layer(bits).is_err(),
            "{bits} bits accepted"
        );
    }
    assert!(layer(context.max_answer_bits()).is_ok());
}

/// `encode` promises that nothing overflows, whatever the gate.
#[test]
fn an_open_gate_does_not_overflow() {
    let trial = trial_under(&context(), 300, 200);
    for size in [1e-100, 1.0, 1e100] {
        let x: Vec<f64> = vectors(1, 300, 177)[0].iter().map(|v| v * size).collect();
        let encoded = trial
            .client
            .encode(&trial.context, &[&x], f64::INFINITY, false)
            .unwrap();
        let six_sigma = trial.client.predict(&encoded.scale).six_sigma;
        assert!(six_sigma.is_finite() && six_sigma <= 1e-4 * size.max(1.0));
    }
}
