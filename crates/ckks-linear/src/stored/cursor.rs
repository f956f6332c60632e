//! Fields, little-endian, one after the other.

use super::error::StoredError;

/// What is left of a head to read.
#[derive(Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn bytes(
        &mut self,
        field: &'static str,
        count: usize,
    ) -> Result<&'a [u8], StoredError> {
        let Some((bytes, rest)) = self.0.split_at_checked(count) else {
            return Err(StoredError::Truncated { field });
        };
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], StoredError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(field, N)?);
        Ok(array)
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, StoredError> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, StoredError> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, StoredError> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// A number that must fit the address space: 32 bits always do here.
    pub(super) fn size(&mut self, field: &'static str) -> Result<usize, StoredError> {
        Ok(self.u32(field)? as usize)
    }

    pub(super) fn digest(&mut self, field: &'static str) -> Result<[u8; 32], StoredError> {
        self.array(field)
    }

    /// `count` finite or infinite numbers; the memory for them is there already, as bytes.
    pub(super) fn floats(
        &mut self,
        field: &'static str,
        count: usize,
    ) -> Result<impl Iterator<Item = f64> + use<'a>, StoredError> {
        let length = count
            .checked_mul(8)
            .ok_or(StoredError::Truncated { field })?;
        let (numbers, _) = self.bytes(field, length)?.as_chunks::<8>();
        Ok(numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)))
    }

    /// The rest, which must be zero and shorter than a block.
    pub(super) fn end(self, block: usize) -> Result<(), StoredError> {
        if self.0.len() >= block {
            return Err(StoredError::Length {
                what: "padding",
                found: self.0.len() as u64,
                expected: (block - 1) as u64,
            });
        }
        require_zero("padding", self.0)
    }
}

pub(super) fn require_zero(field: &'static str, bytes: &[u8]) -> Result<(), StoredError> {
    if bytes.iter().all(|byte| *byte == 0) {
        Ok(())
    } else {
        Err(StoredError::NotZero { field })
    }
}
