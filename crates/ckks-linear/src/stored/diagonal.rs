//! Layers of the `diagonal` plan as bytes.

use super::cursor::Cursor;
use super::error::StoredError;
use super::front::{Form, Opened, begin};
use super::{StoredBytes, plan};
use crate::client::LayerClient;
use crate::mac::{Block, Span};
use crate::manifest::LayerManifest;
use crate::plan::{Giant, Plan};
use crate::prepared::{PreparedLayer, PreparedOutput, baby_bases};
use ckks::Context;
use ckks::memory::BlockBuffer;
use ckks::rounding::DEFAULT_ANSWER_BITS;
use rayon::prelude::*;

impl PreparedLayer {
    /// The layer as bytes; `docs/prepared-weights.md` specifies them. As confidential as the
    /// weights.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let plan = &self.manifest.plan;
        let mut head = Vec::new();
        plan::encode(plan, &mut head);
        let manifest = &self.manifest;
        for number in [manifest.weight_scale, manifest.operator_norm] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        for norm in &manifest.column_norms {
            head.extend_from_slice(&norm.to_le_bytes());
        }
        for (o, output) in self.outputs.iter().enumerate() {
            head.extend(present(&plan.giants(o), output, &self.baby_base));
        }
        let body: usize = self
            .outputs
            .iter()
            .map(|o| o.plaintexts.bytes().len())
            .sum();
        let mut out = begin(Form::Diagonal, manifest.digest, &head, body as u64);
        out.reserve_exact(body);
        for output in &self.outputs {
            for block in output.plaintexts.blocks() {
                for residue in block {
                    out.extend_from_slice(&residue.to_le_bytes());
                }
            }
        }
        out
    }

    /// The layer that bytes hold, for the parameters it was prepared for. It evaluates to the same
    /// bits as the one that was encoded.
    ///
    /// # Errors
    /// [`StoredError`] unless the bytes are exactly what some layer could be encoded to. Bytes that
    /// are so, but were tampered with, give wrong answers: have them sealed.
    pub fn decode<S: StoredBytes + ?Sized>(
        context: &Context,
        source: &S,
    ) -> Result<Self, StoredError> {
        let opened = Opened::read(Form::Diagonal, source)?;
        context.check_digest("a stored layer", opened.digest)?;
        let mut fields = Cursor(&opened.head);
        let plan = plan::decode(&mut fields, context.slots())?;
        let mut numbers = fields.floats("scale and norm", 2)?;
        let weight_scale = numbers.next().unwrap_or(f64::NAN);
        let operator_norm = numbers.next().unwrap_or(f64::NAN);
        let columns = plan.folding().columns(plan.shape());
        let column_norms = fields.floats("column norms", columns)?.collect();
        let manifest = LayerManifest {
            plan,
            weight_scale,
            operator_norm,
            column_norms,
            digest: opened.digest,
        };
        // What no client would accept is no layer.
        LayerClient::new(context, manifest.clone(), DEFAULT_ANSWER_BITS)?;
        let (outputs, zeros) = read_terms(&manifest.plan, &mut fields)?;
        fields.end(super::front::ALIGNMENT)?;
        let per_term = context.q_limbs() * (context.degree() / 16);
        let total: u64 = outputs.iter().map(|o| o.terms() as u64).sum();
        let block = size_of::<Block>() as u64;
        opened.check_body(total.checked_mul(per_term as u64 * block))?;
        let mut at = opened.body;
        let mut filled = Vec::with_capacity(outputs.len());
        for output in outputs {
            let mut plaintexts = BlockBuffer::zeroed(output.terms() * per_term)?;
            source
                .read(at, plaintexts.bytes_mut())
                .map_err(StoredError::Read)?;
            at += plaintexts.bytes().len() as u64;
            check_residues(context, &mut plaintexts)?;
            filled.push(PreparedOutput {
                plaintexts,
                ..output
            });
        }
        Ok(Self::assemble(context, manifest, filled, zeros))
    }
}

/// A bit for each diagonal of an output, in the order of the plan: whether it has a plaintext.
fn present(giants: &[Giant], output: &PreparedOutput, baby_base: &[usize]) -> Vec<u8> {
    let all: usize = giants.iter().map(|giant| giant.terms.len()).sum();
    let mut bits = vec![0; all.div_ceil(8)];
    let mut at = 0;
    // Both are in the order of the plan, and the output leaves out what is zero.
    let mut spans = output.steps.iter().zip(&output.spans).peekable();
    for giant in giants {
        let span = spans.next_if(|(step, _)| **step == giant.step);
        let babies = span.map_or(&[][..], |(_, span)| {
            &output.babies_of_terms[span.start..span.start + span.len]
        });
        let mut babies = babies.iter().peekable();
        for term in &giant.terms {
            let baby = (baby_base[term.input] + term.baby) as u32;
            if babies.next_if(|next| **next == baby).is_some() {
                bits[at / 8] |= 1u8 << (at % 8);
            }
            at += 1;
        }
    }
    bits
}

/// The terms of all outputs, without their plaintexts, and how many diagonals are zero.
fn read_terms(
    plan: &Plan,
    fields: &mut Cursor<'_>,
) -> Result<(Vec<PreparedOutput>, usize), StoredError> {
    let (baby_base, _) = baby_bases(plan);
    let mut zeros = 0;
    let mut outputs = Vec::with_capacity(plan.outputs().len());
    for o in 0..plan.outputs().len() {
        let giants = plan.giants(o);
        let all: usize = giants.iter().map(|giant| giant.terms.len()).sum();
        let bits = fields.bytes("diagonals", all.div_ceil(8))?;
        let has = |at: usize| {
            bits.get(at / 8)
                .is_some_and(|byte| byte >> (at % 8) & 1 == 1)
        };
        if (all..bits.len() * 8).any(has) {
            return Err(StoredError::NotZero {
                field: "padding after the diagonals",
            });
        }
        let mut output = PreparedOutput {
            steps: Vec::new(),
            spans: Vec::new(),
            babies_of_terms: Vec::new(),
            plaintexts: BlockBuffer::zeroed(0)?,
        };
        let mut at = 0;
        for giant in &giants {
            let start = output.terms();
            for term in &giant.terms {
                if has(at) {
                    let baby = baby_base[term.input] + term.baby;
                    output.babies_of_terms.push(baby as u32);
                } else {
                    zeros += 1;
                }
                at += 1;
            }
            let len = output.terms() - start;
            if len > 0 {
                output.steps.push(giant.step);
                output.spans.push(Span { start, len });
            }
        }
        outputs.push(output);
    }
    Ok((outputs, zeros))
}

/// Brings residues to this machine's order of bytes, and refuses those that are none: sums of
/// products are only reduced in time for numbers below their primes.
fn check_residues(context: &Context, plaintexts: &mut BlockBuffer) -> Result<(), StoredError> {
    let of_limb = plaintexts.len() / context.q_limbs();
    if of_limb == 0 {
        return Ok(());
    }
    let limbs = plaintexts.blocks_mut().chunks_mut(of_limb).enumerate();
    for (limb, blocks) in limbs {
        let modulus = context.modulus(limb).value();
        let bad = blocks
            .par_iter_mut()
            .with_min_len(4096)
            .find_map_any(|block| {
                let mut bad = None;
                for residue in block {
                    *residue = u32::from_le(*residue);
                    if *residue >= modulus {
                        bad = Some(*residue);
                    }
                }
                bad
            });
        if let Some(found) = bad {
            return Err(StoredError::Residue { found, modulus });
        }
    }
    Ok(())
}
