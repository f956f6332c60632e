//! Whole batches of the `gemm` plan, client and server, against float64.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use ckks::gemm::{Epoch, GemmParameters, GemmRing};
use ckks_linear::client::PredictedError;
use ckks_linear::error::LinearError;
use ckks_linear::gemm::{
    AnswerLength, DEFAULT_ERROR_BUDGET, GemmClient, GemmKernel, GemmLayer, GemmMemory,
    LEAST_ERROR_BUDGET, expected_rms,
};
use ckks_linear::shape::LayerShape;
use ckks_secret::SeededCsprng;
use ckks_secret::gemm::{BatchSecret, CachedMaskProducts, ExpectedProducts, GemmMasks, encrypt};
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};
use support::{dense, errors, matrix, product, vectors};
use tensor_io::WeightMatrix;

const EPOCH: Epoch = Epoch(3);

fn ring() -> Arc<GemmRing> {
    static RING: OnceLock<Arc<GemmRing>> = OnceLock::new();
    let make = || GemmRing::new(GemmParameters::named("gemm-2048").unwrap()).unwrap();
    Arc::clone(RING.get_or_init(make))
}

/// The shortest answers within the default budget.
fn default_length() -> AnswerLength {
    AnswerLength::within(DEFAULT_ERROR_BUDGET, 2048)
}

/// Both sides of one layer.
struct Trial {
    layer: GemmLayer,
    client: GemmClient,
    products: CachedMaskProducts,
    masks: GemmMasks,
}

impl Trial {
    fn new(weights: &WeightMatrix, columns: usize) -> Self {
        Self::with(GemmKernel::best(), weights, columns, default_length())
    }

    fn with(
        kernel: GemmKernel,
        weights: &WeightMatrix,
        columns: usize,
        length: AnswerLength,
    ) -> Self {
        let ring = ring();
        let parameters = ring.parameters();
        let layer =
            GemmLayer::prepare_with(kernel, parameters, weights, EPOCH, length, &|_| ()).unwrap();
        let expected = ExpectedProducts {
            epoch: EPOCH,
            outputs: weights.d_out(),
            bits: length.mask_products,
        };
        let message = layer.mask_products();
        Self {
            client: GemmClient::new(parameters, layer.manifest().clone()).unwrap(),
            products: CachedMaskProducts::new(&ring, expected, message, columns).unwrap(),
            masks: GemmMasks::new(&ring, EPOCH, weights.d_in(), columns).unwrap(),
            layer,
        }
    }

    /// Encrypts, and returns what decryption needs besides the answer.
    fn upload(
        &self,
        batch: &[Vec<f64>],
        gate: f64,
        seed: u64,
    ) -> Result<(ckks_linear::gemm::BatchScale, Vec<u8>, BatchSecret), LinearError> {
        let rows: Vec<&[f64]> = batch.iter().map(Vec::as_slice).collect();
        let scale = self.client.scales(&rows, gate, false)?;
        let mut rng = SeededCsprng::insecure(seed, 0);
        let (upload, secret) = encrypt(&self.masks, &rows, scale.deltas(), &mut rng).unwrap();
        Ok((scale, upload, secret))
    }

    fn run(
        &self,
        batch: &[Vec<f64>],
        gate: f64,
    ) -> Result<(Vec<Vec<f64>>, PredictedError), LinearError> {
        let before = batch.to_vec();
        let (scale, upload, secret) = self.upload(batch, gate, 17)?;
        assert_eq!(batch, before, "inputs are left as they were");
        let sent = upload.clone();
        let (answer, _) = self.layer.evaluate(&upload)?;
        assert_eq!(upload, sent, "the upload is left as it was");
        let bits = self.layer.manifest().length.answer;
        let values = secret.decrypt(&self.products, bits, &answer).unwrap();
        let flat = self.client.decode(&scale, &values)?;
        let d_out = self.layer.manifest().shape.d_out();
        let outputs = flat.chunks(d_out).map(<[f64]>::to_vec).collect();
        Ok((outputs, self.client.predict(&scale)))
    }
}

