//! Publisher keys in files: one line of text each, the private one readable by its owner only.
//!
//! ```text
//! sealed-weights-publisher-1 SEED            64 hexadecimal digits, the seed of RFC 8032
//! sealed-weights-publisher-pub-1 PUBLIC      64 hexadecimal digits, the Ed25519 public key
//! ```

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use zeroize::Zeroizing;

use crate::document::decode_hex;
use crate::error::KeyError;
use crate::ids;
use crate::path::shown;
use crate::private_file;
use crate::signing::{PublisherId, PublisherKey};

const PRIVATE_WORD: &str = "sealed-weights-publisher-1";
const PUBLIC_WORD: &str = "sealed-weights-publisher-pub-1";
/// Longest public key file read.
const MAX_PUBLIC_BYTES: u64 = 4096;

/// Writes a fresh private key to a new file.
///
/// # Errors
/// [`KeyError::File`] if the file exists or cannot be written.
pub fn create(path: &Path) -> Result<PublisherKey, KeyError> {
    let seed: Zeroizing<[u8; 32]> = Zeroizing::new(ids::random()?);
    let text = Zeroizing::new(format!("{PRIVATE_WORD} {}\n", hex::encode(seed.as_slice())));
    private_file::create(path, text.as_bytes())?;
    Ok(PublisherKey::from_seed(&seed)?)
}

/// Reads a private key.
///
/// # Errors
/// [`KeyError::File`], [`KeyError::Permissions`] if others may read the file,
/// [`KeyError::Malformed`] if it is no private key of a publisher.
pub fn read(path: &Path) -> Result<PublisherKey, KeyError> {
    let text = private_file::read(path)?;
    let seed = Zeroizing::new(value(&text, PRIVATE_WORD).ok_or_else(|| {
        let hint = if value(&text, PUBLIC_WORD).is_some() {
            "it is the public half of a key, and signing needs the private one; it"
        } else {
            "it"
        };
        malformed(
            path,
            format!("{hint} must be one line, '{PRIVATE_WORD} ' and 64 hexadecimal digits"),
        )
    })?);
    Ok(PublisherKey::from_seed(&seed)?)
}

/// Writes a public key to a new file.
///
/// # Errors
/// [`KeyError::File`] if the file exists or cannot be written.
pub fn create_public(path: &Path, publisher: PublisherId) -> Result<(), KeyError> {
    let failed = |source| KeyError::File {
        action: "create",
        path: path.to_path_buf(),
        source,
    };
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(format!("{PUBLIC_WORD} {publisher}\n").as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| {
            let _ = fs::remove_file(path);
            failed(error)
        })
}

/// The publisher that a text names: 64 hexadecimal digits, or the path of a public key file.
///
/// # Errors
/// [`KeyError::File`], [`KeyError::Malformed`] if the file is no public key of a publisher.
pub fn find_public(text: &str) -> Result<PublisherId, KeyError> {
    match decode_hex(text) {
        Some(bytes) => Ok(PublisherId::new(bytes)),
        None => read_public(Path::new(text)),
    }
}

/// Reads a public key.
///
/// # Errors
/// As [`find_public`].
pub fn read_public(path: &Path) -> Result<PublisherId, KeyError> {
    let failed = |source| KeyError::File {
        action: "read",
        path: path.to_path_buf(),
        source,
    };
    let mut text = Zeroizing::new(Vec::new());
    let file = fs::File::open(path).map_err(failed)?;
    file.take(MAX_PUBLIC_BYTES)
        .read_to_end(&mut text)
        .map_err(failed)?;
    let text = Zeroizing::new(String::from_utf8_lossy(&text).into_owned());
    value(&text, PUBLIC_WORD)
        .map(PublisherId::new)
        .ok_or_else(|| {
            let hint = if text.starts_with(&format!("{PRIVATE_WORD} ")) {
                "it is the private half of a key, which readers must not have; the public one"
            } else {
                "a publisher's public key"
            };
            malformed(
                path,
                format!("{hint} is one line, '{PUBLIC_WORD} ' and 64 hexadecimal digits, or those digits themselves"),
            )
        })
}

fn value(text: &str, word: &str) -> Option<[u8; 32]> {
    text.trim_end()
        .strip_prefix(word)
        .and_then(|rest| rest.strip_prefix(' '))
        .and_then(decode_hex)
}

fn malformed(path: &Path, reason: String) -> KeyError {
    KeyError::Malformed {
        what: shown(path),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_read_as_it_was_written_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = (folder.path().join("k"), folder.path().join("p"));
        let key = create(&private).unwrap();
        create_public(&public, key.id()).unwrap();
        assert_eq!(read(&private).unwrap().id(), key.id());
        assert_eq!(read_public(&public).unwrap(), key.id());
        assert_eq!(find_public(&key.id().to_string()).unwrap(), key.id());
        assert_eq!(find_public(public.to_str().unwrap()).unwrap(), key.id());
        let mode = fs::metadata(&private).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        let before = fs::read(&private).unwrap();
        assert!(matches!(create(&private), Err(KeyError::File { .. })));
        assert!(matches!(
            create_public(&public, key.id()),
            Err(KeyError::File { .. })
        ));
        assert_eq!(fs::read(&private).unwrap(), before);
    }

    #[test]
    fn the_key_of_rfc_8032_test_1_has_its_public_half() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k");
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        private_file::create(&path, format!("{PRIVATE_WORD} {seed}\n").as_bytes()).unwrap();
        assert_eq!(
            read(&path).unwrap().id().to_string(),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
        );
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k");
        let digits = "ab".repeat(32);
        for text in [
            String::new(),
            digits.clone(),
            format!("{PRIVATE_WORD} {}", &digits[1..]),
            format!("{PRIVATE_WORD} {}", digits.to_uppercase()),
            format!("{PRIVATE_WORD}  {digits}"),
            format!("{PUBLIC_WORD} {digits}"),
        ] {
            let _ = fs::remove_file(&path);
            private_file::create(&path, text.as_bytes()).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains(PRIVATE_WORD), "{message}");
            assert!(!message.contains(&digits[..20]), "{message}");
        }
        let _ = fs::remove_file(&path);
        create(&path).unwrap();
        let message = read_public(&path).unwrap_err().to_string();
        assert!(message.contains("the private half"), "{message}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read(&path), Err(KeyError::Permissions { .. })));
    }
}
