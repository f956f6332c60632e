//! From a named source to a checked matrix.

use std::path::Path;
use std::time::Duration;

use safetensors_header::{Dtype, TensorInfo};

use crate::byte_source::{ByteSource, read_header};
use crate::decoder::Decoder;
use crate::directory;
use crate::error::{TensorError, shown};
use crate::http::{HttpClient, RemoteFile, Target};
use crate::hub::{self, HubConfig};
use crate::local::LocalFile;
use crate::matrix::{WeightMatrix, transposed};
use crate::redirect::parse_address;
#[cfg(feature = "sealed")]
use crate::sealed::{SealedOptions, load_sealed};
use crate::source::WeightSource;

/// How to load a weight matrix.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The tensor is stored `[in, out]` instead of `[out, in]`.
    pub transpose: bool,
    /// Largest tensor accepted, in bytes as stored (default 4 GiB).
    pub max_bytes: u64,
    /// Longest wait for a connection (default 15 s).
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes of an answer (default 60 s).
    pub read_timeout: Duration,
    /// Further attempts after a broken transfer, each resuming where it broke (default 4).
    pub max_retries: u32,
    /// Pause before the first further attempt; it doubles each time (default 0.5 s).
    pub retry_delay: Duration,
    /// The Hub for `hf://` sources (default: the public Hub without a token; see
    /// [`HubConfig::from_env`]).
    pub hub: HubConfig,
    /// How sealed models are opened (default: with no key, trusting nobody, so not at all).
    #[cfg(feature = "sealed")]
    pub sealed: SealedOptions,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions {
            transpose: false,
            max_bytes: 4 << 30,
            connect_timeout: Duration::from_secs(15),
            read_timeout: Duration::from_secs(60),
            max_retries: 4,
            retry_delay: Duration::from_millis(500),
            hub: HubConfig::default(),
            #[cfg(feature = "sealed")]
            sealed: SealedOptions::default(),
        }
    }
}

/// A weight matrix and where it came from.
#[derive(Debug, Clone)]
pub struct LoadedMatrix {
    /// The weights, always `[out, in]`.
    pub matrix: WeightMatrix,
    /// The source in its canonical text form (a URL's query is left out).
    pub source: String,
    /// The path or URL of the file that held the tensor.
    pub location: String,
    /// Element type as stored.
    pub dtype: Dtype,
    /// Shape as stored (before any transpose).
    pub shape: [usize; 2],
    /// Bytes read from disk, or bytes of all answer bodies read from the network. Of a sealed
    /// model, the plaintext bytes of the tensor.
    pub bytes_read: u64,
    /// Whose word the weights rest on, if they were sealed.
    pub sealed: Option<SealedOrigin>,
}

/// What a sealed model says about itself, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedOrigin {
    /// The model's name.
    pub model: String,
    /// Its version.
    pub version: u64,
    /// The public key of the publisher who signed it, in hexadecimal.
    pub publisher: String,
    /// SHA-256 of the signed manifest, in hexadecimal.
    pub manifest: String,
}

impl WeightSource {
    /// Reads the header of the file and the one tensor that the source names.
    ///
    /// Of a directory, the headers of all its safetensors files are read. Of a sealed model, every
    /// header is checked before anything is decrypted, and every chunk before it is used; see
    /// `SealedOptions::verify_all` for the rest of it.
    ///
    /// # Errors
    ///
    /// [`TensorError::MissingTensorName`] (listing the tensors) or [`TensorError::UnknownTensor`]
    /// (with close names), [`TensorError::NotTwoDimensional`], [`TensorError::UnsupportedDtype`],
    /// [`TensorError::TensorTooLarge`] if the tensor is not acceptable, [`TensorError::Header`] if
    /// the file is not, [`TensorError::NoSafetensors`] and [`TensorError::DuplicateTensor`] if the
    /// directory is not, `TensorError::Sealed` if the sealed model is not, the refusals of
    /// [`WeightMatrix::from_output_major`], and the file, network and Hub variants of
    /// [`TensorError`] if the bytes cannot be had.
    pub fn load(&self, options: &LoadOptions) -> Result<LoadedMatrix, TensorError> {
        match self {
            WeightSource::Sealed { directory, tensor } => {
                self.sealed(directory, tensor.as_deref(), options)
            }
            WeightSource::File { path, tensor } if path.is_dir() => {
                if directory::is_sealed(path) {
                    return self.sealed(path, tensor.as_deref(), options);
                }
                let (mut file, tensor) = directory::find(path, tensor.as_deref())?;
                self.matrix(&mut file, &tensor, options)
            }
            WeightSource::File { path, .. } if directory::is_sealed_file(path) => {
                Err(TensorError::SealedFile { path: path.clone() })
            }
            WeightSource::File { path, .. } => {
                self.whole_file(&mut LocalFile::open(path)?, options)
            }
            WeightSource::Url { url, .. } => {
                let uri = parse_address(url).map_err(|reason| TensorError::BadSource {
                    text: self.to_string(),
                    reason,
                })?;
                let target = Target {
                    uri,
                    authorization: None,
                    hub: false,
                };
                let mut file = RemoteFile::open(HttpClient::new(options), target)?;
                self.whole_file(&mut file, options)
            }
            WeightSource::Hub {
                repo,
                revision,
                tensor,
            } => {
                let mut file = hub::open(repo, revision, tensor.as_deref(), options)?;
                self.whole_file(&mut file, options)
            }
        }
    }