/// Runs a batch and compares with float64: every output within its six-sigma bound, which a
/// Gaussian error leaves with probability 2e-9.
fn check(weights: &WeightMatrix, batch: &[Vec<f64>]) -> (f64, PredictedError) {
    let trial = Trial::new(weights, batch.len());
    let (found, predicted) = trial.run(batch, 1e300).unwrap();
    let (worst, rms) = errors(weights, batch, &found);
    assert!(
        worst <= predicted.six_sigma,
        "{}x{}, batch {}: {worst:.2e} above {:.2e}",
        weights.d_in(),
        weights.d_out(),
        batch.len(),
        predicted.six_sigma
    );
    (rms, predicted)
}

#[test]
fn batches_around_the_ring_degree() {
    let weights = dense(40, 24, 1);
    for batch in [1, 2, 8, 9, 127, 128, 129, 2047, 2048, 2049, 4100] {
        check(&weights, &vectors(batch, 40, 2));
    }
}

#[test]
fn widths_of_models_and_odd_ones() {
    for d_in in [1, 3, 576, 1536] {
        for d_out in [1, 3, 576, 1536] {
            check(&dense(d_in, d_out, 3), &vectors(5, d_in, 4));
        }
    }
}

#[test]
fn predictions_match_observation() {
    // 512 outputs of 64 vectors: a relative deviation of the observed rms of 0.4 %.
    for (d_in, length) in [
        (512, default_length()),
        (2048, default_length()),
        (512, AnswerLength::within(LEAST_ERROR_BUDGET, 2048)),
    ] {
        let weights = dense(d_in, 512, 5);
        let batch = vectors(64, d_in, 6);
        let trial = Trial::with(GemmKernel::best(), &weights, 64, length);
        let (found, predicted) = trial.run(&batch, 1e-3).unwrap();
        let (_, rms) = errors(&weights, &batch, &found);
        assert!((0.9..1.1).contains(&(rms / predicted.rms)), "{d_in}");
        let shape = LayerShape::new(d_in, 512).unwrap();
        let expected = expected_rms(shape, length, 2048);
        assert!((0.9..1.1).contains(&(rms / expected)), "{d_in}: expected");
    }
}

#[test]
fn budgets_are_kept_with_as_few_bits_as_they_need() {
    // The error as a share of ‖w‖·‖x‖, observed.
    let weights = dense(600, 512, 7);
    let batch = vectors(16, 600, 8);
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let column = |k: usize| {
        let row: Vec<f64> = weights.row(k).iter().map(|&w| f64::from(w)).collect();
        norm(&row)
    };
    let mut bits = Vec::new();
    for budget in [DEFAULT_ERROR_BUDGET, 1e-6, 1e-5, LEAST_ERROR_BUDGET] {
        let length = AnswerLength::within(budget, 2048);
        let trial = Trial::with(GemmKernel::best(), &weights, 16, length);
        let (found, _) = trial.run(&batch, 1.0).unwrap();
        let mut energy = 0.0;
        for (x, found) in batch.iter().zip(&found) {
            for (k, (y, exact)) in found.iter().zip(product(&weights, x)).enumerate() {
                energy += ((y - exact) / (norm(x) * column(k))).powi(2);
            }
        }
        // 8,192 errors: 1 % of statistical deviation.
        let share = (energy / (16.0 * 512.0)).sqrt();
        assert!(share <= 1.05 * budget, "{share:.2e} above {budget:.2e}");
        bits.push(length.answer + length.mask_products);
    }
    assert!(bits[3] > bits[0] && bits[0] > bits[1] && bits[1] > bits[2]);
}

#[test]
fn columns_of_very_different_norms() {
    let norms = [1e4, 1e-6, 1.0, 0.0, 1e12, -1e-30];
    let base = dense(100, 6, 9);
    let weights = matrix(100, 6, |j, k| norms[k] * f64::from(base.row(k)[j]));
    let batch = vectors(3, 100, 10);
    let trial = Trial::new(&weights, 3);
    let (found, _) = trial.run(&batch, 1e300).unwrap();
    for (x, found) in batch.iter().zip(&found) {
        for (k, (y, exact)) in found.iter().zip(product(&weights, x)).enumerate() {
            // Each output is as precise as its own weights allow: ‖w‖·‖x‖ ≤ 10·|norm|.
            assert!((y - exact).abs() <= 1e-5 * norms[k].abs(), "{k}");
        }
    }
}

