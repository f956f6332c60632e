//! The header of a safetensors file: 8 bytes of little-endian length, then a JSON object.
//!
//! The format: <https://github.com/huggingface/safetensors#format>. The data section must be
//! covered exactly once by the tensors; anything else is refused.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use crate::dtype::Dtype;
use crate::error::{HeaderDefect, TensorError, shown};

/// Bytes of the length field before the header.
pub(crate) const LENGTH_BYTES: u64 = 8;
/// Longest header accepted, the limit of the reference implementation.
pub(crate) const MAX_HEADER_BYTES: u64 = 100_000_000;
/// Key of the free-form string map, which is not a tensor.
const METADATA_KEY: &str = "__metadata__";
/// Tensors listed when the user named none.
const LISTED: usize = 20;
/// Close names offered when the user's name is unknown.
const SUGGESTED: usize = 5;
/// Names longer than this are not compared with the user's (the comparison is quadratic).
const COMPARED_CHARS: usize = 256;
/// Least Jaro-Winkler similarity of a name worth offering.
const SIMILAR: f64 = 0.75;

/// A random-access view of a safetensors file.
pub(crate) trait ByteSource {
    /// What messages call it: a path or a URL.
    fn location(&self) -> String;
    /// Size of the file in bytes.
    fn size(&self) -> u64;
    /// Bytes read or transferred so far.
    fn bytes_read(&self) -> u64;
    /// Passes the bytes `start..end` to `sink`, in order, in pieces. `end` is at most `size()`.
    fn read_range(&mut self, start: u64, end: u64, sink: &mut Sink<'_>) -> Result<(), TensorError>;
}

/// Where the pieces of a range go.
pub(crate) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), TensorError> + 'a;

/// One tensor of the file.
#[derive(Debug, Clone)]
pub(crate) struct TensorInfo {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    /// First byte, counted from the start of the file.
    pub(crate) begin: u64,
    /// One past the last byte, counted from the start of the file.
    pub(crate) end: u64,
}

/// The checked header.
#[derive(Debug)]
pub(crate) struct Header {
    tensors: Vec<TensorInfo>,
}

impl Header {
    /// Reads and checks the header of `file`.
    pub(crate) fn read(file: &mut dyn ByteSource) -> Result<Header, TensorError> {
        let location = file.location();
        let refuse = |defect| TensorError::Header {
            location: location.clone(),
            defect,
        };
        let size = file.size();
        if size < LENGTH_BYTES {
            return Err(refuse(HeaderDefect::TooShort { size }));
        }
        let mut length_field = Vec::with_capacity(LENGTH_BYTES as usize);
        file.read_range(0, LENGTH_BYTES, &mut |bytes| {
            length_field.extend_from_slice(bytes);
            Ok(())
        })?;
        let length = length_field
            .iter()
            .rev()
            .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        let available = size - LENGTH_BYTES;
        if length > MAX_HEADER_BYTES {
            return Err(refuse(HeaderDefect::LengthOverLimit {
                length,
                limit: MAX_HEADER_BYTES,
            }));
        }
        if length > available {
            return Err(refuse(HeaderDefect::LengthBeyondFile { length, available }));
        }
        let mut json = Vec::new();
        file.read_range(LENGTH_BYTES, LENGTH_BYTES + length, &mut |bytes| {
            json.extend_from_slice(bytes);
            Ok(())
        })?;
        Header::parse(&json, available - length).map_err(refuse)
    }

    /// Checks the JSON text of a header whose file has `data_bytes` bytes after it.
    fn parse(json: &[u8], data_bytes: u64) -> Result<Header, HeaderDefect> {
        if json.first() != Some(&b'{') {
            return Err(HeaderDefect::InvalidJson {
                message: "it must begin with '{'".into(),
            });
        }
        let entries: Entries =
            serde_json::from_slice(json).map_err(|e| HeaderDefect::InvalidJson {
                message: shown(&e.to_string()),
            })?;
        let base = LENGTH_BYTES + json.len() as u64;
        let mut tensors = Vec::with_capacity(entries.0.len());
        for (name, entry) in entries.0 {
            tensors.push(checked_tensor(name, entry, base, data_bytes)?);
        }
        check_names(&tensors)?;
        tensors.sort_by_key(|t| (t.begin, t.end));
        check_coverage(&tensors, base, base + data_bytes)?;
        Ok(Header { tensors })
    }

    /// The tensor of that name, or an error that names close ones.
    pub(crate) fn find(&self, name: &str, location: &str) -> Result<&TensorInfo, TensorError> {
        self.tensors
            .iter()
            .find(|t| t.name == name)
            .ok_or_else(|| TensorError::UnknownTensor {
                location: location.to_owned(),
                name: shown(name),
                hint: close_names(name, self.tensors.iter().map(|t| t.name.as_str())),
            })
    }

    /// About 20 of the tensors with dtype and shape, matrices first.
    pub(crate) fn listing(&self) -> String {
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

/// Joins the first of `count` items into a sentence.
pub(crate) fn listing(count: usize, items: impl Iterator<Item = String>) -> String {
    if count == 0 {
        return "no tensors".to_owned();
    }
    let mut text = items.take(LISTED).collect::<Vec<_>>().join(", ");
    if count > LISTED {
        text.push_str(&format!(" and {} more", count - LISTED));
    }
    text
}

/// The names closest to `wanted`, as the end of a sentence.
pub(crate) fn close_names<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut count = 0usize;
    let mut first: Vec<&str> = Vec::new();
    let mut scored: Vec<(f64, &str)> = Vec::new();
    let comparable = |text: &str| !text.is_empty() && text.len() <= COMPARED_CHARS;
    for name in names {
        count += 1;
        if first.len() < SUGGESTED {
            first.push(name);
        }
        if comparable(wanted) && comparable(name) {
            let contained = name.contains(wanted) || wanted.contains(name);
            let score = strsim::jaro_winkler(wanted, name) + if contained { 1.0 } else { 0.0 };
            if score >= SIMILAR {
                scored.push((score, name));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let join = |names: &mut dyn Iterator<Item = &str>| {
        names
            .map(|n| format!("'{}'", shown(n)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if count == 0 {
        "it holds no tensors".to_owned()
    } else if scored.is_empty() {
        format!(
            "it holds {count} others, for example {}",
            join(&mut first.into_iter())
        )
    } else {
        format!(
            "did you mean {}?",
            join(&mut scored.iter().take(SUGGESTED).map(|s| s.1))
        )
    }
}

/// A tensor as the header's JSON describes it; offsets count from the start of the data.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// The members of the header's object in file order, repeated names included.
struct Entries(Vec<(String, Entry)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                let mut metadata_seen = false;
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA_KEY {
                        if metadata_seen {
                            return Err(de::Error::custom("__metadata__ occurs twice"));
                        }
                        metadata_seen = true;
                        map.next_value::<std::collections::BTreeMap<String, String>>()?;
                    } else {
                        entries.push((name, map.next_value()?));
                    }
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
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
    // No overflow: base + end is at most the size of the file.
    Ok(TensorInfo {
        name,
        dtype,
        shape: entry.shape,
        begin: base + begin,
        end: base + end,
    })
}

fn check_names(tensors: &[TensorInfo]) -> Result<(), HeaderDefect> {
    let mut names: Vec<&str> = tensors.iter().map(|t| t.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(HeaderDefect::DuplicateName {
            name: shown(pair[0]),
        }),
        None => Ok(()),
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
