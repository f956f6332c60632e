//! Twiddle factors of one prime and the choice of kernel.

use super::kernel::{Backend, Kernel};
use crate::error::ParameterError;
use crate::modulus::{Modulus, primitive_root};
use crate::upcoming::Upcoming;

/// Ring degrees that transforms exist for.
pub(super) const MIN_LOG_DEGREE: u32 = 10;
/// Largest supported log2(N).
pub(super) const MAX_LOG_DEGREE: u32 = 16;

/// Transform of one prime and ring degree.
///
/// The fastest kernel of the machine is chosen on construction; [`NttTable::with_kernel`] selects
/// another one. All give the same bits.
#[derive(Clone, Debug)]
pub struct NttTable {
    pub(super) modulus: Modulus,
    pub(super) degree: usize,
    /// `roots[k] = ψ^rev(k)` for `k` in `1..N`; entry 0 is 1.
    pub(super) roots: Vec<u32>,
    pub(super) roots_shoup: Vec<u32>,
    /// Inverses of `roots`, same order.
    pub(super) inv_roots: Vec<u32>,
    pub(super) inv_roots_shoup: Vec<u32>,
    /// N^-1 mod q.
    pub(super) inv_degree: u32,
    pub(super) inv_degree_shoup: u32,
    backend: Backend,
}

impl NttTable {
    /// Precomputes the tables.
    ///
    /// # Errors
    /// [`ParameterError::RingDegree`] unless `degree` is a power of two from 1,024 to 65,536;
    /// [`ParameterError::NoRootOfUnity`] unless the prime is 1 mod 2N.
    pub fn new(modulus: Modulus, degree: usize) -> Result<Self, ParameterError> {
        let supported = degree.is_power_of_two()
            && (MIN_LOG_DEGREE..=MAX_LOG_DEGREE).contains(&degree.trailing_zeros());
        if !supported {
            return Err(ParameterError::RingDegree { value: degree });
        }
        let psi = primitive_root(modulus, degree)?;
        let psi_inv = modulus.inv(psi);
        let log_n = degree.trailing_zeros();
        let bit_reversed_powers = |root: u32| {
            let mut out = vec![1; degree];
            let mut power = 1;
            for k in 0..degree {
                out[k.reverse_bits() >> (usize::BITS - log_n)] = power;
                power = modulus.mul(power, root);
            }
            out
        };
        let roots = bit_reversed_powers(psi);
        let inv_roots = bit_reversed_powers(psi_inv);
        let quotients = |values: &[u32]| values.iter().map(|&w| modulus.shoup(w)).collect();
        let inv_degree = modulus.inv(degree as u32);
        let table = Self {
            modulus,
            degree,
            roots_shoup: quotients(&roots),
            inv_roots_shoup: quotients(&inv_roots),
            roots,
            inv_roots,
            inv_degree,
            inv_degree_shoup: modulus.shoup(inv_degree),
            backend: Backend::Reference,
        };
        let backend = Backend::new(Kernel::best(), &table).unwrap_or(Backend::Reference);
        Ok(Self { backend, ..table })
    }

    /// The same transform on another kernel, or `None` when this machine cannot run it
    /// ([`Kernel::available`] lists those that it can).
    pub fn with_kernel(self, kernel: Kernel) -> Option<Self> {
        let backend = Backend::new(kernel, &self)?;
        Some(Self { backend, ..self })
    }

    /// The kernel in use.
    pub fn kernel(&self) -> Kernel {
        self.backend.kernel()
    }

    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Ring degree N.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Coefficients to values, in place. Residues canonical on both sides.
    ///
    /// # Panics
    /// When `values` does not hold exactly N residues: a programming error, not an input error.
    pub fn forward(&self, values: &mut [u32]) {
        self.forward_fetching(values, &mut Upcoming::none());
    }

    /// [`NttTable::forward`] that asks for memory that will be read soon.
    ///
    /// # Panics
    /// As [`NttTable::forward`].
    pub fn forward_fetching(&self, values: &mut [u32], upcoming: &mut Upcoming<'_>) {
        assert_eq!(values.len(), self.degree, "an NTT takes exactly N residues");
        self.backend.forward(self, values, upcoming);
    }

    /// Values to coefficients, in place. Residues canonical on both sides.
    ///
    /// # Panics
    /// When `values` does not hold exactly N residues: a programming error, not an input error.
    pub fn inverse(&self, values: &mut [u32]) {
        self.inverse_fetching(values, &mut Upcoming::none());
    }

    /// [`NttTable::inverse`] that asks for memory that will be read soon.
    ///
    /// # Panics
    /// As [`NttTable::inverse`].
    pub fn inverse_fetching(&self, values: &mut [u32], upcoming: &mut Upcoming<'_>) {
        assert_eq!(values.len(), self.degree, "an NTT takes exactly N residues");
        self.backend.inverse(self, values, upcoming);
    }
}