#[test]
fn vectors_of_very_different_norms() {
    let weights = dense(64, 32, 11);
    let mut batch = vectors(5, 64, 12);
    for (vector, factor) in batch.iter_mut().zip([1e-20, 1.0, 1e12, 0.0, -1e3]) {
        vector.iter_mut().for_each(|x| *x *= factor);
    }
    let trial = Trial::new(&weights, 5);
    let (found, _) = trial.run(&batch, 1e300).unwrap();
    for ((x, found), factor) in batch
        .iter()
        .zip(&found)
        .zip([1e-20f64, 1.0, 1e12, 0.0, 1e3])
    {
        for (y, exact) in found.iter().zip(product(&weights, x)) {
            assert!((y - exact).abs() <= 1e-5 * factor.max(1e-30));
        }
    }
}

#[test]
fn outlier_channels_are_within_the_prediction() {
    // Channels of several hundred among values below 1, as in the activations of a 7B model, and
    // weights a hundred times as large as the others.
    let d_in = 512;
    let base = dense(d_in, 96, 26);
    let weights = matrix(d_in, 96, |j, k| {
        f64::from(base.row(k)[j]) * if (j, k % 7) == (30, 3) { 100.0 } else { 1.0 }
    });
    let mut batch = vectors(20, d_in, 27);
    for (i, vector) in batch.iter_mut().enumerate() {
        for (channel, size) in [(3, 300.0), (200, -700.0), (511, 450.0)] {
            vector[channel] = size + i as f64;
        }
    }
    let (rms, predicted) = check(&weights, &batch);
    // Not only refused or far below: as precise as promised.
    assert!((0.5..1.5).contains(&(rms / predicted.rms)));
}

#[test]
fn sizes_are_predicted() {
    for (d_in, d_out, columns) in [(1, 1, 1), (37, 9, 5), (64, 48, 2049)] {
        let trial = Trial::new(&dense(d_in, d_out, 28), columns);
        let shape = LayerShape::new(d_in, d_out).unwrap();
        let parameters = GemmParameters::named("gemm-2048").unwrap();
        let predicted = GemmMemory::of(&parameters, shape, columns, default_length());
        // Three bytes for each weight of a panel of 8 outputs, 8 bytes of padding.
        let weights = (3 * d_in * d_out.next_multiple_of(8) + 8) as u64;
        assert_eq!(predicted.weights, weights);
        let products = trial.layer.mask_products().len() as u64;
        assert_eq!(predicted.mask_products, products);
        // Memory comes in blocks of 64 bytes.
        let kept = trial.layer.memory_bytes() - products;
        assert_eq!(kept, weights.next_multiple_of(64));
        let batch = vectors(columns, d_in, 29);
        let (_, upload, _) = trial.upload(&batch, 1.0, 1).unwrap();
        assert_eq!(predicted.upload, upload.len() as u64);
        let (answer, _) = trial.layer.evaluate(&upload).unwrap();
        assert_eq!(predicted.answer, answer.len() as u64);
    }
}

#[test]
fn structured_matrices_stay_within_the_prediction() {
    let d = 300;
    let triangular = matrix(d, d, |j, k| if j <= k { 1.0 } else { 0.0 });
    let ramp = matrix(d, d, |j, _| j as f64 / 300.0);
    let ones = matrix(d, d, |_, _| 0.1);
    let identity = matrix(d, d, |j, k| f64::from(j == k));
    let zero = matrix(d, d, |_, _| 0.0);
    // Equal entries: errors that are functions of the data would all be the same.
    let equal = vec![vec![0.3; d]; 4];
    let mut unit = vec![vec![0.0; d]; 4];
    unit[1][7] = -1.0;
    for weights in [&triangular, &ramp, &ones, &identity, &zero] {
        for batch in [&equal, &unit, &vectors(4, d, 13)] {
            let (rms, predicted) = check(weights, batch);
            assert!(rms <= 1.5 * predicted.rms);
        }
    }
    let (found, predicted) = Trial::new(&zero, 4).run(&equal, 1e-30).unwrap();
    assert!(found.iter().flatten().all(|&y| y == 0.0));
    assert_eq!(predicted.rms, 0.0);
}

