//! The client's side of a plan: vectors into slots, slots into vectors.

use crate::error::{LinearError, expect_count};
use crate::layout::OutputPiece;
use crate::plan::Plan;
use crate::shape::Folding;
use ckks::Complex64;

impl Plan {
    /// Slots of every input ciphertext for one group of vectors (two for [`Folding::Pair`], one
    /// otherwise; a missing second vector counts as zero). Each vector has d_in entries.
    ///
    /// # Errors
    /// [`LinearError::Count`] for a wrong width or number of vectors, [`LinearError::NotFinite`].
    pub fn pack(&self, vectors: &[&[f64]]) -> Result<Vec<Vec<Complex64>>, LinearError> {
        let most = self.folding.vectors_per_group();
        if vectors.is_empty() || vectors.len() > most {
            let (expected, found) = (most, vectors.len());
            return Err(LinearError::Count {
                what: "vectors of a group",
                expected,
                found,
            });
        }
        for (vector, values) in vectors.iter().enumerate() {
            expect_count(
                "entries of an input vector",
                self.shape.d_in(),
                values.len(),
            )?;
            if let Some(index) = values.iter().position(|v| !v.is_finite()) {
                return Err(LinearError::NotFinite {
                    vector,
                    index,
                    value: values[index],
                });
            }
        }
        let x = vectors[0];
        let row = |j: usize| match self.folding {
            Folding::Input => {
                let half = self.shape.d_in().div_ceil(2);
                Complex64::new(x[j], x.get(j + half).copied().unwrap_or(0.0))
            }
            Folding::Pair => Complex64::new(x[j], vectors.get(1).map_or(0.0, |y| y[j])),
            Folding::Output | Folding::None => Complex64::new(x[j], 0.0),
        };
        let Some(output) = self.outputs.first() else {
            return Ok(Vec::new());
        };
        Ok(self
            .inputs
            .iter()
            .map(|input| {
                (0..self.slots)
                    .map(|p| {
                        input
                            .row_at(output, p)
                            .map_or(Complex64::ZERO, |j| row(input.rows.start + j))
                    })
                    .collect()
            })
            .collect())
    }

    /// Vectors from the slots of every output ciphertext of one group: as many as
    /// [`Folding::vectors_per_group`], each of d_out entries.
    ///
    /// # Errors
    /// [`LinearError::Count`] for a wrong number of ciphertexts or slots.
    pub fn unpack(&self, answers: &[Vec<Complex64>]) -> Result<Vec<Vec<f64>>, LinearError> {
        expect_count("output ciphertexts", self.outputs.len(), answers.len())?;
        let d_out = self.shape.d_out();
        let half = d_out.div_ceil(2);
        let mut vectors = vec![vec![0.0; d_out]; self.folding.vectors_per_group()];
        for (output, slots) in self.outputs.iter().zip(answers) {
            expect_count("slots of an output", self.slots, slots.len())?;
            for (p, value) in slots.iter().enumerate() {
                let Some(column) = self.answering_column(output, p) else {
                    continue;
                };
                let k = output.columns.start + column;
                vectors[0][k] += value.re;
                match self.folding {
                    Folding::Output if k + half < d_out => vectors[0][k + half] += value.im,
                    Folding::Pair => vectors[1][k] += value.im,
                    _ => {}
                }
            }
        }
        Ok(vectors)
    }

    /// The column that slot `p` of an output adds to, if any row of any input reaches it: slots
    /// that only carry noise are not summed.
    pub(crate) fn answering_column(&self, output: &OutputPiece, p: usize) -> Option<usize> {
        self.inputs
            .iter()
            .find_map(|input| output.slot(input, p))
            .map(|slot| slot.column)
    }

    /// Slots that are summed for the first column of an output: the copies that reach rows.
    pub(crate) fn summed_copies(&self, output: &OutputPiece) -> usize {
        (0..self.slots)
            .filter(|&p| self.answering_column(output, p) == Some(0))
            .count()
    }
}
