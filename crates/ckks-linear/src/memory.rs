//! Large buffers on huge pages, and disjoint writes into them.

use crate::error::LinearError;
use crate::mac::Block;
use memmap2::MmapMut;
use std::marker::PhantomData;

/// Zeroed blocks in anonymous memory, on huge pages where the system has them: streaming tens of
/// megabytes through 4 KiB pages costs more in address translation than in bandwidth.
#[derive(Debug)]
pub(crate) struct BlockBuffer {
    map: MmapMut,
    len: usize,
}

impl BlockBuffer {
    /// Reserves `len` zero blocks.
    pub(crate) fn zeroed(len: usize) -> Result<Self, LinearError> {
        let bytes = len.saturating_mul(size_of::<Block>()).max(1);
        let map = MmapMut::map_anon(bytes).map_err(|error| LinearError::Allocation {
            bytes: bytes as u64,
            reason: error.to_string(),
        })?;
        // Advice only: without it the buffer works, slower.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map, len })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn blocks(&self) -> &[Block] {
        bytemuck::cast_slice(&self.map[..self.len * size_of::<Block>()])
    }

    pub(crate) fn blocks_mut(&mut self) -> &mut [Block] {
        bytemuck::cast_slice_mut(&mut self.map[..self.len * size_of::<Block>()])
    }
}

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
