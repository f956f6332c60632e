//! Batches through a naive server: integers come back exact up to a bounded noise, and whatever
//! does not fit is refused.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use ckks::WireError;
use ckks::gemm::{
    AnswerBuffer, Epoch, GemmParameters, GemmRing, LOG_Q, MODULUS_MASK, MaskExpander,
    MaskProductsBuffer, UploadView, pack, round,
};
use ckks::simd::SimdLevel;
use ckks_secret::gemm::{
    BatchSecret, CachedMaskProducts, ExpectedProducts, GemmMasks, MESSAGE_LIMIT, encrypt,
};
use ckks_secret::{ERROR_TAIL, OsCsprng, SecretError, SeededCsprng};
use std::sync::Arc;

const N: usize = 2048;
const EPOCH: Epoch = Epoch(11);

fn parameters() -> GemmParameters {
    GemmParameters::named("gemm-2048").unwrap()
}

fn ring() -> Arc<GemmRing> {
    GemmRing::new(parameters()).unwrap()
}

/// A stream of 64-bit values (SplitMix64).
fn values(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// `d_out × d_in` integers of a few bits.
fn weights(d_in: usize, d_out: usize) -> Vec<Vec<i64>> {
    let mut next = values(5);
    (0..d_out)
        .map(|_| (0..d_in).map(|_| (next() % 31) as i64 - 15).collect())
        .collect()
}

/// Integers, so that rounding at random has nothing to choose.
fn integers(columns: usize, d_in: usize) -> Vec<Vec<f64>> {
    let mut next = values(6);
    (0..columns)
        .map(|_| (0..d_in).map(|_| (next() % 2001) as f64 - 1000.0).collect())
        .collect()
}

fn views(vectors: &[Vec<f64>]) -> Vec<&[f64]> {
    vectors.iter().map(Vec::as_slice).collect()
}

/// `Σ_j w_j·row_j mod 2^52`, rounded.
fn combine(weights: &[i64], rows: &[Vec<u64>], bits: u32) -> Vec<u64> {
    (0..rows[0].len())
        .map(|i| {
            let terms = weights.iter().zip(rows);
            let sum: i128 = terms.map(|(&w, r)| i128::from(w) * i128::from(r[i])).sum();
            round(sum.rem_euclid(1 << LOG_Q) as u64, bits)
        })
        .collect()
}

/// Rows of an upload, as integers below 2^52.
fn rows(upload: &[u8]) -> Vec<Vec<u64>> {
    let view = UploadView::parse(&parameters(), upload).unwrap();
    (0..view.features())
        .map(|j| {
            let mut row = vec![0; view.columns()];
            view.unpack(j, 0, &mut row);
            row
        })
        .collect()
}

fn answer(weights: &[Vec<i64>], upload: &[u8], bits: u32) -> Vec<u8> {
    let rows = rows(upload);
    let (outputs, columns) = (weights.len() as u32, rows[0].len() as u32);
    let mut buffer = AnswerBuffer::new(&parameters(), outputs, columns, bits).unwrap();
    for mut tile in buffer.tiles(2, 64) {
        for row in 0..tile.rows() {
            let product = combine(&weights[tile.first_row() + row], &rows, bits);
            tile.pack(row, &product[tile.first_column()..][..tile.columns()]);
        }
    }
    buffer.into_bytes()
}

fn mask_products(weights: &[Vec<i64>], epoch: Epoch, bits: u32) -> Vec<u8> {
    let expander = MaskExpander::new(&parameters(), epoch);
    let masks: Vec<Vec<u64>> = (0..weights[0].len())
        .map(|j| {
            let mut a = vec![0; N];
            expander.expand(j as u32, &mut a);
            a
        })
        .collect();
    let outputs = weights.len() as u32;
    let mut buffer = MaskProductsBuffer::new(&parameters(), epoch, outputs, bits).unwrap();
    let row_len = buffer.row_len();
    for (w, bytes) in weights
        .iter()
        .zip(buffer.rows_mut().chunks_exact_mut(row_len))
    {
        pack(&combine(w, &masks, bits), bits, bytes);
    }
    buffer.into_bytes()
}

fn expected(outputs: usize, bits: u32) -> ExpectedProducts {
    ExpectedProducts {
        epoch: EPOCH,
        outputs,
        bits,
    }
}

/// Encrypts, evaluates and decrypts; asserts that every output is within the largest noise there
/// can be of the exact integer product.
fn round_trip(ring: &Arc<GemmRing>, columns: usize, d_in: usize, d_out: usize, bits: (u32, u32)) {
    let (answer_bits, product_bits) = bits;
    let (weights, vectors) = (weights(d_in, d_out), integers(columns, d_in));
    let masks = GemmMasks::new(ring, EPOCH, d_in, columns).unwrap();
    let mut rng = SeededCsprng::insecure(1, 0);
    let scales = vec![1.0; columns];
    let (upload, secret) = encrypt(&masks, &views(&vectors), &scales, &mut rng).unwrap();
    assert_eq!(secret.columns(), columns);
    let products = mask_products(&weights, EPOCH, product_bits);
    let wanted = expected(d_out, product_bits);
    let products = CachedMaskProducts::new(ring, wanted, &products, columns).unwrap();
    let answer = answer(&weights, &upload, answer_bits);
    let decrypted = secret.decrypt(&products, answer_bits, &answer).unwrap();
    assert_eq!(decrypted.len(), d_out * columns);
    // Half a unit of b' and, for each coefficient of the secret, half a unit of W·A.
    let half = |bits: u32| (1i64 << (LOG_Q - bits)) / 2;
    let rounding = half(answer_bits) + N as i64 * half(product_bits);
    for (k, w) in weights.iter().enumerate() {
        let error: i64 = w.iter().map(|w| w.abs() * i64::from(ERROR_TAIL)).sum();
        for (i, x) in vectors.iter().enumerate() {
            let exact: i64 = w.iter().zip(x).map(|(&w, &x)| w * x as i64).sum();
            let found = decrypted[k * columns + i];
            assert!(
                (found - exact).abs() <= error + rounding,
                "output {k} of vector {i}: {found}, exactly {exact}"
            );
        }
    }
}

#[test]
fn products_come_back_for_all_sizes() {
    let ring = ring();
    for columns in [1, 2, 63, 64, 2047, 2048, 2049, 4100] {
        round_trip(&ring, columns, 3, 1, (52, 52));
        round_trip(&ring, columns, 1, 3, (52, 52));
    }
    for columns in [1, 64, 2049] {
        round_trip(&ring, columns, 576, 3, (52, 52));
        round_trip(&ring, columns, 3, 576, (40, 47));
        round_trip(&ring, columns, 9, 2, (24, 46));
    }
}

#[test]
fn products_come_back_on_every_level() {
    for level in SimdLevel::available() {
        let ring = GemmRing::with_level(parameters(), level).unwrap();
        for columns in [3, 100, 2051] {
            round_trip(&ring, columns, 17, 5, (52, 52));
            round_trip(&ring, columns, 17, 5, (35, 45));
        }
    }
}

fn encrypted(masks: &GemmMasks, vectors: &[Vec<f64>], seed: u64) -> (Vec<Vec<u64>>, BatchSecret) {
    let scales = vec![1.0; vectors.len()];
    let mut rng = SeededCsprng::insecure(seed, 0);
    let (upload, secret) = encrypt(masks, &views(vectors), &scales, &mut rng).unwrap();
    (rows(&upload), secret)
}

#[test]
fn no_two_batches_and_no_two_blocks_share_a_secret() {
    // More than one block of equal vectors, with room for direct and transformed products.
    for columns in [20, 2 * N] {
        let masks = GemmMasks::new(&ring(), EPOCH, 2, columns).unwrap();
        let vectors = vec![vec![7.0, -3.0]; columns];
        let mut rng = SeededCsprng::insecure(3, 0);
        let scales = vec![1.0; columns];
        let mut upload = || {
            let (upload, secret) = encrypt(&masks, &views(&vectors), &scales, &mut rng).unwrap();
            drop(secret);
            rows(&upload)
        };
        let (first, second) = (upload(), upload());
        // Under one secret the difference of equal messages would be two errors, at most 58. For
        // independent secrets it is uniform: within 58 of zero with probability 3e-14 for each of
        // at most 8,192 coefficients.
        let far = |a: u64, b: u64| {
            let difference = a.wrapping_sub(b) & MODULUS_MASK;
            difference.min((1 << LOG_Q) - difference) > 2 * ERROR_TAIL as u64
        };
        for (a, b) in first.iter().zip(&second) {
            assert!(a.iter().zip(b).all(|(&a, &b)| far(a, b)));
            if columns > N {
                let (a, b) = a.split_at(N);
                assert!(a.iter().zip(b).all(|(&a, &b)| far(a, b)));
            }
        }
    }
}

#[test]
fn bytes_follow_from_the_generator_whatever_the_threads() {
    let vectors = integers(2100, 37);
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let masks = GemmMasks::new(&ring(), EPOCH, 37, 2100).unwrap();
            encrypted(&masks, &vectors, 8).0
        })
    };
    let one = of(1);
    assert_eq!(one, of(3));
    // The form of the masks changes the work, not the result.
    let masks = GemmMasks::new(&ring(), EPOCH, 37, 1).unwrap();
    assert_eq!(one, encrypted(&masks, &vectors, 8).0);
    assert_ne!(one, encrypted(&masks, &vectors, 9).0);
}

