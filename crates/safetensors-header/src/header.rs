//! The checked header.

use std::collections::BTreeMap;

use crate::entries::{Entries, Entry};
use crate::names::{close_names, listing};
use crate::{Dtype, HeaderDefect, LENGTH_BYTES, MAX_HEADER_BYTES, shown};

/// One tensor of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name, as the file has it: not escaped.
    pub name: String,
    /// Its element type.
    pub dtype: Dtype,
    /// Its sides, outermost first; empty for a scalar. A side may be 0.
    pub shape: Vec<u64>,
    /// First byte, counted from the start of the file.
    pub begin: u64,
    /// One past the last byte, counted from the start of the file; `begin` if the tensor is empty.
    pub end: u64,
}

/// A header in which nothing is left to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// In the order of their bytes.
    tensors: Vec<TensorInfo>,
    /// Indices into `tensors`, in the order of the names.
    by_name: Vec<usize>,
    metadata: Option<BTreeMap<String, String>>,
}

impl Header {
    /// Bytes of JSON that the file announces, from `start`, its first 8 bytes or more (or all, if
    /// the file is shorter), and its size. The data begins at [`LENGTH_BYTES`] plus this length.
    ///
    /// # Errors
    ///
    /// [`HeaderDefect::TooShort`], [`HeaderDefect::LengthOverLimit`] (over [`MAX_HEADER_BYTES`]),
    /// or [`HeaderDefect::LengthBeyondFile`].
    pub fn length(start: &[u8], file_size: u64) -> Result<u64, HeaderDefect> {
        let (Some(field), Some(available)) = (
            start.first_chunk::<{ LENGTH_BYTES as usize }>(),
            file_size.checked_sub(LENGTH_BYTES),
        ) else {
            return Err(HeaderDefect::TooShort {
                size: file_size.min(start.len() as u64),
            });
        };
        let length = u64::from_le_bytes(*field);
        check_limit(length)?;
        if length > available {
            return Err(HeaderDefect::LengthBeyondFile { length, available });
        }
        Ok(length)
    }

    /// Checks the JSON text of a header whose file has `data_bytes` bytes after it.
    ///
    /// # Errors
    ///
    /// The [`HeaderDefect`] found first: the text is too long or not the expected JSON, an entry is
    /// wrong in itself, a name occurs twice, or the tensors leave out or share bytes.
    pub fn parse(json: &[u8], data_bytes: u64) -> Result<Header, HeaderDefect> {
        let json_bytes = json.len() as u64;
        check_limit(json_bytes)?;
        if json.first() != Some(&b'{') {
            return Err(HeaderDefect::InvalidJson {
                message: "it must begin with '{'".into(),
            });
        }
        let entries: Entries =
            serde_json::from_slice(json).map_err(|e| HeaderDefect::InvalidJson {
                message: shown(&e.to_string()),
            })?;
        let base = LENGTH_BYTES + json_bytes;
        // No file ends beyond the largest offset.
        let data_bytes = data_bytes.min(u64::MAX - base);
        let mut tensors = entries
            .tensors
            .into_iter()
            .map(|(name, entry)| checked_tensor(name, entry, base, data_bytes))
            .collect::<Result<Vec<_>, _>>()?;
        // An empty tensor comes before the one that begins where it stands.
        tensors.sort_by_key(|t| (t.begin, t.end));
        let by_name = ordered_by_name(&tensors)?;
        check_coverage(&tensors, base, base + data_bytes)?;
        Ok(Header {
            tensors,
            by_name,
            metadata: entries.metadata,
        })
    }

