//! Plaintext memory as a Python object.

use std::ffi::c_int;

use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use sealed_weights::memory::PlainBuffer;

/// Plaintext in memory of its own, on huge pages, left out of core dumps. It implements the buffer
/// protocol, and lives until the last array or tensor over it is gone; the kernel clears its pages
/// then.
#[pyclass(frozen, module = "sealed_weights")]
#[derive(Debug)]
pub(crate) struct Buffer {
    data: *mut u8,
    length: usize,
    /// Owns what `data` points to; nobody looks at the bytes through it.
    _memory: PlainBuffer,
}

// SAFETY: the mapping belongs to this object alone and stays in place; Rust never reads or writes
// it after construction, and Python's rules for buffers hold for those who do.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub(crate) fn new(mut memory: PlainBuffer) -> Buffer {
        Buffer {
            data: memory.as_mut_ptr(),
            length: memory.len(),
            _memory: memory,
        }
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.length
    }

    /// Exports the bytes, writable: they are this process's own copy.
    ///
    /// # Safety
    /// `view` is one that Python asks to be filled.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        let length = ffi::Py_ssize_t::try_from(this.length)
            .map_err(|_| PyOverflowError::new_err("too many bytes for one buffer"))?;
        // SAFETY: the view is valid by the caller's promise; the memory has `length` bytes, does
        // not move, and lives as long as this object, of which the view takes a reference.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), this.data.cast(), length, 0, flags)
        };
        if filled == 0 {
            Ok(())
        } else {
            Err(PyErr::fetch(slf.py()))
        }
    }
}
