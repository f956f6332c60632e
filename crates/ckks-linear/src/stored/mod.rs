//! Prepared layers as bytes, to be kept and loaded instead of prepared again.
//!
//! `docs/prepared-weights.md` specifies the format. Nothing in it is secret from the server, all of
//! it is as confidential as the weights: keep it in a sealed model (feature `sealed`), which also
//! makes it authentic. The bytes themselves have no checksum.
//!
//! Reading trusts nothing. Every length is compared with the bytes that are there before memory is
//! reserved, residues with their primes, and the plan with the rules that every plan keeps. Which
//! plaintext meets which rotation is not stored but follows from the plan, so that no index is ever
//! read: whatever the bytes say, evaluation stays within its buffers.

mod cursor;
mod diagonal;
mod error;
mod front;
mod gemm;
mod plan;
#[cfg(feature = "sealed")]
mod sealed;

pub use error::{ReadError, StoredError};
#[cfg(feature = "sealed")]
pub use sealed::SealedLayer;

/// Bytes that can be read anywhere.
pub trait StoredBytes {
    /// How many there are.
    fn length(&self) -> u64;

    /// Fills `out` from `offset`; the range lies within the length.
    ///
    /// # Errors
    /// Why the bytes cannot be had, or may not be used. `out` is not used then.
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), ReadError>;
}

impl StoredBytes for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), ReadError> {
        let found = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.get(offset..)?.get(..out.len()));
        match found {
            Some(bytes) => {
                out.copy_from_slice(bytes);
                Ok(())
            }
            None => Err("a range outside the bytes".into()),
        }
    }
}
