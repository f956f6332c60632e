//! Several queries at once, under several clients' keys, give the bits of one at a time.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::{Ciphertext, GaloisKeys};
use ckks_linear::evaluate::Query;
use ckks_linear::plan::PlanKind;
use ckks_linear::shape::Folding;
use support::{Trial, best, check_dense, context, dense, errors, plan_with, vectors};

/// 1, 2 and 3 queries, as many as are streamed together (16), and one more; three tenants in turn.
#[test]
fn case_14_batches_under_different_keys() {
    for (d_in, d_out) in [(5, 3), (512, 512), (576, 960), (2100, 40)] {
        let weights = dense(d_in, d_out, 131);
        let mut tenants =
            [1, 2, 3].map(|seed| Trial::with_seed(&context(), best(d_in, d_out), &weights, seed));
        let batch = vectors(17, d_in, 132);
        let sealed: Vec<_> = batch
            .iter()
            .enumerate()
            .map(|(i, x)| tenants[i % 3].encrypt(&[x]).unwrap())
            .collect();
        let query = |i: usize| Query {
            keys: &tenants[i % 3].keys,
            inputs: &sealed[i].0,
        };
        let layer = &tenants[0].layer;
        let evaluate =
            |queries: &[Query<'_>]| layer.evaluate(&tenants[0].context, queries).unwrap().0;
        let single: Vec<_> = (0..17).map(|i| evaluate(&[query(i)]).remove(0)).collect();
        for count in [1, 2, 3, 16, 17] {
            let queries: Vec<_> = (0..count).map(query).collect();
            assert!(
                evaluate(&queries) == single[..count],
                "{d_in}x{d_out}: {count}"
            );
            let reversed: Vec<_> = (0..count).rev().map(query).collect();
            let mut found = evaluate(&reversed);
            found.reverse();
            assert!(found == single[..count], "{d_in}x{d_out}: {count} reversed");
        }
        assert!(evaluate(&[]).is_empty());
        for (i, outputs) in single.iter().enumerate() {
            let found = tenants[i % 3].decrypt(outputs, &sealed[i].1);
            let (worst, _) = errors(&weights, &batch[i..=i], &found);
            assert!(worst <= 2e-5, "{worst:.2e}");
        }
    }
}

/// The keys of another tenant: garbage of the right form, no panic.
#[test]
fn case_14_keys_of_another_tenant_give_garbage_of_the_right_form() {
    let weights = dense(300, 200, 133);
    let mut ours = Trial::with_seed(&context(), best(300, 200), &weights, 1);
    let theirs = Trial::with_seed(&context(), best(300, 200), &weights, 2);
    let x = vectors(1, 300, 134);
    let (inputs, scale) = ours.encrypt(&[&x[0]]).unwrap();
    let evaluate = |keys: &GaloisKeys| -> Vec<Ciphertext> {
        let query = Query {
            keys,
            inputs: &inputs,
        };
        ours.layer
            .evaluate(&ours.context, &[query])
            .unwrap()
            .0
            .remove(0)
    };
    let right = evaluate(&ours.keys);
    let wrong = evaluate(&theirs.keys);
    assert_eq!(right.len(), wrong.len());
    let (worst, _) = errors(&weights, &x, &ours.decrypt(&right, &scale));
    assert!(worst <= 2e-5);
    // Uniform garbage fills the modulus: an answer near the right one has probability below 1e-6.
    let (worst, _) = errors(&weights, &x, &ours.decrypt(&wrong, &scale));
    assert!(worst > 1e-2, "{worst:.2e}");
}

/// Two vectors to a ciphertext, with one left over, and the single one of a batch of one.
#[test]
fn odd_batches_of_pairs() {
    for (d_in, d_out) in [(5, 3), (300, 200), (33, 700), (1, 1)] {
        let weights = dense(d_in, d_out, 135);
        for count in [1, 2, 3, 5, 34] {
            let shape = (d_in, d_out);
            let plan = plan_with(PlanKind::Diagonal, shape, count, Some(Folding::Pair), None);
            assert_eq!(plan.groups(count), count.div_ceil(2));
            let mut trial = Trial::new(&context(), plan, &weights);
            check_dense(&mut trial, &weights, &vectors(count, d_in, 136));
        }
    }
}

/// The vector of a pair that is very much larger than the other sets the scale of both; both stay
/// within the prediction.
#[test]
fn pairs_of_unequal_vectors() {
    let weights = dense(300, 200, 137);
    let plan = plan_with(PlanKind::Diagonal, (300, 200), 2, Some(Folding::Pair), None);
    let mut trial = Trial::new(&context(), plan, &weights);
    for factor in [1e-6, 1e3, 0.0] {
        let mut batch = vectors(2, 300, 138);
        batch[1].iter_mut().for_each(|v| *v *= factor);
        let outcome = trial.run_within(&batch, 1e-4).unwrap();
        let (worst, _) = errors(&weights, &batch, &outcome.found);
        assert!(worst <= 1.5 * outcome.six_sigma, "{factor}: {worst:.2e}");
    }
}
