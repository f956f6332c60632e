//! A worker's standard input and output.

use std::fs::File;
use std::io;

/// Private duplicates of standard input and output. The library finds an empty input, and its
/// output goes to standard error.
#[cfg(unix)]
pub(super) fn take_streams() -> io::Result<(File, File)> {
    use rustix::stdio::{dup2_stdin, dup2_stdout};
    use std::os::fd::AsFd;
    // Duplicates made this way are closed in programs that the library may start.
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok((input, output))
}

#[cfg(not(unix))]
pub(super) fn take_streams() -> io::Result<(File, File)> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "workers need a Unix system",
    ))
}
