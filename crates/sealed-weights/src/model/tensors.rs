//! Single tensors out of sealed safetensors files.

use std::collections::HashMap;

use safetensors_header::{Dtype, Header, LENGTH_BYTES, TensorInfo, close_names, shown};
use zeroize::Zeroizing;

use super::sealed::SealedModel;
use crate::error::{ModelError, SealError};
use crate::memory::PlainBuffer;
use crate::path::LogicalPath;
use crate::plain::PlainSource;
use crate::sealed_file::SealedFile;
use crate::work::Work;

/// A tensor in memory.
#[derive(Debug)]
pub struct Tensor {
    /// Element type.
    pub dtype: Dtype,
    /// Sides, outermost first.
    pub shape: Vec<u64>,
    /// Elements, row-major, little-endian.
    pub data: PlainBuffer,
}

/// Where each tensor of a model lies.
#[derive(Debug)]
pub(super) struct Catalogue {
    tensors: HashMap<String, (usize, TensorInfo)>,
    names: Vec<String>,
}

impl SealedModel {
    /// The names of all tensors, sorted by file and then by place.
    ///
    /// # Errors
    /// As [`SealedModel::tensor`].
    pub fn tensor_names(&self) -> Result<&[String], SealError> {
        Ok(&self.catalogue()?.names)
    }

    /// Type, shape and place of a tensor, and the file that holds it.
    ///
    /// # Errors
    /// As [`SealedModel::tensor`].
    pub fn tensor_info(&self, name: &str) -> Result<(&LogicalPath, &TensorInfo), SealError> {
        let catalogue = self.catalogue()?;
        let (file, info) = catalogue.tensors.get(name).ok_or_else(|| {
            SealError::from(ModelError::UnknownTensor {
                name: shown(name),
                hint: close_names(name, catalogue.names.iter().map(String::as_str)),
            })
        })?;
        Ok((&self.manifest().files[*file].path, info))
    }

    /// Decrypts one tensor; only the chunks that hold it are read.
    ///
    /// # Errors
    /// [`ModelError::UnknownTensor`], [`ModelError::DuplicateTensor`],
    /// [`ModelError::NotSafetensors`], and as [`SealedFile::read`].
    pub fn tensor(&self, name: &str, work: &Work<'_>) -> Result<Tensor, SealError> {
        let (path, info) = self.tensor_info(name)?;
        let data = self.file(path.as_str())?.read(info.begin..info.end, work)?;
        Ok(Tensor {
            dtype: info.dtype,
            shape: info.shape.clone(),
            data,
        })
    }

    fn catalogue(&self) -> Result<&Catalogue, SealError> {
        if let Some(catalogue) = self.catalogue.get() {
            return Ok(catalogue);
        }
        let mut catalogue = Catalogue {
            tensors: HashMap::new(),
            names: Vec::new(),
        };
        let files = &self.manifest().files;
        for (number, listed) in files.iter().enumerate() {
            if !listed.path.is_safetensors() {
                continue;
            }
            let file = self.file(listed.path.as_str())?;
            for info in file.safetensors_header()?.tensors() {
                let old = catalogue
                    .tensors
                    .insert(info.name.clone(), (number, info.clone()));
                if let Some((first, _)) = old {
                    return Err(ModelError::DuplicateTensor {
                        name: shown(&info.name),
                        first: files[first].path.to_string(),
                        second: listed.path.to_string(),
                    }
                    .into());
                }
                catalogue.names.push(info.name.clone());
            }
        }
        Ok(self.catalogue.get_or_init(|| catalogue))
    }
}

impl SealedFile {
    /// The header of a sealed safetensors file. If a readable copy of it is in the file, the two
    /// must agree.
    ///
    /// # Errors
    /// [`ModelError::NotSafetensors`], [`SealError::PublicHeader`], and as [`SealedFile::read`].
    pub fn safetensors_header(&self) -> Result<Header, SealError> {
        let (header, bytes) = read_header(self, &self.core().path)?;
        if let Some(public) = self.core().public_header {
            let mut text = Zeroizing::new(vec![0; bytes as usize]);
            self.read_at(0, &mut text)?;
            if u64::from(public.length) != bytes || *blake3::hash(&text).as_bytes() != public.hash {
                return Err(SealError::PublicHeader {
                    path: self.path().to_path_buf(),
                });
            }
        }
        Ok(header)
    }
}

/// Reads the header of a safetensors file; also returns its length with the length field.
pub(super) fn read_header(
    source: &dyn PlainSource,
    path: &LogicalPath,
) -> Result<(Header, u64), SealError> {
    let refuse = |defect: safetensors_header::HeaderDefect| ModelError::NotSafetensors {
        path: path.to_string(),
        reason: defect.to_string(),
    };
    let size = source.length();
    let mut start = [0; LENGTH_BYTES as usize];
    let known = size.min(LENGTH_BYTES) as usize;
    source.read_at(0, &mut start[..known])?;
    let length = Header::length(&start[..known], size).map_err(refuse)?;
    let mut json = Zeroizing::new(vec![0; length as usize]);
    source.read_at(LENGTH_BYTES, &mut json)?;
    let header = Header::parse(&json, size - LENGTH_BYTES - length).map_err(refuse)?;
    Ok((header, LENGTH_BYTES + length))
}
