//! The native half of the Python package `sealed_weights`: models and memory. What becomes of the
//! memory, arrays of numpy or tensors of torch, is decided in Python.

mod buffer;
mod model;

use pyo3::prelude::*;

pyo3::create_exception!(
    sealed_weights,
    SealError,
    pyo3::exceptions::PyException,
    "A sealed model was refused, or cannot be read. Nothing of what was asked for is returned."
);

/// Sealed models and plaintext memory.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::SealError;
    #[pymodule_export]
    use super::buffer::Buffer;
    #[pymodule_export]
    use super::model::Model;
}
