//! The program itself: steps, terms and counts.

use super::SlotKind;
use crate::layout::{InputPiece, OutputPiece};
use crate::plan::{Giant, Plan, PlanCounts};

/// A plan spread over the slots of a library; see the [module](super). A pure function of what it
/// was chosen from, so client and server derive it apart and agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotProgram {
    pub(super) plan: Plan,
    pub(super) interleave: usize,
    pub(super) kind: SlotKind,
    /// Number of the first diagonal of each output, and of all diagonals.
    first_diagonals: Vec<usize>,
}

/// One inner sum of an output and the rotation that is applied to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotGiant {
    /// Rotation step of the inner sum, in slots to the left, below n. 0 needs no rotation.
    pub step: usize,
    /// The products that are summed before the rotation. Never empty.
    pub terms: Vec<SlotTerm>,
}

/// One plaintext product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotTerm {
    /// Index of the input ciphertext.
    pub input: usize,
    /// Rotation step of the input, in slots to the left, below n. 0 needs no rotation.
    pub baby: usize,
    /// Number of the diagonal, counted from 0 over all outputs in order.
    pub diagonal: usize,
}

/// Ciphertexts that a batch needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CiphertextCounts {
    /// Encrypted and sent by the client.
    pub inputs: u64,
    /// Decrypted by the client.
    pub outputs: u64,
}

impl SlotProgram {
    /// Spreads a plan over `plan.slots()·interleave` slots. The caller has checked both.
    pub(super) fn spread(plan: Plan, interleave: usize, kind: SlotKind) -> Self {
        let mut first_diagonals = vec![0];
        let mut total = 0;
        for output in plan.outputs() {
            let steps = plan.inputs().iter().map(|input| output.steps(input).len());
            total += steps.sum::<usize>();
            first_diagonals.push(total);
        }
        Self {
            plan,
            interleave,
            kind,
            first_diagonals,
        }
    }

    /// The plan over virtual slots.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Groups of vectors that share a ciphertext, and real slots for each virtual one.
    pub fn interleave(&self) -> usize {
        self.interleave
    }

    /// Slots n of a ciphertext.
    pub fn slots(&self) -> usize {
        self.plan.slots() * self.interleave
    }

    /// What a slot holds.
    pub fn kind(&self) -> SlotKind {
        self.kind
    }

    /// The rows of each input ciphertext and their places in the virtual slots.
    pub fn inputs(&self) -> &[InputPiece] {
        self.plan.inputs()
    }

    /// The columns of each output ciphertext and their places in the virtual slots.
    pub fn outputs(&self) -> &[OutputPiece] {
        self.plan.outputs()
    }

    /// Vectors that one evaluation takes.
    pub fn vectors_per_ciphertext(&self) -> usize {
        self.interleave * self.plan.folding().vectors_per_group()
    }

    /// Evaluations that a batch needs.
    pub fn evaluations(&self, batch: usize) -> usize {
        batch.div_ceil(self.vectors_per_ciphertext())
    }

    /// Ciphertexts of all evaluations of a batch.
    pub fn ciphertexts(&self, batch: usize) -> CiphertextCounts {
        let evaluations = self.evaluations(batch) as u64;
        CiphertextCounts {
            inputs: evaluations.saturating_mul(self.inputs().len() as u64),
            outputs: evaluations.saturating_mul(self.outputs().len() as u64),
        }
    }

    /// Diagonals, the zero ones included: the plaintexts that have to be encoded.
    pub fn diagonals(&self) -> usize {
        self.first_diagonals.last().copied().unwrap_or(0)
    }

    /// Operations of all evaluations of a batch, if no diagonal is zero; `plaintexts` are products.
    /// [`PlanCounts::most_giants`] stays that of one evaluation.
    pub fn counts(&self, batch: usize) -> PlanCounts {
        let one = self.plan.counts();
        let evaluations = self.evaluations(batch) as u64;
        let all = |count: u64| count.saturating_mul(evaluations);
        PlanCounts {
            baby_rotations: all(one.baby_rotations),
            giant_rotations: all(one.giant_rotations),
            plaintexts: all(one.plaintexts),
            decompositions: all(one.decompositions),
            mod_downs: all(one.mod_downs),
            most_giants: one.most_giants,
            inner_sums: all(one.inner_sums),
        }
    }

    /// Rotation steps in slots to the left, ascending, without duplicates, each in 1..n: those that
    /// [`giants`](Self::giants) uses, and no others.
    pub fn rotation_steps(&self) -> Vec<usize> {
        let steps = self.plan.rotation_steps();
        let spread = |step: i64| usize::try_from(step).unwrap_or(0) * self.interleave;
        steps.into_iter().map(spread).collect()
    }

    /// Giant steps of output `o` with their terms, by ascending step; none for an output that the
    /// program does not have. Diagonals are numbered as if none were zero;
    /// [`prepare`](Self::prepare) leaves the zero ones out.
    ///
    /// Output o is `Σ_g rot_g(Σ_t diagonal_t · rot_baby(input))`, the first sum over its giants g,
    /// the second over the terms t of g, rotations to the left, all products slot by slot.
    pub fn giants(&self, o: usize) -> Vec<SlotGiant> {
        if o >= self.outputs().len() {
            return Vec::new();
        }
        let mut diagonal = self.first_diagonals[o];
        let mut spread = |giant: Giant| SlotGiant {
            step: giant.step * self.interleave,
            terms: giant
                .terms
                .iter()
                .map(|term| {
                    let number = diagonal;
                    diagonal += 1;
                    SlotTerm {
                        input: term.input,
                        baby: term.baby * self.interleave,
                        diagonal: number,
                    }
                })
                .collect(),
        };
        let giants = self.plan.giants(o);
        giants.into_iter().map(&mut spread).collect()
    }

    /// The layout in one line.
    pub fn describe(&self) -> String {
        match self.vectors_per_ciphertext() {
            1 => self.plan.describe(),
            vectors => format!("{vectors} vectors interleaved; {}", self.plan.describe()),
        }
    }
}
