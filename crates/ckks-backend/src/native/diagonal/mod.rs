//! The `diagonal` plans: packed diagonals, rotations, evaluation keys.

mod describe;

pub(super) use describe::parameters;

use super::choice::Choice;
use super::workers::Workers;
use super::{check_inputs, layer_error, library, phase};
use crate::{
    Backend, BackendError, Description, EvaluationReport, KeyReport, Phase, PlanChoice, Predicted,
    PrepareReport, TransferReport, TrialSpec,
};
use ckks::automorphism::GaloisElement;
use ckks::rounding::DEFAULT_ANSWER_BITS;
use ckks::wire::Wire;
use ckks::{
    Answer, Ciphertext, Context, GaloisKey, GaloisKeys, MaskId, RnsPoly, SeededCiphertext,
    SeededGaloisKey,
};
use ckks_linear::client::{GroupScale, LayerClient};
use ckks_linear::evaluate::{AheadQuery, AheadResult, PhaseTimes, Query};
use ckks_linear::plan::{Plan, PlanKind};
use ckks_linear::planner::{Candidate, PlanOptions, candidates};
use ckks_linear::prepared::PreparedLayer;
use ckks_linear::shape::LayerShape;
use ckks_secret::{Csprng, Mask, MaskSource, SecretError, SecretKey, SeededCsprng};
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use tensor_io::{InputBatch, WeightMatrix};

/// The parameters of these plans unless others are named.
const DEFAULT_PARAMETERS: &str = "diagonal-4096";

/// The packings considered, cheapest first. Never empty.
pub(super) struct Packings {
    context: Arc<Context>,
    candidates: Vec<Candidate>,
}

impl Packings {
    /// Plans the layer.
    pub(super) fn new(spec: &TrialSpec, shape: LayerShape) -> Result<Self, BackendError> {
        let bad = |error: &dyn std::fmt::Display| BackendError::BadArgument(error.to_string());
        let name = spec.params.as_deref().unwrap_or(DEFAULT_PARAMETERS);
        let context = Context::named(name).map_err(|e| bad(&e))?;
        let kind = match spec.plan {
            PlanChoice::DiagonalSquare => PlanKind::DiagonalSquare,
            PlanChoice::Auto | PlanChoice::Diagonal | PlanChoice::Gemm => PlanKind::Diagonal,
        };
        let options = PlanOptions::default();
        let candidates =
            candidates(kind, shape, context.slots(), spec.batch, &options).map_err(|e| bad(&e))?;
        if candidates.is_empty() {
            return Err(BackendError::BadArgument(format!("no plan for {shape}")));
        }
        Ok(Self {
            context,
            candidates,
        })
    }

    /// The cheapest packing.
    pub(super) fn plan(&self) -> &Plan {
        &self.candidates[0].plan
    }

    /// Its parameters.
    pub(super) fn context(&self) -> &Context {
        &self.context
    }
}

/// Opens the plan.
pub(super) fn open(
    spec: &TrialSpec,
    packings: Packings,
    choice: Choice,
) -> Result<Box<dyn Backend>, BackendError> {
    let plan = packings.plan().clone();
    let Packings {
        context,
        candidates: considered,
    } = packings;
    let workers = Workers::new(spec.threads)?;
    let mut rng = SeededCsprng::insecure(spec.seed, 0);
    let secret = SecretKey::generate(&context, &mut rng);
    let masks = MaskSource::new(&mut rng);
    Ok(Box::new(Diagonal {
        plan,
        considered,
        choice,
        spec: spec.clone(),
        workers,
        client: Client {
            rng,
            secret,
            masks,
            layer: None,
            announced: Vec::new(),
            groups: Vec::new(),
        },
        server: Server {
            keys: GaloisKeys::default(),
            layers: Vec::new(),
            next: 0,
            ahead: None,
        },
        upload: Vec::new(),
        download: Vec::new(),
        context,
    }))
}

struct Diagonal {
    spec: TrialSpec,
    context: Arc<Context>,
    plan: Plan,
    considered: Vec<Candidate>,
    choice: Choice,
    workers: Workers,
    client: Client,
    server: Server,
    /// Bytes on the way to the server.
    upload: Vec<u8>,
    /// Bytes on the way to the client.
    download: Vec<u8>,
}

