//! The immutable core header of a sealed file, and where everything behind it lies.
//!
//! `docs/sealed-format.md` specifies the bytes.

use aws_lc_rs::digest;

use crate::error::HeaderDefect;
use crate::ids::{CoreDigest, FileId, ModelId};
use crate::path::LogicalPath;
use crate::suite::Suite;

/// First bytes of every sealed file.
pub const MAGIC: [u8; 8] = *b"SEALEDWT";
/// The format version that this crate writes and reads.
pub const FORMAT_VERSION: u16 = 1;
/// Bytes of the core header before the path.
pub const FIXED_BYTES: usize = 136;
/// Bytes of the key commitment behind the core header.
pub const COMMITMENT_BYTES: usize = 32;
/// Bytes of one authentication tag.
pub const TAG_BYTES: usize = 16;
/// Bytes of one chunk's hash.
pub const HASH_BYTES: usize = 32;
/// The ciphertext begins at a multiple of this.
pub const ALIGNMENT: u64 = 4096;
/// Longest public copy of a safetensors header.
pub const MAX_PUBLIC_HEADER: u32 = 100_000_008;
/// Most chunks of a file.
pub const MAX_CHUNKS: u64 = u32::MAX as u64;

/// Bytes of plaintext in each chunk but the last: a power of two from 4 KiB to 64 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSize(u32);

impl ChunkSize {
    /// 1 MiB: stays in the second-level cache, and costs 0.005 % in tags and hashes.
    pub const DEFAULT: ChunkSize = ChunkSize(1 << 20);
    /// The smallest.
    pub const MIN: u32 = 1 << 12;
    /// The largest.
    pub const MAX: u32 = 1 << 26;

    /// A chunk size in bytes.
    ///
    /// # Errors
    /// [`HeaderDefect::ChunkSize`] unless it is a power of two from [`ChunkSize::MIN`] to
    /// [`ChunkSize::MAX`].
    pub fn new(bytes: u32) -> Result<ChunkSize, HeaderDefect> {
        if bytes.is_power_of_two() && (ChunkSize::MIN..=ChunkSize::MAX).contains(&bytes) {
            Ok(ChunkSize(bytes))
        } else {
            Err(HeaderDefect::ChunkSize { found: bytes })
        }
    }

    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.0 as usize
    }
}

/// Everything that a file's keys are bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreHeader {
    /// The cipher.
    pub suite: Suite,
    /// Plaintext bytes of a chunk.
    pub chunk_size: ChunkSize,
    /// Bytes of plaintext, and of ciphertext.
    pub length: u64,
    /// This file.
    pub file_id: FileId,
    /// The model it belongs to.
    pub model_id: ModelId,
    /// Salt of the key schedule, fresh for each file.
    pub salt: [u8; 32],
    /// Where the plaintext lies in the model directory.
    pub path: LogicalPath,
    /// Length and BLAKE3 hash of the readable copy of the file's first bytes, if there is one.
    pub public_header: Option<PublicHeader>,
}

/// The readable copy of a safetensors header (its length field and its JSON).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicHeader {
    /// Bytes, from 1 to [`MAX_PUBLIC_HEADER`].
    pub length: u32,
    /// BLAKE3 of those bytes.
    pub hash: [u8; 32],
}

