//! A bound of the slots that a program computes, for checks of overflow.

use super::SlotProgram;
use crate::error::LinearError;
use crate::layout::for_each_row_run;
use rayon::prelude::*;
use tensor_io::WeightMatrix;

impl SlotProgram {
    /// The largest Euclidean norm of the entries of M that one slot of an output meets, over all
    /// diagonals: every product and every partial sum of an evaluation, before and after the giant
    /// rotations, has slots of magnitude at most this times ‖x‖ (Cauchy–Schwarz, as a slot meets a
    /// row at most once; up to the rounding of sums). For [`Folding::Pair`], ‖x‖² is the sum over
    /// both vectors of a pair.
    ///
    /// It is at most max_k ‖w_k‖, and smaller where copies share a column's rows; for
    /// [`Folding::Output`], where a slot has two columns, at most √(‖w_k‖² + ‖w_(k+h)‖²).
    ///
    /// # Errors
    /// [`LinearError::Count`] when the weights have another shape than the program.
    ///
    /// [`Folding::Pair`]: crate::shape::Folding::Pair
    /// [`Folding::Output`]: crate::shape::Folding::Output
    pub fn slot_bound(&self, weights: &WeightMatrix) -> Result<f64, LinearError> {
        self.check_weights(weights)?;
        let outputs = 0..self.outputs().len();
        let largest = outputs.map(|o| self.largest_energy(weights, o));
        Ok(largest.fold(0.0, f64::max).sqrt())
    }

    /// The largest sum of squares over the slots of one output.
    fn largest_energy(&self, weights: &WeightMatrix, o: usize) -> f64 {
        let slots = (0..self.plan.slots()).into_par_iter().with_min_len(16);
        slots
            .map(|p| self.energy(weights, o, p))
            .reduce(|| 0.0, f64::max)
    }

    fn energy(&self, weights: &WeightMatrix, o: usize, p: usize) -> f64 {
        let output = &self.outputs()[o];
        let mut energy = 0.0;
        for input in self.inputs() {
            let Some(slot) = output.slot(input, p) else {
                continue;
            };
            let column = output.columns.start + slot.column;
            let entries = self.plan.folding().column(weights, column);
            let steps = output.steps(input);
            for group in 0..steps.groups {
                for_each_row_run(
                    input,
                    slot,
                    group * steps.stride,
                    steps.run,
                    |_, row, len| {
                        let rows = input.rows.start + row..input.rows.start + row + len;
                        energy += rows.map(|j| entries.at(j).norm_sqr()).sum::<f64>();
                    },
                );
            }
        }
        energy
    }
}
