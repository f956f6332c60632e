//! How a process ended.

use std::fmt;
use std::process::ExitStatus;

/// How a worker ended by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It exited with this status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Ended {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Ended::Signalled(signal);
        }
        Ended::Exited(status.code().unwrap_or(-1))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Ended::Exited(status) => write!(f, "exited with status {status}"),
            Ended::Signalled(signal) => {
                write!(f, "was ended by signal {signal}")?;
                match signal_name(signal) {
                    Some(name) => write!(f, " ({name})"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The signals that end programs by a fault of theirs, with their numbers on Linux (signal(7)).
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return None,
    })
}
