//! Weights turned into what evaluation streams.
//!
//! Plaintexts are rounded to the nearest integers, except those of diagonals that an output has
//! more than once, up to a factor of ±1 or ±i: their rounding errors would be equal as well, up to
//! that factor, and add up (see [`crate::noise`]). A dither uniform in ±1/2 is added to their
//! coefficients first, from a generator keyed by the place of the plaintext. All of it is public
//! and repeats to the bit.

use crate::error::LinearError;
use crate::layout::{InputPiece, OutputPiece, SlotColumn, for_each_row_run};
use crate::mac::{Block, Span};
use crate::memory::DisjointBlocks;
use crate::noise::{NORMS, NoiseModel, check_answer_bits, column_norms};
use crate::norm::{max_or_nan, slot_operator_bound};
use crate::plan::{Giant, Plan, Term};
use crate::shape::ComplexColumn;
use crate::workspace::WorkspacePool;
use ckks::automorphism::{Automorphism, GaloisElement};
use ckks::kernels;
use ckks::memory::BlockBuffer;
use ckks::{Complex64, Context, ParameterDigest, RnsPoly};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use tensor_io::WeightMatrix;

/// Diagonals encoded together, so that a row of weights is read once for all of them.
const GROUP: usize = 16;

/// What the server publishes about a layer, and the client needs: no weight is in it, norms are.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerManifest {
    /// The packing; both sides derive it from shape and options.
    pub plan: Plan,
    /// Scale of the weights, Δw.
    pub weight_scale: f64,
    /// Bound of the slot operator's norm, the largest over all output ciphertexts.
    pub operator_norm: f64,
    /// Norms of the columns of the complex matrix.
    pub column_norms: Vec<f64>,
    /// Whether some diagonals are equal and were rounded with a dither, at twice the variance.
    pub dithered: bool,
    /// Parameters.
    pub digest: ParameterDigest,
}

impl LayerManifest {
    /// The largest column norm.
    pub fn largest_column_norm(&self) -> f64 {
        self.column_norms.iter().copied().fold(0.0, max_or_nan)
    }
}

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
    pub(crate) workspaces: WorkspacePool,
    /// Every rotation of the plan, for the online part, which permutes without keys.
    pub(crate) automorphisms: BTreeMap<usize, Automorphism>,
    zero_diagonals: usize,
}

impl PreparedLayer {
    /// Encodes a layer's weights under a plan. `progress` is called from any thread with a
    /// fraction from 0 to 1. The result is the same on any number of threads.
    ///
    /// # Errors
    /// [`LinearError::Count`] when the weights have another shape than the plan,
    /// [`LinearError::Ckks`] for an answer length that the context cannot give,
    /// [`LinearError::Magnitude`] for norms beyond double precision, [`LinearError::Allocation`].
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
        let mut babies = 0;
        let baby_base: Vec<usize> = (0..plan.inputs().len())
            .map(|i| {
                let base = babies;
                babies += plan.babies_of(i);
                base
            })
            .collect();
        let total = plan.counts().plaintexts as usize;
        let done = AtomicUsize::new(0);
        let (mut zero_diagonals, mut dithered) = (0, false);
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
            dithered |= prepared.dithered;
            outputs.push(prepared.output);
        }
        progress(1.0);
        let digest = context.digest();
        let manifest = LayerManifest {
            plan,
            weight_scale,
            operator_norm,
            column_norms,
            dithered,
            digest,
        };
        let automorphisms = manifest
            .plan
            .rotation_steps()
            .into_iter()
            .map(|step| {
                let element = GaloisElement::rotation(step, context.degree());
                (step as usize, Automorphism::new(element, context.degree()))
            })
            .collect();
        let workspaces = WorkspacePool::default();
        Ok(Self {
            automorphisms,
            manifest,
            outputs,
            baby_base,
            babies,
            workspaces,
            zero_diagonals,
        })
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
    /// [`LinearError::Allocation`].
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
            workspaces: WorkspacePool::default(),
            automorphisms: self.automorphisms.clone(),
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
    for (what, expected, found) in pairs {
        if expected != found {
            return Err(LinearError::Count {
                what,
                expected,
                found,
            });
        }
    }
    Ok(())
}

