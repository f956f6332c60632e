//! Every set of vector instructions and every number of threads gives the same bits.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::simd::SimdLevel;
use ckks::{Ciphertext, Context, Parameters};
use ckks_linear::evaluate::{AheadQuery, Query};
use ckks_linear::manifest::LayerManifest;
use ckks_linear::plan::PlanKind;
use ckks_linear::prepared::PreparedLayer;
use ckks_linear::shape::Folding;
use rayon::ThreadPoolBuilder;
use std::sync::Arc;
use support::{Trial, best, context, dense, plan_with, vectors};

fn contexts() -> Vec<Arc<Context>> {
    SimdLevel::available()
        .into_iter()
        .map(|level| {
            let parameters = Parameters::named("diagonal-4096").unwrap();
            let context = Context::with_level(parameters, level).unwrap();
            assert_eq!(context.level(), level);
            context
        })
        .collect()
}

/// Queries of both kinds on one prepared layer; preparation, which is floating point, is done once.
fn evaluate(trial: &Trial, context: &Context, inputs: &[Vec<Ciphertext>]) -> Vec<Vec<Ciphertext>> {
    let queries: Vec<_> = inputs
        .iter()
        .map(|inputs| Query {
            keys: &trial.keys,
            inputs,
        })
        .collect();
    let whole = trial.layer.evaluate(context, &queries).unwrap().0;
    let masks: Vec<_> = inputs[0].iter().map(|c| c.c1.clone()).collect();
    let query = AheadQuery {
        keys: &trial.keys,
        masks: &masks,
    };
    let ahead = trial.layer.evaluate_ahead(context, &[query]).unwrap().0;
    let online = ahead
        .into_iter()
        .map(|ahead| (ahead, inputs[0].iter().map(|c| &c.c0).collect()))
        .collect();
    let online = trial.layer.evaluate_online(context, online).unwrap().0;
    assert!(online[0] == whole[0]);
    whole
}

#[test]
fn every_vector_level_gives_the_same_evaluation() {
    for (shape, folding) in [
        ((5, 3), None),
        ((512, 512), None),
        ((576, 960), None),
        ((2100, 40), None),
        ((300, 200), Some(Folding::Output)),
    ] {
        let plan = plan_with(PlanKind::Diagonal, shape, 1, folding, None);
        let mut trial = Trial::new(&context(), plan, &dense(shape.0, shape.1, 141));
        let inputs: Vec<_> = vectors(3, shape.0, 142)
            .iter()
            .map(|x| trial.encrypt(&[x]).unwrap().0)
            .collect();
        let expected = evaluate(&trial, &trial.context, &inputs);
        for context in contexts() {
            let found = evaluate(&trial, &context, &inputs);
            assert!(found == expected, "{shape:?}: {}", context.level().name());
        }
    }
}

/// Keys, encryption and decryption of a seeded run: the same at every level.
#[test]
fn every_vector_level_gives_the_same_client() {
    let weights = dense(300, 200, 143);
    let x = vectors(1, 300, 144);
    let mut seen = Vec::new();
    for context in contexts() {
        let mut trial = Trial::new(&context, best(300, 200), &weights);
        let (inputs, scale) = trial.encrypt(&[&x[0]]).unwrap();
        let query = Query {
            keys: &trial.keys,
            inputs: &inputs,
        };
        let outputs = trial
            .layer
            .evaluate(&context, &[query])
            .unwrap()
            .0
            .remove(0);
        let found = trial.decrypt(&outputs, &scale);
        seen.push((context.level(), inputs, found));
    }
    for (level, inputs, found) in &seen[1..] {
        assert!(*inputs == seen[0].1, "{}", level.name());
        // Preparation repeats only up to rounding of its norms, so values, not bits.
        let (a, b) = (&found[0], &seen[0].2[0]);
        assert!(
            a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 2e-5),
            "{}",
            level.name()
        );
    }
}

#[test]
fn every_number_of_threads_gives_the_same_evaluation() {
    for shape in [(5, 3), (512, 512), (576, 960), (2100, 40)] {
        let mut trial = Trial::new(
            &context(),
            best(shape.0, shape.1),
            &dense(shape.0, shape.1, 145),
        );
        let inputs: Vec<_> = vectors(2, shape.0, 146)
            .iter()
            .map(|x| trial.encrypt(&[x]).unwrap().0)
            .collect();
        let expected = evaluate(&trial, &trial.context, &inputs);
        for threads in [1, 2, 3, 7] {
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let found = pool.install(|| evaluate(&trial, &trial.context, &inputs));
            assert!(found == expected, "{shape:?}: {threads} threads");
        }
    }
}

/// A layer prepared again, after a restart or on another number of threads, must have the manifest
/// that its clients were given: its scale is part of how they decode, and it is signed.
#[test]
fn preparation_repeats_to_the_bit() {
    for shape in [(300, 200), (512, 512), (576, 960)] {
        let weights = dense(shape.0, shape.1, 147);
        let manifest = |threads: usize| -> LayerManifest {
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let plan = best(shape.0, shape.1);
                let layer = PreparedLayer::prepare(&context(), plan, &weights, 40, &|_| ());
                layer.unwrap().manifest().clone()
            })
        };
        let first = manifest(1);
        for threads in [1, 2, 2, 2, 3, 4] {
            let again = manifest(threads);
            assert_eq!(
                (again.operator_norm.to_bits(), again.weight_scale.to_bits()),
                (first.operator_norm.to_bits(), first.weight_scale.to_bits()),
                "{shape:?}, {threads} threads: {} against {}",
                again.operator_norm,
                first.operator_norm
            );
            assert_eq!(again, first);
        }
    }
}
