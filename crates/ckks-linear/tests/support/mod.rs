//! One whole trial, client and server, against float64.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, reason = "shared by the test files of this crate")]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use ckks::automorphism::GaloisElement;
use ckks::rounding::DEFAULT_ANSWER_BITS;
use ckks::{Ciphertext, Context, GaloisKey, GaloisKeys};
use ckks_linear::client::{GroupScale, LayerClient};
use ckks_linear::error::LinearError;
use ckks_linear::evaluate::Query;
use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::planner::{PlanOptions, plan};
use ckks_linear::prepared::PreparedLayer;
use ckks_linear::shape::{Folding, LayerShape};
use ckks_secret::{MaskSource, SecretKey, SeededCsprng};
use std::sync::{Arc, OnceLock};
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

/// The default parameter set, N = 4096.
pub fn context() -> Arc<Context> {
    static CONTEXT: OnceLock<Arc<Context>> = OnceLock::new();
    Arc::clone(CONTEXT.get_or_init(|| Context::named("diagonal-4096").unwrap()))
}

/// Weights `W[j, k] = entry(j, k)` for input j and output k.
pub fn matrix(d_in: usize, d_out: usize, entry: impl Fn(usize, usize) -> f64) -> WeightMatrix {
    let data = (0..d_out)
        .flat_map(|k| (0..d_in).map(move |j| (j, k)))
        .map(|(j, k)| entry(j, k) as f32)
        .collect();
    WeightMatrix::from_output_major(d_in, d_out, data).unwrap()
}

/// The cheapest plan at 2048 slots for one vector.
pub fn best(d_in: usize, d_out: usize) -> Plan {
    plan_with(PlanKind::Diagonal, (d_in, d_out), 1, None, None)
}

/// The cheapest plan at 2048 slots under the given choices.
pub fn plan_with(
    kind: PlanKind,
    (d_in, d_out): (usize, usize),
    batch: usize,
    folding: Option<Folding>,
    baby_steps: Option<usize>,
) -> Plan {
    let options = PlanOptions {
        baby_steps,
        folding,
        ..PlanOptions::default()
    };
    plan(
        kind,
        LayerShape::new(d_in, d_out).unwrap(),
        2048,
        batch,
        &options,
    )
    .unwrap()
}

/// Largest `|y|`, at least 1: what a relative gate is relative to.
pub fn magnitude(weights: &WeightMatrix, batch: &[Vec<f64>]) -> f64 {
    let outputs = batch.iter().flat_map(|x| product(weights, x));
    outputs.fold(1.0, |most, y| most.max(y.abs()))
}

/// What a trial gave, and what was predicted for it.
#[derive(Debug)]
pub struct Outcome {
    pub found: Vec<Vec<f64>>,
    /// Root mean square over all groups.
    pub rms: f64,
    /// Largest over all groups.
    pub six_sigma: f64,
}

/// Runs a batch and holds it to the prediction; returns the largest error.
///
/// * No error beyond 9σ: probability 2e-19 for each output, with half as much again for the model.
/// * The rms at most 1.5 times the predicted one, widened for few outputs by the tail of χ² (Laurent
///   and Massart, 2000): `P(χ²_k/k > 1 + 2√(t/k) + 2t/k) ≤ exp(-t)`, t = 20: 2e-9. It supposes
///   independent errors, so it holds for dense weights only.
pub fn check_dense(trial: &mut Trial, weights: &WeightMatrix, batch: &[Vec<f64>]) -> f64 {
    let outcome = trial.run_within(batch, 1e-4).unwrap();
    let (worst, rms) = errors(weights, batch, &outcome.found);
    let shape = trial.client.manifest().plan.shape();
    let what = trial.client.manifest().plan.describe();
    assert!(
        worst <= 1.5 * outcome.six_sigma,
        "{shape} {what}: {worst:.2e} beyond 9 sigma, {outcome:?}"
    );
    let outputs = (batch.len() * weights.d_out()) as f64;
    let ratio = 20.0 / outputs;
    let widened = 1.5 * (1.0 + 2.0 * ratio.sqrt() + 2.0 * ratio).sqrt();
    let factor = if outputs >= 512.0 { 1.5 } else { widened };
    assert!(
        rms <= factor * outcome.rms,
        "{shape} {what}: rms {rms:.2e}, predicted {:.2e}",
        outcome.rms
    );
    worst
}