#[test]
fn the_largest_possible_product_does_not_overflow() {
    // x parallel to every column of W, of either sign: equality in Cauchy–Schwarz.
    let row = vectors(1, 500, 14).remove(0);
    let weights = matrix(500, 4, |j, k| row[j] * [1.0, -1.0, 1e5, -1e-5][k]);
    let batch = vec![row.clone(), row.iter().map(|x| -1e6 * x).collect()];
    check(&weights, &batch);
}

#[test]
fn kernels_and_threads_give_the_same_bytes() {
    let weights = dense(90, 70, 15);
    let batch = vectors(150, 90, 16);
    let first = Trial::new(&weights, 150);
    let (_, upload, _) = first.upload(&batch, 1e-3, 18).unwrap();
    let (answer, _) = first.layer.evaluate(&upload).unwrap();
    for kernel in GemmKernel::available() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let trial = Trial::with(kernel, &weights, 150, default_length());
                assert_eq!(trial.layer.mask_products(), first.layer.mask_products());
                assert_eq!(trial.layer.manifest(), first.layer.manifest());
                let (_, again, _) = trial.upload(&batch, 1e-3, 18).unwrap();
                assert_eq!(again, upload, "{threads} threads");
                assert_eq!(
                    trial.layer.evaluate(&upload).unwrap().0,
                    answer,
                    "{kernel:?}"
                );
            });
        }
    }
}