    /// The tensor of a safetensors file.
    fn whole_file(
        &self,
        file: &mut dyn ByteSource,
        options: &LoadOptions,
    ) -> Result<LoadedMatrix, TensorError> {
        let header = read_header(file)?;
        let location = file.location();
        let Some(name) = self.tensor() else {
            return Err(TensorError::MissingTensorName {
                location,
                listing: header.listing(),
            });
        };
        let tensor = header
            .find(name)
            .ok_or_else(|| TensorError::UnknownTensor {
                location,
                name: shown(name),
                hint: header.hint(name),
            })?;
        self.matrix(file, tensor, options)
    }

    fn matrix(
        &self,
        file: &mut dyn ByteSource,
        tensor: &TensorInfo,
        options: &LoadOptions,
    ) -> Result<LoadedMatrix, TensorError> {
        let (matrix, shape) = read_matrix(file, tensor, options)?;
        Ok(LoadedMatrix {
            matrix,
            source: self.to_string(),
            location: file.location(),
            dtype: tensor.dtype,
            shape,
            bytes_read: file.bytes_read(),
            sealed: None,
        })
    }

    #[cfg(feature = "sealed")]
    fn sealed(
        &self,
        directory: &Path,
        tensor: Option<&str>,
        options: &LoadOptions,
    ) -> Result<LoadedMatrix, TensorError> {
        let model = options.sealed.open(directory)?;
        let loaded = load_sealed(&model, tensor, options)?;
        Ok(LoadedMatrix {
            source: self.to_string(),
            ..loaded
        })
    }

    #[cfg(not(feature = "sealed"))]
    fn sealed(
        &self,
        directory: &Path,
        _tensor: Option<&str>,
        _options: &LoadOptions,
    ) -> Result<LoadedMatrix, TensorError> {
        Err(TensorError::SealedNotBuilt {
            path: directory.to_path_buf(),
        })
    }
}

pub(crate) fn read_matrix(
    file: &mut dyn ByteSource,
    tensor: &TensorInfo,
    options: &LoadOptions,
) -> Result<(WeightMatrix, [usize; 2]), TensorError> {
    let [rows, width] = tensor.shape[..] else {
        return Err(TensorError::NotTwoDimensional {
            name: shown(&tensor.name),
            shape: tensor.shape.clone(),
        });
    };
    let mut decoder = Decoder::new(&tensor.name, tensor.dtype)?;
    let bytes = tensor.end - tensor.begin;
    if bytes > options.max_bytes {
        return Err(TensorError::TensorTooLarge {
            name: shown(&tensor.name),
            bytes,
            limit: options.max_bytes,
        });
    }
    let (Ok(rows), Ok(width)) = (usize::try_from(rows), usize::try_from(width)) else {
        return Err(TensorError::SizeOverflow {
            what: "a weight matrix",
            rows,
            width,
        });
    };
    file.read_range(tensor.begin, tensor.end, &mut |piece| decoder.push(piece))?;
    let values = decoder.into_values();
    // An empty tensor may claim a huge side; from_output_major refuses it.
    let matrix = if options.transpose && !values.is_empty() {
        let values = transposed(rows, width, &values);
        WeightMatrix::from_output_major(rows, width, values)?
    } else if options.transpose {
        WeightMatrix::from_output_major(rows, width, values)?
    } else {
        WeightMatrix::from_output_major(width, rows, values)?
    };
    Ok((matrix, [rows, width]))
}
