//! Where plaintext to be sealed comes from.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{ModelError, SealError};
use crate::regular::open_regular;

/// A plaintext of known length that can be read anywhere, from many threads.
pub(crate) trait PlainSource: Sync {
    /// Bytes.
    fn length(&self) -> u64;

    /// Fills `out` from `offset`, which with it lies within the length.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), SealError>;

    /// Fails if the plaintext is no longer what it was when opened.
    fn check_unchanged(&self) -> Result<(), SealError>;
}

/// A file of plaintext.
#[derive(Debug)]
pub(crate) struct PlainFile {
    path: PathBuf,
    file: File,
    opened: Stamp,
}

/// What changes when a file's content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl PlainFile {
    /// Opens a regular file, which must be as it was when it was listed.
    pub(crate) fn open(path: &Path, listed: Stamp) -> Result<PlainFile, SealError> {
        let (file, metadata) =
            open_regular(path, true)?.ok_or_else(|| ModelError::SpecialFile {
                path: path.to_path_buf(),
            })?;
        if Stamp::of(&metadata) != listed {
            return Err(SealError::SourceChanged {
                path: path.to_path_buf(),
            });
        }
        Ok(PlainFile {
            path: path.to_path_buf(),
            file,
            opened: listed,
        })
    }
}

impl PlainSource for PlainFile {
    fn length(&self) -> u64 {
        self.opened.length
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), SealError> {
        self.file.read_exact_at(out, offset).map_err(|source| {
            if source.kind() == ErrorKind::UnexpectedEof {
                SealError::SourceChanged {
                    path: self.path.clone(),
                }
            } else {
                SealError::Io {
                    action: "read",
                    path: self.path.clone(),
                    source,
                }
            }
        })
    }

    fn check_unchanged(&self) -> Result<(), SealError> {
        let now = self.file.metadata().map_err(|source| SealError::Io {
            action: "look at",
            path: self.path.clone(),
            source,
        })?;
        if Stamp::of(&now) == self.opened {
            Ok(())
        } else {
            Err(SealError::SourceChanged {
                path: self.path.clone(),
            })
        }
    }
}

/// Plaintext in memory.
#[derive(Clone, Copy)]
pub(crate) struct PlainBytes<'a>(pub(crate) &'a [u8]);

impl PlainSource for PlainBytes<'_> {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), SealError> {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self
            .0
            .get(begin..)
            .and_then(|rest| rest.get(..out.len()))
            .ok_or_else(|| SealError::Range {
                path: PathBuf::from("memory"),
                begin: offset,
                end: offset.saturating_add(out.len() as u64),
                length: self.length(),
            })?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn check_unchanged(&self) -> Result<(), SealError> {
        Ok(())
    }
}
