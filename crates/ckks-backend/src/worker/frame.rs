//! Frames: a JSON header and a payload of doubles.

use std::io::{self, ErrorKind, Read, Write};
use thiserror::Error;

/// First bytes of every frame.
pub const MAGIC: [u8; 4] = *b"CKKW";
/// Longest header, in bytes.
pub const MAX_HEADER: u32 = 1 << 24;
/// Longest payload, in bytes.
pub const MAX_PAYLOAD: u64 = 1 << 30;

/// Magic and two lengths.
const PREFIX: usize = 16;
const DOUBLE: u64 = 8;

/// One frame.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Frame {
    /// The JSON object, unparsed.
    pub header: Vec<u8>,
    /// The values behind it.
    pub payload: Vec<f64>,
}

/// A frame that is none.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The stream ended between frames.
    #[error("the stream ended")]
    End,
    /// The stream ended inside a frame.
    #[error("the stream ended inside a frame")]
    Truncated,
    /// Something else was written to the stream.
    #[error("a frame starts with {MAGIC:02x?} (\"CKKW\"), and here came {found:02x?}")]
    Magic {
        /// What came instead.
        found: [u8; 4],
    },
    /// A header longer or shorter than allowed.
    #[error("a header of {length} bytes; it must have 2 to {MAX_HEADER}")]
    HeaderLength {
        /// The length that the frame states.
        length: u32,
    },
    /// A payload longer than allowed, or no whole number of doubles.
    #[error("a payload of {length} bytes; it must be a multiple of 8 up to {limit}")]
    PayloadLength {
        /// The length that the frame states.
        length: u64,
        /// The longest that the receiver expects here.
        limit: u64,
    },
    /// The pipe failed.
    #[error("the pipe failed: {0}")]
    Pipe(#[from] io::Error),
}

/// Writes one frame and flushes.
///
/// # Errors
/// [`FrameError::HeaderLength`], [`FrameError::PayloadLength`] for what no receiver would take, and
/// [`FrameError::Pipe`].
pub fn write_frame(out: &mut impl Write, header: &[u8], payload: &[f64]) -> Result<(), FrameError> {
    let length = u32::try_from(header.len()).unwrap_or(u32::MAX);
    check_header(length)?;
    let bytes = payload.len() as u64 * DOUBLE;
    check_payload(bytes, MAX_PAYLOAD)?;
    out.write_all(&MAGIC)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&bytes.to_le_bytes())?;
    out.write_all(header)?;
    if cfg!(target_endian = "little") {
        out.write_all(bytemuck::cast_slice(payload))?;
    } else {
        for value in payload {
            out.write_all(&value.to_le_bytes())?;
        }
    }
    Ok(out.flush()?)
}

/// Reads one frame. Nothing is reserved for a length that is refused; a payload may have
/// `max_payload` bytes, at most [`MAX_PAYLOAD`], asked for once the frame has begun to arrive.
///
/// # Errors
/// [`FrameError`].
pub fn read_frame(
    input: &mut impl Read,
    max_payload: impl FnOnce() -> u64,
) -> Result<Frame, FrameError> {
    let mut prefix = [0u8; PREFIX];
    // The first byte apart: an end before it is the end of the conversation.
    match input.read(&mut prefix[..1]) {
        Ok(0) => return Err(FrameError::End),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::Interrupted => {
            input.read_exact(&mut prefix[..1]).map_err(inside)?;
        }
        Err(error) => return Err(error.into()),
    }
    input.read_exact(&mut prefix[1..]).map_err(inside)?;
    let (magic, lengths) = prefix.split_at(4);
    if magic != MAGIC {
        let mut found = [0; 4];
        found.copy_from_slice(magic);
        return Err(FrameError::Magic { found });
    }
    let (header, payload) = lengths.split_at(4);
    let header = u32::from_le_bytes(header.try_into().unwrap_or_default());
    let bytes = u64::from_le_bytes(payload.try_into().unwrap_or_default());
    check_header(header)?;
    check_payload(bytes, max_payload().min(MAX_PAYLOAD))?;
    let mut frame = Frame {
        header: vec![0; header as usize],
        payload: vec![0.0; (bytes / DOUBLE) as usize],
    };
    input.read_exact(&mut frame.header).map_err(inside)?;
    input
        .read_exact(bytemuck::cast_slice_mut(&mut frame.payload))
        .map_err(inside)?;
    if cfg!(target_endian = "big") {
        for value in &mut frame.payload {
            *value = f64::from_bits(value.to_bits().swap_bytes());
        }
    }
    Ok(frame)
}

