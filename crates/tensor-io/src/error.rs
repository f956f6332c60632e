//! The error type of this crate.

use std::io;
use std::path::PathBuf;

use safetensors_header::HeaderDefect;
pub(crate) use safetensors_header::shown;

/// Everything that can go wrong while reading or writing tensors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The operating system refused a file operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted ("open", "read", …).
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },

    /// A path that must be a regular file is a directory, a pipe or a device.
    #[error("{} is not a regular file; give the path of a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },

    /// The Hub's address is not usable. It is not shown: it may hold a password.
    #[error(
        "HF_ENDPOINT is not usable: {reason}; set it to an address such as \
         https://huggingface.co, or unset it"
    )]
    BadEndpoint {
        /// What is wrong with it.
        reason: String,
    },

    /// The directory of an output file does not accept new files.
    #[error("cannot write {}: {source}; choose a path in an existing, writable directory", path.display())]
    NotWritable {
        /// The output path asked for.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },

    /// The text does not name a weight source.
    #[error(
        "'{text}' does not name a weight matrix: {reason}; expected FILE#TENSOR, DIR#TENSOR, \
         sealed:DIR#TENSOR, https://HOST/PATH#TENSOR or hf://ORG/MODEL@REV#TENSOR"
    )]
    BadSource {
        /// The text given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The source names a file but no tensor in it.
    #[error("no tensor named: append #TENSOR to {location}; it holds {listing}")]
    MissingTensorName {
        /// The file or URL.
        location: String,
        /// Tensors in the file with dtype and shape (at most about 20).
        listing: String,
    },

    /// The file has no tensor of that name.
    #[error("{location} has no tensor '{name}'; {hint}")]
    UnknownTensor {
        /// The file or URL.
        location: String,
        /// The tensor asked for.
        name: String,
        /// Names close to it, or some of the names that exist.
        hint: String,
    },

    /// A directory without any safetensors file.
    #[error(
        "{} holds no .safetensors file and no sealed.manifest; give the directory of a model, or a \
         file",
        path.display()
    )]
    NoSafetensors {
        /// The directory.
        path: PathBuf,
    },

    /// Two files of one directory hold a tensor of the same name.
    #[error(
        "tensor '{name}' is in {} and in {}; name the file: FILE#TENSOR",
        first.display(),
        second.display()
    )]
    DuplicateTensor {
        /// The tensor.
        name: String,
        /// A file that holds it.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
    },

    /// A file of a sealed model, where the model is wanted.
    #[error("{} is sealed; name the directory that it is in: sealed:DIR#TENSOR", path.display())]
    SealedFile {
        /// The file.
        path: PathBuf,
    },

    /// A sealed model, and a build that cannot open any.
    #[error(
        "{} is a sealed model, which this program cannot read; build it with the feature 'sealed'",
        path.display()
    )]
    SealedNotBuilt {
        /// The directory.
        path: PathBuf,
    },

    /// A sealed model is refused: nothing of it was used.
    #[cfg(feature = "sealed")]
    #[error("the sealed model {} is refused: {source}", path.display())]
    Sealed {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<sealed_weights::error::SealError>,
    },

    /// The tensor's element type is not one that this crate reads.
    #[error(
        "tensor '{name}' holds {dtype} values; only F32, F16 and BF16 are read: convert it to one \
         of these"
    )]
    UnsupportedDtype {
        /// The tensor.
        name: String,
        /// Its dtype as the file names it.
        dtype: &'static str,
    },

    /// The tensor is not a matrix.
    #[error(
        "tensor '{name}' has shape {shape:?}; a linear layer's weight has exactly 2 dimensions \
         ([out, in]): name another tensor or reshape it"
    )]
    NotTwoDimensional {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
    },

    /// A matrix or batch without any element.
    #[error("{what} is {rows} x {width}; both sizes must be at least 1")]
    Empty {
        /// What is empty.
        what: &'static str,
        /// Rows (outputs, or input vectors).
        rows: usize,
        /// Width of a row (inputs).
        width: usize,
    },

    /// The number of values is not rows x width.
    #[error("{what} of {rows} x {width} needs {expected} values but {actual} were given")]
    WrongLength {
        /// What has the wrong length.
        what: &'static str,
        /// Rows (outputs, or input vectors).
        rows: usize,
        /// Width of a row (inputs).
        width: usize,
        /// rows x width.
        expected: usize,
        /// Values given.
        actual: usize,
    },

    /// A size does not fit in the address space.
    #[error(
        "{what} of {rows} x {width} has more elements than this machine can address ({})",
        usize::MAX
    )]
    SizeOverflow {
        /// What is too large.
        what: &'static str,
        /// Rows.
        rows: u64,
        /// Width of a row.
        width: u64,
    },

    /// A weight is NaN or infinite.
    #[error(
        "the weight of output {output}, input {input} is {value}; all weights must be finite \
         numbers: fix or re-export the tensor"
    )]
    NonFiniteWeight {
        /// Output index (row of `[out, in]`).
        output: usize,
        /// Input index (column of `[out, in]`).
        input: usize,
        /// The value found.
        value: f32,
    },

    /// An input value is NaN or infinite.
    #[error("input vector {row} has {value} at index {index}; all inputs must be finite numbers")]
    NonFiniteInput {
        /// Index of the vector in the batch.
        row: usize,
        /// Index in the vector.
        index: usize,
        /// The value found.
        value: f64,
    },

    /// The tensor is larger than the caller allows.
    #[error(
        "tensor '{name}' takes {bytes} bytes, over the limit of {limit}; raise the limit or name \
         a smaller tensor"
    )]
    TensorTooLarge {
        /// The tensor.
        name: String,
        /// Its size in the file.
        bytes: u64,
        /// The limit (`LoadOptions::max_bytes`).
        limit: u64,
    },

    /// Memory for the values could not be reserved.
    #[error("cannot reserve memory for {values} values; free memory or use a smaller tensor")]
    OutOfMemory {
        /// Values that did not fit.
        values: usize,
    },

    /// The safetensors header is not acceptable.
    #[error("{location} is not a valid safetensors file: {defect}; download or export it again")]
    Header {
        /// The file or URL.
        location: String,
        /// What is wrong.
        #[source]
        defect: HeaderDefect,
    },

    /// The file became shorter while it was read.
    #[error(
        "{location} ends before byte {end} although it held {size} bytes when opened; it is being \
         changed by another program: try again when it is complete"
    )]
    Shrunk {
        /// The file.
        location: String,
        /// End of the range that was wanted.
        end: u64,
        /// Size when opened.
        size: u64,
    },

    /// The .npy file is not acceptable.
    #[error("{}: {defect}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        defect: NpyDefect,
    },

    /// The server answered with an error status.
    #[error("{url} answered HTTP status {status}; {hint}")]
    HttpStatus {
        /// The URL asked for (without its query).
        url: String,
        /// The HTTP status code.
        status: u16,
        /// What to do about it.
        hint: &'static str,
    },

    /// The server sends the whole file instead of the range asked for.
    #[error(
        "{url} ignores range requests (it answered 200 instead of 206), so the whole file would \
         have to travel; download it yourself and use FILE#TENSOR"
    )]
    RangeIgnored {
        /// The URL asked for (without its query).
        url: String,
    },

    /// The server answered a range request with another range.
    #[error(
        "{url} answered the request for bytes {wanted} with Content-Range '{answered}'; the \
         server or a proxy is broken: download the file and use FILE#TENSOR"
    )]
    BadContentRange {
        /// The URL asked for (without its query).
        url: String,
        /// The range asked for, `first-last`.
        wanted: String,
        /// The Content-Range header answered, or "none".
        answered: String,
    },

    /// The remote file changed between two requests.
    #[error("{url} changed while it was read ({what} was '{before}', now '{after}'); run again")]
    RemoteChanged {
        /// The URL asked for (without its query).
        url: String,
        /// What identifies the version ("ETag", "Last-Modified", "size").
        what: &'static str,
        /// The value at first.
        before: String,
        /// The value now.
        after: String,
    },

    /// The transfer failed, also after retries.
    #[error(
        "reading {url} failed at byte {offset} after {attempts} attempts: {message}; check the \
         network (or proxy settings) and run again"
    )]
    Transport {
        /// The URL asked for (without its query).
        url: String,
        /// Offset in the file that was reached.
        offset: u64,
        /// Attempts made.
        attempts: u32,
        /// The last failure.
        message: String,
    },

    /// A redirect that is not followed.
    #[error("{url} redirects {problem}; use the final address of the file")]
    BadRedirect {
        /// The URL asked for (without its query).
        url: String,
        /// What is wrong with the redirect.
        problem: String,
    },

    /// The access token cannot be sent.
    #[error("HF_TOKEN is not sent to {url}: {problem}")]
    BadToken {
        /// The URL.
        url: String,
        /// Why, and the way out.
        problem: &'static str,
    },

    /// The shard index of a Hub repository is not acceptable.
    #[error("the shard index {url} is not usable: {problem}; check the repository")]
    HubIndex {
        /// The index URL.
        url: String,
        /// What is wrong.
        problem: String,
    },
}

