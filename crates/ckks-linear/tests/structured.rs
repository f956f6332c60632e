//! Weights whose roundings to nearest would agree with each other: the prediction must hold for
//! them as for random ones, because preparation rounds at random.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use support::{Trial, best, context, errors, matrix};

/// Runs one vector and compares the errors with the prediction: an error beyond 6 sigmas of one of
/// 1,024 outputs happens with probability 2e-6; an rms of 1.5 times the prediction over as many
/// outputs would be 16 standard deviations.
fn check(name: &str, size: usize, entry: impl Fn(usize, usize) -> f64, x: impl Fn(usize) -> f64) {
    let weights = matrix(size, size, &entry);
    let batch = vec![(0..size).map(x).collect::<Vec<f64>>()];
    let mut trial = Trial::new(&context(), best(size, size), &weights);
    let vectors: Vec<&[f64]> = batch.iter().map(Vec::as_slice).collect();
    // The gate is not what is tested.
    let encoded = trial
        .client
        .encode(&trial.context, &vectors, 1e3, true)
        .unwrap();
    let predicted = trial.client.predict(&encoded.scale);
    let found = trial.run_within(&batch, 1e3).unwrap().found;
    let (worst, rms) = errors(&weights, &batch, &found);
    assert!(
        worst <= predicted.six_sigma,
        "{name}: {worst:.2e} beyond {:.2e}",
        predicted.six_sigma
    );
    assert!(
        rms <= 1.5 * predicted.rms,
        "{name}: rms {rms:.2e}, predicted {:.2e}",
        predicted.rms
    );
}

#[test]
fn predictions_hold_for_structured_weights() {
    let ones = |_: usize| 1.0;
    let positive = |j: usize| ((j * 7919 % 101) as f64 / 101.0).max(0.3) - 0.3;
    let one_hot = |j: usize| f64::from(u8::from(j == 17));
    let below = |j: usize, k: usize| f64::from(u8::from(j >= k));
    check("triangular, ones", 1024, below, ones);
    check("triangular, positive", 1024, below, positive);
    check("upper triangular, ones", 512, |j, k| below(k, j), ones);
    check("ramp", 1024, |j, k| (j + k) as f64 / 1024.0, positive);
    check(
        "band",
        512,
        |j, k| f64::from(u8::from(j.abs_diff(k) < 128)),
        ones,
    );
    check("constant", 960, |_, _| 0.25, ones);
    let sparse = |j: usize, k: usize| {
        if j == k {
            1.0
        } else if k == 5 {
            1e-6
        } else {
            0.0
        }
    };
    check(
        "identity and a column of small entries",
        1024,
        sparse,
        one_hot,
    );
}
