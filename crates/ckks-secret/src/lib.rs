//! The trusted side of CKKS: secret keys, key generation, encryption, decryption.
//!
//! This is the only crate that holds secrets. The server's crates must not depend on it; the
//! build checks that. Secrets are zeroised when dropped, have no readable `Debug` output and no
//! serialisation.

mod decrypt;
mod encrypt;
mod error;
pub mod gemm;
mod keygen;
mod random;
mod sampler;
mod secret_key;

pub use encrypt::{Mask, MaskSource};
pub use error::SecretError;
pub use random::{Csprng, OsCsprng, SeededCsprng};
pub use sampler::ERROR_TAIL;
pub use secret_key::SecretKey;
