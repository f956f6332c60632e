//! The first 64 bytes, which all forms share, and the head that follows.

use super::StoredBytes;
use super::cursor::Cursor;
use super::error::StoredError;
use ckks::ParameterDigest;

const MAGIC: &[u8; 8] = b"CKKSPREP";
const VERSION: u16 = 1;
const FRONT: usize = 64;
/// The head ends at a multiple of this, so that blocks begin at one.
pub(super) const ALIGNMENT: usize = 64;

/// What is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Diagonal = 1,
    Gemm = 2,
}

/// Front and head of a layer to be written, whose `body` bytes follow them.
pub(super) fn begin(form: Form, digest: ParameterDigest, head: &[u8], body: u64) -> Vec<u8> {
    let padded = head.len().next_multiple_of(ALIGNMENT);
    let mut out = Vec::with_capacity(FRONT + padded);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(form as u16).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&digest.0);
    out.extend_from_slice(&(padded as u64).to_le_bytes());
    out.extend_from_slice(&((FRONT + padded) as u64 + body).to_le_bytes());
    out.extend_from_slice(head);
    out.resize(FRONT + padded, 0);
    out
}

/// The checked front, and the head in memory.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) digest: ParameterDigest,
    pub(super) head: Vec<u8>,
    /// Where the body begins.
    pub(super) body: u64,
    /// Bytes of the body.
    pub(super) body_length: u64,
}

impl Opened {
    pub(super) fn read<S: StoredBytes + ?Sized>(
        form: Form,
        source: &S,
    ) -> Result<Self, StoredError> {
        let length = source.length();
        let mut front = [0; FRONT];
        let known = length.min(FRONT as u64) as usize;
        let read = |offset, out: &mut [u8]| source.read(offset, out).map_err(StoredError::Read);
        read(0, &mut front[..known])?;
        if !front[..known].starts_with(MAGIC) {
            return Err(StoredError::NotStored);
        }
        let mut fields = Cursor(&front[MAGIC.len()..known]);
        let version = fields.u16("version")?;
        if version != VERSION {
            return Err(StoredError::Version {
                found: version,
                supported: VERSION,
            });
        }
        let found = fields.u16("form")?;
        if found != form as u16 {
            return Err(StoredError::Form {
                found,
                expected: form as u16,
            });
        }
        super::cursor::require_zero("reserved field", fields.bytes("reserved field", 4)?)?;
        let digest = ParameterDigest(fields.digest("parameter digest")?);
        let head = fields.u64("length of the head")?;
        let stated = fields.u64("length")?;
        if stated != length {
            return Err(StoredError::Length {
                what: "length",
                found: length,
                expected: stated,
            });
        }
        let body_length = (length - FRONT as u64)
            .checked_sub(head)
            .filter(|_| head.is_multiple_of(ALIGNMENT as u64));
        let Some(body_length) = body_length else {
            return Err(StoredError::Field {
                field: "length of the head",
                found: head,
                expected: "it must be a multiple of 64 within the length",
            });
        };
        // Not more than there is.
        let mut bytes = vec![0; head as usize];
        read(FRONT as u64, &mut bytes)?;
        Ok(Self {
            digest,
            head: bytes,
            body: FRONT as u64 + head,
            body_length,
        })
    }

    /// Refuses another length of the body.
    pub(super) fn check_body(&self, expected: Option<u64>) -> Result<(), StoredError> {
        match expected {
            Some(expected) if expected == self.body_length => Ok(()),
            expected => Err(StoredError::Length {
                what: "body",
                found: self.body_length,
                expected: expected.unwrap_or(u64::MAX),
            }),
        }
    }
}
