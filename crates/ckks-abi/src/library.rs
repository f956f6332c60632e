//! A loaded object.

use crate::context::Context;
use crate::error::{AbiError, LoadError};
use crate::symbols::Symbols;
use crate::text;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// A shared object that exports the ABI, loaded and of the right version.
///
/// It stays on its thread, which makes all calls.
#[derive(Debug)]
pub struct Library {
    symbols: Rc<Symbols>,
    opened: Cell<bool>,
}

impl Library {
    /// Loads an object. Its code runs in this process from here on: load only what may do that.
    ///
    /// The ABI has a process open one context in its life, through one object. What happens in a
    /// process that loads two depends on the libraries behind them.
    ///
    /// # Errors
    /// [`LoadError`] for a file that is no shared object, for another version of the ABI, and for
    /// a missing function, which it names.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        Ok(Self {
            symbols: Rc::new(Symbols::load(path)?),
            opened: Cell::new(false),
        })
    }

    /// The path that it was loaded from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.symbols.path
    }

    /// What the library is: a JSON object, not yet checked.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn info(&self) -> Result<String, AbiError> {
        text::read(&self.symbols, "info", |buffer, capacity, needed| {
            // SAFETY: the buffer has `capacity` bytes, or is null and 0.
            unsafe {
                self.symbols
                    .functions
                    .ckks_backend_info(buffer, capacity, needed)
            }
        })
    }

    /// The devices: a JSON object, not yet checked.
    ///
    /// # Errors
    /// [`AbiError`], with [`crate::Status::NoDevice`] where there is none.
    pub fn probe(&self) -> Result<String, AbiError> {
        text::read(&self.symbols, "probe", |buffer, capacity, needed| {
            // SAFETY: the buffer has `capacity` bytes, or is null and 0.
            unsafe {
                self.symbols
                    .functions
                    .ckks_backend_probe(buffer, capacity, needed)
            }
        })
    }

    /// Makes the one context from a JSON object as the header describes it.
    ///
    /// # Errors
    /// [`AbiError`], also where a context was opened before.
    pub fn open(&self, spec: &str) -> Result<Context, AbiError> {
        const CALL: &str = "open";
        if self.opened.get() {
            let message = "a context was opened before; a process opens one in its life";
            return Err(AbiError::refused(CALL, message));
        }
        let mut context = std::ptr::null_mut();
        // SAFETY: the specification is readable for its length, and the context is written to a
        // pointer of this function.
        let status = unsafe {
            self.symbols
                .functions
                .ckks_backend_open(spec.as_ptr().cast(), spec.len(), &mut context)
        };
        let result = self.symbols.result(CALL, status);
        // What is left behind by a failure that is not the caller's must not be met again.
        self.opened.set(
            result
                .as_ref()
                .err()
                .is_none_or(|error| error.status.is_fatal()),
        );
        result?;
        if context.is_null() {
            return Err(AbiError::breach(CALL, "returned no context, and no error"));
        }
        Ok(Context::new(Rc::clone(&self.symbols), context))
    }
}
