//! Where the bytes of a safetensors file come from, and reading its header.

use safetensors_header::{Header, HeaderDefect, LENGTH_BYTES};

use crate::error::TensorError;

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

/// Reads and checks the header of `file`.
pub(crate) fn read_header(file: &mut dyn ByteSource) -> Result<Header, TensorError> {
    let size = file.size();
    let start = read_whole(file, 0, size.min(LENGTH_BYTES))?;
    let length = Header::length(&start, size).map_err(|defect| refusal(file, defect))?;
    let data = LENGTH_BYTES + length;
    let json = read_whole(file, LENGTH_BYTES, data)?;
    Header::parse(&json, size - data).map_err(|defect| refusal(file, defect))
}

/// Reads a range into memory, which grows with the bytes that really arrive.
fn read_whole(file: &mut dyn ByteSource, start: u64, end: u64) -> Result<Vec<u8>, TensorError> {
    let mut bytes = Vec::new();
    file.read_range(start, end, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

fn refusal(file: &dyn ByteSource, defect: HeaderDefect) -> TensorError {
    TensorError::Header {
        location: file.location(),
        defect,
    }
}
