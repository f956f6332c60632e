//! What can be wrong with bytes, or with objects on their way to bytes.

use super::{Kind, MAX_ANSWER_BITS, MAX_COUNTER, READABLE_VERSIONS};
use crate::error::CkksError;
use crate::rounding::MIN_ANSWER_BITS;
use thiserror::Error;

/// A message that cannot be read, or a list that cannot be written.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// Not a message of this format.
    #[error(
        "the first 8 bytes are {found:02x?}, not \"CKKSWIRE\": this is not a message of this \
         format, or it was changed on the way; send the encoder's bytes as they are"
    )]
    Magic {
        /// The bytes found.
        found: [u8; 8],
    },
    /// A format version that this build does not read.
    #[error(
        "format version {found} cannot be read, this build reads {}; use a build that reads \
         version {found}, or have the sender write a version that is read here",
        readable()
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// A kind that this format version does not have.
    #[error("object kind {found} does not exist in this format version; kinds are 1 to 8")]
    UnknownKind {
        /// The kind found.
        found: u16,
    },
    /// A message of another kind.
    #[error("this message is a {found}, a {expected} was expected; decode it as what it is")]
    WrongKind {
        /// Kind wanted by the caller.
        expected: Kind,
        /// Kind in the header.
        found: Kind,
    },
    /// Made under other parameters.
    #[error(
        "the message was made under other parameters (digest {found}…) than this context \
         ({expected}…); use the same parameter set on both sides"
    )]
    ContextMismatch {
        /// First bytes of the digest found, in hex.
        found: String,
        /// First bytes of the digest expected, in hex.
        expected: String,
    },
    /// The message ends inside a field.
    #[error(
        "the message ends after {length} bytes, inside or before its {field}; {needed} bytes are \
         missing: receive all of it before decoding"
    )]
    Truncated {
        /// The field.
        field: &'static str,
        /// Length of the message.
        length: usize,
        /// Bytes missing up to the end of the field.
        needed: usize,
    },
    /// The header's body length is not what follows the header.
    #[error(
        "the header announces a body of {announced} bytes, {found} follow it; pass exactly one \
         whole message"
    )]
    BodyLength {
        /// Length in the header.
        announced: u64,
        /// Bytes after the header.
        found: u64,
    },
    /// The number of objects does not fit the bytes that are left.
    #[error(
        "{count} {what} take {needed} bytes, {found} are left in the body; the count or the body \
         was changed on the way"
    )]
    Count {
        /// What is counted.
        what: &'static str,
        /// Count in the message.
        count: u32,
        /// Bytes that this many take.
        needed: u64,
        /// Bytes left.
        found: u64,
    },
    /// More objects than one message carries.
    #[error("{count} {what} are more than the {limit} of one message; use several messages")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// How many.
        count: u64,
        /// Most that fit.
        limit: u64,
    },
    /// A residue that is not below its prime.
    #[error(
        "residue {position} of limb {limb} of {object} {index} is {value}, not below its prime \
         {prime}; residues are canonical"
    )]
    Residue {
        /// What it belongs to.
        object: &'static str,
        /// Which of them.
        index: usize,
        /// Limb of the polynomial.
        limb: usize,
        /// Position in the limb.
        position: usize,
        /// The residue.
        value: u32,
        /// The prime.
        prime: u32,
    },
    /// A Galois element that is even or too large.
    #[error("Galois element {value} of key {index} is not an odd number below 2N = {limit}")]
    Element {
        /// Which key.
        index: usize,
        /// The element.
        value: u32,
        /// 2N.
        limit: u32,
    },
    /// Objects that do not ascend.
    #[error(
        "{what} {index} is {value}, not above {previous} before it; they ascend strictly and \
         without duplicates"
    )]
    Order {
        /// What is ordered.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its value.
        value: u64,
        /// The value before.
        previous: u64,
    },
    /// A counter that has no XOF stream of its own.
    #[error("mask counter {value} of entry {index} is above {MAX_COUNTER}; start a new session")]
    Counter {
        /// Which entry.
        index: usize,
        /// The counter.
        value: u64,
    },
    /// The same one-time mask twice.
    #[error(
        "mask counter {value} occurs twice; a mask hides one ciphertext only, encrypt again with \
         a fresh counter"
    )]
    RepeatedCounter {
        /// The counter.
        value: u64,
    },
    /// A coefficient size that answers do not have.
    #[error(
        "answers of {bits} bits for a coefficient do not exist; use {MIN_ANSWER_BITS} to \
         {MAX_ANSWER_BITS}"
    )]
    AnswerBits {
        /// The bits.
        bits: u8,
    },
    /// The ring degree in the body is not the context's.
    #[error("ring degree {found} in the body, this context has {expected}")]
    RingDegree {
        /// Degree in the body.
        found: u32,
        /// The context's degree.
        expected: usize,
    },
    /// Something that must be zero is not.
    #[error(
        "{field} must be zero but holds a byte 0x{byte:02x}; a list has one encoding only, which \
         this is not"
    )]
    NotZero {
        /// The field.
        field: &'static str,
        /// The first byte that is not zero.
        byte: u8,
    },
    /// Objects of one list that do not share what the list states once.
    #[error("entry {index} has another {what} than the first; one message carries one {what}")]
    Mixed {
        /// What differs.
        what: &'static str,
        /// The first entry that differs.
        index: usize,
    },
    /// A number of rows or columns that the `gemm` plan does not have.
    #[error("{value} {what}: one message has 1 to {limit}; split the batch or the layer")]
    GemmSize {
        /// What is counted.
        what: &'static str,
        /// How many.
        value: u64,
        /// Most of them.
        limit: u64,
    },
    /// A coefficient size that the `gemm` plan does not have.
    #[error(
        "coefficients of {bits} bits do not exist in answers and mask products of the gemm plan; \
         use {} to {}",
        crate::gemm::MIN_BITS,
        crate::gemm::LOG_Q
    )]
    GemmBits {
        /// The bits.
        bits: u32,
    },
    /// An object that does not fit the context.
    #[error(transparent)]
    Ckks(#[from] CkksError),
}

/// The readable versions, in words.
fn readable() -> String {
    let versions: Vec<_> = READABLE_VERSIONS.iter().map(u16::to_string).collect();
    match versions.len() {
        1 => format!("version {} only", versions.concat()),
        _ => format!("versions {}", versions.join(", ")),
    }
}
