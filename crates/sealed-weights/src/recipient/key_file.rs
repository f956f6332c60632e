//! A wrapping key in a file, for tests, offline backups and machines with an encrypted disk.
//!
//! The file is one line, `sealed-weights-key-1 ` and 64 hexadecimal digits, readable by its owner
//! only.

use std::path::{Path, PathBuf};

use aws_lc_rs::digest;
use zeroize::Zeroizing;

use super::local_wrap::{LocalRefusal, LocalWrap};
use super::{Identity, KeyFileEntry, Recipient, RecipientEntry, WrapContext};
use crate::document::decode_hex;
use crate::error::KeyError;
use crate::ids;
use crate::path::shown;
use crate::private_file;
use crate::secret::ModelKey;

const WORD: &str = "sealed-weights-key-1";

/// A wrapping key read from a file. Zeroised when dropped.
pub struct KeyFile {
    path: PathBuf,
    key: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyFile({})", Recipient::describe(self))
    }
}

impl KeyFile {
    /// Writes a fresh key to a new file.
    ///
    /// # Errors
    /// [`KeyError::File`] if the file exists or cannot be written.
    pub fn create(path: &Path) -> Result<KeyFile, KeyError> {
        let key: Zeroizing<[u8; 32]> = Zeroizing::new(ids::random()?);
        let text = Zeroizing::new(format!("{WORD} {}\n", hex::encode(key.as_slice())));
        private_file::create(path, text.as_bytes())?;
        Ok(KeyFile {
            path: path.to_path_buf(),
            key,
        })
    }

    /// Reads a key.
    ///
    /// # Errors
    /// [`KeyError::File`], [`KeyError::Permissions`] if others may read the file,
    /// [`KeyError::Malformed`] if it is not a key file.
    pub fn read(path: &Path) -> Result<KeyFile, KeyError> {
        let text = private_file::read(path)?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let key = line
            .strip_prefix(WORD)
            .and_then(|rest| rest.strip_prefix(' '))
            .and_then(decode_hex)
            .ok_or_else(|| KeyError::Malformed {
                what: format!("key file {}", shown(path)),
                reason: format!("it must be one line, '{WORD} ' and 64 hexadecimal digits"),
            })?;
        Ok(KeyFile {
            path: path.to_path_buf(),
            key: Zeroizing::new(key),
        })
    }

    fn fingerprint(&self) -> String {
        let input = Zeroizing::new([b"sealed-weights/1 key file".as_slice(), &*self.key].concat());
        hex::encode(&digest::digest(&digest::SHA256, &input).as_ref()[..8])
    }
}

impl Recipient for KeyFile {
    fn describe(&self) -> String {
        format!("key file {} ({})", shown(&self.path), self.fingerprint())
    }

    fn wrap(&self, key: &ModelKey, context: &WrapContext) -> Result<RecipientEntry, KeyError> {
        Ok(RecipientEntry::KeyFile(KeyFileEntry {
            fingerprint: self.fingerprint(),
            wrap: LocalWrap::wrap(&self.key, key, context)?,
        }))
    }
}

impl Identity for KeyFile {
    fn describe(&self) -> String {
        Recipient::describe(self)
    }

    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError> {
        let RecipientEntry::KeyFile(entry) = entry else {
            return Ok(None);
        };
        if entry.fingerprint != self.fingerprint() {
            return Ok(None);
        }
        match entry.wrap.unwrap(&self.key, context) {
            Ok(key) => Ok(Some(key)),
            Err(LocalRefusal::Malformed) => Err(KeyError::Malformed {
                what: "the key-file entry of the recipients section".to_owned(),
                reason: "a field is not base64 of its length".to_owned(),
            }),
            Err(LocalRefusal::WrongKey) => Err(KeyError::Refused {
                who: Identity::describe(self),
                reason: "the wrapped key was altered, or belongs to another model".to_owned(),
            }),
        }
    }
}