/// What is wrong with a .npy file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpyDefect {
    /// The magic bytes are missing.
    #[error("not a .npy file (the first bytes are not '\\x93NUMPY'); write it with numpy.save")]
    NotNpy,
    /// A format version that this crate does not know.
    #[error(".npy format version {major}.{minor} is not known; versions 1.0, 2.0 and 3.0 are read")]
    UnknownVersion {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The file ends inside its header.
    #[error("the file ends inside its header ({size} bytes); it is truncated: write it again")]
    TruncatedHeader {
        /// Bytes in the file.
        size: u64,
    },
    /// The header is unreasonably long.
    #[error(
        "the header claims {length} bytes, over the limit of {limit}; write it with numpy.save"
    )]
    HeaderTooLong {
        /// Claimed length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// The header text is not the dictionary that the format prescribes.
    #[error("the header is malformed ({message}); write the file with numpy.save")]
    MalformedHeader {
        /// What is wrong.
        message: String,
    },
    /// An element type that this crate does not read.
    #[error(
        "the array's dtype is '{descr}'; only little-endian f2, f4 and f8 are read: convert it \
         with .astype('<f8')"
    )]
    UnsupportedDtype {
        /// The descr string.
        descr: String,
    },
    /// Neither a vector nor a batch of vectors.
    #[error("the array has shape {shape:?}; expected one vector (width,) or a batch (rows, width)")]
    WrongRank {
        /// The shape.
        shape: Vec<u64>,
    },
    /// The size of the array overflows.
    #[error("the shape {shape:?} overflows the address space")]
    ShapeOverflow {
        /// The shape.
        shape: Vec<u64>,
    },
    /// Shape and file size disagree.
    #[error(
        "the shape {shape:?} needs {expected} data bytes but the file has {actual}; it is \
         truncated or damaged: write it again"
    )]
    WrongLength {
        /// The shape.
        shape: Vec<u64>,
        /// Bytes that the shape needs.
        expected: u64,
        /// Bytes after the header.
        actual: u64,
    },
}
