//! A safetensors file on disk.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::byte_source::{ByteSource, Sink};
use crate::error::TensorError;
use crate::regular::open_regular;

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;

/// An open file.
#[derive(Debug)]
pub(crate) struct LocalFile {
    path: PathBuf,
    file: File,
    size: u64,
    bytes_read: u64,
}

impl LocalFile {
    /// Opens a regular file.
    pub(crate) fn open(path: &Path) -> Result<LocalFile, TensorError> {
        let (file, size) = open_regular(path)?;
        Ok(LocalFile {
            path: path.to_path_buf(),
            file,
            size,
            bytes_read: 0,
        })
    }

    fn io_error(&self, source: std::io::Error) -> TensorError {
        TensorError::Io {
            action: "read",
            path: self.path.clone(),
            source,
        }
    }
}

impl ByteSource for LocalFile {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn read_range(&mut self, start: u64, end: u64, sink: &mut Sink<'_>) -> Result<(), TensorError> {
        self.file
            .seek(SeekFrom::Start(start))
            .map_err(|e| self.io_error(e))?;
        let mut remaining = end.saturating_sub(start);
        let mut buffer = vec![0u8; remaining.min(PIECE as u64) as usize];
        while remaining > 0 {
            let wanted = remaining.min(PIECE as u64) as usize;
            match self.file.read(&mut buffer[..wanted]) {
                Ok(0) => {
                    return Err(TensorError::Shrunk {
                        location: self.location(),
                        end,
                        size: self.size,
                    });
                }
                Ok(count) => {
                    self.bytes_read += count as u64;
                    remaining -= count as u64;
                    sink(&buffer[..count])?;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(self.io_error(e)),
            }
        }
        Ok(())
    }
}
