//! The header that starts every message.

use super::WireError;
use super::reader::Reader;
use crate::params::ParameterDigest;
use std::fmt;

/// First bytes of every message.
pub const MAGIC: [u8; 8] = *b"CKKSWIRE";
/// Format version that is written.
pub const VERSION: u16 = 1;
/// Format versions that are read.
pub const READABLE_VERSIONS: &[u16] = &[VERSION];
/// Bytes of the header.
pub const HEADER_LEN: usize = 52;

/// What a message is a list of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u16)]
pub enum Kind {
    /// [`crate::SeededGaloisKey`], all with one seed.
    GaloisKeys = 1,
    /// [`crate::SeededCiphertext`], all with one seed: an upload.
    SeededCiphertexts = 2,
    /// [`crate::Ciphertext`].
    Ciphertexts = 3,
    /// [`crate::Answer`], all of one size: a download.
    Answers = 4,
    /// [`crate::MaskId`], all with one seed: the masks that a client is going to use.
    Masks = 5,
    /// A batch of the `gemm` plan: [`crate::gemm::UploadView`].
    GemmUpload = 6,
    /// Its products: [`crate::gemm::AnswerView`].
    GemmAnswer = 7,
    /// W·A of a layer: [`crate::gemm::MaskProductsView`].
    GemmMaskProducts = 8,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::GaloisKeys,
        Self::SeededCiphertexts,
        Self::Ciphertexts,
        Self::Answers,
        Self::Masks,
        Self::GemmUpload,
        Self::GemmAnswer,
        Self::GemmMaskProducts,
    ];

    fn from_code(code: u16) -> Result<Self, WireError> {
        let kind = Self::ALL.into_iter().find(|&kind| kind as u16 == code);
        kind.ok_or(WireError::UnknownKind { found: code })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GaloisKeys => "Galois key set",
            Self::SeededCiphertexts => "list of seeded ciphertexts",
            Self::Ciphertexts => "list of ciphertexts",
            Self::Answers => "list of answers",
            Self::Masks => "list of masks",
            Self::GemmUpload => "batch of encrypted columns",
            Self::GemmAnswer => "batch of encrypted products",
            Self::GemmMaskProducts => "list of mask products",
        })
    }
}

/// The header of a message, for those who must decide before the body is there: where to route
/// it, under which parameters to decode it, whether its length is acceptable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Format version, one of [`READABLE_VERSIONS`].
    pub version: u16,
    /// What the body holds.
    pub kind: Kind,
    /// Parameters it was made under.
    pub digest: ParameterDigest,
    /// Bytes of the body, as announced; compared with the body only by
    /// [`Wire::decode`](super::Wire::decode).
    pub body_len: u64,
}

impl Header {
    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`WireError`] when fewer than [`HEADER_LEN`] bytes are there, or they are not a header that
    /// this build reads.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        Self::read(&mut Reader::new(bytes))
    }

    // The version comes before everything that a version may change.
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let magic = reader.array("magic")?;
        if magic != MAGIC {
            return Err(WireError::Magic { found: magic });
        }
        let version = u16::from_le_bytes(reader.array("format version")?);
        if !READABLE_VERSIONS.contains(&version) {
            return Err(WireError::Version { found: version });
        }
        Ok(Self {
            version,
            kind: Kind::from_code(u16::from_le_bytes(reader.array("object kind")?))?,
            digest: ParameterDigest(reader.array("parameter digest")?),
            body_len: u64::from_le_bytes(reader.array("body length")?),
        })
    }
}

/// Checks the header of a message of `kind` and returns a reader of its body.
pub(crate) fn open<'a>(
    digest: ParameterDigest,
    kind: Kind,
    bytes: &'a [u8],
) -> Result<Reader<'a>, WireError> {
    let mut reader = Reader::new(bytes);
    let header = Header::read(&mut reader)?;
    if header.kind != kind {
        return Err(WireError::WrongKind {
            expected: kind,
            found: header.kind,
        });
    }
    if header.digest != digest {
        return Err(WireError::ContextMismatch {
            found: header.digest.short(),
            expected: digest.short(),
        });
    }
    let found = reader.remaining() as u64;
    if header.body_len != found {
        return Err(WireError::BodyLength {
            announced: header.body_len,
            found,
        });
    }
    Ok(reader)
}

/// A buffer for a message of `len` bytes that starts with its header.
pub(super) fn begin(digest: ParameterDigest, kind: Kind, len: u64) -> Vec<u8> {
    // Objects take no less memory than their encoding, so its length is a usize.
    let mut out = Vec::with_capacity(len as usize);
    out.extend_from_slice(&header_bytes(digest, kind, len));
    out
}

/// The header of a message of `len` bytes.
pub(crate) fn header_bytes(digest: ParameterDigest, kind: Kind, len: u64) -> [u8; HEADER_LEN] {
    let mut out = [0; HEADER_LEN];
    out[..8].copy_from_slice(&MAGIC);
    out[8..10].copy_from_slice(&VERSION.to_le_bytes());
    out[10..12].copy_from_slice(&(kind as u16).to_le_bytes());
    out[12..44].copy_from_slice(&digest.0);
    out[44..].copy_from_slice(&(len - HEADER_LEN as u64).to_le_bytes());
    out
}
