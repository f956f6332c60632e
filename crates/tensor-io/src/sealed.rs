//! Weights out of sealed models.

use std::num::NonZeroUsize;
use std::path::Path;

use safetensors_header::listing;
use sealed_weights::error::SealError;
use sealed_weights::model::{Policy, SealedModel};
use sealed_weights::recipient::{Options, parse_identity};
use sealed_weights::sealed_file::SealedFile;
use sealed_weights::work::Work;
use zeroize::Zeroizing;

use crate::byte_source::{ByteSource, Sink};
use crate::error::{TensorError, shown};
use crate::load::{LoadOptions, LoadedMatrix, SealedOrigin, read_matrix};

/// Plaintext that is decrypted, checked and decoded at a time.
const PIECE: u64 = 8 << 20;

/// How sealed models are opened.
#[derive(Debug, Clone, Default)]
pub struct SealedOptions {
    /// The keys to try, as the texts that [`parse_identity`] reads, such as `key-file:PATH`. None
    /// holds a secret.
    pub keys: Vec<String>,
    /// How the keys are reached.
    pub access: Options,
    /// Whose models are accepted, and which versions.
    pub policy: Policy,
    /// Check every byte of every file of the model before the tensor is read (default: no).
    ///
    /// Without it the manifest, the headers of all files and the key are checked at once, and each
    /// chunk of the tensor before it is used: what is served is authentic either way. A program
    /// that goes on to serve a whole model turns this on, to know before it begins that the rest
    /// is.
    pub verify_all: bool,
    /// Threads that decrypt (default: as many as the process may run at once).
    pub threads: Option<NonZeroUsize>,
}

impl SealedOptions {
    /// Opens a sealed model, checked as far as these options say.
    ///
    /// # Errors
    /// [`TensorError::Sealed`].
    pub fn open(&self, directory: &Path) -> Result<SealedModel, TensorError> {
        let refuse = |source| refusal(directory, source);
        let identities = self
            .keys
            .iter()
            .map(|text| parse_identity(text, &self.access))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| refuse(error.into()))?;
        let model =
            SealedModel::open(directory, &identities, self.policy.clone()).map_err(refuse)?;
        if self.verify_all {
            model.verify(&self.work()).map_err(refuse)?;
        }
        Ok(model)
    }

    fn work(&self) -> Work<'static> {
        let work = Work::default();
        Work {
            threads: self.threads.unwrap_or(work.threads),
            ..work
        }
    }
}

/// The matrix of that name in a model that is open; of `options`, only what concerns the matrix
/// and the threads counts.
///
/// # Errors
/// [`TensorError::Sealed`] if anything read is not authentic, and as
/// [`WeightSource::load`](crate::WeightSource::load) for the tensor.
pub fn load_sealed(
    model: &SealedModel,
    tensor: Option<&str>,
    options: &LoadOptions,
) -> Result<LoadedMatrix, TensorError> {
    let directory = model.signed().directory();
    let refuse = |source| refusal(directory, source);
    let Some(name) = tensor else {
        let names = model.tensor_names().map_err(refuse)?;
        return Err(TensorError::MissingTensorName {
            location: directory.display().to_string(),
            listing: listing(names.len(), names.iter().map(|name| shown(name))),
        });
    };
    let (path, info) = model.tensor_info(name).map_err(refuse)?;
    let mut source = SealedSource {
        directory,
        file: model.file(path.as_str()).map_err(refuse)?,
        work: options.sealed.work(),
        bytes_read: 0,
    };
    let (matrix, shape) = read_matrix(&mut source, info, options)?;
    let signed = model.signed().signed();
    Ok(LoadedMatrix {
        matrix,
        source: format!("sealed:{}#{}", directory.display(), shown(name)),
        location: source.location(),
        dtype: info.dtype,
        shape,
        bytes_read: source.bytes_read,
        sealed: Some(SealedOrigin {
            model: shown(&model.manifest().model),
            version: model.manifest().version,
            publisher: signed.publisher().to_string(),
            manifest: signed.digest().to_string(),
        }),
    })
}

fn refusal(directory: &Path, source: SealError) -> TensorError {
    TensorError::Sealed {
        path: directory.to_path_buf(),
        source: Box::new(source),
    }
}

/// A sealed safetensors file as a source of plaintext.
struct SealedSource<'a> {
    directory: &'a Path,
    file: SealedFile,
    work: Work<'a>,
    bytes_read: u64,
}

impl ByteSource for SealedSource<'_> {
    fn location(&self) -> String {
        self.file.path().display().to_string()
    }

    fn size(&self) -> u64 {
        self.file.core().length
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn read_range(&mut self, start: u64, end: u64, sink: &mut Sink<'_>) -> Result<(), TensorError> {
        // From the largest piece on that ends with a chunk, so that none is decrypted twice.
        let mut at = start;
        let mut buffer = Zeroizing::new(Vec::new());
        while at < end {
            let next = (at + PIECE).min(end);
            let cut = next - next % self.file.core().chunk_size.bytes() as u64;
            let next = if next < end && cut > at { cut } else { next };
            buffer.resize((next - at) as usize, 0);
            self.file
                .read_into(at, &mut buffer, &self.work)
                .map_err(|source| refusal(self.directory, source))?;
            self.bytes_read += next - at;
            sink(&buffer)?;
            at = next;
        }
        Ok(())
    }
}
