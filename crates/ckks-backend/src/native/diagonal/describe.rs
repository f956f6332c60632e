//! What the native backend says about itself.

use super::Diagonal;
use crate::native::LIBRARY;
use crate::native::choice::Choice;
use crate::{Counts, Description, Packing, ParameterReport, PlanReport, TrialSpec};
use ckks::rounding::DEFAULT_ANSWER_BITS;
use ckks::security::ERROR_SIGMA;
use ckks::{Context, Parameters, wire};
use ckks_linear::cost::{CostModel, MemoryEstimate};
use ckks_linear::noise::expected_rms;
use ckks_linear::plan::Plan;
use ckks_linear::planner::Candidate;

pub(super) fn describe(backend: &Diagonal) -> Description {
    let Diagonal {
        context,
        plan,
        considered,
        choice,
        spec,
        ..
    } = backend;
    Description {
        library: LIBRARY.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        device: "cpu".to_owned(),
        kernels: format!(
            "{}, NTT {}",
            context.level().name(),
            context.table(0).kernel().name()
        ),
        parameters: parameters(context.parameters()),
        plan: plan_report(context, plan, considered, choice, spec),
        notes: Vec::new(),
    }
}

pub(in crate::native) fn parameters(set: &Parameters) -> ParameterReport {
    let row = set.security();
    ParameterReport {
        name: set.name().to_owned(),
        ring_degree: set.ring_degree(),
        q: set.q().iter().map(|m| u64::from(m.value())).collect(),
        p: set.p().iter().map(|m| u64::from(m.value())).collect(),
        log_qp: row.log_qp.bits(),
        security_limit: row.limit,
        security_note: format!(
            "128-bit classical (not quantum): log2(QP) {} of at most {} at N = {}, Security \
             Guidelines for Implementing HE (ePrint 2024/463), Table 5.2",
            row.log_qp, row.limit, row.ring_degree
        ),
        secret: "uniform ternary".to_owned(),
        error: format!("discrete Gaussian, sigma = {ERROR_SIGMA}"),
        digest: set.digest().to_string(),
    }
}

fn plan_report(
    context: &Context,
    plan: &Plan,
    considered: &[Candidate],
    choice: &Choice,
    spec: &TrialSpec,
) -> PlanReport {
    let counts = plan.counts();
    let groups = plan.groups(spec.batch) as u64;
    let steps = plan.rotation_steps();
    let (inputs, outputs) = (plan.inputs().len() as u64, plan.outputs().len() as u64);
    let memory = MemoryEstimate::of(plan, context, spec.batch);
    let key_bytes = if steps.is_empty() {
        0
    } else {
        wire::galois_keys_len(context, steps.len())
    };
    let upload = wire::seeded_ciphertexts_len(context, (groups * inputs) as usize);
    let download = wire::answers_len(context, (groups * outputs) as usize, DEFAULT_ANSWER_BITS);
    let cost = CostModel::default();
    PlanReport {
        packing: Packing {
            name: plan.kind().name().to_owned(),
            layout: plan.describe(),
            n1: Some(plan.baby_steps()),
            n2: Some(counts.most_giants as usize),
            vectors_per_ciphertext: plan.folding().vectors_per_group(),
        },
        counts: Counts {
            key_switches: groups * counts.key_switches(),
            baby_steps: groups * counts.baby_rotations,
            giant_steps: groups * counts.giant_rotations,
            plaintext_products: groups * counts.plaintexts,
            ntts: groups * counts.ntts(context.q_limbs() as u64, outputs),
            input_ciphertexts: groups * inputs,
            output_ciphertexts: groups * outputs,
            galois_keys: steps.len() as u64,
            multiply_adds: 0,
        },
        rotation_steps: steps,
        key_bytes,
        key_memory_bytes: memory.keys,
        prepared_bytes: memory.prepared,
        // Serialised keys live on both sides at once while they are handed over.
        peak_memory_bytes: memory.prepared * spec.replicas.max(1) as u64
            + memory.keys.max(3 * key_bytes)
            + memory.working
            + 4 * (upload + download),
        upload_bytes: upload,
        download_bytes: download,
        mask_products: None,
        estimates: choice.estimates().to_vec(),
        predicted_rms_error: Some(expected_rms(plan, context, DEFAULT_ANSWER_BITS)),
        predicted_seconds: Some(cost.evaluation_ns(plan, spec.batch) * 1e-9),
        reasons: choice
            .reasons()
            .into_iter()
            .chain(considered.iter().enumerate().map(|(i, candidate)| {
                let counts = candidate.plan.counts();
                format!(
                    "{}: {:.2} ms predicted with the link; {}; n1 = {}, {} plaintexts, {} key \
                     switches",
                    if i == 0 { "chosen" } else { "also possible" },
                    candidate.total_ns * 1e-6,
                    candidate.plan.describe(),
                    candidate.plan.baby_steps(),
                    counts.plaintexts,
                    counts.key_switches(),
                )
            }))
            .collect(),
    }
}
