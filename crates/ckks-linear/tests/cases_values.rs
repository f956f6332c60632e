//! Values on which other libraries overflow, misencode or return garbage without a word. The
//! oracle is the float64 product; "right" means within 1e-4·max(1, max|y|).

mod support;

use ckks::automorphism::GaloisElement;
use ckks::modulus::ntt_primes;
use ckks::{CkksError, Complex64, Context, GaloisKey, GaloisKeys, Parameters};
use ckks_linear::client::LayerClient;
use ckks_linear::error::LinearError;
use ckks_linear::plan::PlanKind;
use ckks_linear::shape::Folding;
use ckks_secret::{MaskSource, SecretKey, SeededCsprng};
use support::{
    Trial, best, check_dense, context, dense, errors, magnitude, matrix, plan_with, product,
    right_or_refused, scaled, vectors,
};
use tensor_io::{TensorError, WeightMatrix};

/// TenSEAL#398: the identity has zero diagonals, which other libraries trip over. They are skipped
/// and the answer is the input.
#[test]
fn case_04_identity_matrix() {
    for (width, kind) in [
        (5, PlanKind::Diagonal),
        (64, PlanKind::Diagonal),
        (300, PlanKind::Diagonal),
        (512, PlanKind::Diagonal),
        (300, PlanKind::DiagonalSquare),
    ] {
        let weights = matrix(width, width, |j, k| f64::from(u8::from(j == k)));
        let plan = plan_with(kind, (width, width), 1, None, None);
        let diagonals = plan.counts().plaintexts as usize;
        let mut trial = Trial::new(&context(), plan, &weights);
        let x = vectors(1, width, 41);
        let outcome = trial.run_within(&x, 1e-4).unwrap();
        for (a, b) in x[0].iter().zip(&outcome.found[0]) {
            assert!((a - b).abs() <= 1.5 * outcome.six_sigma, "{width}");
        }
        let skipped = trial.layer.zero_diagonals();
        let kept = (trial.layer.memory_bytes() / (4 * 2 * 4096)) as usize;
        assert_eq!(kept + skipped, diagonals, "{width}");
        if kind == PlanKind::DiagonalSquare {
            assert_eq!(kept, 1, "one diagonal of the square holds it all");
        }
    }
}

/// TenSEAL#398: a zero matrix has no diagonal at all. Its answer is well formed and decodes to
/// zero, whatever the layout.
#[test]
fn case_04_zero_matrix_decodes_to_zero() {
    for (d_in, d_out, folding) in [
        (1, 1, None),
        (5, 3, None),
        (512, 512, None),
        (300, 200, Some(Folding::Output)),
        (40, 100, Some(Folding::Pair)),
        (100, 2100, None),
    ] {
        let weights = matrix(d_in, d_out, |_, _| 0.0);
        let plan = plan_with(PlanKind::Diagonal, (d_in, d_out), 2, folding, None);
        let diagonals = plan.counts().plaintexts as usize;
        let mut trial = Trial::new(&context(), plan, &weights);
        assert_eq!(trial.layer.zero_diagonals(), diagonals);
        assert_eq!(trial.layer.memory_bytes(), 0);
        for x in [
            vectors(1, d_in, 42),
            vec![vec![0.0; d_in]],
            vec![vec![300.0; d_in]],
        ] {
            let outcome = trial
                .run_within(&x, 1e-4)
                .unwrap_or_else(|e| panic!("{d_in}x{d_out}: {e}"));
            assert_eq!(outcome.found.len(), 1);
            assert_eq!(outcome.found[0].len(), d_out);
            assert!(outcome.found[0].iter().all(|y| y.abs() <= 1e-4));
        }
    }
}

/// TenSEAL#398, of the neighbours of zero: some zero columns, zero rows, one entry, negative zeros.
#[test]
fn case_04_mostly_zero_matrices() {
    let shapes: [&dyn Fn(usize, usize) -> f64; 5] = [
        &|j, k| if k == 7 { 1.0 / (1.0 + j as f64) } else { -0.0 },
        &|j, k| {
            if j == 299 {
                1.0 / (1.0 + k as f64)
            } else {
                0.0
            }
        },
        &|j, k| if (j, k) == (17, 199) { -2.5 } else { -0.0 },
        &|j, _| if j % 2 == 0 { 0.1 } else { 0.0 },
        &|j, k| if (j + k) % 50 == 0 { -1.0 } else { 0.0 },
    ];
    for (at, entry) in shapes.into_iter().enumerate() {
        let weights = matrix(300, 200, entry);
        assert!(
            right_or_refused(&weights, vectors(1, 300, 43).remove(0), "sparse"),
            "{at}"
        );
    }
}

