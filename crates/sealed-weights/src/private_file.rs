//! Files that hold secrets: created for their owner only, refused when others may read them.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::path::shown;

/// Longest file read.
const MAX_BYTES: u64 = 1 << 20;

/// Writes a new file of mode 0600.
///
/// # Errors
/// [`KeyError::File`], also when the file exists already.
pub fn create(path: &Path, content: &[u8]) -> Result<(), KeyError> {
    let failed = |source| KeyError::File {
        action: "create",
        path: path.to_path_buf(),
        source,
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .map_err(|error| {
            // Half a secret is of no use, and its name would be in the way of the next attempt.
            let _ = std::fs::remove_file(path);
            failed(error)
        })
}

/// Reads a file of UTF-8 text.
///
/// # Errors
/// [`KeyError::File`]; [`KeyError::Permissions`] when its group or others may read it;
/// [`KeyError::Malformed`] when it is no text of at most 1 MiB.
pub fn read(path: &Path) -> Result<Zeroizing<String>, KeyError> {
    let failed = |source| KeyError::File {
        action: "read",
        path: path.to_path_buf(),
        source,
    };
    let malformed = |reason: &str| KeyError::Malformed {
        what: shown(path),
        reason: reason.to_owned(),
    };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    // A pipe, as from process substitution, is as private as the process.
    if metadata.is_file() && metadata.mode() & 0o077 != 0 {
        return Err(KeyError::Permissions {
            path: path.to_path_buf(),
            mode: metadata.mode() & 0o7777,
        });
    }
    let mut bytes = Zeroizing::new(Vec::new());
    let limit = MAX_BYTES + 1;
    (&mut file)
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(malformed("it is longer than 1 MiB"));
    }
    std::str::from_utf8(&bytes)
        .map(|text| Zeroizing::new(text.to_owned()))
        .map_err(|_| malformed("it is not UTF-8 text"))
}
