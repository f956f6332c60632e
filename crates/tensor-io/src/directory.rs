//! A directory of safetensors files, as checkpoints cut into shards are stored.

use std::path::{Path, PathBuf};

use safetensors_header::{Header, TensorInfo, close_names, listing};

use crate::byte_source::read_header;
use crate::error::{TensorError, shown};
use crate::local::LocalFile;

/// The file that makes a directory a sealed model.
const MANIFEST: &str = "sealed.manifest";

/// Whether a directory is a sealed model.
pub(crate) fn is_sealed(directory: &Path) -> bool {
    directory.join(MANIFEST).symlink_metadata().is_ok()
}

/// Whether a path looks like a file of a sealed model.
pub(crate) fn is_sealed_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "sealed")
}

/// The file below `directory` that holds the tensor, and where.
///
/// No index is believed: the headers of all files are read, which takes a few kilobytes each.
pub(crate) fn find(
    directory: &Path,
    tensor: Option<&str>,
) -> Result<(LocalFile, TensorInfo), TensorError> {
    let mut headers: Vec<(PathBuf, LocalFile, Header)> = Vec::new();
    for path in safetensors_files(directory)? {
        let mut file = LocalFile::open(&path)?;
        let header = read_header(&mut file)?;
        headers.push((path, file, header));
    }
    let tensors = || headers.iter().flat_map(|(_, _, header)| header.tensors());
    let Some(name) = tensor else {
        return Err(TensorError::MissingTensorName {
            location: directory.display().to_string(),
            listing: listing(
                tensors().count(),
                tensors().map(|t| format!("{} ({} {:?})", shown(&t.name), t.dtype, t.shape)),
            ),
        });
    };
    let holders: Vec<usize> = (0..headers.len())
        .filter(|&at| headers[at].2.find(name).is_some())
        .collect();
    match holders[..] {
        [at] => {
            let (_, file, header) = headers.swap_remove(at);
            match header.find(name) {
                Some(info) => Ok((file, info.clone())),
                None => Err(unknown(directory, name, std::iter::empty())),
            }
        }
        [first, second, ..] => Err(TensorError::DuplicateTensor {
            name: shown(name),
            first: headers[first].0.clone(),
            second: headers[second].0.clone(),
        }),
        [] => Err(unknown(directory, name, tensors().map(|t| t.name.as_str()))),
    }
}

fn unknown<'a>(directory: &Path, name: &str, names: impl Iterator<Item = &'a str>) -> TensorError {
    TensorError::UnknownTensor {
        location: directory.display().to_string(),
        name: shown(name),
        hint: close_names(name, names),
    }
}

/// The `.safetensors` files directly in a directory, sorted.
fn safetensors_files(directory: &Path) -> Result<Vec<PathBuf>, TensorError> {
    let failed = |source| TensorError::Io {
        action: "list",
        path: directory.to_path_buf(),
        source,
    };
    let mut paths = Vec::new();
    for entry in directory.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|e| e == "safetensors") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(TensorError::NoSafetensors {
            path: directory.to_path_buf(),
        });
    }
    paths.sort();
    Ok(paths)
}
