//! Element types of the safetensors format.

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
