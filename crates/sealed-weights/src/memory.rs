//! Memory for plaintext: huge pages, kept out of core dumps.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use zeroize::Zeroize;

use crate::error::SealError;

/// Alignment at which the kernel can use 2 MiB pages.
const HUGE_PAGE: usize = 2 << 20;

/// Fresh zeroed memory of its own mapping.
///
/// Page faults, not ciphers, limit how fast plaintext reaches fresh memory; with 2 MiB pages there
/// are 512 times fewer. Dropping it returns the pages to the kernel, which clears them before
/// anyone else sees them.
pub struct PlainBuffer {
    mapping: NonNull<u8>,
    mapped: usize,
    offset: usize,
    length: usize,
}

// SAFETY: the mapping is private and owned; access goes through & and &mut as for a Vec<u8>.
unsafe impl Send for PlainBuffer {}
// SAFETY: as above; there is no interior mutability.
unsafe impl Sync for PlainBuffer {}

impl fmt::Debug for PlainBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlainBuffer({} bytes)", self.length)
    }
}

impl PlainBuffer {
    /// `length` zero bytes; nothing is touched yet.
    ///
    /// # Errors
    /// [`SealError::Memory`] if the kernel refuses.
    pub fn new(length: usize) -> Result<PlainBuffer, SealError> {
        let refused = |source: rustix::io::Errno| SealError::Memory {
            bytes: length,
            source: source.into(),
        };
        let slack = if length >= HUGE_PAGE { HUGE_PAGE } else { 0 };
        let mapped = length
            .max(1)
            .checked_add(slack)
            .ok_or_else(|| refused(rustix::io::Errno::NOMEM))?;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no other memory.
        let address = unsafe {
            mm::mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(refused)?;
        let mapping =
            NonNull::new(address.cast::<u8>()).ok_or_else(|| refused(rustix::io::Errno::NOMEM))?;
        let offset = if slack == 0 {
            0
        } else {
            mapping.as_ptr().align_offset(HUGE_PAGE)
        };
        for advice in [
            #[cfg(target_os = "linux")]
            Advice::LinuxHugepage,
            #[cfg(target_os = "linux")]
            Advice::LinuxDontDump,
        ] {
            // SAFETY: the range is the mapping just made; neither advice changes its content.
            // A kernel without one of them still gives working memory.
            let _ = unsafe { mm::madvise(address, mapped, advice) };
        }
        Ok(PlainBuffer {
            mapping,
            mapped,
            offset,
            length,
        })
    }

    /// Overwrites everything with zeros.
    pub fn wipe(&mut self) {
        self.as_mut().zeroize();
    }
}

impl Deref for PlainBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: offset + length lies within the mapping, which is readable, initialised (zero
        // from the kernel) and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.mapping.as_ptr().add(self.offset), self.length) }
    }
}

impl DerefMut for PlainBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and &mut self makes it the only reference.
        unsafe {
            std::slice::from_raw_parts_mut(self.mapping.as_ptr().add(self.offset), self.length)
        }
    }
}

impl AsRef<[u8]> for PlainBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for PlainBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl Drop for PlainBuffer {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what new() mapped; no reference outlives self.
        let _ = unsafe { mm::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_aligned_and_writable_to_its_last_byte() {
        for length in [0, 1, 4096, HUGE_PAGE - 1, HUGE_PAGE, 3 * HUGE_PAGE + 1] {
            let mut buffer = PlainBuffer::new(length).unwrap();
            assert_eq!(buffer.len(), length);
            assert!(buffer.iter().all(|b| *b == 0));
            if length >= HUGE_PAGE {
                assert_eq!(buffer.as_ptr() as usize % HUGE_PAGE, 0);
            }
            buffer.fill(0xee);
            buffer.wipe();
            assert!(buffer.iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn too_much_memory_is_an_error() {
        for length in [usize::MAX, usize::MAX - HUGE_PAGE, 1 << 60] {
            assert!(matches!(
                PlainBuffer::new(length),
                Err(SealError::Memory { .. })
            ));
        }
    }
}
