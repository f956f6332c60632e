//! A packing plan: layouts, baby and giant steps, and what they cost.

use crate::layout::{InputPiece, OutputPiece};
use crate::shape::{Folding, LayerShape};
use std::collections::BTreeMap;

/// Which family of packings a plan belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PlanKind {
    /// Dense packed diagonals, the cheapest layout.
    Diagonal,
    /// Diagonals of the matrix zero-padded to a power-of-two square, one real vector in real
    /// slots, no copies: the baseline of published comparisons.
    DiagonalSquare,
}

impl PlanKind {
    /// Name as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Diagonal => "diagonal",
            Self::DiagonalSquare => "diagonal-square",
        }
    }
}

/// A complete packing of one layer for ciphertexts of `slots` slots: a pure function of shape and
/// options, so client and server derive it apart and agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub(crate) kind: PlanKind,
    pub(crate) shape: LayerShape,
    pub(crate) slots: usize,
    pub(crate) folding: Folding,
    pub(crate) inputs: Vec<InputPiece>,
    pub(crate) outputs: Vec<OutputPiece>,
    /// Baby steps per giant step, n1.
    pub(crate) baby_steps: usize,
}

/// One giant step of one output: the rotation that is applied to a sum of products.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Giant {
    /// Rotation step of the inner sum.
    pub step: usize,
    /// The products summed: input ciphertext and baby step.
    pub terms: Vec<Term>,
}

/// One plaintext product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// Index of the input ciphertext.
    pub input: usize,
    /// Rotation step of the input.
    pub baby: usize,
}

/// How often a plan does what, for one group of vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlanCounts {
    /// Hoisted rotations of inputs, without the free step 0.
    pub baby_rotations: u64,
    /// Key switches of inner sums, without step 0.
    pub giant_rotations: u64,
    /// Plaintext products.
    pub plaintexts: u64,
    /// Input ciphertexts that need a decomposition.
    pub decompositions: u64,
    /// Outputs that need a final division by P.
    pub mod_downs: u64,
    /// Giant steps of the busiest output, with step 0.
    pub most_giants: u64,
    /// Inner sums over all outputs, with step 0.
    pub inner_sums: u64,
}

impl PlanCounts {
    /// All key switches.
    pub fn key_switches(&self) -> u64 {
        self.baby_rotations + self.giant_rotations
    }

    /// Transforms of N points over one prime in one evaluation with `limbs` ciphertext primes,
    /// from ciphertext in to rounded answer out: a decomposition is `limbs` inverse and `limbs²`
    /// forward, a division by P of both polynomials `2 + 2·limbs`.
    pub fn ntts(&self, limbs: u64, outputs: u64) -> u64 {
        let decompose = limbs + limbs * limbs;
        let mod_down = 2 + 2 * limbs;
        self.decompositions * decompose
            + self.baby_rotations * mod_down
            + self.giant_rotations * decompose
            + self.mod_downs * mod_down
            + outputs * 2 * limbs
    }
}

impl Plan {
    /// Family.
    pub fn kind(&self) -> PlanKind {
        self.kind
    }

    /// Shape of the layer.
    pub fn shape(&self) -> LayerShape {
        self.shape
    }

    /// Slots of a ciphertext.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// View of the real matrix as a complex one.
    pub fn folding(&self) -> Folding {
        self.folding
    }

    /// Input ciphertexts of one group of vectors.
    pub fn inputs(&self) -> &[InputPiece] {
        &self.inputs
    }

    /// Output ciphertexts of one group of vectors.
    pub fn outputs(&self) -> &[OutputPiece] {
        &self.outputs
    }

    /// Baby steps per giant step, n1.
    pub fn baby_steps(&self) -> usize {
        self.baby_steps
    }

    /// Groups of vectors that share input ciphertexts, for a batch.
    pub fn groups(&self, batch: usize) -> usize {
        batch.div_ceil(self.folding.vectors_per_group())
    }

    /// Baby steps used of input `i`: all outputs together use `0..` this.
    pub fn babies_of(&self, i: usize) -> usize {
        let used = |o: &OutputPiece| o.steps(&self.inputs[i]).run.min(self.baby_steps);
        self.outputs.iter().map(used).max().unwrap_or(0)
    }

