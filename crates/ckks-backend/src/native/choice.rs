//! `--plan auto`: which plan serves a layer and batch best, and what each would cost.

use super::diagonal::Packings;
use super::gemm::GemmSizes;
use crate::{
    BackendError, Calibration, Delivery, GemmClientRates, PlanChoice, PlanEstimate, TrialSpec,
};
use ckks::gemm::{GemmParameters, LOG_Q};
use ckks::{Parameters, wire};
use ckks_linear::cost::CostModel;
use ckks_linear::shape::LayerShape;

/// What a further thread adds to the speed of the first.
const FURTHER_THREAD: f64 = 0.8;

impl Default for Calibration {
    /// Of one core of an AMD EPYC of the Zen 4 generation, AVX-512 with IFMA.
    fn default() -> Self {
        Self {
            diagonal_evaluation: 1.0,
            diagonal_encryption: 130e-6,
            diagonal_decryption: 100e-6,
            gemm_multiply_adds: 22e9,
            gemm_encryption: GemmClientRates {
                direct: 0.2e-6,
                transform: 8e-6,
                coefficient: 12e-9,
            },
            gemm_decryption: GemmClientRates {
                direct: 0.15e-6,
                transform: 5e-6,
                coefficient: 3e-9,
            },
        }
    }
}

/// The plans that could serve a trial.
pub(super) struct Candidates {
    /// Packed diagonals.
    pub(super) diagonal: Option<Packings>,
    /// The matrix product.
    pub(super) gemm: Option<GemmSizes>,
}

/// Which parameter sets, if named, belong to which plan.
pub(super) fn candidates(spec: &TrialSpec, shape: LayerShape) -> Result<Candidates, BackendError> {
    let named = spec.params.as_deref();
    let is_gemm = |name: &str| GemmParameters::names().contains(&name);
    if let Some(name) = named
        && !is_gemm(name)
        && !Parameters::names().contains(&name)
    {
        let known = [Parameters::names(), GemmParameters::names()].concat();
        return Err(BackendError::BadArgument(format!(
            "there is no parameter set named \"{name}\"; known sets: {}",
            known.join(", ")
        )));
    }
    let gemm_fits = named.is_none_or(is_gemm);
    let diagonal_fits = named.is_none_or(|name| !is_gemm(name));
    let wrong = |plan: &str| {
        Err(BackendError::BadArgument(format!(
            "--plan {plan} does not work with the parameters \"{}\"; leave --params out",
            named.unwrap_or_default()
        )))
    };
    match spec.plan {
        PlanChoice::Gemm if !gemm_fits => return wrong("gemm"),
        PlanChoice::Diagonal if !diagonal_fits => return wrong("diagonal"),
        PlanChoice::DiagonalSquare if !diagonal_fits => return wrong("diagonal-square"),
        PlanChoice::Gemm if spec.ahead => {
            return Err(BackendError::Unsupported(
                "--plan gemm has no ahead-of-time part: all that does not depend on the vectors \
                 is computed once for the layer; leave --ahead out"
                    .to_owned(),
            ));
        }
        _ => {}
    }
    Ok(Candidates {
        diagonal: diagonal_fits
            .then(|| Packings::new(spec, shape))
            .transpose()?,
        gemm: (gemm_fits && !spec.ahead)
            .then(|| GemmSizes::new(spec, shape))
            .transpose()?,
    })
}

/// The plan that a trial runs, and why.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    plan: PlanChoice,
    estimates: Vec<PlanEstimate>,
    reason: Option<String>,
}

impl Choice {
    /// The plan asked for, or for `auto` the cheapest.
    pub(super) fn of(spec: &TrialSpec, candidates: &Candidates) -> Self {
        let mut estimates: Vec<(PlanChoice, PlanEstimate)> = Vec::new();
        if let Some(packings) = &candidates.diagonal {
            let plan = match spec.plan {
                PlanChoice::DiagonalSquare => PlanChoice::DiagonalSquare,
                _ => PlanChoice::Diagonal,
            };
            estimates.push((plan, diagonal(spec, packings)));
        }
        if let Some(sizes) = &candidates.gemm {
            estimates.push((PlanChoice::Gemm, gemm(spec, sizes)));
        }
        estimates.sort_by(|(_, a), (_, b)| a.total_seconds.total_cmp(&b.total_seconds));
        let cheapest = estimates.first().map(|(plan, _)| *plan);
        let (plan, reason) = match spec.plan {
            PlanChoice::Auto => (
                cheapest.unwrap_or(PlanChoice::Diagonal),
                reason(spec, &estimates),
            ),
            other => (other, None),
        };
        Self {
            plan,
            estimates: estimates
                .into_iter()
                .map(|(_, estimate)| estimate)
                .collect(),
            reason,
        }
    }

    /// The plan; never `Auto`.
    pub(super) fn plan(&self) -> PlanChoice {
        self.plan
    }

    /// Predictions of all plans, cheapest first.
    pub(super) fn estimates(&self) -> &[PlanEstimate] {
        &self.estimates
    }

