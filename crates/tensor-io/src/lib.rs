//! Reads weight matrices and input vectors from outside the program, and writes results.
//!
//! Everything this crate reads is untrusted: lengths are checked against the real size of the
//! file (or the size the server states) before memory is reserved for them, and every refusal is
//! a [`TensorError`] that names the offending value and the way out.
//!
//! * `WeightSource` (feature `sources`) names one 2-D tensor in a safetensors file: on disk, behind
//!   an HTTP(S) URL, or in a Hugging Face Hub repository. `WeightSource::load` reads just the header
//!   and that tensor. A directory of safetensors files serves as one file does, and with the feature
//!   `sealed` so does a sealed model.
//! * [`read_npy`] reads a batch of input vectors, [`write_npy_f64`] writes a batch of results.
//! * [`check_writable`] and [`write_atomically`] guard the output side: an output file appears
//!   whole or not at all.

mod atomic;
#[cfg(feature = "sources")]
mod byte_source;
#[cfg(feature = "sources")]
mod decoder;
#[cfg(feature = "sources")]
mod directory;
mod error;
#[cfg(feature = "sources")]
mod http;
#[cfg(feature = "sources")]
mod hub;
#[cfg(feature = "sources")]
mod load;
#[cfg(feature = "sources")]
mod local;
mod matrix;
mod npy;
mod npy_header;
#[cfg(feature = "sources")]
mod redirect;
mod regular;
#[cfg(feature = "sealed")]
mod sealed;
#[cfg(feature = "sources")]
mod source;

pub use atomic::{check_writable, write_atomically};
pub use error::{NpyDefect, TensorError};
#[cfg(feature = "sources")]
pub use hub::{AccessToken, DEFAULT_HUB_ENDPOINT, HubConfig};
#[cfg(feature = "sources")]
pub use load::{LoadOptions, LoadedMatrix, SealedOrigin};
pub use matrix::WeightMatrix;
pub use npy::{InputBatch, read_npy, write_npy_f64};
#[cfg(feature = "sources")]
pub use safetensors_header::Dtype;
pub use safetensors_header::HeaderDefect;
#[cfg(feature = "sealed")]
pub use sealed::{SealedOptions, load_sealed};
#[cfg(feature = "sources")]
pub use source::WeightSource;
