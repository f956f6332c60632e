//! Work done before the vector exists, plus the rest, gives the bits of the whole.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::{Ciphertext, Context, Parameters, RnsPoly, modulus::ntt_primes};
use ckks_linear::error::LinearError;
use ckks_linear::evaluate::{AheadQuery, AheadResult, Query};
use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::planner::{PlanOptions, plan};
use ckks_linear::shape::{Folding, LayerShape};
use support::{Trial, best, context, dense, matrix, plan_with, vectors};
use tensor_io::WeightMatrix;

/// Encryptions of `groups` groups of vectors, and their masks alone.
fn sealed(trial: &mut Trial, groups: usize, seed: u64) -> Vec<Vec<Ciphertext>> {
    let d_in = trial.client.manifest().plan.shape().d_in();
    vectors(groups, d_in, seed)
        .iter()
        .map(|x| trial.encrypt(&[x]).unwrap().0)
        .collect()
}

fn masks(inputs: &[Ciphertext]) -> Vec<RnsPoly> {
    inputs.iter().map(|c| c.c1.clone()).collect()
}

fn halves(inputs: &[Ciphertext]) -> Vec<&RnsPoly> {
    inputs.iter().map(|c| &c.c0).collect()
}

fn ahead(trial: &Trial, inputs: &[Vec<Ciphertext>]) -> Vec<AheadResult> {
    let masks: Vec<_> = inputs.iter().map(|inputs| masks(inputs)).collect();
    let queries: Vec<_> = masks
        .iter()
        .map(|masks| AheadQuery {
            keys: &trial.keys,
            masks,
        })
        .collect();
    trial
        .layer
        .evaluate_ahead(&trial.context, &queries)
        .unwrap()
        .0
}

fn whole(trial: &Trial, inputs: &[Vec<Ciphertext>]) -> Vec<Vec<Ciphertext>> {
    let queries: Vec<_> = inputs
        .iter()
        .map(|inputs| Query {
            keys: &trial.keys,
            inputs,
        })
        .collect();
    trial.layer.evaluate(&trial.context, &queries).unwrap().0
}

fn both_ways(plan: Plan, weights: &WeightMatrix, groups: usize) {
    let what = format!("{} {}", plan.shape(), plan.describe());
    let mut trial = Trial::new(&context(), plan, weights);
    let inputs = sealed(&mut trial, groups, 111);
    let expected = whole(&trial, &inputs);
    let results = ahead(&trial, &inputs);
    let online = results
        .into_iter()
        .zip(&inputs)
        .map(|(ahead, inputs)| (ahead, halves(inputs)))
        .collect();
    let (found, _) = trial.layer.evaluate_online(&trial.context, online).unwrap();
    assert!(found == expected, "{what}, {groups} groups");
}

#[test]
fn both_phases_give_the_bits_of_one() {
    for (d_in, d_out, folding, batches) in [
        (5, 3, None, &[1usize, 3][..]),
        (1, 2048, None, &[1][..]),
        (64, 64, None, &[1, 2][..]),
        (512, 512, None, &[1, 2, 16, 17][..]),
        (576, 960, None, &[1, 3][..]),
        (4097, 40, None, &[1, 2, 5][..]),
        (40, 4200, None, &[1, 2, 5][..]),
        (2100, 2100, Some(Folding::None), &[1][..]),
        (300, 200, Some(Folding::Pair), &[2][..]),
        (300, 200, Some(Folding::Output), &[2][..]),
    ] {
        let weights = dense(d_in, d_out, 112);
        for &groups in batches {
            let plan = plan_with(PlanKind::Diagonal, (d_in, d_out), 1, folding, None);
            both_ways(plan, &weights, groups);
        }
    }
    let square = plan_with(PlanKind::DiagonalSquare, (100, 128), 1, None, None);
    both_ways(square, &dense(100, 128, 113), 2);
}

/// Other numbers of threads divide the online part otherwise, even within a limb.
#[test]
fn online_bits_do_not_depend_on_the_number_of_threads() {
    let mut trial = Trial::new(&context(), best(300, 200), &dense(300, 200, 130));
    let inputs = sealed(&mut trial, 6, 131);
    let expected = whole(&trial, &inputs);
    for threads in [1, 2, 3, 4, 5] {
        let online = ahead(&trial, &inputs)
            .into_iter()
            .zip(&inputs)
            .map(|(ahead, inputs)| (ahead, halves(inputs)))
            .collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let evaluate = || trial.layer.evaluate_online(&trial.context, online).unwrap();
        let (found, _) = pool.build().unwrap().install(evaluate);
        assert!(found == expected, "{threads} threads");
    }
}

/// Layers whose inner sums are partly or wholly missing.
#[test]
fn both_phases_agree_on_sparse_and_zero_layers() {
    let entries: [&dyn Fn(usize, usize) -> f64; 3] =
        [&|_, _| 0.0, &|j, k| f64::from(u8::from(j == k)), &|j, k| {
            if k == 7 || j == 250 { 0.5 } else { 0.0 }
        }];
    for entry in entries {
        let plan = best(300, 200);
        let weights = matrix(300, 200, entry);
        // Encrypted for a dense layer: what the server computes does not depend on that.
        let mut trial = Trial::new(&context(), plan.clone(), &dense(300, 200, 114));
        let inputs = sealed(&mut trial, 5, 115);
        let sparse = Trial::new(&context(), plan, &weights);
        let expected = whole(&sparse, &inputs);
        let results = ahead(&sparse, &inputs);
        let online = results
            .into_iter()
            .zip(&inputs)
            .map(|(ahead, inputs)| (ahead, halves(inputs)))
            .collect();
        let (found, _) = sparse
            .layer
            .evaluate_online(&sparse.context, online)
            .unwrap();
        assert!(found == expected);
    }
}

