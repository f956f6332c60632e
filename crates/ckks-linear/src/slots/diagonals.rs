//! The diagonals of a matrix under a program: which are zero, and what the others hold.

use super::runs::for_each_diagonal_run;
use super::{SlotGiant, SlotProgram, SlotTerm};
use crate::error::{LinearError, expect_count};
use ckks::Complex64;
use rayon::prelude::*;
use std::ops::Range;
use tensor_io::WeightMatrix;

/// How one output ciphertext is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SlotOutput {
    /// All its weights are zero, so there is nothing to compute from: the output is zero, in
    /// whatever way the library makes a ciphertext of zeros (or none; the answer decodes to zeros).
    Zero,
    /// Giant steps by ascending step. Neither this list nor the terms of any giant are empty.
    Sum(Vec<SlotGiant>),
}

/// The terms of a program for one matrix, without zero diagonals, and their plaintexts, made one at
/// a time. Diagonals are numbered from 0 over all outputs in order, without gaps.
#[derive(Clone, Debug)]
pub struct SlotDiagonals<'a> {
    program: &'a SlotProgram,
    weights: &'a WeightMatrix,
    outputs: Vec<SlotOutput>,
    places: Vec<Place>,
    zero_diagonals: usize,
}

/// Where a diagonal belongs, in virtual slots. 32 bits hold any width and any step.
#[derive(Clone, Copy, Debug)]
struct Place {
    output: u32,
    input: u32,
    giant: u32,
    baby: u32,
}

impl SlotProgram {
    /// The final term lists for a matrix: those of [`giants`](Self::giants) without the diagonals
    /// that are zero throughout.
    ///
    /// # Errors
    /// [`LinearError::Count`] when the weights have another shape than the program.
    pub fn prepare<'a>(
        &'a self,
        weights: &'a WeightMatrix,
    ) -> Result<SlotDiagonals<'a>, LinearError> {
        self.check_weights(weights)?;
        let mut prepared = SlotDiagonals {
            program: self,
            weights,
            outputs: Vec::with_capacity(self.outputs().len()),
            places: Vec::new(),
            zero_diagonals: 0,
        };
        for o in 0..self.outputs().len() {
            prepared.push_output(o);
        }
        Ok(prepared)
    }

    /// Refuses weights of another shape.
    pub(super) fn check_weights(&self, weights: &WeightMatrix) -> Result<(), LinearError> {
        let shape = self.plan.shape();
        expect_count("rows of the weights", shape.d_in(), weights.d_in())?;
        expect_count("columns of the weights", shape.d_out(), weights.d_out())
    }

    /// Entries of a diagonal with their virtual slots, before the giant step's rotation.
    fn for_each_entry(
        &self,
        weights: &WeightMatrix,
        place: Place,
        mut visit: impl FnMut(usize, Complex64),
    ) {
        let output = &self.outputs()[place.output as usize];
        let input = &self.inputs()[place.input as usize];
        let folding = self.plan.folding();
        let step = (place.giant + place.baby) as usize;
        for_each_diagonal_run(output, input, step, |slot, column, row, len| {
            let column = output.columns.start + column;
            let row = input.rows.start + row;
            for i in 0..len {
                visit(slot + i, folding.column(weights, column + i).at(row + i));
            }
        });
    }

    fn is_zero(&self, weights: &WeightMatrix, place: Place) -> bool {
        let output = &self.outputs()[place.output as usize];
        let input = &self.inputs()[place.input as usize];
        let folding = self.plan.folding();
        let step = (place.giant + place.baby) as usize;
        let mut zero = true;
        for_each_diagonal_run(output, input, step, |_, column, row, len| {
            let column = output.columns.start + column;
            let row = input.rows.start + row;
            // Runs after the first entry that is not zero are not looked at.
            zero = zero
                && (0..len)
                    .all(|i| folding.column(weights, column + i).at(row + i) == Complex64::ZERO);
        });
        zero
    }
}

