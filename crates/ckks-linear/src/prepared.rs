//! Weights turned into what evaluation streams.
//!
//! Coefficients are rounded at random, up or down by their fraction, from a generator keyed by the
//! place of the plaintext, so that errors average out whatever the weights are (see
//! [`crate::noise`]). All of it is public and repeats to the bit.

use crate::encode::Preparation;
use crate::error::{LinearError, expect_count};
use crate::evaluate::BlockMoves;
use crate::mac::{Block, Span};
use crate::manifest::LayerManifest;
use crate::noise::{NORMS, NoiseModel, check_answer_bits, column_norms};
use crate::norm::{max_or_nan, slot_operator_bound};
use crate::plan::Plan;
use ckks::Context;
use ckks::automorphism::{Automorphism, GaloisElement};
use ckks::memory::BlockBuffer;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use tensor_io::WeightMatrix;

/// One output ciphertext's plaintexts.
#[derive(Debug)]
pub(crate) struct PreparedOutput {
    /// Rotation step and terms of each inner sum; only those with a nonzero plaintext.
    pub(crate) steps: Vec<usize>,
    pub(crate) spans: Vec<Span>,
    pub(crate) babies_of_terms: Vec<u32>,
    /// `[limb][block][term]`.
    pub(crate) plaintexts: BlockBuffer,
}

impl PreparedOutput {
    pub(crate) fn terms(&self) -> usize {
        self.babies_of_terms.len()
    }
}

/// A layer ready for evaluation on the server. `Send + Sync`; evaluation does not change it.
#[derive(Debug)]
pub struct PreparedLayer {
    pub(crate) manifest: LayerManifest,
    pub(crate) outputs: Vec<PreparedOutput>,
    /// First global baby number of each input.
    pub(crate) baby_base: Vec<usize>,
    /// All babies.
    pub(crate) babies: usize,
    /// Every rotation of the plan, for the online part of few queries, which permutes without keys.
    pub(crate) automorphisms: BTreeMap<usize, Automorphism>,
    /// The same and step 0 as moves of blocks, for the online part of many queries.
    pub(crate) moves: BlockMoves,
    zero_diagonals: usize,
}