/// What was done ahead can be used in another order and in other batches.
#[test]
fn results_are_independent_of_the_batch_they_came_from() {
    let mut trial = Trial::new(&context(), best(512, 512), &dense(512, 512, 116));
    let inputs = sealed(&mut trial, 5, 117);
    let expected = whole(&trial, &inputs);
    let mut results: Vec<_> = ahead(&trial, &inputs).into_iter().enumerate().collect();
    results.reverse();
    let mut rest = results.split_off(2);
    for part in [&mut results, &mut rest] {
        let order: Vec<_> = part.iter().map(|(i, _)| *i).collect();
        let online = part
            .drain(..)
            .map(|(i, ahead)| (ahead, halves(&inputs[i])))
            .collect();
        let (found, _) = trial.layer.evaluate_online(&trial.context, online).unwrap();
        for (i, found) in order.into_iter().zip(found) {
            assert!(found == expected[i], "{i}");
        }
    }
}

/// Work done for one mask and the vector of another: garbage of the right form, no panic, and not
/// by accident the right answer.
#[test]
fn mixed_masks_give_garbage_of_the_right_form() {
    let mut trial = Trial::new(&context(), best(300, 200), &dense(300, 200, 118));
    let inputs = sealed(&mut trial, 2, 119);
    let expected = whole(&trial, &inputs);
    let mut results = ahead(&trial, &inputs);
    let online = vec![(results.remove(1), halves(&inputs[0]))];
    let (found, _) = trial.layer.evaluate_online(&trial.context, online).unwrap();
    assert_eq!(found[0].len(), expected[0].len());
    assert!(found[0] != expected[0] && found[0] != expected[1]);
    trial.context.check_poly(&found[0][0].c0).unwrap();
}

#[test]
fn wrong_counts_are_refused() {
    let mut trial = Trial::new(&context(), best(4097, 40), &dense(4097, 40, 120));
    let inputs = sealed(&mut trial, 1, 121);
    let expected = inputs[0].len();
    assert!(expected > 1, "several inputs");
    let all = masks(&inputs[0]);
    let mut more = all.clone();
    more.push(all[0].clone());
    for wrong in [&all[..expected - 1], &[], &more] {
        let query = AheadQuery {
            keys: &trial.keys,
            masks: wrong,
        };
        let error = trial
            .layer
            .evaluate_ahead(&trial.context, &[query])
            .unwrap_err();
        assert!(
            matches!(error, LinearError::Count { expected: e, found, .. }
                if e == expected && found == wrong.len()),
            "{error:?}"
        );
    }
    let c0 = halves(&inputs[0]);
    for wrong in [
        c0[1..].to_vec(),
        Vec::new(),
        [c0.clone(), c0.clone()].concat(),
    ] {
        let result = ahead(&trial, &inputs).remove(0);
        let error = trial
            .layer
            .evaluate_online(&trial.context, vec![(result, wrong)])
            .unwrap_err();
        assert!(matches!(error, LinearError::Count { .. }), "{error:?}");
    }
    let none = trial
        .layer
        .evaluate_online(&trial.context, Vec::new())
        .unwrap();
    assert!(none.0.is_empty());
    assert!(
        trial
            .layer
            .evaluate_ahead(&trial.context, &[])
            .unwrap()
            .0
            .is_empty()
    );
}

/// Work done ahead for another layer with another number of outputs, or under other parameters,
/// is refused.
#[test]
fn results_of_other_layers_are_refused() {
    let mut trial = Trial::new(&context(), best(300, 200), &dense(300, 200, 122));
    let inputs = sealed(&mut trial, 1, 123);
    let mut wide = Trial::new(&context(), best(40, 4200), &dense(40, 4200, 124));
    let foreign = sealed(&mut wide, 1, 125);
    let result = ahead(&wide, &foreign).remove(0);
    let error = trial
        .layer
        .evaluate_online(&trial.context, vec![(result, halves(&inputs[0]))])
        .unwrap_err();
    assert!(matches!(error, LinearError::Count { .. }), "{error:?}");
}

/// As many outputs, but polynomials of twice the degree or of other primes.
#[test]
fn results_of_other_parameters_are_refused() {
    let mut trial = Trial::new(&context(), best(5, 3), &dense(5, 3, 126));
    let inputs = sealed(&mut trial, 1, 127);
    let larger = Context::named("diagonal-8192").unwrap();
    let q = ntt_primes(30, 4096, 2).unwrap();
    let p = ntt_primes(31, 4096, 2).unwrap()[1];
    let other_primes = Context::new(Parameters::new("other", 4096, &q, Some(p)).unwrap()).unwrap();
    for other in [larger, other_primes] {
        let shape = LayerShape::new(5, 3).unwrap();
        let options = PlanOptions::default();
        let plan = plan(PlanKind::Diagonal, shape, other.slots(), 1, &options).unwrap();
        let mut foreign = Trial::new(&other, plan, &dense(5, 3, 128));
        let sealed = sealed(&mut foreign, 1, 129);
        let result = ahead(&foreign, &sealed).remove(0);
        let found = trial
            .layer
            .evaluate_online(&trial.context, vec![(result, halves(&inputs[0]))]);
        assert!(
            matches!(found, Err(LinearError::Ckks(_))),
            "degree {}: accepted",
            other.degree()
        );
    }
}
