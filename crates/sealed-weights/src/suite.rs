//! The two cipher suites of the format, and which one suits this machine.

use std::fmt;

/// An AEAD with 256-bit keys, 96-bit nonces and 128-bit tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Suite {
    /// AES-256-GCM (NIST SP 800-38D), number 1.
    Aes256Gcm,
    /// ChaCha20-Poly1305 (RFC 8439), number 2: for machines without AES instructions, where it is
    /// several times faster than AES and does not leak through cache timing.
    ChaCha20Poly1305,
}

impl Suite {
    /// Every suite of the format.
    pub const ALL: [Suite; 2] = [Suite::Aes256Gcm, Suite::ChaCha20Poly1305];

    /// The suite to seal with on this machine: AES-256-GCM where the processor has instructions
    /// for AES and for carry-less multiplication, else ChaCha20-Poly1305.
    #[must_use]
    pub fn for_this_machine() -> Suite {
        if has_aes_instructions() {
            Suite::Aes256Gcm
        } else {
            Suite::ChaCha20Poly1305
        }
    }

    /// The number that the core header carries.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Suite::Aes256Gcm => 1,
            Suite::ChaCha20Poly1305 => 2,
        }
    }

    /// The suite of that number.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Suite> {
        Suite::ALL.into_iter().find(|s| s.number() == number)
    }

    /// The name used on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Suite::Aes256Gcm => "aes-256-gcm",
            Suite::ChaCha20Poly1305 => "chacha20-poly1305",
        }
    }

    /// The suite of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|s| s.name() == name)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the processor computes AES-GCM in hardware.
#[must_use]
pub fn has_aes_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("aes") && is_x86_feature_detected!("pclmulqdq")
    }
    #[cfg(target_arch = "aarch64")]
    {
        std::arch::is_aarch64_feature_detected!("aes")
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_those_of_the_specification() {
        assert_eq!(Suite::from_number(1), Some(Suite::Aes256Gcm));
        assert_eq!(Suite::from_number(2), Some(Suite::ChaCha20Poly1305));
        assert_eq!(Suite::from_number(0), None);
        assert_eq!(Suite::from_number(3), None);
        assert_eq!(Suite::from_name("aes-256-gcm"), Some(Suite::Aes256Gcm));
        assert_eq!(
            Suite::from_name("chacha20-poly1305"),
            Some(Suite::ChaCha20Poly1305)
        );
        assert_eq!(Suite::from_name("AES-256-GCM"), None);
    }
}