/// Decrypts the upload itself: weights are the identity, nothing is rounded away.
fn through_identity(vectors: &[Vec<f64>], scale: f64, rng: &mut SeededCsprng) -> Vec<i64> {
    let d_in = vectors[0].len();
    let columns = vectors.len();
    let masks = GemmMasks::new(&ring(), EPOCH, d_in, columns).unwrap();
    let (upload, secret) = encrypt(&masks, &views(vectors), &vec![scale; columns], rng).unwrap();
    let identity: Vec<Vec<i64>> = (0..d_in)
        .map(|k| (0..d_in).map(|j| i64::from(j == k)).collect())
        .collect();
    let products = mask_products(&identity, EPOCH, 52);
    let products = CachedMaskProducts::new(&ring(), expected(d_in, 52), &products, columns);
    let answer = answer(&identity, &upload, 52);
    secret.decrypt(&products.unwrap(), 52, &answer).unwrap()
}

#[test]
fn noise_has_the_variance_of_error_and_random_rounding_and_no_mean() {
    let (columns, d_in) = (4096, 16);
    let mut next = values(77);
    // Multiples of 2^-20: products with the scale are exact, fractions are uniform.
    let vectors: Vec<Vec<f64>> = (0..columns)
        .map(|_| {
            let value = |_| (next() % (1 << 30)) as f64 / 1_048_576.0 - 512.0;
            (0..d_in).map(value).collect()
        })
        .collect();
    let found = through_identity(&vectors, 1.0, &mut SeededCsprng::insecure(21, 0));
    let count = (columns * d_in) as f64;
    let noise = |k: usize, i: usize| found[k * columns + i] as f64 - vectors[i][k];
    let pairs = || (0..d_in).flat_map(|k| (0..columns).map(move |i| (k, i)));
    let mean = pairs().map(|(k, i)| noise(k, i)).sum::<f64>() / count;
    let variance = pairs().map(|(k, i)| noise(k, i).powi(2)).sum::<f64>() / count;
    // A fraction f rounded at random has variance f(1-f), 1/6 on average; errors σ² = 10.1761.
    let expected = 3.19 * 3.19 + 1.0 / 6.0;
    // 65,536 samples: the mean has a deviation of 0.0126, the variance (kurtosis of about 3) one of
    // sqrt(2/65536) = 0.55 %. Six of them: probability below 2e-9 each, and the seed is fixed.
    // Without the 1/6 the variance would be off by 1.6 %, without random rounding by 0.8 %.
    assert!(mean.abs() < 6.0 * (expected / count).sqrt(), "{mean}");
    let relative = (variance / expected - 1.0).abs();
    assert!(relative < 6.0 * (2.0 / count).sqrt(), "{variance}");
}

