//! What is refused.

/// What is wrong with a safetensors header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderDefect {
    /// Fewer than the 8 bytes that state the header's length.
    #[error("it holds {size} bytes, fewer than the 8 bytes of the header length")]
    TooShort {
        /// Bytes in the file.
        size: u64,
    },
    /// The header would end after the file.
    #[error("its header claims {length} bytes but only {available} follow")]
    LengthBeyondFile {
        /// Claimed header length.
        length: u64,
        /// Bytes after the length field.
        available: u64,
    },
    /// The header is unreasonably long.
    #[error("its header claims {length} bytes, over the format's limit of {limit}")]
    LengthOverLimit {
        /// Claimed header length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// The header is not the JSON object that the format prescribes.
    #[error("its header is not the expected JSON ({message})")]
    InvalidJson {
        /// The parser's message.
        message: String,
    },
    /// Two tensors carry the same name.
    #[error("tensor '{name}' occurs twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A dtype that the format does not define.
    #[error("tensor '{name}' has the unknown dtype '{dtype}'")]
    UnknownDtype {
        /// The tensor.
        name: String,
        /// Its dtype.
        dtype: String,
    },
    /// A tensor ends before it begins.
    #[error("tensor '{name}' has the reversed data offsets [{begin}, {end}]")]
    ReversedOffsets {
        /// The tensor.
        name: String,
        /// Begin offset.
        begin: u64,
        /// End offset.
        end: u64,
    },
    /// A tensor ends after the file.
    #[error("tensor '{name}' ends at data offset {end} but the file has {available} data bytes")]
    OffsetsBeyondFile {
        /// The tensor.
        name: String,
        /// End offset.
        end: u64,
        /// Data bytes in the file.
        available: u64,
    },
    /// The element count of a tensor overflows.
    #[error("tensor '{name}' has a shape whose size overflows 64 bits")]
    ShapeOverflow {
        /// The tensor.
        name: String,
    },
    /// Shape and dtype do not match the number of bytes.
    #[error("tensor '{name}' spans {actual} bytes but its shape and dtype need {expected}")]
    WrongLength {
        /// The tensor.
        name: String,
        /// Bytes that shape and dtype need.
        expected: u64,
        /// Bytes between its offsets.
        actual: u64,
    },
    /// A sub-byte tensor that does not end on a byte boundary.
    #[error("tensor '{name}' does not fill a whole number of bytes")]
    Unaligned {
        /// The tensor.
        name: String,
    },
    /// Two tensors share bytes.
    #[error("tensors '{first}' and '{second}' overlap at data offset {offset}")]
    Overlap {
        /// The tensor that begins first.
        first: String,
        /// The other.
        second: String,
        /// Where the other begins.
        offset: u64,
    },
    /// Bytes that belong to no tensor.
    #[error("data bytes {begin}..{end} belong to no tensor")]
    Hole {
        /// First byte of the hole.
        begin: u64,
        /// One past its last byte.
        end: u64,
    },
}
