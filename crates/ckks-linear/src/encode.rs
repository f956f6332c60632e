//! The encoding of one output ciphertext's diagonals into the plaintexts that evaluation streams.

use crate::dither::dither;
use crate::error::LinearError;
use crate::layout::{InputPiece, OutputPiece, SlotColumn, for_each_row_run};
use crate::mac::Span;
use crate::memory::DisjointBlocks;
use crate::plan::{Giant, Plan, Term};
use crate::prepared::PreparedOutput;
use crate::shape::ComplexColumn;
use ckks::kernels;
use ckks::memory::BlockBuffer;
use ckks::{Complex64, Context, RnsPoly};
use rayon::prelude::*;
use tensor_io::WeightMatrix;

/// Diagonals encoded together, so that a row of weights is read once for all of them.
const GROUP: usize = 16;

/// The preparation of one output ciphertext.
pub(crate) struct Preparation<'a> {
    pub(crate) context: &'a Context,
    pub(crate) plan: &'a Plan,
    pub(crate) weights: &'a WeightMatrix,
    pub(crate) o: usize,
    pub(crate) weight_scale: f64,
}

/// Terms of one giant step that read the same input at consecutive baby steps.
struct Task {
    input: usize,
    giant_step: usize,
    first_step: usize,
    /// Position of each consecutive step's diagonal in the term list; `None` for zero.
    terms: Vec<Option<usize>>,
}

/// What preparing one output gives.
pub(crate) struct Encoded {
    pub(crate) output: PreparedOutput,
    pub(crate) zeros: usize,
}

impl Preparation<'_> {
    fn piece(&self) -> &OutputPiece {
        &self.plan.outputs()[self.o]
    }

    pub(crate) fn output(
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
        let mut output = PreparedOutput {
            steps: Vec::new(),
            spans: Vec::new(),
            babies_of_terms: Vec::new(),
            plaintexts: BlockBuffer::zeroed(0)?,
        };
        let mut tasks = Vec::new();
        let mut zeros = 0;
        for (giant, nonzero) in giants.iter().zip(&nonzero) {
            let start = output.terms();
            let mut diagonals = Vec::with_capacity(giant.terms.len());
            for (term, &present) in giant.terms.iter().zip(nonzero) {
                diagonals.push(present.then_some(output.terms()));
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
                            let Some(term) = term else { continue };
                            let value = poly.limb(limb).as_chunks::<16>().0[block];
                            // SAFETY: each term belongs to one task, so each block is written once.
                            unsafe { sink.write(base + term, value) };
                        }
                    }
                }
                progress(task.terms.len());
            },
        );
        Ok(Encoded { output, zeros })
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
            let Some(term) = *diagonal else { continue };
            dither(&mut scratch.coefficients, self.o as u64, term as u64);
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
fn push_tasks(giant: &Giant, diagonals: &[Option<usize>], tasks: &mut Vec<Task>) {
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