/// The preparation of one output ciphertext.
struct Preparation<'a> {
    context: &'a Context,
    plan: &'a Plan,
    weights: &'a WeightMatrix,
    o: usize,
    weight_scale: f64,
}

/// Terms of one giant step that read the same input at consecutive baby steps.
struct Task {
    input: usize,
    giant_step: usize,
    first_step: usize,
    /// Each consecutive step's diagonal; `None` for zero.
    terms: Vec<Option<Diagonal>>,
}

/// A nonzero diagonal.
#[derive(Clone, Copy)]
struct Diagonal {
    /// Position in the term list.
    term: usize,
    /// Whether the output has an equal one.
    repeated: bool,
}

/// What preparing one output gives.
struct Encoded {
    output: PreparedOutput,
    zeros: usize,
    dithered: bool,
}

impl Preparation<'_> {
    fn piece(&self) -> &OutputPiece {
        &self.plan.outputs()[self.o]
    }

    fn output(
        &self,
        baby_base: &[usize],
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Encoded, LinearError> {
        let tables: Vec<Vec<Option<SlotColumn>>> = self
            .plan
            .inputs()
            .iter()
            .map(|input| {
                (0..self.plan.slots())
                    .map(|p| self.piece().slot(input, p))
                    .collect()
            })
            .collect();
        let giants = self.plan.giants(self.o);
        let nonzero: Vec<Vec<bool>> = giants
            .par_iter()
            .map(|g| {
                g.terms
                    .iter()
                    .map(|t| self.is_nonzero(&tables[t.input], g.step, *t))
                    .collect()
            })
            .collect();
        let repeated = self.repeated(&tables, &giants, &nonzero);
        let mut output = PreparedOutput {
            steps: Vec::new(),
            spans: Vec::new(),
            babies_of_terms: Vec::new(),
            plaintexts: BlockBuffer::zeroed(0)?,
        };
        let mut tasks = Vec::new();
        let mut zeros = 0;
        for ((giant, nonzero), repeated) in giants.iter().zip(&nonzero).zip(&repeated) {
            let start = output.terms();
            let mut diagonals = Vec::with_capacity(giant.terms.len());
            for ((term, &present), &repeated) in giant.terms.iter().zip(nonzero).zip(repeated) {
                diagonals.push(present.then_some(Diagonal {
                    term: output.terms(),
                    repeated,
                }));
                if present {
                    output
                        .babies_of_terms
                        .push((baby_base[term.input] + term.baby) as u32);
                } else {
                    zeros += 1;
                }
            }
            let len = output.terms() - start;
            if len > 0 {
                output.steps.push(giant.step);
                output.spans.push(Span { start, len });
                push_tasks(giant, &diagonals, &mut tasks);
            }
        }
        let blocks = self.context.degree() / 16;
        let terms = output.terms();
        output.plaintexts = BlockBuffer::zeroed(self.context.q_limbs() * blocks * terms)?;
        let sink = DisjointBlocks::new(output.plaintexts.blocks_mut());
        tasks.par_iter().for_each_init(
            || Scratch::new(self.context),
            |scratch, task| {
                self.encode(&tables[task.input], task, scratch);
                for limb in 0..self.context.q_limbs() {
                    for block in 0..blocks {
                        let base = (limb * blocks + block) * terms;
                        for (poly, term) in scratch.polys.iter().zip(&task.terms) {
                            let Some(Diagonal { term, .. }) = term else {
                                continue;
                            };
                            let value = poly.limb(limb).as_chunks::<16>().0[block];
                            // SAFETY: each term belongs to one task, so each block is written once.
                            unsafe { sink.write(base + term, value) };
                        }
                    }
                }
                progress(task.terms.len());
            },
        );
        let dithered = repeated.iter().flatten().any(|&repeated| repeated);
        Ok(Encoded {
            output,
            zeros,
            dithered,
        })
    }

    fn column(&self, slot: SlotColumn) -> ComplexColumn<'_> {
        self.plan
            .folding()
            .column(self.weights, self.piece().columns.start + slot.column)
    }

    fn is_nonzero(&self, table: &[Option<SlotColumn>], giant_step: usize, term: Term) -> bool {
        table
            .iter()
            .flatten()
            .any(|&slot| self.entry(slot, giant_step, term) != Complex64::ZERO)
    }

    /// What one slot of a diagonal holds.
    fn entry(&self, slot: SlotColumn, giant_step: usize, term: Term) -> Complex64 {
        let input = &self.plan.inputs()[term.input];
        let mut entry = Complex64::ZERO;
        for_each_row_run(input, slot, giant_step + term.baby, 1, |_, row, _| {
            entry = self.column(slot).at(input.rows.start + row);
        });
        entry
    }

    /// Which of the nonzero diagonals of each giant step have equals in this output, up to a
    /// factor of ±1 or ±i. Giant steps do not matter: they rotate errors as they rotate diagonals.
    fn repeated(
        &self,
        tables: &[Vec<Option<SlotColumn>>],
        giants: &[Giant],
        nonzero: &[Vec<bool>],
    ) -> Vec<Vec<bool>> {
        let mut candidates = nonzero.to_vec();
        // A few slots tell most diagonals apart; only the rest are read whole.
        for every in [self.plan.slots() / 16 + 1, 1] {
            let prints: Vec<Vec<Option<u64>>> = giants
                .par_iter()
                .zip(&candidates)
                .map(|(giant, candidates)| {
                    let terms = giant.terms.iter().zip(candidates);
                    terms
                        .map(|(&term, candidate)| {
                            let table = &tables[term.input];
                            candidate.then(|| self.fingerprint(table, giant.step, term, every))
                        })
                        .collect()
                })
                .collect();
            let mut counts: HashMap<u64, usize> = HashMap::new();
            for print in prints.iter().flatten().flatten() {
                *counts.entry(*print).or_default() += 1;
            }
            let is_repeated = |print: &u64| counts.get(print).is_some_and(|&count| count > 1);
            candidates = prints
                .iter()
                .map(|prints| {
                    let prints = prints.iter();
                    prints
                        .map(|print| print.as_ref().is_some_and(is_repeated))
                        .collect()
                })
                .collect();
        }
        candidates
    }

    /// A hash of every `every`-th slot of a diagonal, the same for its multiples by -1 and ±i.
    fn fingerprint(
        &self,
        table: &[Option<SlotColumn>],
        giant_step: usize,
        term: Term,
        every: usize,
    ) -> u64 {
        let units = [
            Complex64::new(1.0, 0.0),
            Complex64::new(0.0, 1.0),
            Complex64::new(-1.0, 0.0),
            Complex64::new(0.0, -1.0),
        ];
        let mut hash = 0;
        let mut unit = None;
        for (p, slot) in table.iter().enumerate().step_by(every) {
            let Some(slot) = *slot else { continue };
            let entry = self.entry(slot, giant_step, term);
            if entry == Complex64::ZERO {
                continue;
            }
            // The factor that turns the first entry into the first quadrant.
            let unit = *unit.get_or_insert_with(|| {
                let first = |unit: &&Complex64| {
                    let turned = entry * **unit;
                    turned.re > 0.0 && turned.im >= 0.0
                };
                units.iter().find(first).copied().unwrap_or(units[0])
            });
            // Adding zero makes negative zeros positive.
            let turned = entry * unit + Complex64::ZERO;
            for word in [p as u64, turned.re.to_bits(), turned.im.to_bits()] {
                hash = mix(hash ^ word);
            }
        }
        hash
    }

    /// Encodes the diagonals of a task into `scratch.polys`, in Montgomery form.
    fn encode(&self, table: &[Option<SlotColumn>], task: &Task, scratch: &mut Scratch) {
        let encoder = self.context.encoder();
        let input: &InputPiece = &self.plan.inputs()[task.input];
        let count = task.terms.len();
        let stride = scratch.stride;
        scratch.slots[..count * stride].fill(Complex64::ZERO);
        for (p, slot) in table.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let column = self.column(slot);
            // The giant step rotates the product to the left afterwards, so the plaintext is
            // rotated to the right.
            let position = encoder.position((p + task.giant_step) % self.plan.slots());
            for_each_row_run(input, slot, task.first_step, count, |offset, first, len| {
                for i in 0..len {
                    let entry = column.at(input.rows.start + first + i);
                    scratch.slots[(offset + i) * stride + position] = entry;
                }
            });
        }
        let n = self.context.slots();
        for ((slots, poly), diagonal) in scratch
            .slots
            .chunks_mut(stride)
            .zip(&mut scratch.polys)
            .zip(&task.terms)
        {
            encoder.embed_positions(
                &mut slots[..n],
                self.weight_scale,
                &mut scratch.coefficients,
                &mut scratch.fft,
            );
            if let Some(Diagonal {
                term,
                repeated: true,
            }) = *diagonal
            {
                dither(&mut scratch.coefficients, self.o, term);
            }
            self.context.round_to_residues(&scratch.coefficients, poly);
            self.context.forward(poly);
            for limb in 0..poly.limbs() {
                let modulus = self.context.modulus(limb);
                kernels::to_montgomery(self.context.level(), modulus, poly.limb_mut(limb));
            }
        }
    }
}

