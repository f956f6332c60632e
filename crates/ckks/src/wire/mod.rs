//! The bytes that cross the key boundary.
//!
//! Every message is a list of objects of one kind: a header of [`HEADER_LEN`] bytes that names the
//! format version, the kind and the parameters, then a body whose length follows from them and
//! from the number of objects. There is one encoding of each list: what decodes encodes to the
//! same bytes again. `docs/wire-format.md` specifies the format for other implementations.
//!
//! Decoding trusts nothing. Counts are compared with the bytes that are there before anything is
//! allocated, residues with their primes, and whatever would be ignored is refused.
//!
//! Secrets have no encoding here.
//!
//! ```
//! use ckks::{Context, MaskId, xof::Seed, wire::Wire};
//!
//! let context = Context::named("diagonal-4096")?;
//! let masks: Vec<_> = (0..3).map(|counter| MaskId { seed: Seed([7; 32]), counter }).collect();
//! let bytes = MaskId::encode(&context, &masks)?;
//! assert_eq!(bytes.len() as u64, ckks::wire::masks_len(masks.len()));
//! assert_eq!(MaskId::decode(&context, &bytes)?, masks);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod bits;
mod ciphertexts;
mod error;
pub(crate) mod header;
mod keys;
mod masks;
pub(crate) mod reader;
mod residues;

pub use answers::{MAX_ANSWER_BITS, answers_len};
pub use ciphertexts::{ciphertexts_len, seeded_ciphertexts_len};
pub use error::WireError;
pub use header::{HEADER_LEN, Header, Kind, MAGIC, READABLE_VERSIONS, VERSION};
pub use keys::galois_keys_len;
pub use masks::{MAX_COUNTER, MAX_MASKS, masks_len};

use crate::context::Context;

/// An object that is sent in lists.
pub trait Wire: Sized {
    /// What the header calls it.
    const KIND: Kind;

    /// The encoding of a list, in a buffer of exactly that length.
    ///
    /// # Errors
    /// [`WireError`] when the objects do not fit the context or each other, so that every encoding
    /// that is made can be decoded.
    fn encode(context: &Context, list: &[Self]) -> Result<Vec<u8>, WireError>;

    /// The list that `bytes` encode.
    ///
    /// Allocates at most about four times the length of `bytes`, whatever they say.
    ///
    /// # Errors
    /// [`WireError`] unless `bytes` are exactly one encoding made under these parameters.
    fn decode(context: &Context, bytes: &[u8]) -> Result<Vec<Self>, WireError>;
}