/// The trusted side.
struct Client {
    /// Reproducible: this backend serves benchmark runs only.
    rng: SeededCsprng,
    secret: SecretKey,
    masks: MaskSource,
    layer: Option<LayerClient>,
    /// Masks the server already knows, in the order they will be used.
    announced: Vec<Mask>,
    groups: Vec<GroupScale>,
}

/// The untrusted side.
struct Server {
    keys: GaloisKeys,
    layers: Vec<PreparedLayer>,
    /// Which copy evaluates next.
    next: usize,
    /// Copy, masks and results of the work done ahead.
    ahead: Option<(usize, Vec<MaskId>, Vec<AheadResult>)>,
}

impl Diagonal {
    fn take_masks(&mut self, count: usize) -> Result<Vec<Mask>, SecretError> {
        (0..count).map(|_| self.client.masks.take()).collect()
    }

    /// Ciphertexts of one batch.
    fn uploads(&self) -> usize {
        self.plan.groups(self.spec.batch) * self.plan.inputs().len()
    }

    fn next_layer(&mut self) -> Result<usize, BackendError> {
        if self.server.layers.is_empty() {
            return Err(BackendError::OutOfOrder {
                step: "evaluate",
                needs: "prepare",
            });
        }
        let at = self.server.next % self.server.layers.len();
        self.server.next += 1;
        Ok(at)
    }

    fn encode_groups(&mut self, inputs: &InputBatch) -> Result<Vec<u8>, BackendError> {
        let Some(layer) = &self.client.layer else {
            return Err(BackendError::OutOfOrder {
                step: "encrypt",
                needs: "prepare",
            });
        };
        let rows: Vec<&[f64]> = inputs.iter().collect();
        let encoded = rows
            .par_chunks(self.plan.folding().vectors_per_group())
            .map(|group| layer.encode(&self.context, group, self.spec.gate, false))
            .collect::<Result<Vec<_>, _>>()
            .map_err(layer_error)?;
        let masks = if self.client.announced.is_empty() {
            let count = self.uploads();
            self.take_masks(count).map_err(library)?
        } else {
            std::mem::take(&mut self.client.announced)
        };
        let client = &mut self.client;
        client.groups = encoded.iter().map(|group| group.scale).collect();
        let plaintexts = encoded.iter().flat_map(|group| &group.plaintexts);
        let tasks: Vec<_> = plaintexts
            .zip(masks)
            .map(|(plain, mask)| (plain, mask, client.rng.fork()))
            .collect();
        let (context, secret) = (&self.context, &client.secret);
        let ciphertexts = tasks
            .into_par_iter()
            .map(|(plain, mask, mut rng)| secret.encrypt(context, plain, mask, &mut rng))
            .collect::<Result<Vec<SeededCiphertext>, _>>()
            .map_err(library)?;
        SeededCiphertext::encode(context, &ciphertexts).map_err(library)
    }

    fn evaluate_upload(&mut self) -> Result<EvaluationReport, BackendError> {
        let context = Arc::clone(&self.context);
        let inputs = self.plan.inputs().len();
        let start = Instant::now();
        let received = SeededCiphertext::decode(&context, &self.upload).map_err(library)?;
        let (outputs, times, bytes) = match self.server.ahead.take() {
            Some((at, ids, ahead)) => {
                if !received.iter().map(|c| &c.mask).eq(&ids) {
                    return Err(library(
                        "the ciphertexts have other masks than were announced",
                    ));
                }
                let layer = &self.server.layers[at];
                let queries = ahead
                    .into_iter()
                    .zip(received.chunks(inputs))
                    .map(|(ahead, group)| (ahead, group.iter().map(|c| &c.c0).collect()))
                    .collect();
                let (outputs, times) = layer
                    .evaluate_online(&context, queries)
                    .map_err(layer_error)?;
                (outputs, times, layer.memory_bytes())
            }
            None => {
                let at = self.next_layer()?;
                let layer = &self.server.layers[at];
                let ciphertexts = received
                    .par_iter()
                    .map(|c| c.expand(&context))
                    .collect::<Result<Vec<Ciphertext>, _>>()
                    .map_err(library)?;
                let queries: Vec<_> = ciphertexts
                    .chunks(inputs)
                    .map(|inputs| Query {
                        keys: &self.server.keys,
                        inputs,
                    })
                    .collect();
                let (outputs, times) = layer.evaluate(&context, &queries).map_err(layer_error)?;
                (outputs, times, layer.memory_bytes())
            }
        };
        let evaluated = start.elapsed();
        let answers = outputs
            .par_iter()
            .flatten()
            .map(|output| context.round_answer(output, DEFAULT_ANSWER_BITS))
            .collect::<Result<Vec<_>, _>>()
            .map_err(library)?;
        self.download = Answer::encode(&context, &answers).map_err(library)?;
        let mut phases = phases(&times, bytes);
        let inside: f64 = phases.iter().map(|p| p.seconds).sum();
        let parse = (evaluated.as_secs_f64() - inside).max(0.0);
        phases.insert(0, phase("parse and expand", parse, None));
        phases.push(phase(
            "round and serialise",
            (start.elapsed() - evaluated).as_secs_f64(),
            None,
        ));
        Ok(EvaluationReport {
            phases,
            download_bytes: self.download.len() as u64,
        })
    }

