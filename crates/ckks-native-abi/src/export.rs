//! The functions of `ckks_backend.h`, which is their documentation.
//!
//! # Safety
//!
//! As the header has it: pointers are null or valid for the length that comes with them, a context
//! is one that `ckks_backend_open` made and that was not freed, and one thread makes all calls.
#![allow(
    clippy::missing_safety_doc,
    reason = "the module says it for all functions"
)]

use crate::engine::{self, Engine};
use crate::failure::{Failure, refuse};
use ckks_abi::sys::{
    CKKS_BACKEND_ABI_VERSION, CKKS_BACKEND_OK, ckks_backend_context, ckks_backend_key_report,
    ckks_backend_memory, ckks_backend_prepare_report, ckks_backend_program, ckks_backend_status,
    ckks_backend_transfer,
};
use ckks_abi::{Program, Status};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function: a failure becomes its status and the last error, and so does a
/// panic, after which the caller must not use the context.
fn guard(body: impl FnOnce() -> Result<(), Failure>) -> ckks_backend_status {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return CKKS_BACKEND_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(Status::Internal, describe_panic(&*panic)),
    };
    // A message has no zeros, but for those that it quotes.
    let message = CString::new(failure.message.replace('\0', "\u{fffd}")).unwrap_or_default();
    LAST_ERROR.set(message);
    failure.status.code()
}

fn describe_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a fault of this library: {}", text.unwrap_or("a panic"))
}

/// The values behind a pointer; none are needed where there are none.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for reads of `count` values.
unsafe fn values<'a, T>(name: &str, pointer: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check_pointer(name, pointer)?;
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(refuse(format!(
            "{count} values of {name} do not fit into memory"
        )));
    }
    // SAFETY: not null, aligned, of a possible length; valid by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

fn check_pointer<T>(name: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(refuse(format!("{name} is a null pointer")));
    }
    if !pointer.is_aligned() {
        return Err(refuse(format!(
            "{name} is not aligned to {} bytes",
            align_of::<T>()
        )));
    }
    Ok(())
}

/// Where a result goes. It may be uninitialised, and is written on success only.
struct Output<T>(*mut T);

impl<T> Output<T> {
    fn new(name: &str, pointer: *mut T) -> Result<Self, Failure> {
        check_pointer(name, pointer.cast_const())?;
        Ok(Self(pointer))
    }

    /// # Safety
    /// The pointer is valid for writes.
    unsafe fn write(self, value: T) {
        // SAFETY: not null and aligned; valid by the caller's promise.
        unsafe { self.0.write(value) }
    }
}

/// The engine behind a context.
///
/// # Safety
/// A context that is not null is one that `ckks_backend_open` made and that was not freed, and
/// nothing else refers to its engine.
unsafe fn engine<'a>(context: *mut ckks_backend_context) -> Result<&'a mut Engine, Failure> {
    let pointer: *mut Engine = context.cast();
    check_pointer("the context", pointer.cast_const())?;
    // SAFETY: made from a box of an engine; valid and unique by the caller's promise.
    Ok(unsafe { &mut *pointer })
}

