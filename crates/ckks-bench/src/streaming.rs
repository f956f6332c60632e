//! How fast this machine reads memory: the yardstick for phases that stream their data.

use ckks::simd::{SimdLevel, multiversion};
use memmap2::MmapMut;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
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
///
/// `None` where the system denies a thread or the memory.
#[must_use]
pub fn measure(threads: usize, bytes: u64) -> Option<Streaming> {
    measure_with(threads, bytes, |_| Builder::new())
}

/// `builder` makes each thread, so that tests can make one fail.
fn measure_with(
    threads: usize,
    bytes: u64,
    builder: impl Fn(usize) -> Builder,
) -> Option<Streaming> {
    let threads = threads.max(1);
    let lines = usize::try_from(bytes / 64).unwrap_or(usize::MAX / 64) / threads;
    let meeting = Meeting::new(threads);
    let rounds: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads);
        for thread in 0..threads {
            match builder(thread).spawn_scoped(scope, || read_part(lines, &meeting)) {
                Ok(handle) => handles.push(handle),
                Err(_) => {
                    meeting.cancel();
                    return None;
                }
            }
        }
        handles
            .into_iter()
            .map(|handle| handle.join().ok().flatten())
            .collect()
    })?;
    let slowest = |round: usize| {
        rounds
            .iter()
            .map(|times: &Vec<f64>| times[round])
            .fold(0.0, f64::max)
    };
    let best = (0..ROUNDS).map(slowest).fold(f64::INFINITY, f64::min);
    let buffer_bytes = (lines * threads * 64) as u64;
    Some(Streaming {
        threads,
        buffer_bytes,
        bytes_per_second: buffer_bytes as f64 / best,
    })
    .filter(|streaming| streaming.bytes_per_second.is_finite())
}

/// The seconds of each round of one thread; `None` where it, or another, cannot take part.
fn read_part(lines: usize, meeting: &Meeting) -> Option<Vec<f64>> {
    // Also where this thread panics: the others must not wait for it.
    let _cancel = CancelOnDrop(meeting);
    let mut part = Part::new(lines)?;
    let part = part.lines_mut(lines);
    // Each thread takes its own time between meetings: one that sleeps at the start of a round must
    // not make the others look fast.
    let round = || {
        meeting.wait().then(|| {
            let start = Instant::now();
            black_box(sum(black_box(part)));
            start.elapsed().as_secs_f64()
        })
    };
    std::iter::repeat_with(round).take(ROUNDS).collect()
}

/// A barrier that can be cancelled, because a thread may never come to it.
struct Meeting {
    threads: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Meetings that took place.
    held: usize,
    /// Threads that wait for the next one.
    waiting: usize,
    cancelled: bool,
}

impl Meeting {
    fn new(threads: usize) -> Self {
        Self {
            threads,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all threads are here; `false` where that will not be.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        let number = state.held;
        state.waiting += 1;
        if state.waiting == self.threads {
            state.held += 1;
            state.waiting = 0;
            self.changed.notify_all();
        }
        while state.held == number && !state.cancelled {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        // One that was held counts, even if a thread cancelled the next before this one woke up.
        state.held != number
    }

    fn cancel(&self) {
        self.lock().cancelled = true;
        self.changed.notify_all();
    }
}

/// No thread waits for one that has left.
struct CancelOnDrop<'a>(&'a Meeting);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
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
/// buffers are.
struct Part(MmapMut);

impl Part {
    /// `None` where the system has not got the memory.
    fn new(lines: usize) -> Option<Self> {
        let map = MmapMut::map_anon(lines.checked_mul(size_of::<Line>())?.max(1)).ok()?;
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let mut part = Self(map);
        // Pages never written share one page of zeros.
        for (i, line) in part.lines_mut(lines).iter_mut().enumerate() {
            *line = [i as u64; 8];
        }
        Some(part)
    }

    fn lines_mut(&mut self, lines: usize) -> &mut [Line] {
        bytemuck::cast_slice_mut(&mut self.0[..lines * size_of::<Line>()])
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
        let streaming = measure(2, 1 << 20).unwrap();
        assert_eq!(streaming.buffer_bytes, 1 << 20);
        assert!(streaming.bytes_per_second.is_finite() && streaming.bytes_per_second > 0.0);
    }

    #[test]
    fn a_thread_that_cannot_start_ends_the_measurement() {
        for failing in 0..3 {
            let builder = |thread| match thread == failing {
                // No address space holds this stack.
                true => Builder::new().stack_size(1 << 60),
                false => Builder::new(),
            };
            assert_eq!(measure_with(3, 1 << 20, builder), None, "thread {failing}");
        }
    }

    #[test]
    fn memory_that_does_not_exist_ends_the_measurement() {
        assert_eq!(measure(3, 1 << 62), None);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_left() {
        let meeting = Meeting::new(2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| (meeting.wait(), meeting.wait()));
            let leaves = scope.spawn(|| {
                let _cancel = CancelOnDrop(&meeting);
                meeting.wait()
            });
            assert!(leaves.join().unwrap());
            assert_eq!(waits.join().unwrap(), (true, false));
        });
    }

    #[test]
    fn the_buffer_leaves_the_caches() {
        assert_eq!(buffer_bytes(None), 256 << 20);
        assert_eq!(buffer_bytes(Some(32 << 20)), 256 << 20);
        assert_eq!(buffer_bytes(Some(100 << 20)), 400 << 20);
    }
}
