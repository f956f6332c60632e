//! How fast this machine reads memory: the yardstick for phases that stream their data.

use ckks::simd::{SimdLevel, multiversion};
use memmap2::MmapMut;
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
    let lines = usize::try_from(bytes / 64).unwrap_or(usize::MAX) / threads;
    // Each thread takes its own time between barriers: one that sleeps at the start of a round must
    // not make the others look fast.
    let barrier = Barrier::new(threads);
    let rounds: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut part = Part::new(lines);
                    let part = part.lines_mut(lines);
                    let round = || {
                        barrier.wait();
                        let start = Instant::now();
                        black_box(sum(black_box(part)));
                        start.elapsed().as_secs_f64()
                    };
                    std::iter::repeat_with(round).take(ROUNDS).collect()
                })
            })
            .collect();
        handles
            .into_iter()
            .filter_map(|handle| handle.join().ok())
            .collect()
    });
    let slowest = |round: usize| {
        rounds
            .iter()
            .map(|times: &Vec<f64>| times[round])
            .fold(0.0, f64::max)
    };
    let best = (0..ROUNDS).map(slowest).fold(f64::INFINITY, f64::min);
    let buffer_bytes = (lines * threads * 64) as u64;
    Streaming {
        threads,
        buffer_bytes,
        bytes_per_second: buffer_bytes as f64 / best,
    }
}

multiversion! {
    /// Adds all words: a plain reduction, which the compiler turns into independent vectors of
    /// whatever width the level has, so that loads are what limits it.
    fn add_all(words: &[u64], sum: &mut u64) {
        *sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
    }
}

/// One cache line.
type Line = [u64; 8];

fn sum(lines: &[Line]) -> u64 {
    let mut sum = 0;
    add_all(SimdLevel::detect(), lines.as_flattened(), &mut sum);
    sum
}

/// Lines in anonymous memory, on huge pages where the system has them, as the engine's own large
/// buffers are; an ordinary vector where that fails.
enum Part {
    Mapped(MmapMut),
    Plain(Vec<Line>),
}

impl Part {
    fn new(lines: usize) -> Self {
        let mut part = match MmapMut::map_anon((lines * size_of::<Line>()).max(1)) {
            Ok(map) => {
                #[cfg(target_os = "linux")]
                let _ = map.advise(memmap2::Advice::HugePage);
                Self::Mapped(map)
            }
            Err(_) => Self::Plain(vec![[0; 8]; lines]),
        };
        // Pages never written share one page of zeros.
        for (i, line) in part.lines_mut(lines).iter_mut().enumerate() {
            *line = [i as u64; 8];
        }
        part
    }

    fn lines_mut(&mut self, lines: usize) -> &mut [Line] {
        match self {
            Self::Mapped(map) => bytemuck::cast_slice_mut(&mut map[..lines * size_of::<Line>()]),
            Self::Plain(plain) => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_everything() {
        let lines: Vec<Line> = (0..125)
            .map(|line| std::array::from_fn(|i| line * 8 + i as u64 + 1))
            .collect();
        assert_eq!(sum(&lines), 500_500);
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