impl<'a> SlotDiagonals<'a> {
    /// The program.
    pub fn program(&self) -> &'a SlotProgram {
        self.program
    }

    /// How each output ciphertext is computed, in the order of the program's outputs.
    pub fn outputs(&self) -> &[SlotOutput] {
        &self.outputs
    }

    /// Diagonals, none of them zero: the plaintexts to encode.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the whole matrix is zero.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Diagonals left out because all their entries are zero.
    pub fn zero_diagonals(&self) -> usize {
        self.zero_diagonals
    }

    /// Rotation steps that this matrix needs, ascending, without duplicates: some or all of
    /// [`SlotProgram::rotation_steps`].
    pub fn rotation_steps(&self) -> Vec<usize> {
        let interleave = self.program.interleave();
        let steps = self.places.iter().flat_map(|p| [p.giant, p.baby]);
        let mut steps: Vec<usize> = steps.map(|s| s as usize * interleave).collect();
        steps.sort_unstable();
        steps.dedup();
        steps.retain(|&step| step != 0);
        steps
    }

    /// Writes the n slots of one diagonal, already rotated to the right by its giant step. Real
    /// slots get real numbers.
    ///
    /// # Errors
    /// [`LinearError::NoDiagonal`]; [`LinearError::Count`] for another number of slots.
    pub fn fill(&self, diagonal: usize, out: &mut [Complex64]) -> Result<(), LinearError> {
        expect_count("slots of a diagonal", self.program.slots(), out.len())?;
        let Some(&place) = self.places.get(diagonal) else {
            return Err(LinearError::NoDiagonal {
                diagonal,
                count: self.places.len(),
            });
        };
        self.write(place, out);
        Ok(())
    }

    /// Writes the diagonals of a range one after the other, on several threads.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn fill_range(
        &self,
        diagonals: Range<usize>,
        out: &mut [Complex64],
    ) -> Result<(), LinearError> {
        let count = self.places.len();
        let Some(places) = self.places.get(diagonals.clone()) else {
            let diagonal = diagonals.end.max(diagonals.start).saturating_sub(1);
            return Err(LinearError::NoDiagonal { diagonal, count });
        };
        let slots = self.program.slots();
        expect_count("slots of diagonals", places.len() * slots, out.len())?;
        out.par_chunks_mut(slots)
            .zip(places)
            .for_each(|(out, &place)| self.write(place, out));
        Ok(())
    }

    /// `out` has n slots.
    fn write(&self, place: Place, out: &mut [Complex64]) {
        let interleave = self.program.interleave();
        let virtual_slots = self.program.plan().slots();
        out.fill(Complex64::ZERO);
        let giant = place.giant as usize;
        self.program
            .for_each_entry(self.weights, place, |slot, entry| {
                // The giant step rotates the product to the left afterwards.
                let slot = (slot + giant) & (virtual_slots - 1);
                out[slot * interleave..][..interleave].fill(entry);
            });
    }

    fn push_output(&mut self, o: usize) {
        let (program, weights) = (self.program, self.weights);
        let giants = program.plan().giants(o);
        let place = |giant: usize, input: usize, baby: usize| Place {
            output: o as u32,
            input: input as u32,
            giant: giant as u32,
            baby: baby as u32,
        };
        let present: Vec<Vec<bool>> = giants
            .par_iter()
            .map(|giant| {
                let terms = giant.terms.iter();
                terms
                    .map(|t| !program.is_zero(weights, place(giant.step, t.input, t.baby)))
                    .collect()
            })
            .collect();
        let interleave = program.interleave();
        let mut sum = Vec::new();
        for (giant, present) in giants.iter().zip(present) {
            let mut terms = Vec::new();
            for (term, present) in giant.terms.iter().zip(present) {
                if !present {
                    self.zero_diagonals += 1;
                    continue;
                }
                terms.push(SlotTerm {
                    input: term.input,
                    baby: term.baby * interleave,
                    diagonal: self.places.len(),
                });
                self.places.push(place(giant.step, term.input, term.baby));
            }
            if !terms.is_empty() {
                sum.push(SlotGiant {
                    step: giant.step * interleave,
                    terms,
                });
            }
        }
        self.outputs.push(if sum.is_empty() {
            SlotOutput::Zero
        } else {
            SlotOutput::Sum(sum)
        });
    }
}
