//! Many threads on one prepared layer.

mod support;

use ckks::{Ciphertext, Context, GaloisKeys};
use ckks_linear::client::LayerClient;
use ckks_linear::evaluate::{AheadQuery, Query};
use ckks_linear::manifest::LayerManifest;
use ckks_linear::plan::Plan;
use ckks_linear::prepared::PreparedLayer;
use std::sync::Barrier;
use support::{Trial, best, context, dense, errors, vectors};

const fn shared<T: Send + Sync>() {}
const _: () = {
    shared::<PreparedLayer>();
    shared::<LayerManifest>();
    shared::<LayerClient>();
    shared::<Plan>();
    shared::<Context>();
    shared::<GaloisKeys>();
    shared::<Ciphertext>();
};

/// microsoft/SEAL#216, encryptorion-lab/phantom-fhe#23: rotations from several threads race and
/// give garbage. Eight threads with two tenants' keys, each thread a different vector, all on one
/// layer at once: the bits of a sequential run.
#[test]
fn case_14_threads_share_a_layer() {
    const THREADS: usize = 8;
    const ROUNDS: usize = 4;
    let context = context();
    for (d_in, d_out) in [(512, 512), (576, 960), (5, 3), (2100, 40)] {
        let weights = dense(d_in, d_out, 101);
        // Two tenants with keys of their own; the layer is the first one's.
        let mut tenants =
            [7, 8].map(|seed| Trial::with_seed(&context, best(d_in, d_out), &weights, seed));
        let batch = vectors(THREADS, d_in, 102);
        let sealed: Vec<_> = batch
            .iter()
            .enumerate()
            .map(|(i, x)| tenants[i % 2].encrypt(&[x]).unwrap())
            .collect();
        let layer = &tenants[0].layer;
        let evaluate = |i: usize| {
            let query = Query {
                keys: &tenants[i % 2].keys,
                inputs: &sealed[i].0,
            };
            layer.evaluate(&context, &[query]).unwrap().0.remove(0)
        };
        let sequential: Vec<_> = (0..THREADS).map(evaluate).collect();
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for (i, expected) in sequential.iter().enumerate() {
                let (barrier, evaluate) = (&barrier, &evaluate);
                scope.spawn(move || {
                    barrier.wait();
                    for _ in 0..ROUNDS {
                        assert!(evaluate(i) == *expected, "{d_in}x{d_out}: thread {i}");
                    }
                });
            }
        });
        for (i, outputs) in sequential.iter().enumerate() {
            let found = tenants[i % 2].decrypt(outputs, &sealed[i].1);
            let (worst, _) = errors(&weights, &batch[i..=i], &found);
            assert!(worst <= 2e-5, "{worst:.2e}");
        }
    }
}

/// The same for the two halves of an evaluation, mixed with whole ones of another size, so that
/// workspaces of different sizes change hands.
#[test]
fn case_14_halves_and_batches_at_once() {
    const THREADS: usize = 6;
    let context = context();
    let weights = dense(300, 200, 103);
    let mut trial = Trial::new(&context, best(300, 200), &weights);
    let sealed: Vec<_> = vectors(THREADS, 300, 104)
        .iter()
        .map(|x| trial.encrypt(&[x]).unwrap().0)
        .collect();
    let trial = &trial;
    let queries: Vec<_> = sealed
        .iter()
        .map(|inputs| Query {
            keys: &trial.keys,
            inputs,
        })
        .collect();
    let expected = trial.layer.evaluate(&context, &queries).unwrap().0;
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for i in 0..THREADS {
            let (barrier, expected, sealed, queries) = (&barrier, &expected, &sealed, &queries);
            let context = &context;
            scope.spawn(move || {
                barrier.wait();
                for _ in 0..3 {
                    if i % 2 == 0 {
                        let count = 1 + i;
                        let found = trial.layer.evaluate(context, &queries[..count]).unwrap().0;
                        assert!(found == expected[..count]);
                        continue;
                    }
                    let masks: Vec<_> = sealed[i].iter().map(|c| c.c1.clone()).collect();
                    let query = AheadQuery {
                        keys: &trial.keys,
                        masks: &masks,
                    };
                    let mut ahead = trial.layer.evaluate_ahead(context, &[query]).unwrap().0;
                    let c0 = sealed[i].iter().map(|c| &c.c0).collect();
                    let online = vec![(ahead.remove(0), c0)];
                    let found = trial.layer.evaluate_online(context, online).unwrap().0;
                    assert!(found[0] == expected[i]);
                }
            });
        }
    });
}

/// Contexts are interchangeable when their parameters are: each thread makes its own.
#[test]
fn case_14_threads_with_contexts_of_their_own() {
    let weights = dense(300, 200, 105);
    let mut trial = Trial::new(&context(), best(300, 200), &weights);
    let (inputs, _) = trial.encrypt(&[&vectors(1, 300, 106)[0]]).unwrap();
    let query = Query {
        keys: &trial.keys,
        inputs: &inputs,
    };
    let expected = trial.layer.evaluate(&trial.context, &[query]).unwrap().0;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let own = Context::named("diagonal-4096").unwrap();
                let found = trial.layer.evaluate(&own, &[query]).unwrap().0;
                assert!(found == expected);
            });
        }
    });
}
