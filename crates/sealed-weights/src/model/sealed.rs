//! A sealed model with its key at hand.

use std::path::Path;

use super::policy::Policy;
use super::signed::SignedModel;
use super::tensors::Catalogue;
use crate::error::SealError;
use crate::manifest::Manifest;
use crate::recipient::Identity;
use crate::sealed_file::{SealedFile, Trust};
use crate::secret::ModelKey;
use crate::work::Work;
use std::sync::OnceLock;

/// A sealed model that has been checked and unlocked. Plaintext exists only in the buffers that
/// its methods return. `Send + Sync`.
#[derive(Debug)]
pub struct SealedModel {
    signed: SignedModel,
    key: ModelKey,
    pub(super) catalogue: OnceLock<Catalogue>,
}

impl SealedModel {
    pub(super) fn new(signed: SignedModel, key: ModelKey) -> SealedModel {
        SealedModel {
            signed,
            key,
            catalogue: OnceLock::new(),
        }
    }

    /// Checks a directory against a policy and unlocks it; no content is read yet.
    ///
    /// # Errors
    /// As [`SignedModel::read`] and [`SignedModel::unlock`].
    pub fn open(
        path: &Path,
        identities: &[Box<dyn Identity>],
        policy: Policy,
    ) -> Result<SealedModel, SealError> {
        SignedModel::read(path, policy)?.unlock(identities)
    }

    /// What is known without a key.
    #[must_use]
    pub fn signed(&self) -> &SignedModel {
        &self.signed
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        self.signed.signed().manifest()
    }

    pub(super) fn key(&self) -> &ModelKey {
        &self.key
    }

    /// Opens the file of that logical path.
    ///
    /// # Errors
    /// [`crate::error::ModelError::UnknownFile`], and as [`SealedFile::open`].
    pub fn file(&self, path: &str) -> Result<SealedFile, SealError> {
        self.file_trusting(path, self.signed.policy().trust)
    }

    /// The same, whatever the policy trusts.
    pub(super) fn file_trusting(&self, path: &str, trust: Trust) -> Result<SealedFile, SealError> {
        let listed = self.signed.listed(path)?;
        SealedFile::open(self.signed.front(listed)?, listed, &self.key, trust)
    }

    /// Checks every byte of every file.
    ///
    /// # Errors
    /// As [`SealedFile::verify`], for the first file that is not authentic.
    pub fn verify(&self, work: &Work<'_>) -> Result<(), SealError> {
        for file in &self.manifest().files {
            self.file(file.path.as_str())?.verify(work)?;
        }
        Ok(())
    }
}