/// tuneinsight/lattigo#111, #382: a matrix with only the main diagonal, or only one other
/// diagonal, upper or lower, divides by zero or is answered wrong.
#[test]
fn case_07_single_diagonals() {
    for offset in [0, 1, 2, 63, 64, 127, 128, 255] {
        for kind in [PlanKind::Diagonal, PlanKind::DiagonalSquare] {
            let entry = |j: usize, k: usize| {
                if (k + offset) % 256 == j {
                    0.5 + k as f64 / 256.0
                } else {
                    0.0
                }
            };
            let weights = matrix(256, 256, entry);
            let plan = plan_with(kind, (256, 256), 1, None, None);
            let mut trial = Trial::new(&context(), plan, &weights);
            let batch = vectors(1, 256, 44);
            let outcome = trial.run_within(&batch, 1e-4).unwrap();
            let (worst, _) = errors(&weights, &batch, &outcome.found);
            assert!(
                worst <= 1.5 * outcome.six_sigma,
                "{offset} {kind:?}: {worst:.2e}"
            );
            assert!(trial.layer.zero_diagonals() > 0);
        }
    }
}

/// microsoft/SEAL#570, #757: "encoded values too large", and large negative integers encoded
/// wrong. Integers up to the limit of the modulus, both signs, through encryption and back: the
/// error is one error's tail plus rounding.
#[test]
fn case_15_negative_integers_at_the_limit() {
    let context = context();
    let mut rng = SeededCsprng::insecure(45, 0);
    let secret = SecretKey::generate(&context, &mut rng);
    let mut masks = MaskSource::new(&mut rng);
    let limit = context.parameters().q_product() as f64 / 2.0;
    for share in [-0.999, -0.5, -1e-6, 0.0, 1e-6, 0.5, 0.999] {
        let value = (share * limit).round();
        let plain = context
            .encode(&vec![Complex64::new(value, 0.0); 2048], 1.0)
            .unwrap();
        let mask = masks.take().unwrap();
        let sent = secret.encrypt(&context, &plain, mask, &mut rng).unwrap();
        let received = secret
            .decrypt(&context, &sent.expand(&context).unwrap())
            .unwrap();
        // Doubles carry 53 of the modulus's 58 bits.
        let tolerance = f64::from(ckks_secret::ERROR_TAIL) + 1.0 + limit * 2f64.powi(-50);
        assert!(
            (received[0] as f64 - value).abs() <= tolerance,
            "{share}: {}",
            received[0]
        );
        assert!(
            received[1..].iter().all(|c| (*c as f64).abs() <= tolerance),
            "{share}"
        );
    }
    for share in [1.001, -1.001, 2.0, -1e9] {
        let values = vec![Complex64::new(share * limit, 0.0); 2048];
        let refused = context.encode(&values, 1.0);
        assert!(
            matches!(refused, Err(CkksError::EncodingOverflow { .. })),
            "{share}"
        );
    }
}

/// SEAL#570: the layer fills the modulus as far as it is allowed to. A matrix of equal entries and
/// a vector of equal entries put all of an answer into one coefficient, the worst there is.
#[test]
fn case_15_answers_that_fill_the_modulus() {
    for (d_in, d_out) in [
        (1, 1),
        (3, 3),
        (64, 64),
        (300, 200),
        (576, 960),
        (512, 2048),
        (2048, 1),
    ] {
        for sign in [1.0, -1.0] {
            for folding in [
                Folding::Input,
                Folding::Output,
                Folding::Pair,
                Folding::None,
            ] {
                let weights = matrix(d_in, d_out, |_, _| sign);
                let plan = plan_with(PlanKind::Diagonal, (d_in, d_out), 2, Some(folding), None);
                let mut trial = Trial::new(&context(), plan, &weights);
                let batch = vec![vec![1.0; d_in], vec![-1.0; d_in]];
                let outcome = trial.run_within(&batch, 1e-4).unwrap();
                // A coefficient that wraps moves the answer by its own size.
                let (worst, _) = errors(&weights, &batch, &outcome.found);
                assert!(
                    worst <= 1e-4 * d_in as f64,
                    "{d_in}x{d_out} {folding:?}: {worst:.2e}"
                );
            }
        }
    }
}

