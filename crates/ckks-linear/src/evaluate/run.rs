//! One pass over a layer for a few queries: rotated inputs and inner sums.

use super::scratch::SwitchScratch;
use super::{Parts, PhaseTimes};
use crate::error::{LinearError, expect_count};
use crate::mac::{self, Block, BlockInput, BlockOutput, MacModulus};
use crate::memory::{self, DisjointBlocks};
use crate::prepared::{PreparedLayer, PreparedOutput};
use crate::workspace::Workspace;
use ckks::automorphism::{Automorphism, GaloisElement};
use ckks::poly::AlignedResidues;
use ckks::upcoming::{ScatteredRows, Upcoming};
use ckks::{Ciphertext, Context, GaloisKey, kernels};
use rayon::prelude::*;
use std::time::Instant;

/// Blocks of 16 coefficients that one task of the multiply-accumulate phase takes.
const BLOCKS_PER_TASK: usize = 16;

/// How a step's rotation is done for one query.
pub(super) enum Rotation<'a> {
    /// Step 0.
    Identity,
    /// With key switching of c1.
    Switched(&'a GaloisKey),
    /// c0 alone is permuted; its c1 was switched ahead of time.
    Permuted(&'a Automorphism),
}

/// The memory of the key that a rotation needs, if it needs one.
fn upcoming<'a>(rotation: Option<&Rotation<'a>>) -> Upcoming<'a> {
    match rotation {
        Some(Rotation::Switched(key)) => key.upcoming(),
        _ => Upcoming::none(),
    }
}

