//! Stored layers in sealed models.

use super::StoredBytes;
use super::error::ReadError;
use sealed_weights::error::SealError;
use sealed_weights::model::SealedModel;
use sealed_weights::sealed_file::SealedFile;
use sealed_weights::work::Work;

/// A stored layer in a sealed model. Every chunk is checked before it is used, and decrypted
/// straight into the memory that evaluation reads.
#[derive(Debug)]
pub struct SealedLayer<'a> {
    file: SealedFile,
    work: Work<'a>,
}

impl<'a> SealedLayer<'a> {
    /// The file of that logical path.
    ///
    /// # Errors
    /// As [`SealedModel::file`].
    pub fn open(model: &SealedModel, path: &str, work: Work<'a>) -> Result<Self, SealError> {
        Ok(Self {
            file: model.file(path)?,
            work,
        })
    }
}

impl StoredBytes for SealedLayer<'_> {
    fn length(&self) -> u64 {
        self.file.core().length
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), ReadError> {
        Ok(self.file.read_into(offset, out, &self.work)?)
    }
}
