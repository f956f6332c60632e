//! Encryption, homomorphic operations and decryption against plain complex arithmetic.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use ckks::automorphism::GaloisElement;
use ckks::modulus::ntt_primes;
use ckks::{CkksError, Complex64, Context, GaloisKey, GaloisKeys, Parameters};
use ckks_secret::{MaskSource, SecretKey, SeededCsprng};
use std::sync::Arc;

fn slots(count: usize, salt: f64) -> Vec<Complex64> {
    (0..count)
        .map(|j| Complex64::new((j as f64 + salt).sin(), (3.0 * j as f64 - salt).cos()))
        .collect()
}

fn decode(context: &Context, coefficients: &[i64], scale: f64) -> Vec<Complex64> {
    let real: Vec<f64> = coefficients.iter().map(|&c| c as f64).collect();
    context.encoder().evaluate(&real, scale).unwrap()
}

fn assert_close(found: &[Complex64], expected: &[Complex64], tolerance: f64) {
    let worst = found
        .iter()
        .zip(expected)
        .map(|(a, b)| (a - b).norm())
        .fold(0.0, f64::max);
    assert!(
        worst <= tolerance,
        "worst error {worst:.3e}, tolerance {tolerance:.3e}"
    );
}

struct Setup {
    context: Arc<Context>,
    rng: SeededCsprng,
    secret: SecretKey,
    masks: MaskSource,
}

fn setup(context: Arc<Context>) -> Setup {
    let mut rng = SeededCsprng::insecure(1, 0);
    let secret = SecretKey::generate(&context, &mut rng);
    let masks = MaskSource::new(&mut rng);
    Setup {
        context,
        rng,
        secret,
        masks,
    }
}

impl Setup {
    fn encrypt(&mut self, z: &[Complex64], scale: f64) -> ckks::Ciphertext {
        let plain = self.context.encode(z, scale).unwrap();
        let mask = self.masks.take().unwrap();
        let seeded = self
            .secret
            .encrypt(&self.context, &plain, mask, &mut self.rng)
            .unwrap();
        seeded.expand(&self.context).unwrap()
    }

    fn keys(&mut self, elements: &[GaloisElement]) -> GaloisKeys {
        self.secret
            .galois_keys(&self.context, elements, &mut self.rng)
            .unwrap()
            .iter()
            .map(|k| GaloisKey::expand(&self.context, k).unwrap())
            .collect()
    }
}

fn sets() -> Vec<Parameters> {
    // The default, the larger set, and the smallest that the security table admits.
    let small = ntt_primes(26, 2048, 1).unwrap();
    let small_p = ntt_primes(27, 2048, 1).unwrap()[0];
    vec![
        Parameters::named("diagonal-4096").unwrap(),
        Parameters::named("diagonal-8192").unwrap(),
        Parameters::new("smallest with rotations", 2048, &small, Some(small_p)).unwrap(),
    ]
}

#[test]
fn rotations_conjugation_sums_and_products() {
    for set in sets() {
        let wide = set.q().len() == 2;
        let n = set.slots();
        let mut s = setup(Context::new(set).unwrap());
        let context = Arc::clone(&s.context);
        let degree = context.degree();
        // Key switching leaves sigma = sqrt(N·V)/scale on a slot, V about 670 (N = 4096) or 1,350
        // (N = 8192): 8 sigmas at the larger ring are 2.5e-5.
        let (log_scale, tolerance) = if wide { (30, 2.5e-5) } else { (20, 0.05) };
        let scale = (1u64 << log_scale) as f64;
        let (x, y) = (slots(n, 0.3), slots(n, 1.7));
        let (cx, cy) = (s.encrypt(&x, scale), s.encrypt(&y, scale));
        let steps = [0, 1, -1, 3, -3, 17, n as i64 - 1, n as i64 / 2];
        let mut elements: Vec<_> = steps
            .iter()
            .map(|&r| GaloisElement::rotation(r, degree))
            .collect();
        elements.push(GaloisElement::conjugation(degree));
        let keys = s.keys(&elements);
        let open = |c: &ckks::Ciphertext, scale| {
            decode(&context, &s.secret.decrypt(&context, c).unwrap(), scale)
        };
        let before = cx.clone();
        let hoisted = context.rotate_hoisted(&cx, &steps, &keys).unwrap();
        for (step, rotated) in steps.into_iter().zip(&hoisted) {
            let expected: Vec<_> = (0..n)
                .map(|j| x[(j as i64 + step).rem_euclid(n as i64) as usize])
                .collect();
            assert_close(&open(rotated, scale), &expected, tolerance);
            assert_eq!(&context.rotate(&cx, step, &keys).unwrap(), rotated);
        }
        let conjugated: Vec<_> = x.iter().map(|v| v.conj()).collect();
        assert_close(
            &open(&context.conjugate(&cx, &keys).unwrap(), scale),
            &conjugated,
            tolerance,
        );
        let sum: Vec<_> = x.iter().zip(&y).map(|(a, b)| a + b).collect();
        assert_close(
            &open(&context.add(&cx, &cy).unwrap(), scale),
            &sum,
            tolerance,
        );
        let difference: Vec<_> = x.iter().zip(&y).map(|(a, b)| a - b).collect();
        assert_close(
            &open(&context.sub(&cx, &cy).unwrap(), scale),
            &difference,
            tolerance,
        );
        if wide {
            let plain = context.encode(&y, (1u64 << 24) as f64).unwrap();
            let product: Vec<_> = x.iter().zip(&y).map(|(a, b)| a * b).collect();
            let opened = open(
                &context.mul_plain(&cx, &plain).unwrap(),
                scale * (1u64 << 24) as f64,
            );
            assert_close(&opened, &product, 1e-4);
        }
        assert_eq!(before, cx, "evaluation must not change its inputs");
    }
}

