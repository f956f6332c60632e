//! Fetching the next key while the current transforms run.
//!
//! A key switch reads a key of some 200 kB, which comes from memory when a layer's weights have
//! gone through the caches since; its transforms leave memory idle for several times as long.
//! Asked for a few lines at a time between their steps, the key is there when it is needed.
//! Asked for all at once, the core would wait for the first lines before it computes.

use crate::memory::Block;

/// Cache lines asked for at each step of a transform; at N = 4096 the six transforms of a key
/// switch have about 380 steps, a key has 3,072 lines.
#[cfg(target_arch = "x86_64")]
const LINES_PER_STEP: usize = 8;

/// Memory that will be read soon. Only a hint: results do not depend on it.
#[derive(Debug, Default)]
pub struct Upcoming<'a>(&'a [Block]);

impl<'a> Upcoming<'a> {
    /// These blocks, first to last.
    pub fn new(blocks: &'a [Block]) -> Self {
        Self(blocks)
    }

    /// Nothing to fetch.
    pub fn none() -> Self {
        Self::default()
    }

    /// Asks for the next few lines to be brought into the second-level cache.
    #[inline(always)]
    pub(crate) fn step(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if let Some((lines, rest)) = self.0.split_first_chunk::<LINES_PER_STEP>() {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            for line in lines {
                // SAFETY: the pointer is to a live block; a prefetch reads nothing into the program.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
            }
            self.0 = rest;
        }
    }
}
