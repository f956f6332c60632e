//! The packing as a *slot program*: what any CKKS library can evaluate that encrypts slot vectors,
//! rotates them, multiplies them by plaintext slot vectors and adds.
//!
//! A program is a [`crate::plan::Plan`] over n' virtual slots, spread over n = n'·I real ones: the
//! virtual slot j of group g, g < I, is slot `j·I + g`. A rotation by `s·I` slots is a rotation by
//! s of every group at once, so I independent groups of vectors share each ciphertext, each
//! rotation and each product; only the plaintexts are longer. I is the *interleave*, a power of two.
//!
//! ```
//! use ckks_linear::plan::PlanKind;
//! use ckks_linear::planner::PlanOptions;
//! use ckks_linear::shape::LayerShape;
//! use ckks_linear::slots::{SlotKind, SlotOutput, SlotProgram};
//! use tensor_io::WeightMatrix;
//!
//! let weights = WeightMatrix::from_output_major(2, 1, vec![3.0, 5.0])?;
//! let shape = LayerShape::new(2, 1)?;
//! let options = PlanOptions::default();
//! let program =
//!     SlotProgram::choose(PlanKind::Diagonal, shape, 2, SlotKind::Real, 1, &options)?;
//! let input = program.pack(&[&[10.0, 100.0]])?;
//! let diagonals = program.prepare(&weights)?;
//! // Both weights fit one plaintext, so nothing has to be rotated.
//! assert!(program.rotation_steps().is_empty());
//! let SlotOutput::Sum(giants) = &diagonals.outputs()[0] else {
//!     panic!("the matrix is not zero");
//! };
//! let term = giants[0].terms[0];
//! let mut plaintext = vec![ckks::Complex64::ZERO; program.slots()];
//! diagonals.fill(term.diagonal, &mut plaintext)?;
//! let answer = input[term.input]
//!     .iter()
//!     .zip(&plaintext)
//!     .map(|(a, b)| a * b)
//!     .collect();
//! assert_eq!(program.unpack(&[answer], 1)?, vec![vec![530.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bound;
mod choose;
mod diagonals;
mod program;
mod runs;
mod vectors;

pub use choose::{MAX_PIECES, MAX_SLOTS};
pub use diagonals::{SlotDiagonals, SlotOutput};
pub use program::{CiphertextCounts, SlotGiant, SlotProgram, SlotTerm};

/// What the slots of a library hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlotKind {
    /// Real numbers: W as it is in every plaintext, [`crate::shape::Folding::None`].
    Real,
    /// Complex numbers: two real numbers in every slot, by any [`crate::shape::Folding`].
    Complex,
}
