//! An opened library: one method for each function.

use crate::error::AbiError;
use crate::program::Program;
use crate::symbols::Symbols;
use crate::sys::{
    self, ckks_backend_context, ckks_backend_key_report, ckks_backend_memory,
    ckks_backend_prepare_report, ckks_backend_transfer,
};
use crate::text;
use std::rc::Rc;

/// Bits of the NaN that marks a value which was not written. Arithmetic makes no NaN with these
/// bits.
pub const UNWRITTEN: u64 = 0x7ff8_5eed_0bad_c0de;

/// Parameters, keys, a prepared layer and a batch, in the object's memory; freed when dropped.
///
/// Methods take slot vectors as the header has them: n doubles where the library's slots are real,
/// 2n where they are complex. They do not check lengths against n: the object does.
///
/// After a fatal status every method but the drop is refused, with that failure's kind.
#[derive(Debug)]
pub struct Context {
    symbols: Rc<Symbols>,
    /// Not null, made by this object's `open`, not yet freed.
    raw: *mut ckks_backend_context,
    failure: Option<AbiError>,
}

impl Context {
    /// `raw` must be a context of the object's, used and freed by nobody else.
    pub(crate) fn new(symbols: Rc<Symbols>, raw: *mut ckks_backend_context) -> Self {
        Self {
            symbols,
            raw,
            failure: None,
        }
    }

    /// Makes a call unless one failed before, and remembers a fatal failure.
    fn call<T>(
        &mut self,
        name: &'static str,
        function: impl FnOnce(&Symbols, *mut ckks_backend_context) -> Result<T, AbiError>,
    ) -> Result<T, AbiError> {
        if let Some(failure) = &self.failure {
            return Err(AbiError {
                call: name,
                status: failure.status,
                message: format!("not called, since this context failed before: {failure}"),
            });
        }
        let result = function(&self.symbols, self.raw);
        if let Err(error) = &result
            && error.status.is_fatal()
        {
            self.failure = Some(error.clone());
        }
        result
    }

    /// A call that takes nothing and returns nothing.
    fn plain_call(
        &mut self,
        name: &'static str,
        function: impl FnOnce(&sys::Functions, *mut ckks_backend_context) -> sys::ckks_backend_status,
    ) -> Result<(), AbiError> {
        self.call(name, |symbols, raw| {
            symbols.result(name, function(&symbols.functions, raw))
        })
    }

