//! How a recipient's wrapped key is written in the recipients section.
//!
//! All kinds are known to every build, so that a section can be read, listed and rewritten without
//! the features that unwrap its entries. Nothing in an entry is to be trusted.

use serde::{Deserialize, Serialize};

use super::WrapContext;
use super::local_wrap::LocalWrap;

/// One recipient's copy of the model key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RecipientEntry {
    /// Wrapped by a key in a file.
    KeyFile(KeyFileEntry),
    /// Wrapped by a key stretched from a passphrase.
    Passphrase(PassphraseEntry),
    /// Encrypted to an age recipient.
    Age(AgeEntry),
    /// Encrypted by the Transit engine of HashiCorp Vault or OpenBao.
    Vault(VaultEntry),
    /// Encrypted by a key in a PKCS #11 token.
    Pkcs11(Pkcs11Entry),
    /// Encrypted by AWS KMS.
    AwsKms(AwsKmsEntry),
}

impl RecipientEntry {
    /// Whether both are for one recipient, as far as entries tell: passphrases have no name.
    #[must_use]
    pub fn same_recipient(&self, other: &RecipientEntry) -> bool {
        !matches!(self, RecipientEntry::Passphrase(_)) && self.describe() == other.describe()
    }

    /// Kind and public name, for listings.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            RecipientEntry::KeyFile(entry) => format!("key-file {}", printable(&entry.fingerprint)),
            RecipientEntry::Passphrase(_) => "passphrase".to_owned(),
            RecipientEntry::Age(entry) => format!("age {}", printable(&entry.recipient)),
            RecipientEntry::Vault(entry) => {
                format!(
                    "vault {}/{}",
                    printable(&entry.mount),
                    printable(&entry.key)
                )
            }
            RecipientEntry::Pkcs11(entry) => format!(
                "pkcs11 token={};object={}",
                printable(&entry.token),
                printable(&entry.object)
            ),
            RecipientEntry::AwsKms(entry) => format!("aws-kms {}", printable(&entry.key)),
        }
    }
}

/// Text of an untrusted file without what a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .take(200)
        .flat_map(char::escape_debug)
        .collect()
}

/// Wrapped by a 32-byte key that is kept in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFileEntry {
    /// Names the wrapping key without telling it: 16 hexadecimal digits.
    pub fingerprint: String,
    /// The wrapped key.
    pub wrap: LocalWrap,
}

/// Wrapped by Argon2id of a passphrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassphraseEntry {
    /// 16 bytes, base64.
    pub salt: String,
    /// Memory of Argon2id in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
    /// The wrapped key.
    pub wrap: LocalWrap,
}

/// Encrypted to an age X25519 recipient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgeEntry {
    /// `age1…`, for listings.
    pub recipient: String,
    /// A binary age file of the model key and the context's digest, base64.
    pub file: String,
    /// What it was bound to when wrapped: tells, when it does not open, what differs.
    pub bound_to: WrapContext,
}

/// Encrypted by a Transit key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaultEntry {
    /// Where the Transit engine is mounted.
    pub mount: String,
    /// The key's name.
    pub key: String,
    /// `vault:vN:…` as the service gave it.
    pub ciphertext: String,
    /// What it was bound to when wrapped: tells, when it does not open, what differs.
    pub bound_to: WrapContext,
}

/// Encrypted by AES-256-GCM in a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pkcs11Entry {
    /// The token's label.
    pub token: String,
    /// The key's label.
    pub object: String,
    /// 12 bytes, base64.
    pub nonce: String,
    /// Ciphertext and tag, 48 bytes, base64.
    pub wrapped: String,
    /// What it was bound to when wrapped: tells, when it does not open, what differs.
    pub bound_to: WrapContext,
}

/// Encrypted by a KMS key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwsKmsEntry {
    /// ARN of the key, as the service gave it.
    pub key: String,
    /// The ciphertext blob, base64.
    pub ciphertext: String,
    /// The encryption context when wrapped: tells, when it does not open, what differs.
    pub bound_to: WrapContext,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_every_build_and_only_with_its_fields() {
        let bound = r#"{"model":"m","model_id":"00000000000000000000000000000000","key_id":"ID"}"#
            .replace("ID", &"0".repeat(64));
        let wrap = r#"{"salt":"","commitment":"","wrapped":""}"#;
        let entries = [
            (
                format!(r#""kind":"key-file","fingerprint":"f","wrap":{wrap}"#),
                "key-file f",
            ),
            (
                format!(
                    r#""kind":"passphrase","salt":"","memory_kib":1,"passes":1,"lanes":1,"wrap":{wrap}"#
                ),
                "passphrase",
            ),
            (
                format!(r#""kind":"age","recipient":"age1x","file":"","bound_to":{bound}"#),
                "age age1x",
            ),
            (
                format!(
                    r#""kind":"vault","mount":"transit","key":"k\n","ciphertext":"","bound_to":{bound}"#
                ),
                "vault transit/k\\n",
            ),
            (
                format!(
                    r#""kind":"pkcs11","token":"t","object":"o","nonce":"","wrapped":"","bound_to":{bound}"#
                ),
                "pkcs11 token=t;object=o",
            ),
            (
                format!(r#""kind":"aws-kms","key":"arn:x","ciphertext":"","bound_to":{bound}"#),
                "aws-kms arn:x",
            ),
        ];
        for (fields, description) in entries {
            let entry: RecipientEntry = serde_json::from_str(&format!("{{{fields}}}")).unwrap();
            assert_eq!(entry.describe(), description);
            let again: RecipientEntry =
                serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
            assert_eq!(again, entry);
            let error = serde_json::from_str::<RecipientEntry>(&format!(r#"{{{fields},"x":1}}"#))
                .unwrap_err();
            assert!(error.to_string().contains("unknown field `x`"), "{error}");
        }
        let error = serde_json::from_str::<RecipientEntry>(r#"{"kind":"tpm"}"#).unwrap_err();
        assert!(
            error.to_string().contains("unknown variant `tpm`"),
            "{error}"
        );
    }
}