/// SEAL#8: NaN after decoding at a large modulus. The largest this engine takes, two 31-bit
/// primes, with full-size values.
#[test]
fn case_16_largest_modulus_decodes_to_numbers() {
    let q = ntt_primes(31, 4096, 3).unwrap();
    for p in [Some(q[2]), None] {
        let parameters = Parameters::new("largest", 4096, &q[..2], p).unwrap();
        let context = Context::new(parameters).unwrap();
        assert!(context.parameters().q_product().ilog2() == 61);
        let (d_in, d_out) = if p.is_some() { (300, 200) } else { (60, 60) };
        let weights = dense(d_in, d_out, 46);
        for bits in [40, 61] {
            let plan = best(d_in, d_out);
            let mut trial = Trial::with_answer_bits(&context, plan, &weights, 47, bits);
            for size in [1.0, 1e6, 1e-6] {
                let mut batch = vectors(1, d_in, 48);
                batch[0].iter_mut().for_each(|v| *v *= size);
                let outcome = trial.run_within(&batch, 1e-4).unwrap();
                let (worst, _) = errors(&weights, &batch, &outcome.found);
                assert!(
                    worst <= 1.5 * outcome.six_sigma,
                    "{bits} bits: {worst:.2e} {outcome:?}"
                );
            }
        }
    }
}

/// SEAL#8, and five CKKS packages that answer finite garbage: NaN and infinities are refused where
/// they enter, with their index.
#[test]
fn case_27_not_a_number_is_refused_by_index() {
    let weights = dense(300, 200, 49);
    for folding in [Folding::Input, Folding::Output, Folding::Pair] {
        let plan = plan_with(PlanKind::Diagonal, (300, 200), 2, Some(folding), None);
        let trial = Trial::new(&context(), plan, &weights);
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for at in [0, 149, 150, 299] {
                let mut x = vectors(1, 300, 50).remove(0);
                x[at] = bad;
                for relative in [true, false] {
                    let refused =
                        trial
                            .client
                            .encode(&trial.context, &[&x], f64::INFINITY, relative);
                    let error = refused.unwrap_err();
                    assert!(
                        matches!(error, LinearError::NotFinite { vector: 0, index, .. } if index == at),
                        "{error:?}"
                    );
                    assert!(
                        error.to_string().contains(&format!("index {at}")),
                        "{error}"
                    );
                }
                if folding == Folding::Pair {
                    let good = vec![0.0; 300];
                    let refused = trial.client.encode(&trial.context, &[&good, &x], 1.0, true);
                    assert!(matches!(
                        refused,
                        Err(LinearError::NotFinite { vector: 1, index, .. }) if index == at
                    ));
                }
            }
        }
    }
}

/// The weights' half of the same: output and input are named.
#[test]
fn case_27_weights_that_are_not_numbers_are_refused() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut data = vec![0.5; 12];
        data[2 * 4 + 3] = bad;
        let refused = WeightMatrix::from_output_major(4, 3, data).unwrap_err();
        assert!(
            matches!(
                refused,
                TensorError::NonFiniteWeight {
                    output: 2,
                    input: 3,
                    ..
                }
            ),
            "{refused:?}"
        );
    }
}

