//! Fields read from a slice, and the numbers that lists state once.

use super::WireError;
use crate::xof::Seed;

/// The unread rest of a message.
pub(crate) struct Reader<'a> {
    length: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            length: bytes.len(),
            rest: bytes,
        }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `len` bytes.
    pub(crate) fn bytes(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], WireError> {
        let bytes = self.rest.split_off(..len);
        bytes.ok_or_else(|| self.truncated(field, len))
    }

    /// The next `L` bytes.
    pub(crate) fn array<const L: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; L], WireError> {
        let Some((head, tail)) = self.rest.split_first_chunk() else {
            return Err(self.truncated(field, L));
        };
        self.rest = tail;
        Ok(*head)
    }

    fn truncated(&self, field: &'static str, len: usize) -> WireError {
        WireError::Truncated {
            field,
            length: self.length,
            needed: len.saturating_sub(self.rest.len()),
        }
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A count of entries of `entry_len` bytes that are all that is left.
    pub(crate) fn count(&mut self, what: &'static str, entry_len: u64) -> Result<usize, WireError> {
        let count = self.u32("count")?;
        self.check_count(what, count, entry_len)
    }

    /// Accepts a count only when that many entries are all that is left: what is allocated for
    /// them is then in proportion to the message.
    pub(crate) fn check_count(
        &self,
        what: &'static str,
        count: u32,
        entry_len: u64,
    ) -> Result<usize, WireError> {
        let needed = u64::from(count).saturating_mul(entry_len);
        let found = self.rest.len() as u64;
        if needed != found {
            return Err(WireError::Count {
                what,
                count,
                needed,
                found,
            });
        }
        Ok(count as usize)
    }
}

/// The count field of a list.
pub(crate) fn count_field(what: &'static str, count: usize) -> Result<[u8; 4], WireError> {
    let field = u32::try_from(count).map_err(|_| WireError::TooMany {
        what,
        count: count as u64,
        limit: u32::MAX.into(),
    })?;
    Ok(field.to_le_bytes())
}

/// The seed that all entries share. A list without entries has none; zeros stand in its place, so
/// that it still has one encoding only.
pub(crate) fn common_seed(seeds: impl Iterator<Item = Seed>) -> Result<Seed, WireError> {
    let mut seeds = seeds.enumerate();
    let Some((_, first)) = seeds.next() else {
        return Ok(Seed([0; 32]));
    };
    match seeds.find(|(_, seed)| *seed != first) {
        Some((index, _)) => Err(WireError::Mixed {
            what: "seed",
            index,
        }),
        None => Ok(first),
    }
}

/// Refuses bytes that say something where there is nothing to say.
pub(crate) fn require_zero(field: &'static str, bytes: &[u8]) -> Result<(), WireError> {
    match bytes.iter().find(|&&byte| byte != 0) {
        Some(&byte) => Err(WireError::NotZero { field, byte }),
        None => Ok(()),
    }
}
