//! Regular files only: no pipes, devices or directories.

use std::fs::File;
use std::path::Path;

use crate::error::TensorError;

/// Opens a regular file for reading and tells its size.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), TensorError> {
    let failed = |action| {
        move |source| TensorError::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    };
    // Before opening: opening a named pipe would wait for its writer.
    let metadata = std::fs::metadata(path).map_err(failed("open"))?;
    if !metadata.is_file() {
        return Err(TensorError::NotAFile {
            path: path.to_path_buf(),
        });
    }
    let file = File::open(path).map_err(failed("open"))?;
    let size = file.metadata().map_err(failed("read the size of"))?.len();
    Ok((file, size))
}
