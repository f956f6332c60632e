//! Magnitudes on which other libraries overflow or return garbage without a word. The oracle is the
//! float64 product; "right" means within 1e-4·max(1, max|y|).

mod support;

use ckks_linear::error::LinearError;
use support::{
    Trial, best, context, dense, errors, magnitude, matrix, right_or_refused, scaled, vectors,
};

/// Matrices whose diagonals are equal are rounded to equal plaintexts, whose errors add up instead
/// of averaging out. The gate rests on the prediction, so it must cover them too.
#[test]
fn case_28_equal_diagonals_are_within_the_prediction() {
    for (d_in, d_out) in [(300, 200), (576, 960), (512, 512)] {
        let weights = matrix(d_in, d_out, |_, _| 0.05);
        let mut trial = Trial::new(&context(), best(d_in, d_out), &weights);
        let batch = vec![vec![1.0; d_in]];
        let outcome = trial.run_within(&batch, 1e-4).unwrap();
        let (worst, _) = errors(&weights, &batch, &outcome.found);
        assert!(
            worst <= 1.5 * outcome.six_sigma,
            "{d_in}x{d_out}: {worst:.2e}, 6 sigma {:.2e}",
            outcome.six_sigma
        );
    }
}

/// Six CKKS packages: W or x scaled far up or down is silently wrong, or aborts. Here scales adapt,
/// so each is answered, and right.
#[test]
fn case_28_large_and_small_values_are_answered() {
    let weights = dense(300, 200, 55);
    let x = vectors(1, 300, 56).remove(0);
    for power in [-30, -12, -4, 4, 5, 6, 8, 10, 12, 30] {
        let factor = 10f64.powi(power);
        let large: Vec<f64> = x.iter().map(|v| v * factor).collect();
        let opposite: Vec<f64> = x.iter().map(|v| v / factor).collect();
        let heavy = scaled(&weights, factor);
        for (weights, x, what) in [
            (&heavy, x.clone(), "W"),
            (&weights, large.clone(), "x"),
            (&heavy, large, "both"),
            (&heavy, opposite, "W, and x by its inverse"),
        ] {
            let what = format!("{what} times 1e{power}");
            assert!(right_or_refused(weights, x, &what), "{what}: refused");
        }
    }
}

/// The same at the ends of single and double precision, where a refusal is an answer too.
#[test]
fn case_28_ends_of_the_number_range() {
    let x = vectors(1, 40, 57).remove(0);
    let sign = |j: usize, k: usize| if (j * 7 + k * 3) % 5 < 2 { -1.0 } else { 1.0 };
    for size in [
        f64::from(f32::MAX),
        1e38,
        3e37,
        1e36,
        1e20,
        1e-20,
        1e-36,
        1.2e-38,
        1e-40,
        1.5e-45,
    ] {
        for (d_in, d_out) in [(1, 1), (2, 40), (40, 40)] {
            let weights = matrix(d_in, d_out, |j, k| sign(j, k) * size);
            let what = format!("{d_in}x{d_out} of {size:e}");
            right_or_refused(&weights, x[..d_in].to_vec(), &what);
        }
    }
    let weights = dense(40, 40, 58);
    for size in [
        1e100,
        1e139,
        1e141,
        1e200,
        1e308,
        f64::MAX,
        1e-100,
        1e-139,
        1e-141,
        1e-200,
    ] {
        let x: Vec<f64> = x.iter().map(|v| v * size).collect();
        right_or_refused(&weights, x, &format!("x of {size:e}"));
    }
}

/// Tiny weights are within the absolute gate whatever is answered, so refusing them is wrong.
#[test]
fn case_28_denormal_weights_are_answered() {
    for size in [1e-36, 1.2e-38, 1e-40, 1.5e-45] {
        let weights = matrix(40, 40, |j, k| if (j + k) % 3 == 0 { -size } else { size });
        let answered = right_or_refused(&weights, vec![1.0; 40], "denormal");
        assert!(answered, "{size:e} refused");
    }
}

/// Columns and rows of very different sizes in one matrix.
#[test]
fn case_28_mixed_magnitudes() {
    type Entry<'a> = &'a dyn Fn(usize, usize) -> f64;
    let entries: [(&str, Entry<'_>); 4] = [
        ("columns", &|_, k| if k % 2 == 0 { 1e30 } else { 1e-30 }),
        ("rows", &|j, _| if j % 2 == 0 { 1e30 } else { -1e-30 }),
        ("one entry", &|j, k| {
            if (j, k) == (3, 5) { 1e12 } else { 0.01 }
        }),
        ("steps", &|j, k| 10f64.powi((j % 7 + k % 5) as i32 - 6)),
    ];
    for (what, entry) in entries {
        for (d_in, d_out) in [(40, 40), (300, 200)] {
            let weights = matrix(d_in, d_out, entry);
            right_or_refused(&weights, vectors(1, d_in, 59).remove(0), what);
        }
    }
}

/// An absolute gate refuses what it cannot keep, with the numbers in the message.
#[test]
fn case_28_overflow_is_predicted_and_refused() {
    let weights = scaled(&dense(300, 200, 60), 1e12);
    let trial = Trial::new(&context(), best(300, 200), &weights);
    let x = vectors(1, 300, 61).remove(0);
    let refused = trial
        .client
        .encode(&trial.context, &[&x], 1e-4, false)
        .unwrap_err();
    assert!(
        matches!(refused, LinearError::PredictedError { .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("overflow or drown in noise"));
    assert!(
        trial
            .client
            .encode(&trial.context, &[&x], 1e9, false)
            .is_ok()
    );
}

/// A huge input that meets only zero weights: the gate is relative to a bound of max|y|, which is
/// far above max|y| itself here. The prediction must say so, or the error would be silent.
#[test]
fn case_28_hidden_cancellation_is_in_the_prediction() {
    let weights = matrix(300, 200, |j, k| {
        if j == 5 {
            0.0
        } else {
            0.01 * ((j + k) % 3) as f64
        }
    });
    let mut x = vec![vec![0.5; 300]];
    x[0][5] = 1e9;
    let mut trial = Trial::new(&context(), best(300, 200), &weights);
    match trial.run_within(&x, 1e-4) {
        Ok(outcome) => {
            let (worst, _) = errors(&weights, &x, &outcome.found);
            assert!(
                worst <= 1.5 * outcome.six_sigma,
                "{worst:e} {:e}",
                outcome.six_sigma
            );
            let gate = 1e-4 * magnitude(&weights, &x);
            assert!(worst <= gate || outcome.six_sigma > gate);
        }
        Err(error) => assert!(
            matches!(error, LinearError::PredictedError { .. }),
            "{error}"
        ),
    }
}

/// Gates that are no gates: only a positive number lets anything through.
#[test]
fn case_28_meaningless_gates_are_refused() {
    let weights = dense(300, 200, 62);
    let trial = Trial::new(&context(), best(300, 200), &weights);
    let x = vectors(1, 300, 63).remove(0);
    for gate in [f64::NAN, 0.0, -0.0, -1.0, -1e300, f64::NEG_INFINITY, 1e-300] {
        for relative in [true, false] {
            let refused = trial.client.encode(&trial.context, &[&x], gate, relative);
            assert!(
                matches!(refused, Err(LinearError::PredictedError { .. })),
                "{gate}"
            );
        }
    }
}
