//! AEADs and hashes over a buffer that stays in the second-level cache.

use sealed_weights::cipher::{ChunkCipher, Provider};
use sealed_weights::content::chunk_hash;
use sealed_weights::core_header::{ChunkSize, CoreHeader};
use sealed_weights::error::{HeaderDefect, SealError};
use sealed_weights::ids::{FileId, ModelId};
use sealed_weights::suite::Suite;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of the buffer of each thread.
pub(super) const BUFFER: u32 = 256 << 10;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Encryption in place.
    Seal,
    /// Decryption in place, with the tag checked.
    Open,
}

impl Operation {
    /// The name in identifiers.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Operation::Seal => "seal",
            Operation::Open => "open",
        }
    }
}

/// An AEAD of one of the libraries.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Aead {
    /// Which library; a name of [`Provider::name`].
    pub provider: ProviderName,
    /// Which suite; a number of [`Suite::number`].
    pub suite: u16,
    /// Which direction.
    pub operation: Operation,
}

/// A library, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderName {
    /// AWS-LC.
    AwsLc,
    /// ring.
    Ring,
}

impl ProviderName {
    /// The name of a provider.
    #[must_use]
    pub fn of(provider: Provider) -> ProviderName {
        match provider {
            Provider::AwsLc => ProviderName::AwsLc,
            Provider::Ring => ProviderName::Ring,
        }
    }

    fn provider(self) -> Provider {
        match self {
            ProviderName::AwsLc => Provider::AwsLc,
            ProviderName::Ring => Provider::Ring,
        }
    }
}

impl Aead {
    /// Handles at least `bytes` in each of the threads; the seconds that the slowest thread spent
    /// in this direction. A buffer must be sealed to be opened, so both directions run in turn.
    ///
    /// # Errors
    /// [`SealError::Cipher`].
    pub fn run(self, threads: usize, bytes: u64) -> Result<f64, SealError> {
        let core = core(self.suite)?;
        let key: [u8; 32] = std::array::from_fn(|i| i as u8);
        let cipher = ChunkCipher::with_provider(self.provider.provider(), &core, &key, [7; 12])?;
        slowest(threads, || {
            let mut buffer = vec![0x5a; BUFFER as usize];
            let mut spent = Duration::ZERO;
            for index in 0..turns(bytes) {
                let start = Instant::now();
                let tag = cipher.seal_in_place(index, &mut buffer)?;
                let sealed = Instant::now();
                if !cipher.open_in_place(index, &mut buffer, &tag) {
                    return Err(SealError::Cipher);
                }
                spent += match self.operation {
                    Operation::Seal => sealed - start,
                    Operation::Open => sealed.elapsed(),
                };
            }
            black_box(&buffer);
            Ok(spent)
        })
    }
}

/// Hashes at least `bytes` in each of the threads; the seconds of the slowest one.
pub(super) fn hash(threads: usize, bytes: u64) -> Result<f64, SealError> {
    slowest(threads, || {
        let buffer = vec![0x5a; BUFFER as usize];
        let start = Instant::now();
        for _ in 0..turns(bytes) {
            black_box(chunk_hash(black_box(&buffer)));
        }
        Ok(start.elapsed())
    })
}

/// The bytes that are really handled, in all threads together.
pub(super) fn payload(threads: usize, bytes: u64) -> u64 {
    threads as u64 * turns(bytes) * u64::from(BUFFER)
}

fn turns(bytes: u64) -> u64 {
    bytes.div_ceil(u64::from(BUFFER))
}

/// Starts the threads together.
fn slowest(
    threads: usize,
    step: impl Fn() -> Result<Duration, SealError> + Sync,
) -> Result<f64, SealError> {
    let together = Barrier::new(threads);
    let spent = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    step()
                })
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(SealError::Worker)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let slowest = spent.into_iter().max().unwrap_or_default();
    Ok(slowest.as_secs_f64())
}

fn core(suite: u16) -> Result<CoreHeader, SealError> {
    let refuse = |defect| SealError::Header {
        path: PathBuf::from("a buffer"),
        defect,
    };
    Ok(CoreHeader {
        suite: Suite::from_number(suite)
            .ok_or_else(|| refuse(HeaderDefect::Suite { found: suite }))?,
        chunk_size: ChunkSize::new(BUFFER).map_err(refuse)?,
        length: u64::from(BUFFER) << 20,
        file_id: FileId::new([1; 16]),
        model_id: ModelId::new([2; 16]),
        salt: [3; 32],
        path: "buffer"
            .parse()
            .map_err(|reason| refuse(HeaderDefect::Path { reason }))?,
        public_header: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_and_suite_takes_time() {
        for provider in Provider::ALL {
            for suite in Suite::ALL {
                for operation in [Operation::Seal, Operation::Open] {
                    let aead = Aead {
                        provider: ProviderName::of(provider),
                        suite: suite.number(),
                        operation,
                    };
                    assert!(aead.run(2, 1).unwrap() > 0.0);
                }
            }
        }
        assert!(hash(2, 1).unwrap() > 0.0);
        assert_eq!(payload(2, 1), 512 << 10);
        assert_eq!(payload(1, (256 << 10) + 1), 512 << 10);
    }
}
