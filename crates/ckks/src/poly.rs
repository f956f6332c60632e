//! Ring elements in residue number system form.

use aligned_vec::{AVec, ConstAlign};

/// A 64-byte aligned buffer of residues, so that vector loads never straddle cache lines.
pub type AlignedResidues = AVec<u32, ConstAlign<64>>;

/// `len` zero residues in aligned memory.
pub fn zeroed(len: usize) -> AlignedResidues {
    let mut out = AVec::with_capacity(64, len);
    out.resize(len, 0);
    out
}

/// An element of `Z_Q[X]/(X^N + 1)`: one limb of N canonical residues for each prime, limb after
/// limb, in the NTT domain (bit-reversed order, see [`crate::ntt`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RnsPoly {
    degree: usize,
    data: AlignedResidues,
}

impl RnsPoly {
    /// The zero element with `limbs` limbs of `degree` residues.
    pub fn zero(limbs: usize, degree: usize) -> Self {
        Self {
            degree,
            data: zeroed(limbs * degree),
        }
    }

    /// Ring degree N.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of limbs.
    pub fn limbs(&self) -> usize {
        self.data.len() / self.degree
    }

    /// Residues of limb `i`.
    pub fn limb(&self, i: usize) -> &[u32] {
        &self.data[i * self.degree..(i + 1) * self.degree]
    }

    /// Residues of limb `i`, mutable. Keep them canonical.
    pub fn limb_mut(&mut self, i: usize) -> &mut [u32] {
        &mut self.data[i * self.degree..(i + 1) * self.degree]
    }

    /// All residues, limb after limb.
    pub fn residues(&self) -> &[u32] {
        &self.data
    }

    /// All residues, mutable. Keep them canonical.
    pub fn residues_mut(&mut self) -> &mut [u32] {
        &mut self.data
    }
}
