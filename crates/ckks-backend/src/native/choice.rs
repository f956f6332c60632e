//! `--plan auto`: which plan serves a layer and batch best, and what each would cost.

use super::diagonal::Packings;
use super::gemm::GemmSizes;
use crate::{
    BackendError, Calibration, Delivery, GemmClientRates, PlanChoice, PlanEstimate, TrialSpec,
};
use ckks::gemm::{GemmParameters, LOG_Q};
use ckks::rounding::DEFAULT_ANSWER_BITS;
use ckks::{Parameters, wire};
use ckks_linear::cost::CostModel;
use ckks_linear::noise;
use ckks_linear::shape::LayerShape;

/// Columns that the kernel of the matrix product computes at least.
const COLUMNS_AT_ONCE: usize = 8;

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
                row: 0.7e-6,
                direct: 0.17e-6,
                transform: 8e-6,
                coefficient: 12e-9,
            },
            gemm_decryption: GemmClientRates {
                row: 0.6e-6,
                direct: 0.17e-6,
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
        let mut estimates: Vec<Estimate> = Vec::new();
        if let Some(packings) = &candidates.diagonal {
            let plan = match spec.plan {
                PlanChoice::DiagonalSquare => PlanChoice::DiagonalSquare,
                _ => PlanChoice::Diagonal,
            };
            let context = packings.context();
            let rms = noise::expected_rms(packings.plan(), context, DEFAULT_ANSWER_BITS);
            estimates.push(Estimate::new(spec, plan, diagonal(spec, packings), rms));
        }
        if let Some(sizes) = &candidates.gemm {
            let rms = sizes.expected_rms();
            estimates.push(Estimate::new(
                spec,
                PlanChoice::Gemm,
                gemm(spec, sizes),
                rms,
            ));
        }
        estimates.sort_by(|a, b| a.cost.total_seconds.total_cmp(&b.cost.total_seconds));
        let precise = estimates.iter().find(|e| e.six_sigma <= spec.gate);
        let chosen = precise.or(estimates.first());
        let (plan, reason) = match (spec.plan, chosen) {
            (PlanChoice::Auto, Some(chosen)) => {
                (chosen.plan, Some(reason(spec, chosen, &estimates)))
            }
            (PlanChoice::Auto, None) => (PlanChoice::Diagonal, None),
            (other, _) => (other, None),
        };
        Self {
            plan,
            estimates: estimates
                .into_iter()
                .map(|estimate| estimate.cost)
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

/// One plan that could run.
#[derive(Clone, Debug)]
struct Estimate {
    plan: PlanChoice,
    cost: PlanEstimate,
    /// Six standard deviations of the error to expect.
    six_sigma: f64,
}

impl Estimate {
    /// `synthetic_rms` is the error for the synthetic data; it grows with the norms of the data.
    fn new(spec: &TrialSpec, plan: PlanChoice, cost: PlanEstimate, synthetic_rms: f64) -> Self {
        let growth = spec.expected_product_norm() / spec.synthetic_product_norm();
        Self {
            plan,
            cost,
            six_sigma: 6.0 * synthetic_rms * growth,
        }
    }
}

fn reason(spec: &TrialSpec, chosen: &Estimate, estimates: &[Estimate]) -> String {
    let in_words = |estimate: &Estimate| {
        let cost = &estimate.cost;
        let imprecise = if estimate.six_sigma <= spec.gate {
            String::new()
        } else {
            format!(
                ", errors of {:.1e} predicted (6 sigma), the gate is {:.1e}",
                estimate.six_sigma, spec.gate
            )
        };
        format!(
            "{} {:.3} ms (server {:.3}, client {:.3}, link {:.3}, share of what is sent once \
             {:.3}{imprecise})",
            cost.plan,
            1e3 * cost.total_seconds,
            1e3 * cost.server_seconds,
            1e3 * cost.client_seconds,
            1e3 * cost.link_seconds,
            1e3 * cost.shared_seconds,
        )
    };
    let others: Vec<String> = estimates
        .iter()
        .filter(|estimate| estimate.plan != chosen.plan)
        .map(in_words)
        .collect();
    let against = if others.is_empty() {
        " (no other plan fits)".to_owned()
    } else {
        format!(" against {}", others.join(", "))
    };
    format!(
        "auto, predicted for {} at {:.3} Gbit/s, {} evaluations sharing what is sent once: \
         {}{against}",
        match spec.batch {
            1 => "1 vector".to_owned(),
            several => format!("{several} vectors"),
        },
        spec.circumstances.link_bytes_per_second * 8e-9,
        spec.circumstances.reuse,
        in_words(chosen),
    )
}

/// How much faster than one thread several are taken to be.
pub(super) fn speedup(threads: usize) -> f64 {
    1.0 + FURTHER_THREAD * (threads.max(1) - 1) as f64
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
        let speedup = speedup(spec.threads);
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
    let columns_computed = spec.batch.next_multiple_of(COLUMNS_AT_ONCE) as f64;
    let seconds = |rows: usize, bits: u32, rates: GemmClientRates| {
        let product = if spec.batch <= sizes.ring().direct_columns(bits) {
            rates.row + columns * rates.direct
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
        // The kernel works on 8 columns at a time.
        server: sizes.multiply_adds() as f64 / columns * columns_computed
            / rates.gemm_multiply_adds,
        client,
        shared_bytes,
        upload_bytes: memory.upload,
        download_bytes: memory.answer + sent,
    }
    .estimate(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Circumstances;

    fn spec(plan: PlanChoice, batch: usize) -> TrialSpec {
        TrialSpec {
            d_in: 2048,
            d_out: 1024,
            batch,
            plan,
            params: None,
            mode: None,
            isolate: false,
            stage_timeout: None,
            memory_limit: None,
            threads: 1,
            ahead: false,
            replicas: 1,
            gate: 1e-4,
            product_norm: None,
            circumstances: Circumstances::default(),
            calibration: None,
            seed: 0,
        }
    }

    fn choose(spec: &TrialSpec) -> Result<Choice, BackendError> {
        let shape = LayerShape::new(spec.d_in, spec.d_out).unwrap();
        Ok(Choice::of(spec, &candidates(spec, shape)?))
    }

    #[test]
    fn one_vector_and_many() {
        for (batch, expected) in [(1, PlanChoice::Diagonal), (4096, PlanChoice::Gemm)] {
            let choice = choose(&spec(PlanChoice::Auto, batch)).unwrap();
            assert_eq!(choice.plan(), expected);
            let [first, second] = choice.estimates() else {
                panic!("two plans")
            };
            assert!(first.total_seconds <= second.total_seconds);
            let reason = choice.reasons().unwrap();
            assert!(reason.starts_with("auto, predicted for"), "{reason}");
            for estimate in choice.estimates() {
                let sum = estimate.server_seconds
                    + estimate.client_seconds
                    + estimate.link_seconds
                    + estimate.shared_seconds;
                assert!((sum - estimate.total_seconds).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn bytes_on_the_link_by_hand() {
        let mut sent = spec(PlanChoice::Gemm, 100);
        sent.circumstances.delivery = Delivery::Sent;
        // One bit for each second: durations on the link are bits.
        sent.circumstances.link_bytes_per_second = 0.125;
        sent.circumstances.reuse = 10;
        let cached = TrialSpec {
            circumstances: Circumstances {
                delivery: Delivery::Cached,
                ..sent.circumstances
            },
            ..sent.clone()
        };
        let gemm = |spec: &TrialSpec| {
            let choice = choose(spec).unwrap();
            let found = choice.estimates().iter().find(|e| e.plan == "gemm");
            found.unwrap().clone()
        };
        let (sent, cached) = (gemm(&sent), gemm(&cached));
        // Header and fields, and 650 bytes for each row of 100 coefficients of 52 bits.
        assert_eq!(sent.upload_bytes, 68 + 2048 * 650);
        assert_eq!(cached.upload_bytes, sent.upload_bytes);
        // W·A of 1,024 rows of 2,048 coefficients of 28 bits.
        let products = 68 + 1024 * 2048 * 28 / 8;
        assert_eq!(sent.download_bytes, cached.download_bytes + products);
        assert_eq!(sent.shared_seconds, 0.0);
        assert!((cached.shared_seconds - 8.0 * products as f64 / 10.0).abs() < 1e-3);
        let bits = 8.0 * (cached.upload_bytes + cached.download_bytes) as f64;
        assert!((cached.link_seconds - bits).abs() < 1e-3);
    }

    #[test]
    fn a_slow_link_speaks_against_sending_much() {
        // 100 vectors with W·A beside the answer: 9 MB against 4 MB.
        let mut spec = spec(PlanChoice::Auto, 100);
        spec.circumstances.delivery = Delivery::Sent;
        assert_eq!(choose(&spec).unwrap().plan(), PlanChoice::Gemm);
        spec.circumstances.link_bytes_per_second = 1e6;
        assert_eq!(choose(&spec).unwrap().plan(), PlanChoice::Diagonal);
    }

    #[test]
    fn figures_of_the_machine_decide() {
        let slow = Calibration {
            gemm_multiply_adds: 1e7,
            ..Calibration::default()
        };
        let spec = TrialSpec {
            calibration: Some(slow),
            ..spec(PlanChoice::Auto, 4096)
        };
        assert_eq!(choose(&spec).unwrap().plan(), PlanChoice::Diagonal);
    }

    #[test]
    fn a_plan_that_misses_the_gate_is_not_chosen() {
        // Data of ten times the synthetic norm, and a gate between what the two plans reach.
        let mut spec = spec(PlanChoice::Auto, 4096);
        let norm = 10.0 * spec.synthetic_product_norm();
        spec.product_norm = Some(norm);
        // The least error of gemm is about 3.5e-8 of the norm, six sigmas of it 2.1e-7.
        spec.gate = 1e-7 * norm;
        let choice = choose(&spec).unwrap();
        let reason = choice.reasons().unwrap();
        assert!(reason.contains("the gate is"), "{reason}");
        spec.gate = 1e-3 * norm;
        let choice = choose(&spec).unwrap();
        assert_eq!(choice.plan(), PlanChoice::Gemm);
        assert!(!choice.reasons().unwrap().contains("the gate is"));
    }

    #[test]
    fn parameters_and_options_rule_plans_out() {
        let named = |plan, name: &str| TrialSpec {
            params: Some(name.to_owned()),
            ..spec(plan, 4096)
        };
        let choice = choose(&named(PlanChoice::Auto, "diagonal-8192")).unwrap();
        assert_eq!(choice.plan(), PlanChoice::Diagonal);
        assert!(choice.reasons().unwrap().contains("no other plan fits"));
        let choice = choose(&named(PlanChoice::Auto, "gemm-2048")).unwrap();
        assert_eq!(choice.plan(), PlanChoice::Gemm);
        for (plan, name) in [
            (PlanChoice::Gemm, "diagonal-4096"),
            (PlanChoice::Diagonal, "gemm-2048"),
            (PlanChoice::DiagonalSquare, "gemm-2048"),
            (PlanChoice::Auto, "gemm-4096"),
        ] {
            let error = choose(&named(plan, name)).unwrap_err();
            assert!(matches!(error, BackendError::BadArgument(_)));
            assert!(error.to_string().contains(name), "{error}");
        }
        let ahead = |plan| TrialSpec {
            ahead: true,
            ..spec(plan, 4096)
        };
        assert!(matches!(
            choose(&ahead(PlanChoice::Gemm)),
            Err(BackendError::Unsupported(_))
        ));
        let choice = choose(&ahead(PlanChoice::Auto)).unwrap();
        assert_eq!(choice.plan(), PlanChoice::Diagonal);
    }
}