#[test]
fn rounding_up_has_the_probability_of_the_fraction() {
    // The mean of many copies of one value: rounding to the nearest would be off by the fraction.
    for (value, scale) in [(0.25, 1.0), (-0.25, 1.0), (-1000.875, 1.0), (0.375, 3.0)] {
        let vectors = vec![vec![value; 16]; 4096];
        let found = through_identity(&vectors, scale, &mut SeededCsprng::insecure(22, 0));
        let count = found.len() as f64;
        let mean = found.iter().map(|&v| v as f64).sum::<f64>() / count;
        // Deviation of the mean of 65,536 samples with variance at most 10.43: 0.0126; 6 of them.
        assert!((mean - value * scale).abs() < 0.076, "{value}: {mean}");
    }
}

#[test]
fn values_at_the_limit_come_back_and_beyond_are_refused() {
    let top = MESSAGE_LIMIT - 1.0;
    let vectors = vec![vec![top, -top, 0.0, -0.0]];
    let found = through_identity(&vectors, 1.0, &mut SeededCsprng::insecure(23, 0));
    for (found, value) in found.iter().zip(&vectors[0]) {
        assert!(
            (found - *value as i64).abs() <= i64::from(ERROR_TAIL),
            "{found} {value}"
        );
    }
    let masks = GemmMasks::new(&ring(), EPOCH, 2, 3).unwrap();
    let refused = |bad: f64, scale: f64| {
        let vectors: [&[f64]; 3] = [&[1.0, 2.0], &[0.0, bad], &[f64::NAN, 0.0]];
        let mut rng = OsCsprng::new().unwrap();
        encrypt(&masks, &vectors, &[1.0, scale, 1.0], &mut rng).unwrap_err()
    };
    for (bad, scale) in [(MESSAGE_LIMIT, 1.0), (-MESSAGE_LIMIT, 1.0), (1e300, 1e300)] {
        let error = refused(bad, scale);
        assert!(
            matches!(
                error,
                SecretError::TooLarge {
                    vector: 1,
                    index: 1,
                    ..
                }
            ),
            "{error}"
        );
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = refused(bad, 1.0);
        assert!(
            matches!(
                error,
                SecretError::NotFinite {
                    vector: 1,
                    index: 1,
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("vector 1"));
    }
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            refused(0.5, scale),
            SecretError::Scale { vector: 1, .. }
        ));
    }
}

