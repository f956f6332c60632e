//! Cryptographic randomness: ChaCha20 keyed by the operating system.

use crate::error::SecretError;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use std::fmt;
use zeroize::Zeroizing;

mod sealed {
    pub trait Sealed {}
}

/// A source of secret randomness. Implemented by [`OsCsprng`], which services must use, and by
/// [`SeededCsprng`], which only tests and benchmarks may.
pub trait Csprng: sealed::Sealed + Send {
    /// Fills `out` with random bytes.
    fn fill(&mut self, out: &mut [u8]);

    /// An independent generator for another thread, keyed by this one's output.
    fn fork(&mut self) -> Self
    where
        Self: Sized;
}

/// ChaCha20 (RFC 8439) as a generator: the key is secret, the nonce zero, the stream the output.
/// One generator gives at most 256 GiB before the block counter would wrap; it rekeys itself from
/// its own output long before that.
struct Stream {
    cipher: ChaCha20,
    produced: u64,
}

/// Rekey after this many bytes, far below the cipher's 256 GiB.
const REKEY_AFTER: u64 = 1 << 34;

impl Stream {
    fn new(key: &[u8; 32]) -> Self {
        let cipher = ChaCha20::new(key.into(), &[0u8; 12].into());
        Self {
            cipher,
            produced: 0,
        }
    }

    fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(1 << 20) {
            if self.produced >= REKEY_AFTER {
                let key = self.key();
                *self = Self::new(&key);
            }
            chunk.fill(0);
            self.cipher.apply_keystream(chunk);
            self.produced += chunk.len() as u64;
        }
    }

    fn key(&mut self) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        self.cipher.apply_keystream(key.as_mut_slice());
        key
    }
}

/// Randomness keyed by the operating system.
pub struct OsCsprng(Stream);

impl OsCsprng {
    /// Takes a 256-bit key from the operating system.
    ///
    /// # Errors
    /// [`SecretError::Randomness`] when it has none to give.
    pub fn new() -> Result<Self, SecretError> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(key.as_mut_slice()).map_err(SecretError::Randomness)?;
        Ok(Self(Stream::new(&key)))
    }
}

/// Reproducible randomness for tests and benchmark runs. **Not secret**: whoever knows the seed
/// knows every key made from it. Code that serves users takes [`OsCsprng`] by type.
pub struct SeededCsprng(Stream);

impl SeededCsprng {
    /// A generator whose whole output follows from `seed` and `stream`.
    pub fn insecure(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&stream.to_le_bytes());
        Self(Stream::new(&key))
    }
}

macro_rules! generator {
    ($name:ident) => {
        impl sealed::Sealed for $name {}

        impl Csprng for $name {
            fn fill(&mut self, out: &mut [u8]) {
                self.0.fill(out);
            }

            fn fork(&mut self) -> Self {
                Self(Stream::new(&self.0.key()))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    };
}
generator!(OsCsprng);
generator!(SeededCsprng);

#[cfg(test)]
mod tests {
    use super::*;

    fn take(rng: &mut impl Csprng) -> [u8; 32] {
        let mut out = [0; 32];
        rng.fill(&mut out);
        out
    }

    #[test]
    fn system_generators_differ_and_forks_are_independent() {
        // Equal 256-bit outputs happen with probability 2^-256.
        let (mut a, mut b) = (OsCsprng::new().unwrap(), OsCsprng::new().unwrap());
        let mut fork = a.fork();
        let outputs = [take(&mut a), take(&mut a), take(&mut b), take(&mut fork)];
        for i in 0..4 {
            for j in 0..i {
                assert_ne!(outputs[i], outputs[j]);
            }
        }
    }

    #[test]
    fn seeded_generators_repeat() {
        let of = |seed, stream| take(&mut SeededCsprng::insecure(seed, stream));
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
        assert_ne!(of(1, 2), of(2, 2));
        assert_eq!(
            format!("{:?}", SeededCsprng::insecure(5, 6)),
            "SeededCsprng(…)"
        );
    }
}
