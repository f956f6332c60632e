//! Disjoint writes into one buffer.

use crate::mac::Block;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128, _mm512_storeu_si512,
    _mm512_stream_si512,
};
use std::marker::PhantomData;

/// A view for threads that write different blocks of one buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisjointBlocks<'a> {
    pointer: *mut Block,
    len: usize,
    owner: PhantomData<&'a mut [Block]>,
}

// SAFETY: the view only writes, and callers of `write` promise that no block is touched by two
// threads.
unsafe impl Send for DisjointBlocks<'_> {}
// SAFETY: as above.
unsafe impl Sync for DisjointBlocks<'_> {}

impl<'a> DisjointBlocks<'a> {
    pub(crate) fn new(blocks: &'a mut [Block]) -> Self {
        Self {
            pointer: blocks.as_mut_ptr(),
            len: blocks.len(),
            owner: PhantomData,
        }
    }

    /// Address of block `at`, for hints only.
    pub(crate) fn address(&self, at: usize) -> *const Block {
        self.pointer.wrapping_add(at)
    }

    /// Writes block `at`.
    ///
    /// # Safety
    /// While this view lives, no other thread writes or reads block `at`.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, at: usize, value: Block) {
        assert!(at < self.len, "block index within the buffer");
        // SAFETY: in bounds, and exclusive by the caller's promise.
        unsafe { self.pointer.add(at).write(value) };
    }

    /// Writes block `at` past the caches, without reading its line first; visible to other threads
    /// after [`end_streaming`] only. Where the CPU has no such store, an ordinary one.
    ///
    /// # Safety
    /// As [`DisjointBlocks::write`].
    #[inline(always)]
    pub(crate) unsafe fn stream(&self, at: usize, value: Block) {
        assert!(at < self.len, "block index within the buffer");
        let block = self.pointer.wrapping_add(at);
        #[cfg(target_arch = "x86_64")]
        if block.cast::<__m128i>().is_aligned() {
            for (i, quarter) in value.as_chunks::<4>().0.iter().enumerate() {
                // SAFETY: in bounds and aligned, exclusive by the caller's promise; SSE2 is part
                // of the architecture.
                unsafe {
                    let quarter = _mm_loadu_si128(quarter.as_ptr().cast());
                    _mm_stream_si128(block.cast::<__m128i>().add(i), quarter);
                }
            }
            return;
        }
        // SAFETY: in bounds, and exclusive by the caller's promise.
        unsafe { block.write(value) };
    }

    /// Writes block `at` from a register; with `stream` past the caches, without reading its line
    /// first, visible to other threads after [`end_streaming`] only.
    ///
    /// # Safety
    /// As [`DisjointBlocks::write`].
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(crate) unsafe fn write_register(&self, at: usize, value: __m512i, stream: bool) {
        assert!(at < self.len, "block index within the buffer");
        let block = self.pointer.wrapping_add(at).cast::<__m512i>();
        // SAFETY: in bounds, exclusive by the caller's promise; a stream asks for alignment.
        unsafe {
            if stream && block.is_aligned() {
                _mm512_stream_si512(block, value);
            } else {
                _mm512_storeu_si512(block, value);
            }
        }
    }
}

/// Makes this thread's streamed blocks visible to whom it hands over to.
pub(crate) fn end_streaming() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the architecture.
    unsafe {
        _mm_sfence();
    }
}