    /// All tensors, in the order of their bytes.
    #[must_use]
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The free-form `__metadata__` of the file, in the order of its keys, if there is one. Of
    /// several values under one key it has the last, as in the reference implementation.
    #[must_use]
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata.as_ref()
    }

    /// The tensor of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&TensorInfo> {
        self.by_name
            .binary_search_by(|&index| self.tensors[index].name.as_str().cmp(name))
            .ok()
            .map(|position| &self.tensors[self.by_name[position]])
    }

    /// What to tell a user who asked for `name` when there is no such tensor: [`close_names`].
    #[must_use]
    pub fn hint(&self, name: &str) -> String {
        close_names(name, self.tensors.iter().map(|t| t.name.as_str()))
    }

    /// About 20 of the tensors with dtype and shape, matrices first, as the end of a sentence.
    #[must_use]
    pub fn listing(&self) -> String {
        let mut tensors: Vec<&TensorInfo> = self.tensors.iter().collect();
        tensors.sort_by(|a, b| {
            (a.shape.len() != 2)
                .cmp(&(b.shape.len() != 2))
                .then_with(|| a.name.cmp(&b.name))
        });
        listing(
            tensors.len(),
            tensors
                .iter()
                .map(|t| format!("{} ({} {:?})", shown(&t.name), t.dtype, t.shape)),
        )
    }
}

fn check_limit(length: u64) -> Result<(), HeaderDefect> {
    if length > MAX_HEADER_BYTES {
        return Err(HeaderDefect::LengthOverLimit {
            length,
            limit: MAX_HEADER_BYTES,
        });
    }
    Ok(())
}

fn checked_tensor(
    name: String,
    entry: Entry,
    base: u64,
    data_bytes: u64,
) -> Result<TensorInfo, HeaderDefect> {
    let label = || shown(&name);
    let Some(dtype) = Dtype::from_name(&entry.dtype) else {
        return Err(HeaderDefect::UnknownDtype {
            name: label(),
            dtype: shown(&entry.dtype),
        });
    };
    let [begin, end] = entry.data_offsets;
    if begin > end {
        return Err(HeaderDefect::ReversedOffsets {
            name: label(),
            begin,
            end,
        });
    }
    if end > data_bytes {
        return Err(HeaderDefect::OffsetsBeyondFile {
            name: label(),
            end,
            available: data_bytes,
        });
    }
    let bits = entry
        .shape
        .iter()
        .try_fold(1u64, |product, side| product.checked_mul(*side))
        .and_then(|elements| elements.checked_mul(dtype.bits()))
        .ok_or_else(|| HeaderDefect::ShapeOverflow { name: label() })?;
    if bits % 8 != 0 {
        return Err(HeaderDefect::Unaligned { name: label() });
    }
    if end - begin != bits / 8 {
        return Err(HeaderDefect::WrongLength {
            name: label(),
            expected: bits / 8,
            actual: end - begin,
        });
    }
    // No overflow: end is at most data_bytes, and base + data_bytes is an offset.
    Ok(TensorInfo {
        name,
        dtype,
        shape: entry.shape,
        begin: base + begin,
        end: base + end,
    })
}

/// The indices of the tensors in the order of their names, which must differ.
fn ordered_by_name(tensors: &[TensorInfo]) -> Result<Vec<usize>, HeaderDefect> {
    let name = |index: usize| tensors[index].name.as_str();
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_unstable_by_key(|&index| name(index));
    match order.windows(2).find(|pair| name(pair[0]) == name(pair[1])) {
        Some(pair) => Err(HeaderDefect::DuplicateName {
            name: shown(name(pair[0])),
        }),
        None => Ok(order),
    }
}

/// Checks that the sorted tensors cover the bytes `base..file_end` exactly once.
fn check_coverage(tensors: &[TensorInfo], base: u64, file_end: u64) -> Result<(), HeaderDefect> {
    let mut reached = base;
    let mut previous = "";
    for tensor in tensors {
        if tensor.begin < reached {
            return Err(HeaderDefect::Overlap {
                first: shown(previous),
                second: shown(&tensor.name),
                offset: tensor.begin - base,
            });
        }
        if tensor.begin > reached {
            return Err(HeaderDefect::Hole {
                begin: reached - base,
                end: tensor.begin - base,
            });
        }
        reached = tensor.end;
        previous = &tensor.name;
    }
    if reached < file_end {
        return Err(HeaderDefect::Hole {
            begin: reached - base,
            end: file_end - base,
        });
    }
    Ok(())
}
