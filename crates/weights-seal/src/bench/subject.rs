//! The file that is measured: plain, sealed, with its keys.

use super::load::io_error;
use super::made_up;
use crate::cancel::Cancel;
use crate::error::CliError;
use safetensors_header::{Header, LENGTH_BYTES};
use sealed_weights::error::SealError;
use sealed_weights::model::{Policy, SealJob, SealOptions};
use sealed_weights::publisher_file;
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipient::{Identity, Recipient};
use sealed_weights::sealed_file::Trust;
use sealed_weights::signing::{PublisherId, PublisherKey};
use sealed_weights::work::{Progress, Work};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Bytes of the tensor that is read alone.
pub const TENSOR_BYTES: u64 = 23_040_000;
/// The tensor of that size in a made-up file.
pub const TENSOR_NAME: &str = "layers.0.mlp.down_proj.weight";
/// Longest header read of a given file.
const MAX_HEADER: u64 = 100_000_000;

/// Where everything lies; a process of its own needs nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Paths {
    /// The plain file.
    pub plain: PathBuf,
    /// The sealed directory.
    pub sealed: PathBuf,
    /// The path of the file within.
    pub logical: String,
    /// The key file that opens it.
    pub key: PathBuf,
    /// Whose signature is trusted, in hexadecimal digits.
    pub publisher: String,
}

impl Paths {
    /// Who opens the sealed directory.
    ///
    /// # Errors
    /// [`SealError::Key`].
    pub fn identities(&self) -> Result<Vec<Box<dyn Identity>>, SealError> {
        Ok(vec![Box::new(KeyFile::read(&self.key)?)])
    }

    /// Whom it is sealed for.
    ///
    /// # Errors
    /// [`SealError::Key`].
    pub fn recipients(&self) -> Result<Vec<Box<dyn Recipient>>, SealError> {
        Ok(vec![Box::new(KeyFile::read(&self.key)?)])
    }

    /// What is insisted on.
    #[must_use]
    pub fn policy(&self, trust: Trust) -> Policy {
        let mut publisher = [0; 32];
        // Malformed digits name nobody, whose signature nothing has.
        let _ = hex::decode_to_slice(&self.publisher, &mut publisher);
        Policy {
            trust,
            ..Policy::publisher(PublisherId::new(publisher))
        }
    }

    /// The plain or the sealed file.
    #[must_use]
    pub fn source(&self, way: super::spec::Way) -> PathBuf {
        match way.trust() {
            None => self.plain.clone(),
            Some(_) => self.sealed_file(),
        }
    }

    /// The sealed file.
    #[must_use]
    pub fn sealed_file(&self) -> PathBuf {
        self.sealed.join(format!("{}.sealed", self.logical))
    }
}

/// A tensor of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorFact {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// The file that is measured.
#[derive(Debug)]
pub struct Subject {
    /// Where everything lies.
    pub paths: Paths,
    /// Who signs.
    pub publisher: PublisherKey,
    /// Bytes of the plain file.
    pub bytes: u64,
    /// Whether the file was made up.
    pub made_up: bool,
    /// The tensor nearest to 23 MB; `None` if the file is not safetensors.
    pub tensor: Option<TensorFact>,
    /// Holds everything that was written; removed when dropped.
    pub folder: TempDir,
}

/// Passes on that a signal asked the work to end.
#[derive(Debug)]
pub struct Watch<'a>(pub &'a Cancel);

impl Progress for Watch<'_> {
    fn advance(&self, _bytes: u64) -> ControlFlow<()> {
        match self.0.signal() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

impl Watch<'_> {
    /// Work with that many threads.
    #[must_use]
    pub fn work(&self, threads: usize) -> Work<'_> {
        Work {
            threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN),
            progress: self,
        }
    }
}

impl Subject {
    /// Takes the file, or makes one up of about `size` bytes, and seals it.
    ///
    /// # Errors
    /// [`CliError`]; nothing is left behind.
    pub fn prepare(
        file: Option<&Path>,
        size: u64,
        directory: &Path,
        threads: usize,
        watch: &Watch<'_>,
    ) -> Result<Subject, CliError> {
        let folder = temporary(directory)?;
        let plain = match file {
            Some(file) => file.to_path_buf(),
            None => {
                let path = folder.path().join("model.safetensors");
                made_up::write(&path, size, watch)?;
                path
            }
        };
        let bytes = std::fs::metadata(&plain)
            .map_err(io_error("look at", &plain))?
            .len();
        let logical = plain
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let key = folder.path().join("key");
        KeyFile::create(&key).map_err(SealError::from)?;
        let publisher =
            publisher_file::create(&folder.path().join("publisher")).map_err(SealError::from)?;
        let paths = Paths {
            sealed: folder.path().join("sealed"),
            plain,
            logical,
            key,
            publisher: publisher.id().to_string(),
        };
        SealJob::prepare(&paths.plain, &paths.sealed, SealOptions::default())?.run(
            &paths.recipients()?,
            &publisher,
            &watch.work(threads),
        )?;
        Ok(Subject {
            tensor: tensor_near(&paths.plain, bytes),
            paths,
            publisher,
            bytes,
            made_up: file.is_none(),
            folder,
        })
    }
}

/// A directory for what is written, below `directory`.
///
/// # Errors
/// [`CliError::Usage`] naming the directory.
pub fn temporary(directory: &Path) -> Result<TempDir, CliError> {
    tempfile::Builder::new()
        .prefix(".weights-seal-bench-")
        .tempdir_in(directory)
        .map_err(|error| {
            CliError::usage(format!(
                "cannot make a directory in {}: {error}; name another place with --dir or --shm",
                directory.display()
            ))
        })
}

/// The tensor whose length is nearest to 23 MB.
fn tensor_near(path: &Path, bytes: u64) -> Option<TensorFact> {
    if path.extension()? != "safetensors" {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let mut start = [0; LENGTH_BYTES as usize];
    file.read_exact(&mut start).ok()?;
    let length = Header::length(&start, bytes).ok()?;
    let mut json = vec![0; usize::try_from(length.min(MAX_HEADER)).ok()?];
    file.read_exact(&mut json).ok()?;
    let header = Header::parse(&json, bytes - LENGTH_BYTES - length).ok()?;
    let nearest = header
        .tensors()
        .iter()
        .min_by_key(|tensor| (tensor.end - tensor.begin).abs_diff(TENSOR_BYTES))?;
    Some(TensorFact {
        name: nearest.name.clone(),
        bytes: nearest.end - nearest.begin,
    })
}
