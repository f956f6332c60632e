//! Element types of the safetensors format, and the decoder for those that become weights.

use half::{bf16, f16};

use crate::error::TensorError;

/// An element type that the safetensors format defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype {
    name: &'static str,
    bits: u64,
}

/// Every dtype of the format with its size in bits.
const KNOWN: [Dtype; 22] = [
    Dtype {
        name: "BOOL",
        bits: 8,
    },
    Dtype {
        name: "F4",
        bits: 4,
    },
    Dtype {
        name: "F6_E2M3",
        bits: 6,
    },
    Dtype {
        name: "F6_E3M2",
        bits: 6,
    },
    Dtype {
        name: "U8",
        bits: 8,
    },
    Dtype {
        name: "I8",
        bits: 8,
    },
    Dtype {
        name: "F8_E5M2",
        bits: 8,
    },
    Dtype {
        name: "F8_E4M3",
        bits: 8,
    },
    Dtype {
        name: "F8_E8M0",
        bits: 8,
    },
    Dtype {
        name: "F8_E4M3FNUZ",
        bits: 8,
    },
    Dtype {
        name: "F8_E5M2FNUZ",
        bits: 8,
    },
    Dtype {
        name: "I16",
        bits: 16,
    },
    Dtype {
        name: "U16",
        bits: 16,
    },
    Dtype {
        name: "F16",
        bits: 16,
    },
    Dtype {
        name: "BF16",
        bits: 16,
    },
    Dtype {
        name: "I32",
        bits: 32,
    },
    Dtype {
        name: "U32",
        bits: 32,
    },
    Dtype {
        name: "F32",
        bits: 32,
    },
    Dtype {
        name: "C64",
        bits: 64,
    },
    Dtype {
        name: "F64",
        bits: 64,
    },
    Dtype {
        name: "I64",
        bits: 64,
    },
    Dtype {
        name: "U64",
        bits: 64,
    },
];

impl Dtype {
    /// The dtype of that name, if the format defines it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Dtype> {
        KNOWN.into_iter().find(|known| known.name == name)
    }

    /// The name as written in the file, for example `BF16`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Size of one element in bits.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.bits
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

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
        let format = match dtype.name {
            "F32" => Format::F32,
            "F16" => Format::F16,
            "BF16" => Format::Bf16,
            other => {
                return Err(TensorError::UnsupportedDtype {
                    name: crate::error::shown(name),
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
        assert_eq!(Dtype::from_name("F33"), None);
    }
}