/// Cuts a giant's terms into runs of consecutive baby steps of one input.
fn push_tasks(giant: &Giant, diagonals: &[Option<Diagonal>], tasks: &mut Vec<Task>) {
    let mut at = 0;
    while at < giant.terms.len() {
        let first = giant.terms[at];
        let mut end = at + 1;
        while end < giant.terms.len()
            && end - at < GROUP
            && giant.terms[end].input == first.input
            && giant.terms[end].baby == first.baby + (end - at)
        {
            end += 1;
        }
        let terms = diagonals[at..end].to_vec();
        if terms.iter().any(Option::is_some) {
            tasks.push(Task {
                input: first.input,
                giant_step: giant.step,
                first_step: giant.step + first.baby,
                terms,
            });
        }
        at = end;
    }
}

/// Adds numbers uniform in ±1/2 that depend on the place of the plaintext alone.
fn dither(coefficients: &mut [f64], output: usize, term: usize) {
    let key = mix(mix(output as u64) ^ term as u64);
    for (i, coefficient) in coefficients.iter_mut().enumerate() {
        let bits = mix(key ^ i as u64) >> 11;
        *coefficient += bits as f64 * 2f64.powi(-53) - 0.5;
    }
}

/// One step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that spreads every bit.
fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Scratch {
    /// Slots between two diagonals: padded, so that neighbouring diagonals do not share cache sets.
    stride: usize,
    slots: Vec<Complex64>,
    coefficients: Vec<f64>,
    fft: Vec<Complex64>,
    polys: Vec<RnsPoly>,
}

impl Scratch {
    fn new(context: &Context) -> Self {
        let stride = context.slots() + 4;
        Self {
            stride,
            slots: vec![Complex64::ZERO; GROUP * stride],
            coefficients: vec![0.0; context.degree()],
            fft: vec![Complex64::ZERO; context.encoder().scratch_len()],
            polys: (0..GROUP)
                .map(|_| RnsPoly::zero(context.q_limbs(), context.degree()))
                .collect(),
        }
    }
}