#[test]
fn answers_of_every_length_decrypt() {
    for set in sets() {
        let n = set.slots();
        let log_q = set.q_product().ilog2();
        let mut s = setup(Context::new(set).unwrap());
        let context = Arc::clone(&s.context);
        let z = slots(n, 0.9);
        let log_scale = log_q - 6;
        let ciphertext = s.encrypt(&z, (1u64 << log_scale) as f64);
        for bits in [16, 20, 25, 32, 40, 48, 57]
            .into_iter()
            .filter(|&b| b < log_q)
        {
            let answer = context.round_answer(&ciphertext, bits).unwrap();
            let opened = s.secret.decrypt_answer(&context, &answer).unwrap();
            let q = context.parameters().q_product() as f64;
            let scale = (1u64 << log_scale) as f64 * (1u64 << bits) as f64 / q;
            // Rounding noise: variance (1 + 2N/3)/12 on each coefficient, N times that on a slot;
            // 8 sigmas fail with probability below 1e-14 for each of the slots.
            let degree = 2.0 * n as f64;
            let rounding = (degree * (1.0 + 2.0 * degree / 3.0) / 12.0).sqrt() / scale;
            let fresh = (degree * 10.3).sqrt() / (1u64 << log_scale) as f64;
            assert_close(
                &decode(&context, &opened, scale),
                &z,
                8.0 * (rounding + fresh),
            );
        }
    }
}

#[test]
fn fresh_noise_has_the_variance_of_the_errors() {
    let mut s = setup(Context::named("diagonal-4096").unwrap());
    let zero = vec![Complex64::ZERO; 2048];
    let mut energy = 0.0;
    for _ in 0..8 {
        let ciphertext = s.encrypt(&zero, 1.0);
        let e = s.secret.decrypt(&s.context, &ciphertext).unwrap();
        assert!(
            e.iter()
                .all(|&v| v.abs() <= i64::from(ckks_secret::ERROR_TAIL))
        );
        energy += e.iter().map(|&v| (v * v) as f64).sum::<f64>();
    }
    let sigma = (energy / (8.0 * 4096.0)).sqrt();
    assert!((sigma - 3.19).abs() < 0.06, "{sigma}");
}

#[test]
fn missing_keys_and_foreign_contexts_are_named() {
    let mut s = setup(Context::named("diagonal-4096").unwrap());
    let z = slots(8, 0.0);
    let c = s.encrypt(&z, 1e9);
    let keys = s.keys(&[GaloisElement::rotation(1, 4096)]);
    assert_eq!(keys.len(), 1);
    let error = s.context.rotate(&c, 5, &keys).unwrap_err();
    assert!(matches!(error, CkksError::MissingGaloisKey { .. }));
    assert!(error.to_string().contains("rotation by 5"), "{error}");
    let error = s.context.conjugate(&c, &keys).unwrap_err();
    assert!(error.to_string().contains("conjugation"), "{error}");
    let other = Context::named("diagonal-8192").unwrap();
    assert!(s.secret.decrypt(&other, &c).is_err());
    let plain = s.context.encode(&z, 1.0).unwrap();
    let mask = s.masks.take().unwrap();
    assert!(s.secret.encrypt(&other, &plain, mask, &mut s.rng).is_err());
}

#[test]
fn smallest_ring_without_key_switching() {
    let q = ntt_primes(25, 1024, 1).unwrap();
    let set = Parameters::new("smallest", 1024, &q, None).unwrap();
    let mut s = setup(Context::new(set).unwrap());
    let one = vec![Complex64::new(1.0, 0.0); 512];
    let c = s.encrypt(&one, (1 << 20) as f64);
    let opened = s.secret.decrypt(&s.context, &c).unwrap();
    assert_close(&decode(&s.context, &opened, (1 << 20) as f64), &one, 1e-3);
    let keys = GaloisKeys::default();
    assert!(s.context.rotate(&c, 1, &keys).is_err());
    let element = [GaloisElement::rotation(1, 1024)];
    assert!(
        s.secret
            .galois_keys(&s.context, &element, &mut s.rng)
            .is_err()
    );
}

#[test]
fn secrets_do_not_print() {
    let s = setup(Context::named("diagonal-4096").unwrap());
    assert_eq!(format!("{:?}", s.secret), "SecretKey(…)");
}