fn inside(error: io::Error) -> FrameError {
    match error.kind() {
        ErrorKind::UnexpectedEof => FrameError::Truncated,
        _ => FrameError::Pipe(error),
    }
}

fn check_header(length: u32) -> Result<(), FrameError> {
    if (2..=MAX_HEADER).contains(&length) {
        Ok(())
    } else {
        Err(FrameError::HeaderLength { length })
    }
}

fn check_payload(length: u64, limit: u64) -> Result<(), FrameError> {
    if length <= limit && length.is_multiple_of(DOUBLE) {
        Ok(())
    } else {
        Err(FrameError::PayloadLength { length, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(header: &[u8], payload: &[f64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, header, payload).unwrap();
        bytes
    }

    #[test]
    fn the_bytes_are_the_documented_ones() {
        let bytes = written(b"{}", &[1.0]);
        let expected = [
            b"CKKW".as_slice(),
            &[2, 0, 0, 0],
            &[8, 0, 0, 0, 0, 0, 0, 0],
            b"{}",
            // 1.0 in binary64, little-endian.
            &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
        ];
        assert_eq!(bytes, expected.concat());
    }

    proptest! {
        #[test]
        fn a_frame_comes_back(header in prop::collection::vec(any::<u8>(), 2..50),
                              payload in prop::collection::vec(any::<f64>(), 0..50)) {
            let bytes = written(&header, &payload);
            let frame = read_frame(&mut bytes.as_slice(), || MAX_PAYLOAD).unwrap();
            prop_assert_eq!(frame.header, header);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&frame.payload), bits(&payload));
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            // A payload limit of 16 keeps what hostile lengths could reserve small.
            let _ = read_frame(&mut bytes.as_slice(), || 16);
        }

        #[test]
        fn every_truncation_is_seen(cut in 0usize..26) {
            let bytes = written(b"{}", &[2.5]);
            prop_assert_eq!(bytes.len(), 26);
            let error = read_frame(&mut &bytes[..cut], || MAX_PAYLOAD).unwrap_err();
            prop_assert!(matches!((cut, error),
                (0, FrameError::End) | (1.., FrameError::Truncated)));
        }
    }

    #[test]
    fn hostile_lengths_are_refused_before_anything_is_reserved() {
        let prefix = |header: u32, payload: u64| {
            [
                MAGIC.as_slice(),
                &header.to_le_bytes(),
                &payload.to_le_bytes(),
            ]
            .concat()
        };
        for header in [0, 1, MAX_HEADER + 1, u32::MAX] {
            let error = read_frame(&mut prefix(header, 0).as_slice(), || 64).unwrap_err();
            assert!(matches!(error, FrameError::HeaderLength { .. }), "{error}");
        }
        for payload in [1, 7, 72, MAX_PAYLOAD + 8, u64::MAX, u64::MAX - 7] {
            let error = read_frame(&mut prefix(2, payload).as_slice(), || 64).unwrap_err();
            assert!(matches!(error, FrameError::PayloadLength { .. }), "{error}");
        }
        let printed = read_frame(&mut b"Hello, world, hello".as_slice(), || 64).unwrap_err();
        assert!(printed.to_string().contains("CKKW"), "{printed}");
    }
}
