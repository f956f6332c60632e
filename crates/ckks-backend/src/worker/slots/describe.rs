//! What a library in a worker says about itself, and what follows from it.

use crate::worker::message::{HelloReply, OpenReply, Parameters};
use crate::{BackendError, Counts, Description, Packing, ParameterReport, PlanReport, TrialSpec};
use ckks::security::{Centibits, check_bits};
use ckks_linear::slots::SlotProgram;
use sha2::{Digest, Sha256};

/// A context, checked.
pub(super) struct Described {
    pub(super) parameters: ParameterReport,
    pub(super) context: OpenReply,
    /// What is known of how the library came here.
    pub(super) notes: Vec<String>,
}

impl Described {
    pub(super) fn describe(
        &self,
        hello: &HelloReply,
        program: &SlotProgram,
        spec: &TrialSpec,
    ) -> Description {
        let version = match &hello.commit {
            Some(commit) => {
                let short: String = commit.chars().take(12).collect();
                format!("{} ({short})", hello.version)
            }
            None => hello.version.clone(),
        };
        Description {
            library: hello.library.clone(),
            version,
            device: self.context.device.clone(),
            kernels: self.context.kernels.clone(),
            parameters: self.parameters.clone(),
            plan: self.plan(program, spec),
            notes: [&*self.notes, &*self.context.notes].concat(),
        }
    }

    fn plan(&self, program: &SlotProgram, spec: &TrialSpec) -> PlanReport {
        let plan = program.plan();
        let counts = program.counts(spec.batch);
        let ciphertexts = program.ciphertexts(spec.batch);
        let steps = program.rotation_steps();
        let sizes = Sizes::of(&self.context.parameters);
        let prepared = (program.diagonals() as u64).saturating_mul(sizes.plaintext);
        let keys = (steps.len() as u64).saturating_mul(sizes.key);
        let (upload, download) = (
            ciphertexts.inputs.saturating_mul(sizes.ciphertext),
            ciphertexts.outputs.saturating_mul(sizes.ciphertext),
        );
        PlanReport {
            packing: Packing {
                name: plan.kind().name().to_owned(),
                layout: program.describe(),
                n1: Some(plan.baby_steps()),
                n2: Some(counts.most_giants as usize),
                vectors_per_ciphertext: program.vectors_per_ciphertext(),
            },
            counts: Counts {
                key_switches: counts.key_switches(),
                baby_steps: counts.baby_rotations,
                giant_steps: counts.giant_rotations,
                plaintext_products: counts.plaintexts,
                // How often a library transforms is its own affair.
                ntts: 0,
                input_ciphertexts: ciphertexts.inputs,
                output_ciphertexts: ciphertexts.outputs,
                galois_keys: steps.len() as u64,
                multiply_adds: 0,
            },
            rotation_steps: steps.into_iter().map(|step| step as i64).collect(),
            key_bytes: keys,
            key_memory_bytes: keys,
            prepared_bytes: prepared,
            peak_memory_bytes: [prepared, keys, upload, download]
                .into_iter()
                .fold(0, u64::saturating_add),
            upload_bytes: upload,
            download_bytes: download,
            mask_products: None,
            estimates: Vec::new(),
            predicted_rms_error: None,
            predicted_seconds: None,
            reasons: vec![
                "the packing is this program's; sizes are what these parameters need at least, \
                 with eight bytes for each residue"
                    .to_owned(),
            ],
        }
    }
}

/// Bytes with eight for each residue: what a library needs at least, before its own overheads.
struct Sizes {
    plaintext: u64,
    ciphertext: u64,
    key: u64,
}

impl Sizes {
    fn of(parameters: &Parameters) -> Self {
        let limb = parameters.ring_degree.saturating_mul(8);
        let (q, p) = (parameters.q.len() as u64, parameters.p.len() as u64);
        // Hybrid key switching with as few digits as P allows.
        let digits = if p == 0 { q } else { q.div_ceil(p) };
        Self {
            plaintext: limb.saturating_mul(q),
            ciphertext: limb.saturating_mul(2 * q),
            key: limb.saturating_mul(2 * digits * (q + p)),
        }
    }
}

/// The parameters with their security row.
///
/// # Errors
/// [`BackendError::Refused`] beyond the table.
pub(in crate::worker) fn parameters(set: &Parameters) -> Result<ParameterReport, BackendError> {
    let bits = set.q.iter().chain(&set.p).map(|&m| (m as f64).log2()).sum();
    let row = check_bits(set.ring_degree as usize, Centibits::from_bits(bits))
        .map_err(|error| BackendError::Refused(format!("parameters {}: {error}", set.name)))?;
    Ok(ParameterReport {
        name: set.name.clone(),
        ring_degree: row.ring_degree,
        q: set.q.clone(),
        p: set.p.clone(),
        log_qp: row.log_qp.bits(),
        security_limit: row.limit,
        security_note: format!(
            "log2(QP) {} of at most {} at N = {}, Security Guidelines for Implementing HE (ePrint \
             2024/463), Table 5.2, which is for a uniform ternary secret at 128-bit classical \
             (not quantum) security; this secret: {}",
            row.log_qp, row.limit, row.ring_degree, set.secret
        ),
        secret: set.secret.clone(),
        error: set.error.clone(),
        digest: digest(set),
    })
}

/// SHA-256 of the name and all figures, hex.
fn digest(set: &Parameters) -> String {
    let canonical = format!(
        "{}|{}|{:?}|{:?}|{}|{}",
        set.name, set.ring_degree, set.q, set.p, set.secret, set.error
    );
    let hash = Sha256::digest(canonical.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