/// Returns a text as the header describes it.
///
/// # Safety
/// `buffer` is null or valid for writes of `capacity` bytes, `needed` null or valid for a write.
unsafe fn text(
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let needed = Output::new("needed", needed)?;
    let mut bytes = text().into_bytes();
    bytes.push(0);
    let length = bytes.len();
    // SAFETY: by the caller's promise.
    unsafe { needed.write(length) };
    if buffer.is_null() && capacity == 0 {
        return Ok(());
    }
    check_pointer("the buffer", buffer.cast_const())?;
    if capacity < length {
        return Err(refuse(format!(
            "{capacity} bytes for a text that needs {length}"
        )));
    }
    // SAFETY: the buffer is valid for `capacity` bytes, which are enough, and is not ours.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), buffer, length) };
    Ok(())
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn ckks_backend_abi_version() -> u32 {
    CKKS_BACKEND_ABI_VERSION
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_info(
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> ckks_backend_status {
    // SAFETY: by the header.
    guard(|| unsafe { text(buffer, capacity, needed, engine::info) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_probe(
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> ckks_backend_status {
    // SAFETY: by the header.
    guard(|| unsafe { text(buffer, capacity, needed, engine::probe) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_open(
    spec: *const c_char,
    spec_length: usize,
    context: *mut *mut ckks_backend_context,
) -> ckks_backend_status {
    guard(|| {
        let output = Output::new("context", context)?;
        // SAFETY: by the header.
        let spec = unsafe { values::<u8>("the specification", spec.cast(), spec_length)? };
        let engine = Box::new(Engine::open(spec)?);
        // SAFETY: by the header.
        unsafe { output.write(Box::into_raw(engine).cast()) };
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_describe(
    context: *mut ckks_backend_context,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let engine = unsafe { engine(context)? };
        // SAFETY: by the header.
        unsafe { text(buffer, capacity, needed, || engine.describe()) }
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_keys(
    context: *mut ckks_backend_context,
    steps: *const i64,
    count: usize,
    report: *mut ckks_backend_key_report,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let (engine, steps) = unsafe { (engine(context)?, values("steps", steps, count)?) };
        let output = Output::new("report", report)?;
        let report = engine.keys(steps)?;
        // SAFETY: by the header.
        unsafe { output.write(report) };
        Ok(())
    })
}

/// Copies a program and checks it.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for reads of a structure of the size
/// that it states, and so are the arrays in it.
unsafe fn program(pointer: *const ckks_backend_program, slots: u32) -> Result<Program, Failure> {
    check_pointer("program", pointer)?;
    // SAFETY: not null and aligned; the size comes first in every version of the structure.
    let size = unsafe { (&raw const (*pointer).size).read() };
    if size != size_of::<ckks_backend_program>() {
        return Err(refuse(format!(
            "a program of {size} bytes; this library knows one of {}",
            size_of::<ckks_backend_program>()
        )));
    }
    // SAFETY: it has the size of this structure.
    let raw = unsafe { pointer.read() };
    let count = |what, count: u64| {
        usize::try_from(count).map_err(|_| refuse(format!("{count} {what} are too many")))
    };
    let (giants, terms) = (
        count("giants", raw.giant_count)?,
        count("terms", raw.term_count)?,
    );
    // SAFETY: by the caller's promise.
    let (giants, terms) = unsafe {
        (
            values("giants", raw.giants, giants)?,
            values("terms", raw.terms, terms)?,
        )
    };
    let (giants, terms) = (giants.to_vec(), terms.to_vec());
    Program::new(slots, raw.inputs, raw.outputs, raw.diagonals, giants, terms)
        .map_err(|error| refuse(error.to_string()))
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_prepare_begin(
    context: *mut ckks_backend_context,
    pointer: *const ckks_backend_program,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let engine = unsafe { engine(context)? };
        // SAFETY: by the header.
        let program = unsafe { program(pointer, engine.slots())? };
        engine.prepare_begin(program)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_prepare_diagonal(
    context: *mut ckks_backend_context,
    diagonal: u64,
    pointer: *const f64,
    count: usize,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let (engine, values) = unsafe { (engine(context)?, values("values", pointer, count)?) };
        engine.prepare_diagonal(diagonal, values)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_prepare_end(
    context: *mut ckks_backend_context,
    report: *mut ckks_backend_prepare_report,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let engine = unsafe { engine(context)? };
        let output = Output::new("report", report)?;
        let report = engine.prepare_end()?;
        // SAFETY: by the header.
        unsafe { output.write(report) };
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_encrypt(
    context: *mut ckks_backend_context,
    pointer: *const f64,
    count: usize,
    ciphertexts: usize,
    report: *mut ckks_backend_transfer,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let (engine, values) = unsafe { (engine(context)?, values("values", pointer, count)?) };
        let output = Output::new("report", report)?;
        let report = engine.encrypt(values, ciphertexts)?;
        // SAFETY: by the header.
        unsafe { output.write(report) };
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_evaluate(
    context: *mut ckks_backend_context,
) -> ckks_backend_status {
    // SAFETY: by the header.
    guard(|| unsafe { engine(context)? }.evaluate())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_rescale(
    context: *mut ckks_backend_context,
) -> ckks_backend_status {
    // SAFETY: by the header.
    guard(|| unsafe { engine(context)? }.rescale())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_bootstrap(
    context: *mut ckks_backend_context,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        unsafe { engine(context)? };
        let message = "this library has no bootstrapping";
        Err(Failure::new(Status::Unsupported, message))
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_synchronise(
    context: *mut ckks_backend_context,
) -> ckks_backend_status {
    // Nothing is ever under way. SAFETY: by the header.
    guard(|| unsafe { engine(context) }.map(drop))
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_answers(
    context: *mut ckks_backend_context,
    report: *mut ckks_backend_transfer,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let engine = unsafe { engine(context)? };
        let output = Output::new("report", report)?;
        let report = engine.answers()?;
        // SAFETY: by the header.
        unsafe { output.write(report) };
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_decrypt(
    context: *mut ckks_backend_context,
    pointer: *mut f64,
    count: usize,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        let engine = unsafe { engine(context)? };
        check_pointer("values", pointer.cast_const())?;
        let values = engine.decrypt(count)?;
        // SAFETY: there are `count` values, and the pointer is valid for as many.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), pointer, values.len()) };
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_bytes_used(
    context: *mut ckks_backend_context,
    report: *mut ckks_backend_memory,
) -> ckks_backend_status {
    guard(|| {
        // SAFETY: by the header.
        unsafe { engine(context)? };
        let output = Output::new("report", report)?;
        // SAFETY: by the header. There is no device but the CPU.
        unsafe { output.write(ckks_backend_memory::default()) };
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn ckks_backend_last_error() -> *const c_char {
    // The string stays where it is until the next failure of this thread.
    LAST_ERROR.with_borrow(|message| message.as_ptr())
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ckks_backend_free(context: *mut ckks_backend_context) {
    let pointer: *mut Engine = context.cast();
    // A panic while freeing has nowhere to be reported.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if check_pointer("the context", pointer.cast_const()).is_ok() {
            // SAFETY: made by `Box::into_raw` in `ckks_backend_open`, and not freed before.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn a_panic_is_an_internal_failure() {
        let message = |status| {
            assert_eq!(status, Status::Internal.code());
            // SAFETY: never null, and no call came since.
            let message = unsafe { CStr::from_ptr(ckks_backend_last_error()) };
            message.to_str().unwrap().to_owned()
        };
        let number = 7;
        assert!(message(guard(|| panic!("number {number}"))).ends_with(": number 7"));
        assert!(message(guard(|| panic!("zero \0"))).ends_with(": zero \u{fffd}"));
        assert!(message(guard(|| std::panic::panic_any(7))).ends_with(": a panic"));
    }
}