impl CoreHeader {
    /// Number of chunks: `length / chunk_size`, rounded up.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.length.div_ceil(u64::from(self.chunk_size.0))
    }

    /// Plaintext bytes of chunk `index`.
    #[must_use]
    pub fn chunk_bytes(&self, index: u64) -> usize {
        let begin = index.saturating_mul(u64::from(self.chunk_size.0));
        self.length
            .saturating_sub(begin)
            .min(u64::from(self.chunk_size.0)) as usize
    }

    /// Bytes of the core header itself.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        FIXED_BYTES + self.path.as_str().len()
    }

    /// Where the parts of the file lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let commitment = self.encoded_bytes() as u64;
        let public_header = commitment + COMMITMENT_BYTES as u64;
        let tags = public_header + self.public_header.map_or(0, |p| u64::from(p.length));
        let hashes = tags + self.chunks() * TAG_BYTES as u64;
        let padding = hashes + self.chunks() * HASH_BYTES as u64;
        let data = padding.next_multiple_of(ALIGNMENT);
        Layout {
            commitment,
            public_header,
            tags,
            hashes,
            padding,
            data,
            end: data + self.length,
        }
    }

    /// H(core): SHA-256 of [`CoreHeader::encode`].
    #[must_use]
    pub fn digest(&self) -> CoreDigest {
        let digest = digest::digest(&digest::SHA256, &self.encode());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        CoreDigest::new(bytes)
    }

    /// The bytes at the start of the file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let path = self.path.as_str().as_bytes();
        let (public_length, public_hash) = self
            .public_header
            .map_or((0, [0; 32]), |p| (p.length, p.hash));
        let mut bytes = Vec::with_capacity(self.encoded_bytes());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.suite.number().to_le_bytes());
        bytes.extend_from_slice(&self.chunk_size.0.to_le_bytes());
        bytes.extend_from_slice(&self.length.to_le_bytes());
        bytes.extend_from_slice(&self.chunks().to_le_bytes());
        bytes.extend_from_slice(self.file_id.as_bytes());
        bytes.extend_from_slice(self.model_id.as_bytes());
        bytes.extend_from_slice(&self.salt);
        bytes.extend_from_slice(&public_length.to_le_bytes());
        // A logical path has at most 1024 bytes.
        bytes.extend_from_slice(&(path.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&public_hash);
        bytes.extend_from_slice(path);
        bytes
    }

    /// Reads the header at the start of `bytes`, which may go on behind it.
    ///
    /// # Errors
    /// The [`HeaderDefect`] of the first field that is not as specified, in the order of the
    /// fields.
    pub fn decode(bytes: &[u8]) -> Result<CoreHeader, HeaderDefect> {
        let mut fields = Fields { rest: bytes };
        let magic: [u8; 8] = fields.take("magic")?;
        if magic != MAGIC {
            return Err(HeaderDefect::NotSealed);
        }
        let version = u16::from_le_bytes(fields.take("format version")?);
        if version != FORMAT_VERSION {
            return Err(HeaderDefect::Version { found: version });
        }
        let number = u16::from_le_bytes(fields.take("suite")?);
        let suite = Suite::from_number(number).ok_or(HeaderDefect::Suite { found: number })?;
        let chunk_size = ChunkSize::new(u32::from_le_bytes(fields.take("chunk size")?))?;
        let length = u64::from_le_bytes(fields.take("plaintext length")?);
        let chunks = u64::from_le_bytes(fields.take("chunk count")?);
        let expected = length.div_ceil(u64::from(chunk_size.0));
        if expected > MAX_CHUNKS {
            return Err(HeaderDefect::TooLong { length });
        }
        if chunks != expected {
            return Err(HeaderDefect::ChunkCount {
                found: chunks,
                expected,
            });
        }
        let file_id = FileId::new(fields.take("file id")?);
        let model_id = ModelId::new(fields.take("model id")?);
        let salt = fields.take("salt")?;
        let public_length = u32::from_le_bytes(fields.take("public header length")?);
        let path_length = u16::from_le_bytes(fields.take("path length")?);
        let reserved: [u8; 2] = fields.take("reserved")?;
        if reserved != [0; 2] {
            return Err(HeaderDefect::Reserved { found: reserved });
        }
        let hash: [u8; 32] = fields.take("public header hash")?;
        if public_length > MAX_PUBLIC_HEADER
            || u64::from(public_length) > length
            || (public_length == 0 && hash != [0; 32])
        {
            return Err(HeaderDefect::PublicHeader {
                length: public_length,
            });
        }
        let path = fields.slice("path", usize::from(path_length))?;
        let path = std::str::from_utf8(path)
            .map_err(|_| HeaderDefect::Path {
                reason: "it is not UTF-8".to_owned(),
            })?
            .parse()
            .map_err(|reason| HeaderDefect::Path { reason })?;
        Ok(CoreHeader {
            suite,
            chunk_size,
            length,
            file_id,
            model_id,
            salt,
            path,
            public_header: (public_length > 0).then_some(PublicHeader {
                length: public_length,
                hash,
            }),
        })
    }
}

