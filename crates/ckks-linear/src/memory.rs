//! Disjoint writes into one buffer.

use crate::mac::Block;
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
}
