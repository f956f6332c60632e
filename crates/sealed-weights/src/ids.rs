//! Identifiers that occur in headers, manifests and wrapping contexts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::SealError;

/// Defines a fixed-size public identifier whose text form is lower-case hexadecimal.
macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// Its length in bytes.
            pub const BYTES: usize = $bytes;

            /// From its bytes.
            #[must_use]
            pub const fn new(bytes: [u8; $bytes]) -> $name {
                $name(bytes)
            }

            /// Its bytes.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = String;

            /// # Errors
            /// A sentence for the user if the text is not lower-case hexadecimal of this length.
            fn from_str(text: &str) -> Result<$name, String> {
                let mut bytes = [0; $bytes];
                if text.bytes().any(|b| b.is_ascii_uppercase())
                    || hex::decode_to_slice(text, &mut bytes).is_err()
                {
                    return Err(format!(
                        "expected {} lower-case hexadecimal digits",
                        2 * $bytes
                    ));
                }
                Ok($name(bytes))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

identifier! {
    /// Names a model across its versions; drawn at random when the model is sealed first.
    ModelId, 16
}
identifier! {
    /// Names one sealed file; drawn at random each time a file is sealed.
    FileId, 16
}
identifier! {
    /// A public commitment to a model key: tells whether an unwrapped key is the right one.
    KeyId, 32
}
identifier! {
    /// H(core): SHA-256 of a file's core header.
    CoreDigest, 32
}
identifier! {
    /// Binds everything in a sealed file behind the core header: the tags and the ciphertext.
    ContentRoot, 32
}
identifier! {
    /// SHA-256 of a manifest file, for pinning one version of a model.
    ManifestDigest, 32
}

impl ModelId {
    /// A fresh identifier.
    ///
    /// # Errors
    /// [`SealError::Randomness`] when the operating system gives no randomness.
    pub fn random() -> Result<ModelId, SealError> {
        Ok(ModelId(random()?))
    }
}

impl FileId {
    /// A fresh identifier.
    ///
    /// # Errors
    /// [`SealError::Randomness`] when the operating system gives no randomness.
    pub fn random() -> Result<FileId, SealError> {
        Ok(FileId(random()?))
    }
}

/// Bytes from the operating system's generator.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], SealError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| SealError::Randomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_lower_case_hexadecimal_of_the_exact_length() {
        let id: FileId = "000102030405060708090a0b0c0d0e0f".parse().unwrap();
        assert_eq!(id.as_bytes()[15], 15);
        assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0e0f");
        for text in [
            "",
            "00",
            "000102030405060708090A0B0C0D0E0F",
            &"0".repeat(33),
        ] {
            assert!(text.parse::<FileId>().is_err(), "{text}");
        }
    }
}