/// Whether the layer answered. Refusals must be one of the two that name the magnitudes. Answers
/// must be right, or announced as coarse: the gate is relative to a bound of max|y|, and where
/// terms cancel only the prediction can tell the caller. Anything else fails: a panic, or an error
/// without a word.
pub fn right_or_refused(weights: &WeightMatrix, x: Vec<f64>, what: &str) -> bool {
    let context = context();
    let plan = best(weights.d_in(), weights.d_out());
    let prepared = PreparedLayer::prepare(&context, plan.clone(), weights, 40, &|_| ());
    match prepared {
        Ok(_) => {}
        Err(LinearError::Magnitude { .. }) => return false,
        Err(error) => panic!("{what}: {error}"),
    }
    let mut trial = Trial::new(&context, plan, weights);
    let batch = vec![x];
    match trial.run_within(&batch, 1e-4) {
        Ok(outcome) => {
            let limit = 1e-4 * magnitude(weights, &batch);
            let (worst, _) = errors(weights, &batch, &outcome.found);
            assert!(
                worst <= limit || (outcome.six_sigma > limit && worst <= 1.5 * outcome.six_sigma),
                "{what}: silently wrong, {worst:e} > {limit:e}, predicted {:e}",
                outcome.six_sigma
            );
            true
        }
        Err(LinearError::Magnitude { .. } | LinearError::PredictedError { .. }) => false,
        Err(error) => panic!("{what}: {error}"),
    }
}

/// `W` times a number.
pub fn scaled(weights: &WeightMatrix, factor: f64) -> WeightMatrix {
    let data = weights
        .data()
        .iter()
        .map(|&w| (f64::from(w) * factor) as f32)
        .collect();
    WeightMatrix::from_output_major(weights.d_in(), weights.d_out(), data).unwrap()
}

pub struct Trial {
    pub context: Arc<Context>,
    pub answer_bits: u32,
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
        Self::with_answer_bits(context, plan, weights, seed, DEFAULT_ANSWER_BITS)
    }

    pub fn with_answer_bits(
        context: &Arc<Context>,
        plan: Plan,
        weights: &WeightMatrix,
        seed: u64,
        answer_bits: u32,
    ) -> Self {
        let context = Arc::clone(context);
        let mut rng = SeededCsprng::insecure(seed, 0);
        let secret = SecretKey::generate(&context, &mut rng);
        let elements: Vec<_> = plan
            .rotation_steps()
            .into_iter()
            .map(|s| GaloisElement::rotation(s, context.degree()))
            .collect();
        let seeded = secret.galois_keys(&context, &elements, &mut rng).unwrap();
        let keys: GaloisKeys = GaloisKey::expand_all(&context, &seeded)
            .unwrap()
            .into_iter()
            .collect();
        let masks = MaskSource::new(&mut rng);
        let layer = PreparedLayer::prepare(&context, plan, weights, answer_bits, &|_| ()).unwrap();
        let client = LayerClient::new(&context, layer.manifest().clone(), answer_bits).unwrap();
        Self {
            context,
            answer_bits,
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
        self.encrypt_within(group, 1e-4)
    }

    pub fn encrypt_within(
        &mut self,
        group: &[&[f64]],
        gate: f64,
    ) -> Result<(Vec<Ciphertext>, GroupScale), LinearError> {
        let encoded = self.client.encode(&self.context, group, gate, true)?;
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
                let answer = self.context.round_answer(c, self.answer_bits).unwrap();
                self.secret.decrypt_answer(&self.context, &answer).unwrap()
            })
            .collect();
        self.client
            .decode(&self.context, scale, &coefficients)
            .unwrap()
    }

    /// Encrypts, evaluates and decrypts a batch; returns the vectors and the predicted rms.
    pub fn run(&mut self, batch: &[Vec<f64>]) -> Result<(Vec<Vec<f64>>, f64), LinearError> {
        let outcome = self.run_within(batch, 1e-4)?;
        Ok((outcome.found, outcome.rms))
    }

    /// Encrypts, evaluates and decrypts a batch under a relative gate.
    pub fn run_within(&mut self, batch: &[Vec<f64>], gate: f64) -> Result<Outcome, LinearError> {
        let size = self.client.manifest().plan.folding().vectors_per_group();
        let groups: Vec<_> = batch
            .chunks(size)
            .map(|group| {
                let group: Vec<&[f64]> = group.iter().map(Vec::as_slice).collect();
                self.encrypt_within(&group, gate)
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
        let (mut found, mut energy, mut six_sigma) = (Vec::new(), 0.0, 0.0f64);
        for (outputs, (_, scale)) in outputs.iter().zip(&groups) {
            found.extend(self.decrypt(outputs, scale));
            let predicted = self.client.predict(scale);
            energy += predicted.rms * predicted.rms;
            six_sigma = six_sigma.max(predicted.six_sigma);
        }
        Ok(Outcome {
            found,
            rms: (energy / groups.len() as f64).sqrt(),
            six_sigma,
        })
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