    fn evaluate_masks(&mut self) -> Result<EvaluationReport, BackendError> {
        let count = self.uploads();
        let masks = self.take_masks(count).map_err(library)?;
        let ids: Vec<MaskId> = masks.iter().map(Mask::id).collect();
        let announcement = MaskId::encode(&self.context, &ids).map_err(library)?;
        self.client.announced = masks;
        let at = self.next_layer()?;
        let start = Instant::now();
        let ids = MaskId::decode(&self.context, &announcement).map_err(library)?;
        let context = &self.context;
        let expanded: Vec<RnsPoly> = ids.par_iter().map(|id| id.expand(context)).collect();
        let expansion = start.elapsed();
        let queries: Vec<_> = expanded
            .chunks(self.plan.inputs().len())
            .map(|masks| AheadQuery {
                keys: &self.server.keys,
                masks,
            })
            .collect();
        let layer = &self.server.layers[at];
        let (results, times) = layer
            .evaluate_ahead(context, &queries)
            .map_err(layer_error)?;
        let mut phases = phases(&times, layer.memory_bytes());
        phases.insert(0, phase("parse and expand", expansion.as_secs_f64(), None));
        self.server.ahead = Some((at, ids, results));
        Ok(EvaluationReport {
            phases,
            download_bytes: 0,
        })
    }

    fn open_answers(&mut self) -> Result<Vec<f64>, BackendError> {
        let Some(layer) = &self.client.layer else {
            return Err(BackendError::OutOfOrder {
                step: "decrypt",
                needs: "evaluate",
            });
        };
        let context = &self.context;
        let answers = Answer::decode(context, &self.download).map_err(library)?;
        let outputs = self.plan.outputs().len();
        if answers.len() != outputs * self.client.groups.len() {
            return Err(library(format!(
                "{} answers for {} groups of {outputs} outputs",
                answers.len(),
                self.client.groups.len()
            )));
        }
        // The client trusts its own expectation of the answer's form, never the answer's header.
        if let Some(answer) = answers
            .iter()
            .find(|answer| answer.bits() != DEFAULT_ANSWER_BITS)
        {
            return Err(library(format!(
                "an answer of {} bits, {DEFAULT_ANSWER_BITS} were expected",
                answer.bits()
            )));
        }
        let secret = &self.client.secret;
        let vectors = answers
            .par_chunks(outputs)
            .zip(&self.client.groups)
            .map(|(group, scale)| {
                let coefficients = group
                    .iter()
                    .map(|answer| secret.decrypt_answer(context, answer))
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(library)?;
                layer
                    .decode(context, scale, &coefficients)
                    .map_err(layer_error)
            })
            .collect::<Result<Vec<_>, BackendError>>()?;
        Ok(vectors.into_iter().flatten().flatten().collect())
    }
}

/// The phases that took time: of large batches the online part permutes, multiplies and permutes
/// again block by block, which counts as multiply-accumulate.
fn phases(times: &PhaseTimes, bytes: u64) -> Vec<Phase> {
    let phases = [
        ("baby steps", times.babies, None),
        (
            "multiply-accumulate",
            times.multiply_accumulate,
            Some(bytes),
        ),
        ("giant steps", times.giants, None),
    ];
    phases
        .into_iter()
        .filter(|(_, duration, _)| !duration.is_zero())
        .map(|(name, duration, bytes)| phase(name, duration.as_secs_f64(), bytes))
        .collect()
}

