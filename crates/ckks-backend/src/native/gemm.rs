//! The `gemm` plan: one integer matrix product for a batch of vectors.

use super::choice::{Choice, speedup};
use super::workers::Workers;
use super::{LIBRARY, check_inputs, layer_error, library, phase};
use crate::{
    Backend, BackendError, Counts, Delivery, Description, EvaluationReport, KeyReport,
    MaskProducts, Packing, ParameterReport, PlanReport, Predicted, PrepareReport, TransferReport,
    TrialSpec,
};
use ckks::gemm::{Epoch, GemmParameters, GemmRing, LOG_Q};
use ckks::security::ERROR_SIGMA;
use ckks_linear::gemm::{
    AnswerLength, BatchScale, DEFAULT_ERROR_BUDGET, GemmClient, GemmKernel, GemmLayer, GemmMemory,
    LEAST_ERROR_BUDGET, expected_rms,
};
use ckks_linear::shape::LayerShape;
use ckks_secret::SeededCsprng;
use ckks_secret::gemm::{BatchSecret, CachedMaskProducts, ExpectedProducts, GemmMasks, encrypt};
use std::sync::Arc;
use std::time::Instant;
use tensor_io::{InputBatch, WeightMatrix};

const DEFAULT_PARAMETERS: &str = "gemm-2048";
/// Benchmark runs have one epoch.
const EPOCH: Epoch = Epoch(1);
/// How far below the gate the expected standard deviation is kept by longer answers: a million outputs of standard deviation s exceed 10 s with probability 1.5e-17.
const SIGMAS_WITHIN_GATE: f64 = 10.0;

/// Parameters, answer lengths and bytes of a layer and batch.
#[derive(Clone, Debug)]
pub(super) struct GemmSizes {
    ring: Arc<GemmRing>,
    shape: LayerShape,
    batch: usize,
    length: AnswerLength,
    memory: GemmMemory,
}

impl GemmSizes {
    pub(super) fn new(spec: &TrialSpec, shape: LayerShape) -> Result<Self, BackendError> {
        let bad = |error: &dyn std::fmt::Display| BackendError::BadArgument(error.to_string());
        if spec.batch == 0 {
            return Err(bad(&"a batch must hold at least one vector"));
        }
        let name = spec.params.as_deref().unwrap_or(DEFAULT_PARAMETERS);
        let parameters = GemmParameters::named(name).map_err(|error| bad(&error))?;
        let share = spec.gate / (SIGMAS_WITHIN_GATE * spec.expected_product_norm());
        let budget = share.clamp(LEAST_ERROR_BUDGET, DEFAULT_ERROR_BUDGET);
        let length = AnswerLength::within(budget, parameters.ring_degree());
        let memory = GemmMemory::of(&parameters, shape, spec.batch, length);
        Ok(Self {
            ring: GemmRing::new(parameters).map_err(|error| bad(&error))?,
            shape,
            batch: spec.batch,
            length,
            memory,
        })
    }

    pub(super) fn parameters(&self) -> &GemmParameters {
        self.ring.parameters()
    }

    pub(super) fn ring(&self) -> &GemmRing {
        &self.ring
    }

    pub(super) fn length(&self) -> AnswerLength {
        self.length
    }

    pub(super) fn memory(&self) -> &GemmMemory {
        &self.memory
    }

    /// Root mean square error to expect, as [`expected_rms`].
    pub(super) fn expected_rms(&self) -> f64 {
        expected_rms(self.shape, self.length, self.ring.degree())
    }

    pub(super) fn multiply_adds(&self) -> u64 {
        self.batch as u64 * (self.shape.d_in() * self.shape.d_out()) as u64
    }
}

/// Opens the plan.
pub(super) fn open(
    spec: &TrialSpec,
    sizes: GemmSizes,
    choice: Choice,
) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(Gemm {
        spec: spec.clone(),
        choice,
        workers: Workers::new(spec.threads)?,
        client: Client {
            rng: SeededCsprng::insecure(spec.seed, 0),
            masks: None,
            layer: None,
            products: None,
            batch: None,
            predicted: None,
        },
        layers: Vec::new(),
        next: 0,
        upload: Vec::new(),
        download: Vec::new(),
        sizes,
    }))
}

struct Gemm {
    spec: TrialSpec,
    sizes: GemmSizes,
    choice: Choice,
    workers: Workers,
    client: Client,
    /// The untrusted side: copies of the layer.
    layers: Vec<GemmLayer>,
    /// Which copy evaluates next.
    next: usize,
    /// Bytes on the way to the server.
    upload: Vec<u8>,
    /// Bytes on the way to the client, without W·A, which the layer holds as a message.
    download: Vec<u8>,
}

/// The trusted side.
struct Client {
    /// Reproducible: this backend serves benchmark runs only.
    rng: SeededCsprng,
    masks: Option<GemmMasks>,
    layer: Option<GemmClient>,
    /// With [`Delivery::Cached`].
    products: Option<CachedMaskProducts>,
    /// What the answer under way needs; taken by decryption.
    batch: Option<(BatchScale, BatchSecret)>,
    predicted: Option<Predicted>,
}