#[test]
fn batches_of_another_shape_are_refused() {
    let masks = GemmMasks::new(&ring(), EPOCH, 2, 3).unwrap();
    let refused = |vectors: &[&[f64]], scales: &[f64]| {
        encrypt(&masks, vectors, scales, &mut OsCsprng::new().unwrap()).unwrap_err()
    };
    assert!(matches!(
        refused(&[], &[]),
        SecretError::Wire(WireError::GemmSize { value: 0, .. })
    ));
    let too_many = vec![&[][..]; (1 << 20) + 1];
    assert!(matches!(
        refused(&too_many, &[]),
        SecretError::Wire(WireError::GemmSize {
            value: 1_048_577,
            ..
        })
    ));
    let count = |expected, found| move |e: &SecretError| matches!(e, SecretError::Count { expected: a, found: b, .. } if (*a, *b) == (expected, found));
    assert!(count(1, 2)(&refused(&[&[1.0, 2.0]], &[1.0, 1.0])));
    assert!(count(2, 3)(&refused(&[&[1.0, 2.0, 3.0]], &[1.0])));
    assert!(count(2, 0)(&refused(&[&[]], &[1.0])));
    for features in [0, 262_145, usize::MAX] {
        assert!(matches!(
            GemmMasks::new(&ring(), EPOCH, features, 1).unwrap_err(),
            SecretError::Wire(WireError::GemmSize { .. })
        ));
    }
}

#[test]
fn answers_and_products_that_were_not_asked_for_are_refused() {
    let ring = ring();
    let weights = weights(3, 2);
    let masks = GemmMasks::new(&ring, EPOCH, 3, 5).unwrap();
    let upload_of = |columns: usize| {
        let vectors = integers(columns, 3);
        let mut rng = SeededCsprng::insecure(4, 0);
        encrypt(&masks, &views(&vectors), &vec![1.0; columns], &mut rng).unwrap()
    };
    let cached = |epoch, outputs: usize, bits, message: &[u8]| {
        let wanted = ExpectedProducts {
            epoch,
            outputs,
            bits,
        };
        CachedMaskProducts::new(&ring, wanted, message, 5)
    };
    let message = mask_products(&weights, EPOCH, 40);
    let is_count = |error: SecretError, word: &str| {
        assert!(matches!(error, SecretError::Count { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    };
    is_count(cached(Epoch(12), 2, 40, &message).unwrap_err(), "epoch");
    is_count(cached(EPOCH, 3, 40, &message).unwrap_err(), "outputs");
    is_count(cached(EPOCH, 2, 41, &message).unwrap_err(), "bits");
    let mut other_digest = message.clone();
    other_digest[20] ^= 1;
    assert!(matches!(
        cached(EPOCH, 2, 40, &other_digest).unwrap_err(),
        SecretError::Wire(WireError::ContextMismatch { .. })
    ));
    let products = cached(EPOCH, 2, 40, &message).unwrap();
    let (upload, secret) = upload_of(5);
    let good = answer(&weights, &upload, 30);
    assert!(secret.decrypt(&products, 30, &good).is_ok());
    let refused = |products: &CachedMaskProducts, bits: u32, bytes: &[u8]| {
        upload_of(5).1.decrypt(products, bits, bytes).unwrap_err()
    };
    is_count(refused(&products, 31, &good), "bits");
    is_count(
        refused(&products, 30, &answer(&weights[..1], &upload, 30)),
        "outputs",
    );
    is_count(
        refused(&products, 30, &answer(&weights, &upload_of(6).0, 30)),
        "columns",
    );
    let other = mask_products(&weights, Epoch(12), 40);
    let other = cached(Epoch(12), 2, 40, &other).unwrap();
    is_count(refused(&other, 30, &good), "epoch");
    for len in 0..good.len() {
        assert!(matches!(
            refused(&products, 30, &good[..len]),
            SecretError::Wire(_)
        ));
    }
    let mut padded = good.clone();
    *padded.last_mut().unwrap() |= 0x80;
    assert!(matches!(
        refused(&products, 30, &padded),
        SecretError::Wire(WireError::NotZero { .. })
    ));
    assert!(matches!(
        refused(&products, 30, &upload),
        SecretError::Wire(_)
    ));
}

#[test]
fn secrets_do_not_print() {
    let masks = GemmMasks::new(&ring(), EPOCH, 1, 1).unwrap();
    let (_, secret) = encrypted(&masks, &[vec![1.0]], 1);
    assert_eq!(format!("{secret:?}"), "BatchSecret(…)");
}