impl Backend for Diagonal {
    fn describe(&self) -> Description {
        describe::describe(self)
    }

    fn generate_keys(&mut self) -> Result<KeyReport, BackendError> {
        let pool = self.workers.pool()?;
        pool.install(|| {
            let context = &self.context;
            let elements: Vec<_> = self
                .plan
                .rotation_steps()
                .into_iter()
                .map(|step| GaloisElement::rotation(step, context.degree()))
                .collect();
            if elements.is_empty() {
                return Ok(KeyReport::default());
            }
            let client = &mut self.client;
            let keys = client
                .secret
                .galois_keys(context, &elements, &mut client.rng)
                .map_err(library)?;
            let bytes = SeededGaloisKey::encode(context, &keys).map_err(library)?;
            drop(keys);
            let received = SeededGaloisKey::decode(context, &bytes).map_err(library)?;
            self.server.keys = GaloisKey::expand_all(context, &received)
                .map_err(library)?
                .into_iter()
                .collect();
            let galois_keys = self.server.keys.len() as u64;
            Ok(KeyReport {
                key_bytes: bytes.len() as u64,
                galois_keys,
            })
        })
    }

    fn prepare(
        &mut self,
        weights: &WeightMatrix,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<PrepareReport, BackendError> {
        let pool = self.workers.pool()?;
        pool.install(|| {
            let context = &self.context;
            let plan = self.plan.clone();
            let layer =
                PreparedLayer::prepare(context, plan, weights, DEFAULT_ANSWER_BITS, progress)
                    .map_err(layer_error)?;
            let manifest = layer.manifest().clone();
            let report = PrepareReport {
                prepared_bytes: layer.memory_bytes(),
                log_weight_scale: manifest.weight_scale.log2(),
                zero_diagonals: layer.zero_diagonals() as u64,
                layer_download_bytes: 0,
                phases: Vec::new(),
            };
            let client = LayerClient::new(context, manifest, DEFAULT_ANSWER_BITS);
            self.client.layer = Some(client.map_err(layer_error)?);
            self.server.layers = vec![layer];
            self.server.ahead = None;
            Ok(report)
        })
    }

    fn replicate(&mut self) -> Result<(), BackendError> {
        let Some(first) = self.server.layers.first() else {
            return Err(BackendError::OutOfOrder {
                step: "replicate",
                needs: "prepare",
            });
        };
        let copies = self.spec.replicas.saturating_sub(self.server.layers.len());
        let copies: Result<Vec<_>, _> = (0..copies).map(|_| first.duplicate()).collect();
        self.server.layers.extend(copies.map_err(layer_error)?);
        Ok(())
    }

    fn evaluate_ahead(&mut self) -> Result<EvaluationReport, BackendError> {
        let pool = self.workers.pool()?;
        pool.install(|| self.evaluate_masks())
    }

    fn encrypt(&mut self, inputs: &InputBatch) -> Result<TransferReport, BackendError> {
        check_inputs(&self.spec, inputs)?;
        let pool = self.workers.pool()?;
        pool.install(|| {
            self.upload = self.encode_groups(inputs)?;
            Ok(TransferReport {
                bytes: self.upload.len() as u64,
            })
        })
    }

    fn evaluate(&mut self) -> Result<EvaluationReport, BackendError> {
        let pool = self.workers.pool()?;
        pool.install(|| self.evaluate_upload())
    }

    fn decrypt(&mut self) -> Result<Vec<f64>, BackendError> {
        let pool = self.workers.pool()?;
        pool.install(|| self.open_answers())
    }

    fn predicted(&self) -> Option<Predicted> {
        let layer = self.client.layer.as_ref()?;
        if self.client.groups.is_empty() {
            return None;
        }
        let groups = self.client.groups.iter();
        let predicted: Vec<_> = groups
            .map(|group| (group.vectors() as f64, layer.predict(group)))
            .collect();
        let vectors: f64 = predicted.iter().map(|(vectors, _)| vectors).sum();
        let energy: f64 = predicted
            .iter()
            .map(|(vectors, p)| vectors * p.rms * p.rms)
            .sum();
        Some(Predicted {
            rms: (energy / vectors).sqrt(),
            six_sigma: predicted
                .iter()
                .map(|(_, p)| p.six_sigma)
                .fold(0.0, f64::max),
        })
    }
}