impl Gemm {
    /// Reads W·A as a client that asked for this layer would.
    fn read_products(&self, message: &[u8]) -> Result<CachedMaskProducts, BackendError> {
        let expected = ExpectedProducts {
            epoch: EPOCH,
            outputs: self.spec.d_out,
            bits: self.sizes.length.mask_products,
        };
        CachedMaskProducts::new(&self.sizes.ring, expected, message, self.spec.batch)
            .map_err(library)
    }
}

fn missing(step: &'static str, needs: &'static str) -> BackendError {
    BackendError::OutOfOrder { step, needs }
}

impl Backend for Gemm {
    fn describe(&self) -> Description {
        Description {
            library: LIBRARY.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            device: "cpu".to_owned(),
            kernels: format!("matrix product {}", GemmKernel::best().name()),
            parameters: parameters(self.sizes.parameters()),
            plan: self.plan_report(),
            notes: Vec::new(),
        }
    }

    fn generate_keys(&mut self) -> Result<KeyReport, BackendError> {
        let pool = self.workers.pool()?;
        let (ring, spec) = (&self.sizes.ring, &self.spec);
        let masks = pool.install(|| GemmMasks::new(ring, EPOCH, spec.d_in, spec.batch));
        self.client.masks = Some(masks.map_err(library)?);
        Ok(KeyReport::default())
    }