/// Offsets from the start of the file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The key commitment.
    pub commitment: u64,
    /// The readable safetensors header, possibly empty.
    pub public_header: u64,
    /// 16 bytes for each chunk.
    pub tags: u64,
    /// 32 bytes for each chunk.
    pub hashes: u64,
    /// Zero bytes up to `data`.
    pub padding: u64,
    /// The ciphertext: a multiple of [`ALIGNMENT`].
    pub data: u64,
    /// The length of the file.
    pub end: u64,
}

struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn slice(&mut self, field: &'static str, length: usize) -> Result<&'a [u8], HeaderDefect> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(HeaderDefect::Truncated { field })?;
        self.rest = rest;
        Ok(taken)
    }

    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], HeaderDefect> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.slice(field, N)?);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> CoreHeader {
        CoreHeader {
            suite: Suite::Aes256Gcm,
            chunk_size: ChunkSize::DEFAULT,
            length: (3 << 20) + 5,
            file_id: FileId::new([1; 16]),
            model_id: ModelId::new([2; 16]),
            salt: [3; 32],
            path: "sub/model.safetensors".parse().unwrap(),
            public_header: Some(PublicHeader {
                length: 100,
                hash: [4; 32],
            }),
        }
    }

    #[test]
    fn encodes_as_the_specification_says() {
        let bytes = header().encode();
        assert_eq!(bytes.len(), 136 + 21);
        assert_eq!(&bytes[..8], b"SEALEDWT");
        assert_eq!(bytes[8..16], [1, 0, 1, 0, 0, 0, 0x10, 0]);
        assert_eq!(bytes[16..24], [5, 0, 0x30, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[24..32], [4, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[32..48], [1; 16]);
        assert_eq!(bytes[48..64], [2; 16]);
        assert_eq!(bytes[64..96], [3; 32]);
        assert_eq!(bytes[96..104], [100, 0, 0, 0, 21, 0, 0, 0]);
        assert_eq!(bytes[104..136], [4; 32]);
        assert_eq!(&bytes[136..], b"sub/model.safetensors");
        assert_eq!(CoreHeader::decode(&bytes), Ok(header()));
    }

    #[test]
    fn the_parts_lie_where_the_specification_says() {
        let layout = header().layout();
        assert_eq!(layout.commitment, 157);
        assert_eq!(layout.public_header, 189);
        assert_eq!(layout.tags, 289);
        assert_eq!(layout.hashes, 289 + 64);
        assert_eq!(layout.padding, 353 + 128);
        assert_eq!(layout.data, 4096);
        assert_eq!(layout.end, 4096 + (3 << 20) + 5);
    }

    #[test]
    fn every_field_out_of_range_is_refused() {
        let good = header().encode();
        let defect = |offset: usize, bytes: &[u8]| {
            let mut bad = good.clone();
            bad[offset..offset + bytes.len()].copy_from_slice(bytes);
            CoreHeader::decode(&bad).unwrap_err()
        };
        assert_eq!(defect(0, b"\x05"), HeaderDefect::NotSealed);
        assert_eq!(defect(8, &[2, 0]), HeaderDefect::Version { found: 2 });
        assert_eq!(defect(10, &[3, 0]), HeaderDefect::Suite { found: 3 });
        assert_eq!(
            defect(12, &[1, 0, 16, 0]),
            HeaderDefect::ChunkSize {
                found: (1 << 20) + 1
            }
        );
        assert_eq!(
            defect(16, &[0xff; 8]),
            HeaderDefect::TooLong { length: u64::MAX }
        );
        assert_eq!(
            defect(24, &[5]),
            HeaderDefect::ChunkCount {
                found: 5,
                expected: 4
            }
        );
        assert_eq!(
            defect(96, &[0; 4]),
            HeaderDefect::PublicHeader { length: 0 }
        );
        assert_eq!(
            defect(102, &[0, 1]),
            HeaderDefect::Reserved { found: [0, 1] }
        );
        assert!(matches!(defect(136, b"/"), HeaderDefect::Path { .. }));
        assert!(matches!(defect(136, b"\xff"), HeaderDefect::Path { .. }));
        for length in 0..good.len() {
            assert!(matches!(
                CoreHeader::decode(&good[..length]),
                Err(HeaderDefect::Truncated { .. })
            ));
        }
    }
}