#[test]
fn many_threads_share_a_layer() {
    let weights = dense(64, 48, 19);
    let trial = Trial::new(&weights, 40);
    std::thread::scope(|scope| {
        for seed in 0..6 {
            let (trial, weights) = (&trial, &weights);
            scope.spawn(move || {
                let batch = vectors(40, 64, 100 + seed);
                for _ in 0..5 {
                    let (found, predicted) = trial.run(&batch, 1e-3).unwrap();
                    let (worst, _) = errors(weights, &batch, &found);
                    assert!(worst <= predicted.six_sigma);
                }
            });
        }
    });
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let weights = dense(8, 4, 20);
    let trial = Trial::new(&weights, 2);
    for (value, at) in [
        (f64::NAN, (0, 3)),
        (f64::INFINITY, (1, 0)),
        (f64::NEG_INFINITY, (1, 7)),
    ] {
        let mut batch = vectors(2, 8, 21);
        batch[at.0][at.1] = value;
        let error = trial.run(&batch, 1.0).unwrap_err();
        let LinearError::NotFinite { vector, index, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((vector, index), at);
    }
    let refused = |batch: &[Vec<f64>], gate| trial.run(batch, gate).unwrap_err();
    assert!(matches!(refused(&[], 1.0), LinearError::EmptyBatch));
    assert!(matches!(
        refused(&[vec![1.0; 7]], 1.0),
        LinearError::Count {
            expected: 8,
            found: 7,
            ..
        }
    ));
    // Norms beyond what double precision carries.
    for huge in [1e200, 1e160] {
        assert!(matches!(
            refused(&[vec![huge; 8]], 1.0),
            LinearError::Magnitude { .. }
        ));
    }
    // A gate below the noise.
    assert!(matches!(
        refused(&vectors(2, 8, 22), 1e-12),
        LinearError::PredictedError { .. }
    ));
    // Nothing was harmed.
    trial.run(&vectors(2, 8, 22), 1e-4).unwrap();
}

#[test]
fn uploads_for_another_layer_or_epoch_are_refused() {
    let trial = Trial::new(&dense(8, 4, 23), 2);
    let other = Trial::new(&dense(9, 4, 23), 2);
    let (_, upload, _) = trial.upload(&vectors(2, 8, 24), 1.0, 1).unwrap();
    assert!(matches!(
        other.layer.evaluate(&upload),
        Err(LinearError::Count {
            expected: 9,
            found: 8,
            ..
        })
    ));
    let ring = ring();
    let masks = GemmMasks::new(&ring, Epoch(4), 8, 2).unwrap();
    let rows = vectors(2, 8, 24);
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let mut rng = SeededCsprng::insecure(1, 1);
    let (stale, _) = encrypt(&masks, &rows, &[1e6; 2], &mut rng).unwrap();
    let error = trial.layer.evaluate(&stale).unwrap_err();
    assert!(matches!(
        error,
        LinearError::Epoch {
            expected: 3,
            found: 4
        }
    ));
    for cut in [0, 10, 60, upload.len() - 1] {
        assert!(matches!(
            trial.layer.evaluate(&upload[..cut]),
            Err(LinearError::Wire(_))
        ));
    }
}

#[test]
fn manifests_that_no_layer_has_are_refused() {
    let parameters = GemmParameters::named("gemm-2048").unwrap();
    let trial = Trial::new(&dense(8, 4, 25), 2);
    let good = trial.layer.manifest().clone();
    let refuse = |change: &dyn Fn(&mut ckks_linear::gemm::GemmManifest)| {
        let mut bad = good.clone();
        change(&mut bad);
        GemmClient::new(&parameters, bad).unwrap_err()
    };
    for value in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        let error = refuse(&|m| m.weights[2].scale = value);
        assert!(matches!(error, LinearError::Manifest { .. }), "{value}");
    }
    // A norm that is too small would let products overflow unnoticed.
    for value in [f64::NAN, f64::INFINITY, -1.0, 1e9, 1.0, 1e-300, 8e6, 1.7e7] {
        let error = refuse(&|m| m.weights[2].norm = value);
        assert!(matches!(error, LinearError::Manifest { .. }), "{value}");
    }
    for scale in [1e-300, 5e-324, 1e308] {
        let error = refuse(&|m| m.weights[2].scale = scale);
        assert!(matches!(error, LinearError::Manifest { .. }), "{scale}");
    }
    assert!(matches!(
        refuse(&|m| m.weights.truncate(3)),
        LinearError::Count { .. }
    ));
    for bits in [0, 15, 53, 64, u32::MAX] {
        assert!(matches!(
            refuse(&|m| m.length.answer = bits),
            LinearError::Ckks(_)
        ));
        assert!(matches!(
            refuse(&|m| m.length.mask_products = bits),
            LinearError::Ckks(_)
        ));
    }
    let error = refuse(&|m| m.digest.0[0] ^= 1);
    assert!(matches!(error, LinearError::Ckks(_)));
}

#[test]
fn an_output_announced_as_zero_must_be_zero() {
    let mut trial = Trial::new(&dense(8, 4, 27), 2);
    let mut lie = trial.layer.manifest().clone();
    lie.weights[1] = ckks_linear::gemm::WeightScale::ZERO;
    trial.client = GemmClient::new(ring().parameters(), lie).unwrap();
    let error = trial.run(&vectors(2, 8, 28), 1.0).unwrap_err();
    assert!(matches!(error, LinearError::Manifest { .. }), "{error}");
}

#[test]
fn zero_vectors_stay_within_their_prediction() {
    // 96 outputs: rms and six sigma of noise that is far below all that matters.
    let weights = dense(64, 48, 29);
    let trial = Trial::new(&weights, 2);
    for value in [0.0, -0.0, 5e-324, -1e-200, 1e-150] {
        let (found, predicted) = trial.run(&vec![vec![value; 64]; 2], 1e-30).unwrap();
        let largest = found.iter().flatten().fold(0.0f64, |m, y| m.max(y.abs()));
        assert!(largest <= predicted.six_sigma && predicted.six_sigma < 1e-130);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_shape_and_batch(d_in in 1usize..200, d_out in 1usize..90, batch in 1usize..300, seed: u64) {
        check(&dense(d_in, d_out, seed), &vectors(batch, d_in, seed ^ 1));
    }
}