    /// Giant steps of output `o` with their terms, by ascending step.
    pub fn giants(&self, o: usize) -> Vec<Giant> {
        let mut giants: BTreeMap<usize, Vec<Term>> = BTreeMap::new();
        for (input, piece) in self.inputs.iter().enumerate() {
            let steps = self.outputs[o].steps(piece);
            for group in 0..steps.groups {
                for first in (0..steps.run).step_by(self.baby_steps) {
                    let babies = self.baby_steps.min(steps.run - first);
                    let terms = giants.entry(group * steps.stride + first).or_default();
                    terms.extend((0..babies).map(|baby| Term { input, baby }));
                }
            }
        }
        giants
            .into_iter()
            .map(|(step, terms)| Giant { step, terms })
            .collect()
    }

    /// Number of giant steps of output `o`, with step 0, without building them.
    fn giant_count(&self, o: usize) -> u64 {
        // Groups nest: the input with most groups has the steps of all others; guard layouts have
        // one group whose run may differ.
        self.inputs
            .iter()
            .map(|input| {
                let steps = self.outputs[o].steps(input);
                (steps.groups * steps.run.div_ceil(self.baby_steps)) as u64
            })
            .max()
            .unwrap_or(0)
    }

    /// Counts for one group of vectors.
    pub fn counts(&self) -> PlanCounts {
        let mut counts = PlanCounts::default();
        for i in 0..self.inputs.len() {
            let rotations = self.babies_of(i).saturating_sub(1) as u64;
            counts.baby_rotations += rotations;
            counts.decompositions += u64::from(rotations > 0);
        }
        // Long layers repeat the same output layout hundreds of times.
        let mut seen: Option<(usize, u64, u64)> = None;
        for (o, output) in self.outputs.iter().enumerate() {
            let (giants, plaintexts) = match seen {
                Some((at, giants, plaintexts)) if self.outputs[at].layout == output.layout => {
                    (giants, plaintexts)
                }
                _ => {
                    let plaintexts: usize = self
                        .inputs
                        .iter()
                        .map(|input| output.steps(input).len())
                        .sum();
                    (self.giant_count(o), plaintexts as u64)
                }
            };
            seen = Some((o, giants, plaintexts));
            counts.giant_rotations += giants.saturating_sub(1);
            counts.mod_downs += u64::from(giants > 1);
            counts.plaintexts += plaintexts;
            counts.most_giants = counts.most_giants.max(giants);
            counts.inner_sums += giants;
        }
        counts
    }

    /// Rotation steps that need a Galois key, ascending, without duplicates. Exactly those the
    /// evaluation uses.
    pub fn rotation_steps(&self) -> Vec<i64> {
        let babies = (0..self.inputs.len())
            .map(|i| self.babies_of(i))
            .max()
            .unwrap_or(0);
        let mut steps: Vec<i64> = (1..babies as i64).collect();
        let mut seen = Vec::new();
        for (o, output) in self.outputs.iter().enumerate() {
            if seen.contains(&output.layout) {
                continue;
            }
            seen.push(output.layout);
            let giants = self.giants(o);
            steps.extend(giants.iter().map(|g| g.step as i64).filter(|&s| s != 0));
        }
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// The layout in one line.
    pub fn describe(&self) -> String {
        use crate::layout::{InputLayout, OutputLayout};
        let list = |values: Vec<usize>| {
            let mut out: Vec<(usize, usize)> = Vec::new();
            for v in values {
                match out.last_mut() {
                    Some((last, count)) if *last == v => *count += 1,
                    _ => out.push((v, 1)),
                }
            }
            let parts: Vec<String> = out
                .into_iter()
                .map(|(v, count)| {
                    if count > 1 {
                        format!("{count}·{v}")
                    } else {
                        v.to_string()
                    }
                })
                .collect();
            parts.join(" + ")
        };
        let rows = list(self.inputs.iter().map(|i| i.rows.len()).collect());
        let columns = list(self.outputs.iter().map(|o| o.columns.len()).collect());
        let mut copies: Vec<usize> = self
            .outputs
            .iter()
            .map(|o| match o.layout {
                OutputLayout::Periodic { copies, .. } | OutputLayout::Guard { copies, .. } => {
                    copies
                }
            })
            .collect();
        copies.dedup();
        let family = match self.inputs.first().map(|i| i.layout) {
            Some(InputLayout::Guard { .. }) => "guarded copies",
            _ if self.counts().key_switches() == 0 => "single plaintexts",
            _ => "dense periodic",
        };
        format!(
            "{}; {rows} rows × {columns} columns, {family}, copies {}",
            self.folding.describe(),
            list(copies)
        )
    }
}
