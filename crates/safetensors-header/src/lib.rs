//! The header of a safetensors file: 8 bytes of little-endian length, then a JSON object that
//! names the tensors. The format: <https://github.com/huggingface/safetensors#format>.
//!
//! Nothing is read here: the caller brings the bytes, from a file, a network or a decryption.
//! They are untrusted. A header is accepted whole or not at all, and the tensors of an accepted one
//! cover the data section exactly once. Every refusal is a [`HeaderDefect`].
//!
//! ```
//! # #[cfg(feature = "parser")] {
//! use safetensors_header::{Header, LENGTH_BYTES};
//!
//! let json = br#"{"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}}"#;
//! let file = [&(json.len() as u64).to_le_bytes()[..], json, &[0; 12]].concat();
//!
//! let size = file.len() as u64;
//! let length = Header::length(&file[..8], size)?;
//! let data = LENGTH_BYTES + length;
//! let header = Header::parse(&file[8..data as usize], size - data)?;
//!
//! let w = header.find("w").expect("the header above names it");
//! assert_eq!(w.shape, [2, 3]);
//! assert_eq!((w.begin, w.end), (data, size));
//! # }
//! # Ok::<(), safetensors_header::HeaderDefect>(())
//! ```

mod defect;
#[cfg(feature = "parser")]
mod dtype;
#[cfg(feature = "parser")]
mod entries;
#[cfg(feature = "parser")]
mod header;
#[cfg(feature = "parser")]
mod names;
mod shown;

pub use defect::HeaderDefect;
#[cfg(feature = "parser")]
pub use dtype::Dtype;
#[cfg(feature = "parser")]
pub use header::{Header, TensorInfo};
#[cfg(feature = "parser")]
pub use names::{close_names, listing};
pub use shown::shown;

/// Bytes of the length field before the header.
pub const LENGTH_BYTES: u64 = 8;
/// Longest header accepted, in bytes without the length field: the limit of the reference
/// implementation.
pub const MAX_HEADER_BYTES: u64 = 100_000_000;