pub(super) struct Evaluation<'a> {
    pub(super) layer: &'a PreparedLayer,
    pub(super) context: &'a Context,
    pub(super) queries: &'a [Parts<'a>],
    /// `[query][baby step]`.
    babies: Vec<Vec<Rotation<'a>>>,
    /// `[output][giant][query]`.
    giants: Vec<Vec<Vec<Rotation<'a>>>>,
    moduli: Vec<MacModulus>,
    /// Polynomials for each query: c0, c1 or both.
    pub(super) polys: usize,
    /// Blocks between two blocks' rows of the arena.
    arena_stride: usize,
    /// Blocks between two inner-sum polynomials.
    pub(super) sum_stride: usize,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        layer: &'a PreparedLayer,
        context: &'a Context,
        queries: &'a [Parts<'a>],
    ) -> Result<Self, LinearError> {
        let plan = &layer.manifest.plan;
        let inputs = plan.inputs().len();
        for query in queries {
            if query.keys.is_some() {
                expect_count("c1 of the inputs", inputs, query.c1.len())?;
            } else {
                expect_count("c0 of the inputs", inputs, query.c0.len())?;
            }
            if !query.c0.is_empty() {
                expect_count("c0 of the inputs", inputs, query.c0.len())?;
            }
            for poly in query.c0.iter().chain(&query.c1) {
                context.check_poly(poly)?;
            }
        }
        let rotation = |query: &Parts<'a>, step: usize| -> Result<Rotation<'a>, LinearError> {
            let element = GaloisElement::rotation(step as i64, context.degree());
            if element.is_identity() {
                return Ok(Rotation::Identity);
            }
            Ok(match query.keys {
                Some(keys) => Rotation::Switched(keys.get(element, context)?),
                None => match layer.automorphisms.get(&step) {
                    Some(automorphism) => Rotation::Permuted(automorphism),
                    None => {
                        let what = "rotations prepared for the online part";
                        return Err(LinearError::Count {
                            what,
                            expected: step,
                            found: 0,
                        });
                    }
                },
            })
        };
        let most_babies = (0..inputs).map(|i| plan.babies_of(i)).max().unwrap_or(0);
        let babies = queries
            .iter()
            .map(|query| (0..most_babies).map(|step| rotation(query, step)).collect())
            .collect::<Result<Vec<Vec<_>>, _>>()?;
        let giants = layer
            .outputs
            .iter()
            .map(|output| {
                let steps = output.steps.iter();
                steps
                    .map(|&step| queries.iter().map(|query| rotation(query, step)).collect())
                    .collect::<Result<Vec<Vec<_>>, LinearError>>()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let both = queries.iter().any(|query| query.keys.is_some());
        let polys = if both { 2 } else { 1 };
        let columns = polys * queries.len();
        let blocks = context.degree() / 16;
        // Rows a multiple of 4 KiB apart would share one cache set.
        let row = layer.babies * columns;
        let arena_stride = row + usize::from(row.is_multiple_of(64));
        Ok(Self {
            layer,
            context,
            queries,
            babies,
            giants,
            moduli: (0..context.q_limbs())
                .map(|i| MacModulus::new(context.modulus(i)))
                .collect(),
            polys,
            arena_stride,
            sum_stride: context.q_limbs() * blocks + 2,
        })
    }

    pub(super) fn columns(&self) -> usize {
        self.polys * self.queries.len()
    }

    /// Whether sums are written past the caches: those of many columns would leave them before
    /// they are read, and their lines would be fetched only to be overwritten.
    fn streams(&self) -> bool {
        self.columns() >= mac::GROUP
    }

    pub(super) fn blocks(&self) -> usize {
        self.context.degree() / 16
    }

    pub(super) fn arena_len(&self) -> usize {
        self.context.q_limbs() * self.blocks() * self.arena_stride
    }

    pub(super) fn sums_len(&self) -> usize {
        let giants = self
            .layer
            .outputs
            .iter()
            .map(|o| o.steps.len())
            .max()
            .unwrap_or(0);
        giants * self.columns() * self.sum_stride
    }

    pub(super) fn evaluate(
        &self,
        workspace: &mut Workspace,
        times: &mut PhaseTimes,
    ) -> Vec<Vec<Ciphertext>> {
        let start = Instant::now();
        self.fill_arena(workspace);
        times.babies += start.elapsed();
        let mut results: Vec<Vec<Ciphertext>> = self.queries.iter().map(|_| Vec::new()).collect();
        for (output, giants) in self.layer.outputs.iter().zip(&self.giants) {
            let start = Instant::now();
            self.multiply_accumulate(output, workspace);
            let middle = Instant::now();
            times.multiply_accumulate += middle - start;
            for (query, result) in results.iter_mut().enumerate() {
                result.push(self.finish(query, giants, workspace));
            }
            times.giants += middle.elapsed();
        }
        results
    }

    /// Writes every rotated input of every query into the arena.
    fn fill_arena(&self, workspace: &mut Workspace) {
        let inputs = self.layer.manifest.plan.inputs().len();
        let context = self.context;
        let arena = DisjointBlocks::new(workspace.babies.blocks_mut());
        for (q, query) in self.queries.iter().enumerate() {
            for input in 0..inputs {
                let count = self.layer.manifest.plan.babies_of(input);
                let mut digits = AlignedResidues::new(64);
                if query.keys.is_some() && count > 1 {
                    digits.resize(context.decomposition_len(), 0);
                    let mut scratch = context.buffer(1);
                    let mut upcoming = upcoming(self.babies[q].get(1));
                    context.decompose(
                        |limb| query.c1[input].limb(limb),
                        &mut digits,
                        &mut scratch,
                        &mut upcoming,
                    );
                }
                (0..count).into_par_iter().for_each(|step| {
                    let baby = self.layer.baby_base[input] + step;
                    let column = q * self.polys;
                    let place = Place {
                        arena,
                        row: mac::place(self.layer.babies, self.columns(), baby, column),
                    };
                    SwitchScratch::with(context, |scratch| {
                        self.baby(
                            query,
                            input,
                            &self.babies[q][step..],
                            &digits,
                            scratch,
                            &place,
                        );
                    });
                });
            }
        }
    }

    fn baby(
        &self,
        query: &Parts<'_>,
        input: usize,
        rotations: &[Rotation<'_>],
        digits: &[u32],
        scratch: &mut SwitchScratch,
        place: &Place<'_>,
    ) {
        let context = self.context;
        let (n, limbs, level) = (context.degree(), context.q_limbs(), context.level());
        let at = |limb: usize, poly: usize, block: usize| {
            (limb * self.blocks() + block) * self.arena_stride + place.row + poly
        };
        let write = |limb: usize, poly: usize, block: usize, value: Block| {
            // SAFETY: the row belongs to one baby step of one query, which one task handles.
            unsafe { place.arena.write(at(limb, poly, block), value) };
        };
        let zero = [0; 16];
        let [rotation, following @ ..] = rotations else {
            return;
        };
        let next = following.first();
        match rotation {
            Rotation::Identity => {
                for limb in 0..limbs {
                    for (poly, half) in [(0, query.c0.get(input)), (1, query.c1.get(input))] {
                        if poly >= self.polys {
                            continue;
                        }
                        for block in 0..self.blocks() {
                            let value =
                                half.map_or(zero, |p| p.limb(limb).as_chunks::<16>().0[block]);
                            write(limb, poly, block, value);
                        }
                    }
                }
            }
            Rotation::Permuted(automorphism) => {
                for limb in 0..limbs {
                    let values = query.c0[input].limb(limb);
                    automorphism.for_each_block(level, values, |block, value| {
                        write(limb, 0, block, value);
                    });
                }
            }
            Rotation::Switched(key) => {
                context.key_product(digits, key, &mut scratch.product);
                let rows = ScatteredRows::new(
                    place.arena.address(place.row),
                    self.polys,
                    self.arena_stride,
                    limbs * self.blocks(),
                );
                let mut upcoming = upcoming(next).with_rows(rows);
                let (u0, u1) = scratch.product.split_at_mut(context.qp_limbs() * n);
                context.mod_down(u0, &mut scratch.limb, &mut upcoming);
                context.mod_down(u1, &mut scratch.limb, &mut upcoming);
                for limb in 0..limbs {
                    let range = limb * n..(limb + 1) * n;
                    if let Some(c0) = query.c0.get(input) {
                        let q = context.modulus(limb);
                        kernels::add_assign(level, q, &mut u0[range.clone()], c0.limb(limb));
                    }
                    for (poly, values) in [(0, &*u0), (1, &*u1)] {
                        key.automorphism().for_each_block(
                            level,
                            &values[range.clone()],
                            |block, value| write(limb, poly, block, value),
                        );
                    }
                }
            }
        }
    }

    /// All inner sums of one output.
    fn multiply_accumulate(&self, output: &PreparedOutput, workspace: &mut Workspace) {
        let (blocks, columns) = (self.blocks(), self.columns());
        let terms = output.terms();
        let plaintexts = output.plaintexts.blocks();
        let babies = workspace.babies.blocks();
        let sums = DisjointBlocks::new(workspace.sums.blocks_mut());
        let rows = self.layer.babies * columns;
        let total = self.context.q_limbs() * blocks;
        let stream = self.streams();
        let alike = mac::alike(&output.spans, &output.babies_of_terms);
        (0..total.div_ceil(BLOCKS_PER_TASK))
            .into_par_iter()
            .for_each(|task| {
                for at in task * BLOCKS_PER_TASK..total.min((task + 1) * BLOCKS_PER_TASK) {
                    let input = BlockInput {
                        spans: &output.spans,
                        alike: &alike,
                        babies_of_terms: &output.babies_of_terms,
                        plaintexts: &plaintexts[at * terms..(at + 1) * terms],
                        babies: &babies[at * self.arena_stride..at * self.arena_stride + rows],
                        rows_follow: true,
                        columns,
                    };
                    let modulus = &self.moduli[at / blocks];
                    let output = BlockOutput {
                        sums,
                        stride: self.sum_stride,
                        at,
                        stream,
                    };
                    // SAFETY: `at` belongs to one task.
                    unsafe { mac::block(self.context.level(), modulus, input, output) };
                }
                if stream {
                    memory::end_streaming();
                }
            });
    }
}

/// Where one baby step of one query goes.
struct Place<'a> {
    arena: DisjointBlocks<'a>,
    /// Block within each row.
    row: usize,
}
