//! A loaded object with all its functions.

use crate::error::{AbiError, LoadError, MESSAGE_LIMIT, Status};
use crate::sys::{self, Functions};
use std::fmt;
use std::path::{Path, PathBuf};

/// The functions of an object, and the handle that keeps it loaded.
pub(crate) struct Symbols {
    pub(crate) functions: Functions,
    pub(crate) path: PathBuf,
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Symbols").field(&self.path).finish()
    }
}

type Version = unsafe extern "C" fn() -> u32;

impl Symbols {
    /// Loads the object; its version comes first, for another version may lack functions.
    pub(crate) fn load(path: &Path) -> Result<Self, LoadError> {
        let symbol = |error: libloading::Error| {
            let reason = error.to_string();
            LoadError::Symbol {
                path: path.to_owned(),
                symbol: missing_name(&reason),
                reason,
            }
        };
        // SAFETY: initialisers of the object run here. That it is a backend, and no hostile code,
        // is the promise of whoever names it.
        let library =
            unsafe { libloading::Library::new(path) }.map_err(|error| LoadError::Open {
                path: path.to_owned(),
                reason: error.to_string(),
            })?;
        // SAFETY: every version of the header declares this function with this type.
        let version = unsafe { library.get::<Version>(b"ckks_backend_abi_version\0") }
            .map_err(symbol)
            .map(|version| {
                // SAFETY: it may come at any time, and takes nothing.
                unsafe { version() }
            })?;
        if version != sys::CKKS_BACKEND_ABI_VERSION {
            return Err(LoadError::Version {
                path: path.to_owned(),
                found: version,
                expected: sys::CKKS_BACKEND_ABI_VERSION,
            });
        }
        // SAFETY: the object was built with this version of the header, so its functions have the
        // types that the declarations give them.
        let functions = unsafe { Functions::from_library(library) }.map_err(symbol)?;
        Ok(Self {
            functions,
            path: path.to_owned(),
        })
    }

    /// The result of a call that returned `status`.
    pub(crate) fn result(
        &self,
        call: &'static str,
        status: sys::ckks_backend_status,
    ) -> Result<(), AbiError> {
        if status == sys::CKKS_BACKEND_OK {
            return Ok(());
        }
        let message = self.last_error();
        Err(match Status::from_code(status) {
            Some(status) => AbiError {
                call,
                status,
                message,
            },
            None => AbiError::breach(
                call,
                format!("returned the status {status}, which does not exist; {message}"),
            ),
        })
    }

    /// The message of the last failure, cut off at [`MESSAGE_LIMIT`] bytes.
    fn last_error(&self) -> String {
        // SAFETY: it may come at any time, and takes nothing.
        let text = unsafe { self.functions.ckks_backend_last_error() };
        if text.is_null() {
            return "the object gave no message (a null pointer, against the ABI)".to_owned();
        }
        let mut bytes = Vec::new();
        while bytes.len() < MESSAGE_LIMIT {
            // SAFETY: the pointer is to a string that ends with zero and is valid until the next
            // call; no byte beyond the zero is read.
            match unsafe { *text.add(bytes.len()) } {
                0 => break,
                byte => bytes.push(byte.cast_unsigned()),
            }
        }
        if bytes.is_empty() {
            return "the object gave no message".to_owned();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The function that a loader's message is about.
fn missing_name(reason: &str) -> String {
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = reason.split(|c| !name(c));
    words
        .filter(|word| word.starts_with("ckks_backend_"))
        .max_by_key(|word| word.len())
        .unwrap_or("of the ABI")
        .to_owned()
}
