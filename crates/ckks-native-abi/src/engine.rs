//! A context: parameters, both parties' keys, a layer, a batch, answers.

use crate::evaluate::evaluate;
use crate::failure::{Failure, refuse};
use crate::spec::{self, PARAMETERS};
use ckks::automorphism::GaloisElement;
use ckks::modulus::Modulus;
use ckks::security::ERROR_SIGMA;
use ckks::wire::{ciphertexts_len, galois_keys_len, seeded_ciphertexts_len};
use ckks::{Ciphertext, Complex64, Context, GaloisKey, GaloisKeys, RnsPoly};
use ckks_abi::{KeyReport, PrepareReport, Program, Status, Transfer};
use ckks_secret::{MaskSource, OsCsprng, SecretKey};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// log2 of the scale of inputs, half a bit below the best for a layer of 2048 → 2048 and data as
/// in the benchmark: room for larger answers, at √2 times its error.
const LOG_INPUT_SCALE: f64 = 28.0;
/// log2 of the scale of weights, likewise.
const LOG_WEIGHT_SCALE: f64 = 27.0;
/// Share of Q/2 that answers may fill; the rest is for noise.
const HEADROOM: f64 = 0.98;

/// Everything of one opened library.
#[derive(Debug)]
pub(crate) struct Engine {
    context: Arc<Context>,
    pool: ThreadPool,
    rng: OsCsprng,
    keys: Option<Keys>,
    layer: Option<Layer>,
    batch: Vec<Ciphertext>,
    answers: Option<Vec<Ciphertext>>,
}

#[derive(Debug)]
struct Keys {
    secret: SecretKey,
    masks: MaskSource,
    galois: GaloisKeys,
    steps: BTreeSet<u32>,
}

#[derive(Debug)]
struct Layer {
    program: Program,
    /// Those that have come.
    diagonals: Vec<RnsPoly>,
    ended: bool,
}

/// The library, as `ckks_backend_info` describes it.
pub(crate) fn info() -> String {
    json!({
        "name": "native",
        "version": env!("CARGO_PKG_VERSION"),
        "commit": null,
        "presets": [PARAMETERS],
        "modes": [],
    })
    .to_string()
}

/// The one device.
pub(crate) fn probe() -> String {
    json!({"devices": [{"name": "cpu", "memory_bytes": 0}], "driver": null}).to_string()
}

