//! Large buffers on huge pages.

use crate::error::CkksError;
use memmap2::MmapMut;

/// Sixteen residues, one cache line: the unit of all large layouts.
pub type Block = [u32; 16];

/// Size and alignment of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Zeroed blocks in anonymous memory, on huge pages where the system has them.
///
/// Keys and prepared weights are streamed, many megabytes for each evaluation: on 4 KiB pages
/// address translation costs as much as the data, all the more in a virtual machine.
#[derive(Debug)]
pub struct BlockBuffer {
    map: MmapMut,
    /// First byte in use: the first huge-page boundary of large buffers.
    start: usize,
    len: usize,
}

impl BlockBuffer {
    /// Reserves `len` zero blocks.
    ///
    /// # Errors
    /// [`CkksError::Allocation`].
    pub fn zeroed(len: usize) -> Result<Self, CkksError> {
        let bytes = len.saturating_mul(size_of::<Block>());
        // Only whole, aligned huge pages are huge: round large buffers to them.
        let large = bytes > HUGE_PAGE / 2;
        let reserved = if large {
            (bytes.div_ceil(HUGE_PAGE) + 1).saturating_mul(HUGE_PAGE)
        } else {
            bytes.max(1)
        };
        let map = MmapMut::map_anon(reserved).map_err(|error| CkksError::Allocation {
            bytes: reserved as u64,
            reason: error.to_string(),
        })?;
        // Advice only: without it the buffer works, slower.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = if large {
            map.as_ptr().align_offset(HUGE_PAGE)
        } else {
            0
        };
        Ok(Self { map, start, len })
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Block] {
        bytemuck::cast_slice(self.bytes())
    }

    /// The blocks as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.start..self.start + self.len * size_of::<Block>()]
    }

    /// The blocks as bytes, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let end = self.start + self.len * size_of::<Block>();
        &mut self.map[self.start..end]
    }

    /// The blocks as 64-bit words.
    pub fn words(&self) -> &[u64] {
        bytemuck::cast_slice(self.bytes())
    }

    /// The blocks as 64-bit words, mutable.
    pub fn words_mut(&mut self) -> &mut [u64] {
        bytemuck::cast_slice_mut(self.bytes_mut())
    }

    /// The blocks, mutable.
    pub fn blocks_mut(&mut self) -> &mut [Block] {
        bytemuck::cast_slice_mut(self.bytes_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_hold_what_was_asked_for() {
        for len in [0, 1, 1000, 16_384, 16_385, 40_000, 100_000] {
            let mut buffer = BlockBuffer::zeroed(len).unwrap();
            assert_eq!(buffer.blocks().len(), len);
            assert!(buffer.blocks().iter().all(|block| *block == [0; 16]));
            for (i, block) in buffer.blocks_mut().iter_mut().enumerate() {
                *block = [i as u32; 16];
            }
            assert!(
                buffer
                    .blocks()
                    .iter()
                    .enumerate()
                    .all(|(i, b)| *b == [i as u32; 16])
            );
        }
        assert!(matches!(
            BlockBuffer::zeroed(usize::MAX / 64),
            Err(CkksError::Allocation { .. })
        ));
    }
}