    fn prepare(
        &mut self,
        weights: &WeightMatrix,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<PrepareReport, BackendError> {
        let pool = self.workers.pool()?;
        pool.install(|| {
            let start = Instant::now();
            let length = self.sizes.length;
            let layer =
                GemmLayer::prepare(self.sizes.parameters(), weights, EPOCH, length, progress)
                    .map_err(layer_error)?;
            let prepared = start.elapsed().as_secs_f64();
            let manifest = layer.manifest().clone();
            let scales = &manifest.weights;
            let logs: f64 = scales.iter().map(|weight| weight.scale.log2()).sum();
            let mut report = PrepareReport {
                prepared_bytes: layer.memory_bytes(),
                log_weight_scale: logs / scales.len().max(1) as f64,
                zero_diagonals: 0,
                layer_download_bytes: 0,
                phases: vec![phase("weights and W·A, server", prepared, None)],
            };
            let client = GemmClient::new(self.sizes.parameters(), manifest);
            self.client.layer = Some(client.map_err(layer_error)?);
            if self.spec.circumstances.delivery == Delivery::Cached {
                let start = Instant::now();
                let message = layer.mask_products();
                report.layer_download_bytes = message.len() as u64;
                self.client.products = Some(self.read_products(message)?);
                let read = start.elapsed().as_secs_f64();
                report.phases.push(phase("reading W·A, client", read, None));
            }
            self.layers = vec![layer];
            self.client.batch = None;
            Ok(report)
        })
    }

    fn replicate(&mut self) -> Result<(), BackendError> {
        let Some(first) = self.layers.first() else {
            return Err(missing("replicate", "prepare"));
        };
        let copies = self.spec.replicas.saturating_sub(self.layers.len());
        let copies: Result<Vec<_>, _> = (0..copies).map(|_| first.duplicate()).collect();
        self.layers.extend(copies.map_err(layer_error)?);
        Ok(())
    }

    fn evaluate_ahead(&mut self) -> Result<EvaluationReport, BackendError> {
        Err(BackendError::Unsupported(
            "the gemm plan has no ahead-of-time part".to_owned(),
        ))
    }

    fn encrypt(&mut self, inputs: &InputBatch) -> Result<TransferReport, BackendError> {
        check_inputs(&self.spec, inputs)?;
        let pool = self.workers.pool()?;
        let client = &mut self.client;
        let Some(layer) = &client.layer else {
            return Err(missing("encrypt", "prepare"));
        };
        let Some(masks) = &client.masks else {
            return Err(missing("encrypt", "generate_keys"));
        };
        let gate = self.spec.gate;
        let rng = &mut client.rng;
        let (scale, upload, secret) = pool.install(|| {
            let vectors: Vec<&[f64]> = inputs.iter().collect();
            let scale = layer.scales(&vectors, gate, false).map_err(layer_error)?;
            let (upload, secret) =
                encrypt(masks, &vectors, scale.deltas(), rng).map_err(library)?;
            Ok::<_, BackendError>((scale, upload, secret))
        })?;
        let predicted = layer.predict(&scale);
        client.predicted = Some(Predicted {
            rms: predicted.rms,
            six_sigma: predicted.six_sigma,
        });
        client.batch = Some((scale, secret));
        self.upload = upload;
        Ok(TransferReport {
            bytes: self.upload.len() as u64,
        })
    }

    fn evaluate(&mut self) -> Result<EvaluationReport, BackendError> {
        if self.layers.is_empty() {
            return Err(missing("evaluate", "prepare"));
        }
        let layer = &self.layers[self.next % self.layers.len()];
        self.next += 1;
        let pool = self.workers.pool()?;
        let upload = &self.upload;
        let (download, times) = pool
            .install(|| layer.evaluate(upload))
            .map_err(layer_error)?;
        self.download = download;
        let sent = match self.spec.circumstances.delivery {
            Delivery::Cached => 0,
            // The server has it as a message and copies nothing.
            Delivery::Sent => layer.mask_products().len(),
        };
        Ok(EvaluationReport {
            phases: vec![
                phase("check the upload", times.open.as_secs_f64(), None),
                phase("unpack, multiply, round", times.product.as_secs_f64(), None),
            ],
            download_bytes: (self.download.len() + sent) as u64,
        })
    }

    fn decrypt(&mut self) -> Result<Vec<f64>, BackendError> {
        let pool = self.workers.pool()?;
        let Some((scale, secret)) = self.client.batch.take() else {
            return Err(missing("decrypt", "encrypt"));
        };
        let (Some(layer), Some(server)) = (&self.client.layer, self.layers.first()) else {
            return Err(missing("decrypt", "prepare"));
        };
        pool.install(|| {
            let own;
            let products = match &self.client.products {
                Some(products) => products,
                None => {
                    own = self.read_products(server.mask_products())?;
                    &own
                }
            };
            let bits = self.sizes.length.answer;
            let values = secret
                .decrypt(products, bits, &self.download)
                .map_err(library)?;
            layer.decode(&scale, &values).map_err(layer_error)
        })
    }

    fn predicted(&self) -> Option<Predicted> {
        self.client.predicted
    }
}

pub(super) fn parameters(set: &GemmParameters) -> ParameterReport {
    let row = set.security();
    ParameterReport {
        name: set.name().to_owned(),
        ring_degree: set.ring_degree(),
        q: vec![1 << set.log_q()],
        p: Vec::new(),
        log_qp: row.log_qp.bits(),
        security_limit: row.limit,
        security_note: format!(
            "128-bit classical (not quantum): log2(Q) {} of at most {} at N = {}, Security \
             Guidelines for Implementing HE (ePrint 2024/463), Table 5.2",
            row.log_qp, row.limit, row.ring_degree
        ),
        secret: "uniform ternary, a fresh one for every block of N vectors".to_owned(),
        error: format!("discrete Gaussian, sigma = {ERROR_SIGMA}"),
        digest: set.digest().to_string(),
    }
}

impl Gemm {
    fn plan_report(&self) -> PlanReport {
        let (spec, sizes) = (&self.spec, &self.sizes);
        let GemmMemory {
            weights,
            mask_products,
            masks,
            upload,
            answer,
        } = sizes.memory;
        let delivery = spec.circumstances.delivery;
        let sent = match delivery {
            Delivery::Cached => 0,
            Delivery::Sent => mask_products,
        };
        let degree = sizes.parameters().ring_degree() as u64;
        let (d_in, d_out, batch) = (spec.d_in as u64, spec.d_out as u64, spec.batch as u64);
        let kept = |rows: u64, bits: u32| {
            let words = if spec.batch <= sizes.ring.direct_columns(bits) {
                2
            } else {
                sizes.ring.limbs(bits) as u64
            };
            4 * words * degree * rows
        };
        let client = kept(d_in, LOG_Q) + kept(d_out, sizes.length.mask_products);
        let prepared = weights + mask_products;
        // Decrypted integers and decoded outputs; sums and columns of each thread.
        let results = 16 * batch * d_out;
        let scratch = 6_000_000 * spec.threads as u64;
        PlanReport {
            packing: Packing {
                name: "gemm".to_owned(),
                layout: format!(
                    "coefficient i of ciphertext j holds feature j of vector i; {} of up to {} \
                     vectors, each under its own secret; answers of {} bits, W·A of {} bits",
                    match sizes.parameters().blocks(spec.batch) {
                        1 => "1 block".to_owned(),
                        several => format!("{several} blocks"),
                    },
                    degree,
                    sizes.length.answer,
                    sizes.length.mask_products
                ),
                n1: None,
                n2: None,
                vectors_per_ciphertext: degree as usize,
            },
            counts: Counts {
                multiply_adds: sizes.multiply_adds(),
                ..Counts::default()
            },
            rotation_steps: Vec::new(),
            key_bytes: 0,
            key_memory_bytes: 0,
            prepared_bytes: prepared,
            peak_memory_bytes: prepared * spec.replicas.max(1) as u64
                + masks.max(upload + answer + results)
                + client
                + scratch,
            upload_bytes: upload,
            download_bytes: answer + sent,
            mask_products: Some(MaskProducts {
                delivery,
                bytes: mask_products,
                bits: sizes.length.mask_products,
            }),
            predicted_rms_error: Some(expected_rms(sizes.shape, sizes.length, degree as usize)),
            predicted_seconds: self
                .choice
                .estimates()
                .iter()
                .find(|estimate| estimate.plan == "gemm")
                .map(|estimate| estimate.server_seconds * speedup(spec.threads)),
            estimates: self.choice.estimates().to_vec(),
            reasons: self.choice.reasons().into_iter().collect(),
        }
    }
}