impl Engine {
    pub(crate) fn open(spec: &[u8]) -> Result<Self, Failure> {
        let threads = spec::threads(spec)?;
        let context = Context::named(PARAMETERS)
            .map_err(|error| Failure::new(Status::LibraryError, error.to_string()))?;
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| {
            refuse(format!(
                "{threads} threads could not be started ({error}); give fewer"
            ))
        })?;
        Ok(Self {
            context,
            pool,
            rng: OsCsprng::new()?,
            keys: None,
            layer: None,
            batch: Vec::new(),
            answers: None,
        })
    }

    pub(crate) fn describe(&self) -> String {
        let parameters = self.context.parameters();
        let primes =
            |moduli: &[Modulus]| -> Vec<u32> { moduli.iter().map(|q| q.value()).collect() };
        let half = parameters.q_product() as f64 / 2.0;
        let largest = HEADROOM * half / (LOG_INPUT_SCALE + LOG_WEIGHT_SCALE).exp2();
        json!({
            "device": "cpu",
            "kernels": format!("single operations, {}", self.context.level().name()),
            "slots": parameters.slots(),
            "slot_kind": "complex",
            "parameters": {
                "name": parameters.name(),
                "ring_degree": parameters.ring_degree(),
                "q": primes(parameters.q()),
                "p": primes(parameters.p().as_slice()),
                "secret": "uniform ternary",
                "error": format!("discrete Gaussian, sigma = {ERROR_SIGMA}"),
            },
            "log_scale": LOG_INPUT_SCALE,
            "largest": largest,
            "notes": [
                "The engine behind the general interface, to test it: not its own packing and \
                 kernels.",
                "Answers are sent as they are, not rescaled.",
            ],
        })
        .to_string()
    }

    /// Slots of a ciphertext.
    pub(crate) fn slots(&self) -> u32 {
        self.context.slots() as u32
    }

    pub(crate) fn keys(&mut self, steps: &[i64]) -> Result<KeyReport, Failure> {
        if self.keys.is_some() {
            return Err(refuse("keys were made before; they are made once"));
        }
        let slots = i64::from(self.slots());
        let mut before = 0;
        for (index, &step) in steps.iter().enumerate() {
            if step <= before || step >= slots {
                return Err(refuse(format!(
                    "step {index} is {step}, after {before}; steps ascend from 1 to {}",
                    slots - 1
                )));
            }
            before = step;
        }
        let (context, rng, degree) = (&self.context, &mut self.rng, self.context.degree());
        let rotation = |&step: &i64| GaloisElement::rotation(step, degree);
        let elements: Vec<_> = steps.iter().map(rotation).collect();
        self.keys = Some(self.pool.install(|| -> Result<_, Failure> {
            let secret = SecretKey::generate(context, rng);
            let sent = secret.galois_keys(context, &elements, rng)?;
            Ok(Keys {
                masks: MaskSource::new(rng),
                galois: GaloisKey::expand_all(context, &sent)?.into_iter().collect(),
                secret,
                steps: steps.iter().map(|&step| step as u32).collect(),
            })
        })?);
        Ok(KeyReport {
            galois_keys: steps.len() as u64,
            key_bytes: match steps.len() {
                0 => 0,
                count => galois_keys_len(&self.context, count),
            },
        })
    }

    pub(crate) fn prepare_begin(&mut self, program: Program) -> Result<(), Failure> {
        let Some(keys) = &self.keys else {
            return Err(refuse("a layer needs keys first"));
        };
        let steps = program.steps();
        if let Some(step) = steps.iter().find(|step| !keys.steps.contains(step)) {
            return Err(refuse(format!(
                "there is no key for step {step} of the program"
            )));
        }
        self.answers = None;
        self.layer = Some(Layer {
            diagonals: Vec::with_capacity(program.terms().len()),
            program,
            ended: false,
        });
        Ok(())
    }

    pub(crate) fn prepare_diagonal(
        &mut self,
        diagonal: u64,
        values: &[f64],
    ) -> Result<(), Failure> {
        let slots = complex(&self.context, "a diagonal", values, 1)?;
        let Some(layer) = self.layer.as_mut().filter(|layer| !layer.ended) else {
            return Err(refuse(
                "a diagonal needs a layer that was begun and not ended",
            ));
        };
        let (next, all) = (layer.diagonals.len() as u64, layer.program.diagonals());
        if diagonal != next || next == all {
            return Err(refuse(format!(
                "diagonal {diagonal} came; they come in ascending order, and {next} of {all} have"
            )));
        }
        let encoded = self.context.encode(&slots, LOG_WEIGHT_SCALE.exp2())?;
        layer.diagonals.push(encoded);
        Ok(())
    }

    pub(crate) fn prepare_end(&mut self) -> Result<PrepareReport, Failure> {
        let Some(layer) = self.layer.as_mut().filter(|layer| !layer.ended) else {
            return Err(refuse("there is no layer to end"));
        };
        let (found, all) = (layer.diagonals.len(), layer.program.diagonals());
        if found as u64 != all {
            return Err(refuse(format!("{found} of {all} diagonals have come")));
        }
        layer.ended = true;
        let bytes = |poly: &RnsPoly| size_of_val(poly.residues()) as u64;
        Ok(PrepareReport {
            prepared_bytes: layer.diagonals.iter().map(bytes).sum(),
            log_scale: LOG_WEIGHT_SCALE,
        })
    }

    pub(crate) fn encrypt(
        &mut self,
        values: &[f64],
        ciphertexts: usize,
    ) -> Result<Transfer, Failure> {
        let Some(keys) = &mut self.keys else {
            return Err(refuse("encryption needs keys first"));
        };
        let inputs = match &self.layer {
            Some(layer) => layer.program.inputs() as usize,
            None => return Err(refuse("encryption needs a layer first")),
        };
        if ciphertexts == 0 || !ciphertexts.is_multiple_of(inputs) {
            return Err(refuse(format!(
                "{ciphertexts} ciphertexts; a positive multiple of the layer's {inputs} inputs is \
                 needed"
            )));
        }
        let slots = complex(&self.context, "a batch", values, ciphertexts)?;
        let mut batch = Vec::with_capacity(ciphertexts);
        for vector in slots.chunks_exact(self.context.slots()) {
            let plaintext = self.context.encode(vector, LOG_INPUT_SCALE.exp2())?;
            let mask = keys.masks.take()?;
            let sent = keys
                .secret
                .encrypt(&self.context, &plaintext, mask, &mut self.rng)?;
            batch.push(sent.expand(&self.context)?);
        }
        self.batch = batch;
        self.answers = None;
        Ok(Transfer {
            ciphertexts: ciphertexts as u64,
            bytes: seeded_ciphertexts_len(&self.context, ciphertexts),
        })
    }

    pub(crate) fn evaluate(&mut self) -> Result<(), Failure> {
        let (Some(keys), Some(layer)) = (&self.keys, &self.layer) else {
            return Err(refuse("evaluation needs keys and a layer first"));
        };
        let inputs = layer.program.inputs() as usize;
        if !layer.ended || self.batch.is_empty() || !self.batch.len().is_multiple_of(inputs) {
            return Err(refuse(
                "evaluation needs a layer that was ended, and a batch for it",
            ));
        }
        let (context, batch) = (&self.context, &self.batch);
        let answers = self.pool.install(|| -> Result<_, Failure> {
            let mut answers = Vec::new();
            for group in batch.chunks_exact(inputs) {
                let (program, diagonals) = (&layer.program, &layer.diagonals);
                answers.extend(evaluate(context, &keys.galois, program, diagonals, group)?);
            }
            Ok(answers)
        })?;
        self.answers = Some(answers);
        Ok(())
    }

    fn need_answers(&self) -> Result<&[Ciphertext], Failure> {
        self.answers
            .as_deref()
            .ok_or_else(|| refuse("there are no answers; evaluate first"))
    }

    /// There is nothing to do: answers stay at the product of both scales.
    pub(crate) fn rescale(&self) -> Result<(), Failure> {
        self.need_answers().map(drop)
    }

    pub(crate) fn answers(&self) -> Result<Transfer, Failure> {
        let count = self.need_answers()?.len();
        Ok(Transfer {
            ciphertexts: count as u64,
            bytes: ciphertexts_len(&self.context, count),
        })
    }

    /// All values, of which there must be `count`.
    pub(crate) fn decrypt(&self, count: usize) -> Result<Vec<f64>, Failure> {
        let (answers, Some(keys)) = (self.need_answers()?, &self.keys) else {
            return Err(refuse("decryption needs keys first"));
        };
        let all = answers.len() * 2 * self.context.slots();
        if count != all {
            return Err(refuse(format!(
                "room for {count} values; the answers have {all}"
            )));
        }
        let scale = (LOG_INPUT_SCALE + LOG_WEIGHT_SCALE).exp2();
        let mut values = Vec::with_capacity(all);
        for answer in answers {
            let coefficients = keys.secret.decrypt(&self.context, answer)?;
            let real: Vec<f64> = coefficients.iter().map(|&c| c as f64).collect();
            let slots = self.context.encoder().evaluate(&real, scale)?;
            values.extend(slots.iter().flat_map(|slot| [slot.re, slot.im]));
        }
        Ok(values)
    }
}

/// The slots of some slot vectors.
fn complex(
    context: &Context,
    what: &str,
    values: &[f64],
    vectors: usize,
) -> Result<Vec<Complex64>, Failure> {
    let width = 2 * context.slots();
    if vectors.checked_mul(width) != Some(values.len()) {
        return Err(refuse(format!(
            "{} values for {what}; {vectors} slot vectors of {width} doubles are needed",
            values.len()
        )));
    }
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        let value = values[index];
        return Err(refuse(format!(
            "value {index} of {what} is {value}; values are finite"
        )));
    }
    let (pairs, _) = values.as_chunks::<2>();
    Ok(pairs
        .iter()
        .map(|&[re, im]| Complex64::new(re, im))
        .collect())
}