impl PreparedLayer {
    /// Encodes a layer's weights under a plan. `progress` is called from any thread with a
    /// fraction from 0 to 1. The result is the same on any number of threads.
    ///
    /// # Errors
    /// [`LinearError::Count`] when the weights have another shape than the plan,
    /// [`LinearError::Ckks`] for an answer length that the context cannot give,
    /// [`LinearError::Magnitude`] for norms beyond double precision, [`LinearError::Ckks`] when memory
    /// is refused.
    pub fn prepare(
        context: &Context,
        plan: Plan,
        weights: &WeightMatrix,
        answer_bits: u32,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Self, LinearError> {
        check_weights(context, &plan, weights)?;
        check_answer_bits(context, answer_bits)?;
        let columns = plan.folding().columns(plan.shape());
        let column_norms = column_norms(plan.folding(), weights, columns);
        let operator_norm = (0..plan.outputs().len())
            .map(|o| slot_operator_bound(&plan, weights, o, o as u64))
            .fold(0.0, max_or_nan);
        if operator_norm != 0.0 && !NORMS.contains(&operator_norm) {
            return Err(LinearError::Magnitude {
                what: "weights",
                norm: operator_norm,
            });
        }
        let largest = column_norms.iter().copied().fold(0.0, max_or_nan);
        let noise = NoiseModel::new(&plan, context, answer_bits);
        let weight_scale = noise.weight_scale(operator_norm, largest);
        let (baby_base, _) = baby_bases(&plan);
        let total = plan.counts().plaintexts as usize;
        let done = AtomicUsize::new(0);
        let mut zero_diagonals = 0;
        let mut outputs = Vec::with_capacity(plan.outputs().len());
        for o in 0..plan.outputs().len() {
            let preparation = Preparation {
                context,
                plan: &plan,
                weights,
                o,
                weight_scale,
            };
            let prepared = preparation.output(&baby_base, &|encoded| {
                let done = done.fetch_add(encoded, Ordering::Relaxed) + encoded;
                progress(done as f64 / total as f64);
            })?;
            zero_diagonals += prepared.zeros;
            outputs.push(prepared.output);
        }
        progress(1.0);
        let digest = context.digest();
        let manifest = LayerManifest {
            plan,
            weight_scale,
            operator_norm,
            column_norms,
            digest,
        };
        Ok(Self::assemble(context, manifest, outputs, zero_diagonals))
    }

    /// Adds what follows from the plan.
    pub(crate) fn assemble(
        context: &Context,
        manifest: LayerManifest,
        outputs: Vec<PreparedOutput>,
        zero_diagonals: usize,
    ) -> Self {
        let plan = &manifest.plan;
        let (baby_base, babies) = baby_bases(plan);
        let rotations = || plan.rotation_steps().into_iter();
        let automorphisms = rotations()
            .map(|step| {
                let element = GaloisElement::rotation(step, context.degree());
                (step as usize, Automorphism::new(element, context.degree()))
            })
            .collect();
        let steps = std::iter::once(0)
            .chain(rotations().map(|step| step as usize))
            .collect();
        let babies_of = (0..plan.inputs().len()).map(|i| plan.babies_of(i));
        let moves = BlockMoves::new(steps, babies_of.max().unwrap_or(0), context.degree());
        Self {
            automorphisms,
            moves,
            manifest,
            outputs,
            baby_base,
            babies,
            zero_diagonals,
        }
    }

    /// What the client needs to know.
    pub fn manifest(&self) -> &LayerManifest {
        &self.manifest
    }

    /// Bytes of the prepared plaintexts.
    pub fn memory_bytes(&self) -> u64 {
        self.outputs
            .iter()
            .map(|o| (o.plaintexts.len() * size_of::<Block>()) as u64)
            .sum()
    }

    /// Diagonals left out because all their entries are zero.
    pub fn zero_diagonals(&self) -> usize {
        self.zero_diagonals
    }

    /// A copy in memory of its own, for measurements that must not find the layer in a cache.
    ///
    /// # Errors
    /// [`LinearError::Ckks`] when memory is refused.
    pub fn duplicate(&self) -> Result<Self, LinearError> {
        let outputs = self
            .outputs
            .iter()
            .map(|output| {
                let mut plaintexts = BlockBuffer::zeroed(output.plaintexts.len())?;
                plaintexts
                    .blocks_mut()
                    .copy_from_slice(output.plaintexts.blocks());
                Ok(PreparedOutput {
                    steps: output.steps.clone(),
                    spans: output.spans.clone(),
                    babies_of_terms: output.babies_of_terms.clone(),
                    plaintexts,
                })
            })
            .collect::<Result<_, LinearError>>()?;
        Ok(Self {
            manifest: self.manifest.clone(),
            outputs,
            baby_base: self.baby_base.clone(),
            babies: self.babies,
            automorphisms: self.automorphisms.clone(),
            moves: self.moves.clone(),
            zero_diagonals: self.zero_diagonals,
        })
    }

    /// Refuses parameters other than those the layer was prepared for.
    ///
    /// # Errors
    /// [`LinearError::Ckks`].
    pub(crate) fn check(&self, context: &Context) -> Result<(), LinearError> {
        Ok(context.check_digest("a prepared layer", self.manifest.digest)?)
    }
}

/// First global baby number of each input, and the number of all babies.
pub(crate) fn baby_bases(plan: &Plan) -> (Vec<usize>, usize) {
    let mut babies = 0;
    let bases = (0..plan.inputs().len())
        .map(|i| {
            let base = babies;
            babies += plan.babies_of(i);
            base
        })
        .collect();
    (bases, babies)
}

fn check_weights(
    context: &Context,
    plan: &Plan,
    weights: &WeightMatrix,
) -> Result<(), LinearError> {
    let pairs = [
        ("rows of the weights", plan.shape().d_in(), weights.d_in()),
        (
            "columns of the weights",
            plan.shape().d_out(),
            weights.d_out(),
        ),
        ("slots of the context", plan.slots(), context.slots()),
    ];
    pairs
        .into_iter()
        .try_for_each(|(what, expected, found)| expect_count(what, expected, found))
}
