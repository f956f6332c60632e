//! The part of an evaluation that needs the vectors, for many queries: c0 alone, without keys.
//!
//! Rotations only move blocks here, so one block after the other goes through all three steps: its
//! baby steps are gathered from the inputs into the first-level cache, multiplied and summed, and
//! each sum is added to where its giant step moves it. Neither rotated inputs nor inner sums are
//! ever stored.

use crate::mac::{self, Block, BlockInput, BlockOutput, MacModulus};
use crate::memory::DisjointBlocks;
use crate::prepared::{PreparedLayer, PreparedOutput};
use ckks::{Ciphertext, Context, RnsPoly, kernels, poly};
use rayon::prelude::*;
use std::ops::Range;

/// c0 of a few queries.
pub(super) struct Online<'a> {
    pub(super) layer: &'a PreparedLayer,
    pub(super) context: &'a Context,
    /// `[query][input]`.
    pub(super) queries: &'a [&'a [&'a RnsPoly]],
}

impl Online<'_> {
    /// Adds output `output` of every query to the c0 of its ciphertext in `results`.
    pub(super) fn add_output(&self, output: usize, results: &mut [&mut Ciphertext]) {
        let Some(output) = self.layer.outputs.get(output) else {
            return;
        };
        let steps = output.steps.iter();
        let job = Job {
            online: self,
            output,
            alike: mac::alike(&output.spans, &output.babies_of_terms),
            giants: steps.map(|&step| self.layer.moves.number(step)).collect(),
        };
        let (degree, limbs) = (self.context.degree(), self.context.q_limbs());
        // `[limb][query]`
        let mut sums: Vec<Vec<&mut [Block]>> = (0..limbs).map(|_| Vec::new()).collect();
        for result in results {
            let rows = result.c0.residues_mut().chunks_exact_mut(degree);
            for (limb, row) in sums.iter_mut().zip(rows) {
                limb.push(row.as_chunks_mut::<16>().0);
            }
        }
        // As many equal tasks as keep all threads busy to the end. They share no memory: parts of
        // one limb have sums of their own, added at the end.
        let threads = rayon::current_num_threads();
        let parts = (1..=threads)
            .find(|parts| (parts * limbs).is_multiple_of(threads))
            .unwrap_or(1);
        sums.par_iter_mut().enumerate().for_each(|(limb, sums)| {
            job.limb(limb, parts, sums);
        });
    }
}

/// One output of all queries.
struct Job<'a> {
    online: &'a Online<'a>,
    output: &'a PreparedOutput,
    alike: Vec<usize>,
    /// Numbers of the giant steps among the layer's rotations.
    giants: Vec<usize>,
}

impl Job<'_> {
    fn limb(&self, limb: usize, parts: usize, sums: &mut [&mut [Block]]) {
        let context = self.online.context;
        let blocks = context.degree() / 16;
        let range = |part: usize| part * blocks / parts..(part + 1) * blocks / parts;
        let columns = sums.len();
        let (_, others) = rayon::join(
            || self.add_blocks(limb, range(0), sums),
            || {
                let parts = (1..parts).into_par_iter();
                let sums = parts.map(|part| {
                    let mut sums = poly::zeroed(columns * context.degree());
                    let rows = sums.as_chunks_mut::<16>().0.chunks_exact_mut(blocks);
                    self.add_blocks(limb, range(part), &mut rows.collect::<Vec<_>>());
                    sums
                });
                sums.collect::<Vec<_>>()
            },
        );
        for other in others {
            for (sum, other) in sums.iter_mut().zip(other.chunks_exact(context.degree())) {
                let q = context.modulus(limb);
                kernels::add_assign(context.level(), q, sum.as_flattened_mut(), other);
            }
        }
    }

    /// Adds what comes from these blocks of the inputs.
    fn add_blocks(&self, limb: usize, range: Range<usize>, to: &mut [&mut [Block]]) {
        let Online {
            layer,
            context,
            queries,
        } = *self.online;
        let level = context.level();
        let columns = to.len();
        let plan = &layer.manifest.plan;
        let modulus = MacModulus::new(context.modulus(limb));
        let terms = self.output.terms();
        let plaintexts = self.output.plaintexts.blocks();
        // `[group of columns][input][column]`
        let groups: Vec<Vec<Vec<&[Block]>>> = queries
            .chunks(mac::GROUP)
            .map(|group| {
                let of_input = |input: usize| {
                    let limbs = group.iter().map(|query| query[input].limb(limb));
                    limbs.map(|limb| limb.as_chunks::<16>().0).collect()
                };
                (0..plan.inputs().len()).map(of_input).collect()
            })
            .collect();
        let mut row = poly::zeroed(16 * layer.babies * columns);
        let mut sums = poly::zeroed(16 * self.giants.len() * columns);
        let row = row.as_chunks_mut::<16>().0;
        let sums = sums.as_chunks_mut::<16>().0;
        for block in range {
            let mut rest = &mut *row;
            for group in &groups {
                for (input, from) in group.iter().enumerate() {
                    let babies = plan.babies_of(input);
                    let (own, others) = rest.split_at_mut(babies * from.len());
                    layer.moves.gather(level, block, babies, from, own);
                    rest = others;
                }
            }
            let at = limb * (context.degree() / 16) + block;
            let input = BlockInput {
                spans: &self.output.spans,
                alike: &self.alike,
                babies_of_terms: &self.output.babies_of_terms,
                plaintexts: &plaintexts[at * terms..(at + 1) * terms],
                babies: row,
                rows_follow: false,
                columns,
            };
            let output = BlockOutput {
                sums: DisjointBlocks::new(sums),
                stride: 1,
                at: 0,
                stream: false,
            };
            // SAFETY: the buffer belongs to this call.
            unsafe { mac::block(level, &modulus, input, output) };
            let q = modulus.modulus.value();
            layer
                .moves
                .scatter_add(level, q, block, &self.giants, sums, to);
        }
    }
}