    /// What was opened: a JSON object, not yet checked.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn describe(&mut self) -> Result<String, AbiError> {
        self.call("describe", |symbols, raw| {
            text::read(symbols, "describe", |buffer, capacity, needed| {
                // SAFETY: the context is alive; the buffer has `capacity` bytes, or is null and 0.
                unsafe {
                    symbols
                        .functions
                        .ckks_backend_describe(raw, buffer, capacity, needed)
                }
            })
        })
    }

    /// Makes the secret key and the evaluation keys for ascending rotation steps.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn keys(&mut self, steps: &[i64]) -> Result<ckks_backend_key_report, AbiError> {
        self.call("keys", |symbols, raw| {
            let mut report = ckks_backend_key_report::default();
            // SAFETY: the context is alive, the steps are readable for their length, the report is
            // writable.
            let status = unsafe {
                symbols
                    .functions
                    .ckks_backend_keys(raw, steps.as_ptr(), steps.len(), &mut report)
            };
            symbols.result("keys", status).map(|()| report)
        })
    }

    /// Starts a layer; the one before is dropped.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn prepare_begin(&mut self, program: &Program) -> Result<(), AbiError> {
        self.plain_call("prepare_begin", |functions, raw| {
            let program = program.raw();
            // SAFETY: the context is alive; the program points into a checked one, which is
            // borrowed for longer than the call.
            unsafe { functions.ckks_backend_prepare_begin(raw, &program) }
        })
    }

    /// Encodes the next diagonal, a slot vector.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn prepare_diagonal(&mut self, diagonal: u64, values: &[f64]) -> Result<(), AbiError> {
        self.plain_call("prepare_diagonal", |functions, raw| {
            // SAFETY: the context is alive, the values are readable for their length.
            unsafe {
                functions.ckks_backend_prepare_diagonal(
                    raw,
                    diagonal,
                    values.as_ptr(),
                    values.len(),
                )
            }
        })
    }

    /// Ends a layer.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn prepare_end(&mut self) -> Result<ckks_backend_prepare_report, AbiError> {
        self.call("prepare_end", |symbols, raw| {
            let mut report = ckks_backend_prepare_report::default();
            // SAFETY: the context is alive, the report is writable.
            let status = unsafe { symbols.functions.ckks_backend_prepare_end(raw, &mut report) };
            symbols.result("prepare_end", status).map(|()| report)
        })
    }

    /// Encodes and encrypts a batch of `ciphertexts` slot vectors; the one before is dropped.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn encrypt(
        &mut self,
        values: &[f64],
        ciphertexts: usize,
    ) -> Result<ckks_backend_transfer, AbiError> {
        self.call("encrypt", |symbols, raw| {
            let mut report = ckks_backend_transfer::default();
            // SAFETY: the context is alive, the values are readable for their length, the report
            // is writable.
            let status = unsafe {
                symbols.functions.ckks_backend_encrypt(
                    raw,
                    values.as_ptr(),
                    values.len(),
                    ciphertexts,
                    &mut report,
                )
            };
            symbols.result("encrypt", status).map(|()| report)
        })
    }

    /// Evaluates the layer on the batch. Work may still be under way on a device afterwards.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn evaluate(&mut self) -> Result<(), AbiError> {
        self.plain_call("evaluate", |functions, raw| {
            // SAFETY: the context is alive.
            unsafe { functions.ckks_backend_evaluate(raw) }
        })
    }

    /// Divides the answers by the weights' scale. Work may still be under way afterwards.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn rescale(&mut self) -> Result<(), AbiError> {
        self.plain_call("rescale", |functions, raw| {
            // SAFETY: the context is alive.
            unsafe { functions.ckks_backend_rescale(raw) }
        })
    }

    /// Refreshes every ciphertext of the batch. Work may still be under way afterwards.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn bootstrap(&mut self) -> Result<(), AbiError> {
        self.plain_call("bootstrap", |functions, raw| {
            // SAFETY: the context is alive.
            unsafe { functions.ckks_backend_bootstrap(raw) }
        })
    }

    /// Waits for the device.
    ///
    /// # Errors
    /// [`AbiError`] with what failed there since the last call.
    pub fn synchronise(&mut self) -> Result<(), AbiError> {
        self.plain_call("synchronise", |functions, raw| {
            // SAFETY: the context is alive.
            unsafe { functions.ckks_backend_synchronise(raw) }
        })
    }

    /// How many answers there are.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn answers(&mut self) -> Result<ckks_backend_transfer, AbiError> {
        self.call("answers", |symbols, raw| {
            let mut report = ckks_backend_transfer::default();
            // SAFETY: the context is alive, the report is writable.
            let status = unsafe { symbols.functions.ckks_backend_answers(raw, &mut report) };
            symbols.result("answers", status).map(|()| report)
        })
    }

    /// Decrypts and decodes all answers into `values`, whose length must be that of all their slot
    /// vectors. Values that are not finite are passed on; after a failure they are undefined.
    ///
    /// # Errors
    /// [`AbiError`], also for an object that did not write every value.
    pub fn decrypt(&mut self, values: &mut [f64]) -> Result<(), AbiError> {
        self.call("decrypt", |symbols, raw| {
            values.fill(f64::from_bits(UNWRITTEN));
            // SAFETY: the context is alive, the values are writable for their length.
            let status = unsafe {
                symbols
                    .functions
                    .ckks_backend_decrypt(raw, values.as_mut_ptr(), values.len())
            };
            symbols.result("decrypt", status)?;
            let unwritten = |value: &&f64| value.to_bits() == UNWRITTEN;
            match values.iter().filter(unwritten).count() {
                0 => Ok(()),
                missing => Err(AbiError::breach(
                    "decrypt",
                    format!("left {missing} of {} values unwritten", values.len()),
                )),
            }
        })
    }

    /// Memory in use on the device.
    ///
    /// # Errors
    /// [`AbiError`].
    pub fn bytes_used(&mut self) -> Result<ckks_backend_memory, AbiError> {
        self.call("bytes_used", |symbols, raw| {
            let mut report = ckks_backend_memory::default();
            // SAFETY: the context is alive, the report is writable.
            let status = unsafe { symbols.functions.ckks_backend_bytes_used(raw, &mut report) };
            symbols.result("bytes_used", status).map(|()| report)
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is alive, and nothing uses it after this. Freeing is allowed after
        // any failure. The object is still loaded: `symbols` is dropped later.
        unsafe { self.symbols.functions.ckks_backend_free(self.raw) }
    }
}
