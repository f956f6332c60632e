//! From stored elements to `f32`, for the element types that become weights.

use half::{bf16, f16};
use safetensors_header::Dtype;

use crate::error::{TensorError, shown};

/// The element types that are decoded to `f32`.
#[derive(Debug, Clone, Copy)]
enum Format {
    F32,
    F16,
    Bf16,
}

/// Turns a stream of little-endian bytes, cut anywhere, into `f32` values.
#[derive(Debug)]
pub(crate) struct Decoder {
    format: Format,
    /// Bytes of an element that the next piece completes.
    pending: Vec<u8>,
    values: Vec<f32>,
}

impl Decoder {
    /// A decoder for the tensor called `name` (for the refusal), or the refusal of its dtype.
    pub(crate) fn new(name: &str, dtype: Dtype) -> Result<Decoder, TensorError> {
        let format = match dtype.name() {
            "F32" => Format::F32,
            "F16" => Format::F16,
            "BF16" => Format::Bf16,
            other => {
                return Err(TensorError::UnsupportedDtype {
                    name: shown(name),
                    dtype: other,
                });
            }
        };
        Ok(Decoder {
            format,
            pending: Vec::with_capacity(4),
            values: Vec::new(),
        })
    }

    fn element_bytes(&self) -> usize {
        match self.format {
            Format::F32 => 4,
            Format::F16 | Format::Bf16 => 2,
        }
    }

    /// Takes the next bytes. Memory grows with the bytes that really arrived.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), TensorError> {
        let size = self.element_bytes();
        let incoming = (self.pending.len() + bytes.len()) / size;
        self.values
            .try_reserve(incoming)
            .map_err(|_| TensorError::OutOfMemory {
                values: self.values.len() + incoming,
            })?;
        if !self.pending.is_empty() {
            let missing = size - self.pending.len();
            let taken = missing.min(bytes.len());
            self.pending.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.pending.len() < size {
                return Ok(());
            }
            let whole = std::mem::take(&mut self.pending);
            self.decode(&whole);
        }
        let cut = bytes.len() - bytes.len() % size;
        self.decode(&bytes[..cut]);
        self.pending.extend_from_slice(&bytes[cut..]);
        Ok(())
    }

    /// Decodes a whole number of elements.
    fn decode(&mut self, bytes: &[u8]) {
        match self.format {
            Format::F32 => {
                let (chunks, _) = bytes.as_chunks::<4>();
                self.values
                    .extend(chunks.iter().map(|c| f32::from_le_bytes(*c)));
            }
            Format::F16 => {
                let (chunks, _) = bytes.as_chunks::<2>();
                self.values
                    .extend(chunks.iter().map(|c| f16::from_le_bytes(*c).to_f32()));
            }
            Format::Bf16 => {
                let (chunks, _) = bytes.as_chunks::<2>();
                self.values
                    .extend(chunks.iter().map(|c| bf16::from_le_bytes(*c).to_f32()));
            }
        }
    }

    /// The values decoded so far.
    pub(crate) fn into_values(self) -> Vec<f32> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_in_pieces(dtype: &str, bytes: &[u8], piece: usize) -> Vec<f32> {
        let mut decoder = Decoder::new("w", Dtype::from_name(dtype).unwrap()).unwrap();
        for part in bytes.chunks(piece) {
            decoder.push(part).unwrap();
        }
        decoder.into_values()
    }

    #[test]
    fn known_bit_patterns_of_half_types() {
        // binary16: 1.0, -2.0, 65504 (largest), 2^-24 (smallest subnormal), 1/3 rounded.
        let f16_bits: [u16; 5] = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x3555];
        let bytes: Vec<u8> = f16_bits.iter().flat_map(|b| b.to_le_bytes()).collect();
        let expected = [1.0, -2.0, 65504.0, 5.960_464_5e-8, 0.333_251_95];
        for piece in 1..=5 {
            assert_eq!(
                decode_in_pieces("F16", &bytes, piece),
                expected,
                "piece {piece}"
            );
        }
        // bfloat16: 1.0, -2.5, 3.140625, 2^-133 (smallest subnormal).
        let bf16_bits: [u16; 4] = [0x3f80, 0xc020, 0x4049, 0x0001];
        let bytes: Vec<u8> = bf16_bits.iter().flat_map(|b| b.to_le_bytes()).collect();
        assert_eq!(
            decode_in_pieces("BF16", &bytes, 3),
            [1.0, -2.5, 3.140625, f32::from_bits(0x0001_0000)]
        );
    }

    #[test]
    fn f32_cut_anywhere() {
        let values = [0.0f32, -0.0, 1.5, f32::MAX, f32::MIN_POSITIVE];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        for piece in 1..=bytes.len() {
            assert_eq!(
                decode_in_pieces("F32", &bytes, piece),
                values,
                "piece {piece}"
            );
        }
    }

    #[test]
    fn other_dtypes_are_named_in_the_refusal() {
        for name in ["F64", "I64", "F8_E4M3"] {
            let error = Decoder::new("w", Dtype::from_name(name).unwrap()).unwrap_err();
            assert!(matches!(error, TensorError::UnsupportedDtype { .. }));
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
