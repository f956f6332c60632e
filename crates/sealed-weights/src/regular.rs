//! Opening files that others may have put there: never blocks, never follows links unasked.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::error::SealError;

/// Opens a file for reading. `None` if it is not a regular file (or, with `follow` off, a link).
pub(crate) fn open_regular(
    path: &Path,
    follow: bool,
) -> Result<Option<(File, Metadata)>, SealError> {
    let failed = |source: io::Error| SealError::Io {
        action: "open",
        path: path.to_path_buf(),
        source,
    };
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(rustix::io::Errno::LOOP) if !follow => return Ok(None),
        Err(errno) => return Err(failed(errno.into())),
    };
    let metadata = file.metadata().map_err(failed)?;
    Ok(metadata.is_file().then_some((file, metadata)))
}
