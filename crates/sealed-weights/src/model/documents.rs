//! Reading and replacing the manifest and the recipients section of a directory.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use crate::document::MAX_BYTES;
use crate::error::{DocumentDefect, ModelError, SealError};
use crate::manifest::{MANIFEST_NAME, SignedManifest};
use crate::recipients::{RECIPIENTS_NAME, RecipientsFile};
use crate::regular::open_regular;

/// Reads the manifest and checks its signature.
pub(crate) fn read_manifest(directory: &Path) -> Result<SignedManifest, SealError> {
    let path = directory.join(MANIFEST_NAME);
    let missing = ModelError::NoManifest {
        path: directory.to_path_buf(),
    };
    let text = read_text(&path, missing)?;
    SignedManifest::parse(&text).map_err(|defect| SealError::Document { path, defect })
}

/// Reads the recipients section.
pub(crate) fn read_recipients(directory: &Path) -> Result<RecipientsFile, SealError> {
    let path = directory.join(RECIPIENTS_NAME);
    let missing = ModelError::NoRecipients {
        path: directory.to_path_buf(),
    };
    let text = read_text(&path, missing)?;
    RecipientsFile::parse(&text).map_err(|defect| SealError::Document { path, defect })
}

/// Writes a new file and waits until it is on the disk.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<(), SealError> {
    let failed = |source| SealError::Io {
        action: "write",
        path: path.to_path_buf(),
        source,
    };
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed)
}

fn read_text(path: &Path, missing: ModelError) -> Result<String, SealError> {
    let opened = match open_regular(path, false) {
        Ok(opened) => opened,
        // Where the directory itself is missing, that is what is wrong.
        Err(SealError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound
                && path.parent().is_some_and(Path::is_dir) =>
        {
            return Err(missing.into());
        }
        Err(error) => return Err(error),
    };
    let (file, metadata) = opened.ok_or_else(|| ModelError::SpecialFile {
        path: path.to_path_buf(),
    })?;
    let refuse = |defect| SealError::Document {
        path: path.to_path_buf(),
        defect,
    };
    if metadata.len() > MAX_BYTES {
        return Err(refuse(DocumentDefect::TooLong {
            found: metadata.len(),
            limit: MAX_BYTES,
        }));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|source| SealError::Io {
            action: "read",
            path: path.to_path_buf(),
            source,
        })?;
    String::from_utf8(bytes).map_err(|_| refuse(DocumentDefect::NotText))
}