/// Alisah-Ozcan/HEonGPU#4, #19: rotating by −3 gives NaN; 0·0+0 gives 1e175. Also lattigo#111:
/// negative rotations wrong.
#[test]
fn case_18_negative_steps_and_zeros() {
    let context = context();
    let mut rng = SeededCsprng::insecure(51, 0);
    let secret = SecretKey::generate(&context, &mut rng);
    let mut masks = MaskSource::new(&mut rng);
    let steps = [-1i64, -3, -1024, -2047, 3, -2048, 2048, -2051, 0];
    let elements: Vec<_> = steps
        .iter()
        .map(|&s| GaloisElement::rotation(s, 4096))
        .collect();
    let keys: GaloisKeys = secret
        .galois_keys(&context, &elements, &mut rng)
        .unwrap()
        .iter()
        .map(|key| GaloisKey::expand(&context, key).unwrap())
        .collect();
    let scale = 2f64.powi(28);
    let mut encrypt = |values: &[Complex64]| {
        let plain = context.encode(values, scale).unwrap();
        let mask = masks.take().unwrap();
        let sent = secret.encrypt(&context, &plain, mask, &mut rng).unwrap();
        sent.expand(&context).unwrap()
    };
    let decrypt = |ciphertext: &ckks::Ciphertext, scale: f64| {
        let coefficients = secret.decrypt(&context, ciphertext).unwrap();
        let real: Vec<f64> = coefficients.iter().map(|&c| c as f64).collect();
        context.encoder().evaluate(&real, scale).unwrap()
    };
    let values: Vec<Complex64> = (0..2048)
        .map(|i| Complex64::new(f64::from(i) / 2048.0, f64::from(i % 7) - 3.0))
        .collect();
    // A slot's error has σ ≈ √(N·V)/Δ = 4e-6, V the variance of a coefficient after one key
    // switch, near 250: 1e-4 is 25σ.
    let tolerance = 1e-4;
    let ciphertext = encrypt(&values);
    for &step in &steps {
        let rotated = decrypt(&context.rotate(&ciphertext, step, &keys).unwrap(), scale);
        for (i, value) in rotated.iter().enumerate() {
            let from = (i as i64 + step).rem_euclid(2048) as usize;
            assert!(
                (value - values[from]).norm() <= tolerance,
                "step {step}, slot {i}: {value}"
            );
        }
    }
    let zeros = vec![Complex64::ZERO; 2048];
    let zero = encrypt(&zeros);
    let plain = context.encode(&zeros, scale).unwrap();
    let product = context.mul_plain(&zero, &plain).unwrap();
    let sum = context.add(&product, &zero).unwrap();
    let rotated = context.rotate(&sum, -3, &keys).unwrap();
    for (ciphertext, scale) in [(&product, scale * scale), (&sum, scale), (&rotated, scale)] {
        let worst = decrypt(ciphertext, scale)
            .iter()
            .map(|v| v.norm())
            .fold(0.0, f64::max);
        assert!(worst <= tolerance, "{worst}");
    }
}

/// HEonGPU#19 through a layer: the zero vector, negative zeros and denormals give zeros, for
/// weights of every size.
#[test]
fn case_18_zero_vectors() {
    for factor in [1.0, 1e-6, 1e4, 1e8, 1e12, 1e30] {
        let weights = scaled(&dense(300, 200, 52), factor);
        let mut trial = Trial::new(&context(), best(300, 200), &weights);
        for x in [0.0, -0.0, 1e-300, f64::MIN_POSITIVE, -5e-324] {
            let batch = vec![vec![x; 300]];
            let outcome = trial
                .run_within(&batch, 1e-4)
                .unwrap_or_else(|e| panic!("W x {factor:e}, x = {x:e}: {e}"));
            let (worst, _) = errors(&weights, &batch, &outcome.found);
            assert!(worst <= 1e-4, "W x {factor:e}, x = {x:e}: {worst:e}");
        }
    }
}

/// Activations of a 7B model: a few channels of several hundred among ordinary ones. The error is
/// within the gate relative to max|y|, and as predicted.
#[test]
fn case_26_outlier_channels() {
    for (d_in, d_out) in [(2048, 1024), (576, 1536), (512, 512)] {
        let weights = dense(d_in, d_out, 53);
        let mut batch = vectors(1, d_in, 54);
        for (channel, value) in [(3, 411.0), (d_in / 2, -873.5), (d_in - 1, 640.25)] {
            batch[0][channel] = value;
        }
        let mut trial = Trial::new(&context(), best(d_in, d_out), &weights);
        let worst = check_dense(&mut trial, &weights, &batch);
        let relative = worst / magnitude(&weights, &batch);
        assert!(
            relative <= 1e-4,
            "{worst:.2e} absolute, {relative:.2e} relative"
        );
    }
}

/// `product` itself: the oracle against integers it must get exactly right.
#[test]
fn the_oracle_is_right() {
    let weights = matrix(3, 2, |j, k| [[1.0, 4.0], [-2.0, 5.0], [3.0, -6.0]][j][k]);
    assert_eq!(product(&weights, &[1.0, 10.0, 100.0]), [281.0, -546.0]);
    let client = LayerClient::new(
        &context(),
        Trial::new(&context(), best(3, 2), &weights)
            .layer
            .manifest()
            .clone(),
        40,
    );
    // Real columns: (1, -2, 3) and (4, 5, -6).
    let norms = client.unwrap().manifest().column_norms.clone();
    let expected: Vec<f64> = match best(3, 2).folding() {
        Folding::Output => vec![91f64.sqrt()],
        _ => vec![14f64.sqrt(), 77f64.sqrt()],
    };
    assert!(
        norms
            .iter()
            .zip(&expected)
            .all(|(a, b)| (a - b).abs() < 1e-12)
    );
}
