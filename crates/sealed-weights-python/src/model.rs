//! Sealed models as Python objects.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sealed_weights::error::SealError as Refusal;
use sealed_weights::model::{Policy, SealedModel};
use sealed_weights::path::SEALED_SUFFIX;
use sealed_weights::publisher_file::find_public;
use sealed_weights::recipient::{Options, parse_identity};
use sealed_weights::sealed_file::Trust;
use sealed_weights::work::{Silent, Work};

use crate::SealError;
use crate::buffer::Buffer;

/// A sealed model that has been checked and unlocked. Threads may share it.
#[pyclass(frozen, module = "sealed_weights")]
#[derive(Debug)]
pub(crate) struct Model {
    model: SealedModel,
    /// Of one file only, by logical path; of all otherwise.
    file: Option<String>,
    threads: NonZeroUsize,
}

impl Model {
    fn work(&self) -> Work<'static> {
        Work {
            threads: self.threads,
            progress: &Silent,
        }
    }

    /// The safetensors files that are looked at.
    fn files(&self) -> impl Iterator<Item = &str> {
        let all = self.model.manifest().files.iter();
        all.map(|file| file.path.as_str()).filter(|path| {
            path.ends_with(".safetensors") && self.file.as_deref().is_none_or(|only| only == *path)
        })
    }
}

#[pymethods]
impl Model {
    /// Checks and unlocks a model: manifest, signature, key, and the headers of all files. `path` is
    /// a sealed directory, or one file directly in it, whose tensors are then the only ones.
    #[staticmethod]
    #[pyo3(signature = (path, keys, publishers, any_publisher, min_version, trust, threads))]
    #[allow(clippy::too_many_arguments, reason = "Python names them")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        keys: Vec<String>,
        publishers: Vec<String>,
        any_publisher: bool,
        min_version: Option<u64>,
        trust: &str,
        threads: Option<usize>,
    ) -> PyResult<Model> {
        let trust = match trust {
            "publisher" => Trust::Publisher,
            "key-holders" => Trust::KeyHolders,
            other => {
                return Err(PyValueError::new_err(format!(
                    "trust is {other:?}; it must be 'publisher' or 'key-holders'"
                )));
            }
        };
        let threads = match threads {
            None => Work::default().threads,
            Some(threads) => NonZeroUsize::new(threads)
                .ok_or_else(|| PyValueError::new_err("threads must be at least 1"))?,
        };
        let opened = py.detach(|| -> Result<SealedModel, Refusal> {
            let publishers = publishers
                .iter()
                .map(|text| find_public(text))
                .collect::<Result<_, _>>()?;
            let identities = keys
                .iter()
                .map(|text| parse_identity(text, &Options::default()))
                .collect::<Result<Vec<_>, _>>()?;
            let policy = Policy {
                publishers,
                any_publisher,
                min_version,
                trust,
                ..Policy::default()
            };
            SealedModel::open(&path, &identities, policy)
        });
        let model = opened.map_err(refused)?;
        let file = match single_file(&path) {
            None => None,
            Some(name) => {
                model.file(&name).map_err(refused)?;
                Some(name)
            }
        };
        Ok(Model {
            model,
            file,
            threads,
        })
    }

    /// Name, version, publisher and manifest digest of the model.
    fn origin(&self) -> (String, u64, String, String) {
        let signed = self.model.signed().signed();
        let manifest = signed.manifest();
        (
            manifest.model.clone(),
            manifest.version,
            signed.publisher().to_string(),
            signed.digest().to_string(),
        )
    }

    /// The logical paths of the safetensors files.
    fn safetensors_files(&self) -> Vec<String> {
        self.files().map(str::to_owned).collect()
    }

    /// The names of all tensors, in the order of their bytes.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let names = py.detach(|| match &self.file {
            None => self.model.tensor_names().map(<[String]>::to_vec),
            Some(file) => {
                let header = self.model.file(file)?.safetensors_header()?;
                Ok(header.tensors().iter().map(|t| t.name.clone()).collect())
            }
        });
        names.map_err(refused)
    }

    /// Of a tensor: file, dtype, shape, and the range of bytes in the file.
    #[allow(clippy::type_complexity, reason = "a tuple of Python")]
    fn info(
        &self,
        py: Python<'_>,
        name: &str,
    ) -> PyResult<(String, &'static str, Vec<u64>, u64, u64)> {
        let found = py
            .detach(|| self.model.tensor_info(name))
            .map_err(refused)?;
        let (path, info) = found;
        if self
            .file
            .as_deref()
            .is_some_and(|only| only != path.as_str())
        {
            return Err(SealError::new_err(format!(
                "tensor {name:?} is in {path}, not in this file"
            )));
        }
        let shape = info.shape.clone();
        let dtype = info.dtype.name();
        Ok((path.to_string(), dtype, shape, info.begin, info.end))
    }

    /// The `__metadata__` of the files; of several values for one key the first.
    fn metadata(&self, py: Python<'_>) -> PyResult<Option<BTreeMap<String, String>>> {
        let merged = py.detach(|| -> Result<_, Refusal> {
            let mut merged: Option<BTreeMap<String, String>> = None;
            for path in self.files() {
                let header = self.model.file(path)?.safetensors_header()?;
                for (key, value) in header.metadata().into_iter().flatten() {
                    let merged = merged.get_or_insert_default();
                    merged.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            Ok(merged)
        });
        merged.map_err(refused)
    }

    /// Decrypts bytes `begin` to `end` of a file, or all of it; only their chunks are read.
    #[pyo3(signature = (path, begin = 0, end = None))]
    fn read(&self, py: Python<'_>, path: &str, begin: u64, end: Option<u64>) -> PyResult<Buffer> {
        let memory = py.detach(|| {
            let file = self.model.file(path)?;
            file.read(begin..end.unwrap_or(file.core().length), &self.work())
        });
        memory.map(Buffer::new).map_err(refused)
    }

    /// Checks every byte of the model.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.model.verify(&self.work()))
            .map_err(refused)
    }
}

/// The logical path of a sealed file that is named instead of its directory.
fn single_file(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(SEALED_SUFFIX)?;
    path.is_file().then(|| name.to_owned())
}

fn refused(error: Refusal) -> PyErr {
    SealError::new_err(error.to_string())
}
