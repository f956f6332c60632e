//! The client's side of a program: vectors into slots, slots into vectors.

use super::SlotProgram;
use crate::error::{LinearError, expect_count};
use ckks::Complex64;

impl SlotProgram {
    /// Slots of every input ciphertext for up to [`Self::vectors_per_ciphertext`] vectors of d_in
    /// entries each; missing ones count as zero. Real slots hold real numbers.
    ///
    /// # Errors
    /// [`LinearError::Count`] for a wrong width or number of vectors, [`LinearError::NotFinite`].
    pub fn pack(&self, vectors: &[&[f64]]) -> Result<Vec<Vec<Complex64>>, LinearError> {
        self.check_vectors(vectors.len())?;
        let mut packed = vec![vec![Complex64::ZERO; self.slots()]; self.inputs().len()];
        let each = self.plan.folding().vectors_per_group();
        for (group, members) in vectors.chunks(each).enumerate() {
            let spread = self.plan.pack(members).map_err(|error| match error {
                LinearError::NotFinite {
                    vector,
                    index,
                    value,
                } => LinearError::NotFinite {
                    vector: group * each + vector,
                    index,
                    value,
                },
                other => other,
            })?;
            for (to, from) in packed.iter_mut().zip(spread) {
                let places = to.iter_mut().skip(group).step_by(self.interleave);
                for (place, value) in places.zip(from) {
                    *place = value;
                }
            }
        }
        Ok(packed)
    }

    /// The first `vectors` vectors, of d_out entries each, from the slots of every output
    /// ciphertext of one evaluation. Numbers that are not finite are passed on.
    ///
    /// # Errors
    /// [`LinearError::Count`] for a wrong number of ciphertexts, slots or vectors.
    pub fn unpack(
        &self,
        slots: &[Vec<Complex64>],
        vectors: usize,
    ) -> Result<Vec<Vec<f64>>, LinearError> {
        self.check_vectors(vectors)?;
        for output in slots {
            expect_count("slots of an output", self.slots(), output.len())?;
        }
        let groups = vectors.div_ceil(self.plan.folding().vectors_per_group());
        let mut unpacked = Vec::with_capacity(vectors);
        for group in 0..groups {
            let spread: Vec<Vec<Complex64>> = slots
                .iter()
                .map(|output| {
                    let places = output.iter().skip(group).step_by(self.interleave);
                    places.copied().collect()
                })
                .collect();
            unpacked.extend(self.plan.unpack(&spread)?);
        }
        unpacked.truncate(vectors);
        Ok(unpacked)
    }

    fn check_vectors(&self, vectors: usize) -> Result<(), LinearError> {
        let most = self.vectors_per_ciphertext();
        if (1..=most).contains(&vectors) {
            Ok(())
        } else {
            Err(LinearError::Count {
                what: "vectors of an evaluation, at most",
                expected: most,
                found: vectors,
            })
        }
    }
}
