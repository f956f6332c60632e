//! Fetching what the next steps need while the current transforms run.
//!
//! A key switch reads a key of some 200 kB, which comes from memory when a layer's weights have
//! gone through the caches since; its transforms leave memory idle for several times as long.
//! Asked for a few lines at a time between their steps, the key is there when it is needed.
//! Asked for all at once, the core would wait for the first lines before it computes. The same
//! holds for scattered lines that will be written: each would have to be fetched first.

use crate::memory::Block;
use std::marker::PhantomData;

/// Cache lines of a key asked for at each step of a transform; at N = 4096 the six transforms of
/// a key switch have about 380 steps, a key has 3,072 lines.
#[cfg(target_arch = "x86_64")]
const LINES_PER_STEP: usize = 8;

/// Scattered rows asked for at each step.
#[cfg(target_arch = "x86_64")]
const ROWS_PER_STEP: usize = 2;

/// Rows of a few lines, equally far apart, that will be written soon. Addresses only: nothing is
/// read through them, so they may be written by others at the same time.
#[derive(Clone, Copy, Debug)]
pub struct ScatteredRows {
    first: *const Block,
    lines: usize,
    stride: usize,
    rows: usize,
}

impl ScatteredRows {
    /// `rows` rows of `lines` lines from `first` on, `stride` blocks apart.
    pub fn new(first: *const Block, lines: usize, stride: usize, rows: usize) -> Self {
        Self {
            first,
            lines,
            stride,
            rows,
        }
    }
}

/// Memory that will be used soon. Only a hint: results do not depend on it.
#[derive(Debug, Default)]
pub struct Upcoming<'a> {
    lines: &'a [Block],
    scattered: Option<ScatteredRows>,
    /// Addresses are not sent to other threads.
    local: PhantomData<*const ()>,
}

impl<'a> Upcoming<'a> {
    /// These blocks, first to last.
    pub fn new(lines: &'a [Block]) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }

    /// Nothing to fetch.
    pub fn none() -> Self {
        Self::default()
    }

    /// Also these rows.
    #[must_use]
    pub fn with_rows(self, rows: ScatteredRows) -> Self {
        Self {
            scattered: Some(rows),
            ..self
        }
    }

    /// Asks for the next few lines to be brought into the second-level cache.
    #[inline(always)]
    pub(crate) fn step(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some((lines, rest)) = self.lines.split_first_chunk::<LINES_PER_STEP>() {
                lines.iter().for_each(|line| fetch(line));
                self.lines = rest;
            }
            if let Some(rows) = &mut self.scattered {
                for _ in 0..ROWS_PER_STEP.min(rows.rows) {
                    (0..rows.lines).for_each(|line| fetch(rows.first.wrapping_add(line)));
                    rows.first = rows.first.wrapping_add(rows.stride);
                    rows.rows -= 1;
                }
            }
        }
    }
}

/// Asks for the cache lines of some bytes to be brought into the second-level cache.
#[inline(always)]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    bytes
        .chunks(64)
        .for_each(|line| fetch(line.as_ptr().cast()));
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch(line: *const Block) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: a prefetch is defined for every address and reads nothing into the program.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
}