    /// Why `auto` chose.
    pub(super) fn reasons(&self) -> Option<String> {
        self.reason.clone()
    }
}

fn reason(spec: &TrialSpec, estimates: &[(PlanChoice, PlanEstimate)]) -> Option<String> {
    let in_words = |estimate: &PlanEstimate| {
        format!(
            "{} {:.3} ms (server {:.3}, client {:.3}, link {:.3}, share of what is sent once \
             {:.3})",
            estimate.plan,
            1e3 * estimate.total_seconds,
            1e3 * estimate.server_seconds,
            1e3 * estimate.client_seconds,
            1e3 * estimate.link_seconds,
            1e3 * estimate.shared_seconds,
        )
    };
    let words: Vec<String> = estimates
        .iter()
        .map(|(_, estimate)| in_words(estimate))
        .collect();
    let (chosen, others) = words.split_first()?;
    let against = if others.is_empty() {
        " (no other plan fits)".to_owned()
    } else {
        format!(" against {}", others.join(", "))
    };
    Some(format!(
        "auto, predicted for {} at {:.3} Gbit/s, {} evaluations sharing what is sent once: \
         {chosen}{against}",
        match spec.batch {
            1 => "1 vector".to_owned(),
            several => format!("{several} vectors"),
        },
        spec.circumstances.link_bytes_per_second * 8e-9,
        spec.circumstances.reuse,
    ))
}

/// Durations of a batch before threads are counted.
struct Work {
    plan: &'static str,
    server: f64,
    client: f64,
    /// Bytes that all evaluations of a session share.
    shared_bytes: u64,
    upload_bytes: u64,
    download_bytes: u64,
}

impl Work {
    fn estimate(self, spec: &TrialSpec) -> PlanEstimate {
        let speedup = 1.0 + FURTHER_THREAD * (spec.threads.max(1) - 1) as f64;
        let link = spec.circumstances.link_bytes_per_second;
        let server_seconds = self.server / speedup;
        let client_seconds = self.client / speedup;
        let link_seconds = (self.upload_bytes + self.download_bytes) as f64 / link;
        let shared_seconds =
            self.shared_bytes as f64 / link / spec.circumstances.reuse.max(1) as f64;
        PlanEstimate {
            plan: self.plan.to_owned(),
            server_seconds,
            client_seconds,
            link_seconds,
            shared_seconds,
            upload_bytes: self.upload_bytes,
            download_bytes: self.download_bytes,
            total_seconds: server_seconds + client_seconds + link_seconds + shared_seconds,
        }
    }
}

fn diagonal(spec: &TrialSpec, packings: &Packings) -> PlanEstimate {
    let (plan, context) = (packings.plan(), packings.context());
    let rates = spec.calibration.unwrap_or_default();
    let cost = CostModel::default();
    let groups = plan.groups(spec.batch);
    let (inputs, outputs) = (groups * plan.inputs().len(), groups * plan.outputs().len());
    let keys = plan.rotation_steps().len();
    // The times of encryption and decryption hold for N = 4096.
    let ring = context.degree() as f64 / 4096.0;
    Work {
        plan: plan.kind().name(),
        server: cost.evaluation_ns(plan, spec.batch) * 1e-9 * rates.diagonal_evaluation,
        client: ring
            * (inputs as f64 * rates.diagonal_encryption
                + outputs as f64 * rates.diagonal_decryption),
        shared_bytes: if keys == 0 {
            0
        } else {
            wire::galois_keys_len(context, keys)
        },
        upload_bytes: wire::seeded_ciphertexts_len(context, inputs),
        download_bytes: wire::answers_len(context, outputs, ckks::rounding::DEFAULT_ANSWER_BITS),
    }
    .estimate(spec)
}

fn gemm(spec: &TrialSpec, sizes: &GemmSizes) -> PlanEstimate {
    let rates = spec.calibration.unwrap_or_default();
    let columns = spec.batch as f64;
    let seconds = |rows: usize, bits: u32, rates: GemmClientRates| {
        let product = if spec.batch <= sizes.ring().direct_columns(bits) {
            columns * rates.direct
        } else {
            sizes.parameters().blocks(spec.batch) as f64 * rates.transform
        };
        rows as f64 * (product + columns * rates.coefficient)
    };
    let client = seconds(spec.d_in, LOG_Q, rates.gemm_encryption)
        + seconds(
            spec.d_out,
            sizes.length().mask_products,
            rates.gemm_decryption,
        );
    let memory = sizes.memory();
    let (shared_bytes, sent) = match spec.circumstances.delivery {
        Delivery::Cached => (memory.mask_products, 0),
        Delivery::Sent => (0, memory.mask_products),
    };
    Work {
        plan: "gemm",
        server: sizes.multiply_adds() as f64 / rates.gemm_multiply_adds,
        client,
        shared_bytes,
        upload_bytes: memory.upload,
        download_bytes: memory.answer + sent,
    }
    .estimate(spec)
}
