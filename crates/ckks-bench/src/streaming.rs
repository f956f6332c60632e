//! How fast this machine reads memory: the yardstick for phases that stream their data.

use pulp::Arch;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

/// Smallest buffer, so that caches hold only a small part of it.
const MIN_BYTES: u64 = 256 << 20;

const ROUNDS: usize = 5;

/// The measured bandwidth.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Streaming {
    /// Threads that read at the same time.
    pub threads: usize,
    /// Bytes read per round, all threads together.
    pub buffer_bytes: u64,
    /// Best of five rounds.
    pub bytes_per_second: f64,
}

/// Bytes to read: 256 MiB, or four times the third-level caches where that is more.
#[must_use]
pub fn buffer_bytes(l3_bytes: Option<u64>) -> u64 {
    MIN_BYTES.max(l3_bytes.unwrap_or(0).saturating_mul(4))
}

/// Sums a buffer of about `bytes` bytes on `threads` threads, each its own part.
#[must_use]
pub fn measure(threads: usize, bytes: u64) -> Streaming {
    let threads = threads.max(1);
    let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX) / threads;
    // The threads live through all rounds: starting them would count as reading.
    let barrier = Barrier::new(threads + 1);
    let best = std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // Every thread writes its part first: pages never written share one page of zeros.
                let part: Vec<u64> = (0..words as u64).collect();
                for _ in 0..ROUNDS {
                    barrier.wait();
                    black_box(Arch::new().dispatch(Sum(black_box(&part))));
                    barrier.wait();
                }
            });
        }
        let round = || {
            barrier.wait();
            let start = Instant::now();
            barrier.wait();
            start.elapsed().as_secs_f64()
        };
        std::iter::repeat_with(round)
            .take(ROUNDS)
            .fold(f64::INFINITY, f64::min)
    });
    let buffer_bytes = (words * threads * 8) as u64;
    Streaming {
        threads,
        buffer_bytes,
        bytes_per_second: buffer_bytes as f64 / best,
    }
}

/// The loop in a form that is compiled once for every vector width.
struct Sum<'a>(&'a [u64]);

impl pulp::WithSimd for Sum<'_> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> u64 {
        let mut sums = [0u64; 32];
        let (blocks, rest) = self.0.as_chunks::<32>();
        for block in blocks {
            for (sum, word) in sums.iter_mut().zip(block) {
                *sum = sum.wrapping_add(*word);
            }
        }
        sums.iter()
            .chain(rest)
            .fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_everything() {
        let words: Vec<u64> = (1..=1000).collect();
        assert_eq!(Arch::new().dispatch(Sum(&words)), 500_500);
    }

    #[test]
    fn a_small_buffer_gives_a_rate() {
        let streaming = measure(2, 1 << 20);
        assert_eq!(streaming.buffer_bytes, 1 << 20);
        assert!(streaming.bytes_per_second.is_finite() && streaming.bytes_per_second > 0.0);
    }

    #[test]
    fn the_buffer_leaves_the_caches() {
        assert_eq!(buffer_bytes(None), 256 << 20);
        assert_eq!(buffer_bytes(Some(32 << 20)), 256 << 20);
        assert_eq!(buffer_bytes(Some(100 << 20)), 400 << 20);
    }
}
