//! One whole trial, client and server, against float64.
#![allow(dead_code, reason = "each test file uses its own part")]

use ckks::automorphism::GaloisElement;
use ckks::rounding::DEFAULT_ANSWER_BITS;
use ckks::{Ciphertext, Context, GaloisKey, GaloisKeys};
use ckks_linear::client::{GroupScale, LayerClient};
use ckks_linear::error::LinearError;
use ckks_linear::evaluate::Query;
use ckks_linear::plan::Plan;
use ckks_linear::prepared::PreparedLayer;
use ckks_secret::{MaskSource, SecretKey, SeededCsprng};
use std::sync::Arc;
use tensor_io::WeightMatrix;

/// A fixed pseudo-random walk in -1..1.
pub fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64) / (1u64 << 52) as f64 - 1.0
    }
}

/// Weights uniform in ±1/√d_in.
pub fn dense(d_in: usize, d_out: usize, seed: u64) -> WeightMatrix {
    let mut next = uniform(seed);
    let bound = 1.0 / (d_in as f64).sqrt();
    let data = (0..d_in * d_out).map(|_| (next() * bound) as f32).collect();
    WeightMatrix::from_output_major(d_in, d_out, data).unwrap()
}

pub fn vectors(count: usize, width: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut next = uniform(seed);
    (0..count)
        .map(|_| (0..width).map(|_| next()).collect())
        .collect()
}

/// `y = xW` in float64.
pub fn product(weights: &WeightMatrix, x: &[f64]) -> Vec<f64> {
    (0..weights.d_out())
        .map(|k| {
            weights
                .row(k)
                .iter()
                .zip(x)
                .map(|(&w, &x)| f64::from(w) * x)
                .sum()
        })
        .collect()
}

pub struct Trial {
    pub context: Arc<Context>,
    pub rng: SeededCsprng,
    pub secret: SecretKey,
    pub keys: GaloisKeys,
    pub masks: MaskSource,
    pub layer: PreparedLayer,
    pub client: LayerClient,
}

impl Trial {
    pub fn new(context: &Arc<Context>, plan: Plan, weights: &WeightMatrix) -> Self {
        Self::with_seed(context, plan, weights, 7)
    }

    pub fn with_seed(
        context: &Arc<Context>,
        plan: Plan,
        weights: &WeightMatrix,
        seed: u64,
    ) -> Self {
        let context = Arc::clone(context);
        let mut rng = SeededCsprng::insecure(seed, 0);
        let secret = SecretKey::generate(&context, &mut rng);
        let elements: Vec<_> = plan
            .rotation_steps()
            .into_iter()
            .map(|s| GaloisElement::rotation(s, context.degree()))
            .collect();
        let keys: GaloisKeys = secret
            .galois_keys(&context, &elements, &mut rng)
            .unwrap()
            .iter()
            .map(|k| GaloisKey::expand(&context, k).unwrap())
            .collect();
        let masks = MaskSource::new(&mut rng);
        let layer =
            PreparedLayer::prepare(&context, plan, weights, DEFAULT_ANSWER_BITS, &|_| ()).unwrap();
        let client =
            LayerClient::new(&context, layer.manifest().clone(), DEFAULT_ANSWER_BITS).unwrap();
        Self {
            context,
            rng,
            secret,
            keys,
            masks,
            layer,
            client,
        }
    }

    pub fn encrypt(
        &mut self,
        group: &[&[f64]],
    ) -> Result<(Vec<Ciphertext>, GroupScale), LinearError> {
        let encoded = self.client.encode(&self.context, group, 1e-4, true)?;
        let ciphertexts = encoded
            .plaintexts
            .iter()
            .map(|plain| {
                let mask = self.masks.take().unwrap();
                let seeded = self
                    .secret
                    .encrypt(&self.context, plain, mask, &mut self.rng)
                    .unwrap();
                seeded.expand(&self.context).unwrap()
            })
            .collect();
        Ok((ciphertexts, encoded.scale))
    }

    pub fn decrypt(&self, outputs: &[Ciphertext], scale: &GroupScale) -> Vec<Vec<f64>> {
        let coefficients: Vec<_> = outputs
            .iter()
            .map(|c| {
                let answer = self.context.round_answer(c, DEFAULT_ANSWER_BITS).unwrap();
                self.secret.decrypt_answer(&self.context, &answer).unwrap()
            })
            .collect();
        self.client
            .decode(&self.context, scale, &coefficients)
            .unwrap()
    }

    /// Encrypts, evaluates and decrypts a batch; returns the vectors and the predicted rms.
    pub fn run(&mut self, batch: &[Vec<f64>]) -> Result<(Vec<Vec<f64>>, f64), LinearError> {
        let size = self.client.manifest().plan.folding().vectors_per_group();
        let groups: Vec<_> = batch
            .chunks(size)
            .map(|group| {
                let group: Vec<&[f64]> = group.iter().map(Vec::as_slice).collect();
                self.encrypt(&group)
            })
            .collect::<Result<_, _>>()?;
        let queries: Vec<_> = groups
            .iter()
            .map(|(inputs, _)| Query {
                keys: &self.keys,
                inputs,
            })
            .collect();
        let (outputs, _) = self.layer.evaluate(&self.context, &queries)?;
        let mut found = Vec::new();
        let mut predicted = 0.0f64;
        for (outputs, (_, scale)) in outputs.iter().zip(&groups) {
            found.extend(self.decrypt(outputs, scale));
            predicted = predicted.max(self.client.predict(scale).rms);
        }
        Ok((found, predicted))
    }
}

/// `(max abs error, rms error)` of found against `y = xW`.
pub fn errors(weights: &WeightMatrix, batch: &[Vec<f64>], found: &[Vec<f64>]) -> (f64, f64) {
    assert_eq!(batch.len(), found.len());
    let (mut worst, mut energy, mut count) = (0.0f64, 0.0, 0);
    for (x, y) in batch.iter().zip(found) {
        let expected = product(weights, x);
        assert_eq!(expected.len(), y.len());
        for (a, b) in expected.iter().zip(y) {
            let d = (a - b).abs();
            assert!(d.is_finite());
            worst = worst.max(d);
            energy += d * d;
            count += 1;
        }
    }
    (worst, (energy / f64::from(count)).sqrt())
}
