//! What an object reports, and why one cannot be loaded.

use crate::sys;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Bytes of a message that are kept.
pub const MESSAGE_LIMIT: usize = 4096;

/// Why a call failed: the statuses of the ABI without "done".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// The caller is wrong; nothing changed.
    BadArgument,
    /// The library, or these parameters, cannot do this; nothing changed.
    Unsupported,
    /// No device, or no driver for it.
    NoDevice,
    /// Memory of the host or of the device ran out.
    OutOfMemory,
    /// The device reported an error.
    DeviceFault,
    /// The library reported an error of its own.
    LibraryError,
    /// A fault of the shim: one that it reports, or a breach of the ABI that was found here.
    Internal,
}

impl Status {
    /// All of them, in the order of the header.
    pub const ALL: [Status; 7] = [
        Status::BadArgument,
        Status::Unsupported,
        Status::NoDevice,
        Status::OutOfMemory,
        Status::DeviceFault,
        Status::LibraryError,
        Status::Internal,
    ];

    /// The number that the header gives it.
    #[must_use]
    pub fn code(self) -> sys::ckks_backend_status {
        match self {
            Status::BadArgument => sys::CKKS_BACKEND_BAD_ARGUMENT,
            Status::Unsupported => sys::CKKS_BACKEND_UNSUPPORTED,
            Status::NoDevice => sys::CKKS_BACKEND_NO_DEVICE,
            Status::OutOfMemory => sys::CKKS_BACKEND_OUT_OF_MEMORY,
            Status::DeviceFault => sys::CKKS_BACKEND_DEVICE_FAULT,
            Status::LibraryError => sys::CKKS_BACKEND_LIBRARY_ERROR,
            Status::Internal => sys::CKKS_BACKEND_INTERNAL,
        }
    }

    /// The failure with that number.
    #[must_use]
    pub fn from_code(code: sys::ckks_backend_status) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.code() == code)
    }

    /// Its name in the worker protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::BadArgument => "bad-argument",
            Status::Unsupported => "unsupported",
            Status::NoDevice => "no-device",
            Status::OutOfMemory => "out-of-memory",
            Status::DeviceFault => "device-fault",
            Status::LibraryError => "library-error",
            Status::Internal => "internal",
        }
    }

    /// Whether a context must not be used after it.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        !matches!(self, Status::BadArgument | Status::Unsupported)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A call that failed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{call}: {status}: {message}")]
pub struct AbiError {
    /// Name of the function, without its prefix.
    pub call: &'static str,
    /// What kind of failure it is.
    pub status: Status,
    /// The object's message, or what is wrong with its answer; at most [`MESSAGE_LIMIT`] bytes of
    /// the object's.
    pub message: String,
}

impl AbiError {
    /// A breach of the ABI by the object.
    pub(crate) fn breach(call: &'static str, message: impl Into<String>) -> Self {
        Self {
            call,
            status: Status::Internal,
            message: message.into(),
        }
    }

    /// A call that this crate refuses.
    pub(crate) fn refused(call: &'static str, message: impl Into<String>) -> Self {
        Self {
            call,
            status: Status::BadArgument,
            message: message.into(),
        }
    }
}

/// A shared object that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The system's loader refuses it: no such file, not a shared object, a library missing that
    /// it needs.
    #[error("{} cannot be loaded: {reason}", path.display())]
    Open {
        /// The object.
        path: PathBuf,
        /// The loader's message.
        reason: String,
    },
    /// A function of the ABI is missing.
    #[error(
        "{} has no function {symbol} ({reason}); it is no backend, or was built for another version \
         of ckks_backend.h",
        path.display()
    )]
    Symbol {
        /// The object.
        path: PathBuf,
        /// The function.
        symbol: String,
        /// The loader's message.
        reason: String,
    },
    /// It was built with another version of the header.
    #[error(
        "{} speaks version {found} of the backend ABI, this program version {expected}; rebuild the \
         shim with this program's cuda/include/ckks_backend.h",
        path.display()
    )]
    Version {
        /// The object.
        path: PathBuf,
        /// The object's version.
        found: u32,
        /// Ours.
        expected: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_the_headers() {
        assert_eq!(Status::ALL.map(Status::code), [1, 2, 3, 4, 5, 6, 7]);
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
        }
        for none in [sys::CKKS_BACKEND_OK, -1, 8, i32::MIN, i32::MAX] {
            assert_eq!(Status::from_code(none), None);
        }
        let mild: Vec<_> = Status::ALL.into_iter().filter(|s| !s.is_fatal()).collect();
        assert_eq!(mild, [Status::BadArgument, Status::Unsupported]);
    }
}
