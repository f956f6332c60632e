//! Output files that appear whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::TensorError;

/// Checks, before the work starts, that an output file can be written at `path`.
///
/// Creates and removes a temporary file in the target directory. A file that is already at `path`
/// is not touched.
///
/// # Errors
///
/// [`TensorError::NotWritable`] if the directory is missing or refuses new files,
/// [`TensorError::NotAFile`] if `path` exists and is not a regular file.
pub fn check_writable(path: &Path) -> Result<(), TensorError> {
    let temporary = temporary_beside(&final_path(path)?, path)?;
    temporary.close().map_err(|source| refused(path, source))
}

/// Writes an output file through `fill`, replacing what was at `path` only once all is on disk.
///
/// The bytes go to a temporary file in the same directory, which is then renamed. If `fill` or
/// the disk fails, the temporary file is removed and `path` is left as it was.
///
/// # Errors
///
/// As [`check_writable`], and [`TensorError::Io`] if `fill`, the write or the rename fails.
pub fn write_atomically<F>(path: &Path, fill: F) -> Result<(), TensorError>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    let target = final_path(path)?;
    let mut temporary = temporary_beside(&target, path)?;
    let failed = |action| {
        move |source| TensorError::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    };
    {
        let mut writer = BufWriter::new(temporary.as_file_mut());
        fill(&mut writer)
            .and_then(|()| writer.flush())
            .map_err(failed("write"))?;
    }
    temporary.as_file().sync_all().map_err(failed("write"))?;
    temporary
        .persist(&target)
        .map_err(|e| failed("rename the finished file to")(e.error))?;
    Ok(())
}

fn refused(path: &Path, source: io::Error) -> TensorError {
    TensorError::NotWritable {
        path: path.to_path_buf(),
        source,
    }
}

/// The path that the finished file is renamed to: `path`, or what it links to.
fn final_path(path: &Path) -> Result<PathBuf, TensorError> {
    if path.file_name().is_none() {
        return Err(TensorError::NotAFile {
            path: path.to_path_buf(),
        });
    }
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(TensorError::NotAFile {
            path: path.to_path_buf(),
        }),
        Ok(_) if path.is_symlink() => fs::canonicalize(path).map_err(|e| refused(path, e)),
        Ok(_) => Ok(path.to_path_buf()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
        Err(e) => Err(refused(path, e)),
    }
}

fn temporary_beside(target: &Path, asked: &Path) -> Result<NamedTempFile, TensorError> {
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The process's umask applies, as for any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
        .tempfile_in(directory)
        .map_err(|e| refused(asked, e))
}
