//! A sealed directory as it can be checked without any key.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::documents::{read_manifest, read_recipients};
use super::policy::Policy;
use super::sealed::SealedModel;
use crate::error::{ModelError, SealError};
use crate::manifest::{MANIFEST_NAME, Manifest, ManifestFile, SignedManifest};
use crate::recipient::{Identity, WrapContext, unwrap_any};
use crate::recipients::{RECIPIENTS_NAME, RecipientsFile};
use crate::sealed_file::Front;
use crate::work::Work;

/// A directory whose manifest satisfies a policy, and whose files are those listed: all there, no
/// others, each with the core header that was signed.
#[derive(Debug)]
pub struct SignedModel {
    directory: PathBuf,
    signed: SignedManifest,
    recipients: RecipientsFile,
    policy: Policy,
}

impl SignedModel {
    /// Reads and checks everything but the content. `path` is the directory, or a sealed file or
    /// the manifest directly in it.
    ///
    /// # Errors
    /// [`ModelError`], [`SealError::Document`], [`SealError::Header`], [`SealError::Length`],
    /// [`SealError::Io`].
    pub fn read(path: &Path, policy: Policy) -> Result<SignedModel, SealError> {
        let directory = if path.is_file() {
            super::staging::parent_of(path)
        } else {
            path.to_path_buf()
        };
        let signed = read_manifest(&directory)?;
        policy.check(&signed)?;
        let recipients = read_recipients(&directory)?;
        let manifest = signed.manifest();
        let expected = WrapContext::new(&manifest.model, manifest.model_id, manifest.key_id);
        let differences = expected.differences(&recipients.context());
        if !differences.is_empty() {
            return Err(ModelError::ContextDiffers {
                fields: differences.join(", "),
            }
            .into());
        }
        check_files(&directory, manifest)?;
        let model = SignedModel {
            directory,
            signed,
            recipients,
            policy,
        };
        for file in &model.signed.manifest().files {
            model.front(file)?;
        }
        Ok(model)
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The manifest and who signed it.
    #[must_use]
    pub fn signed(&self) -> &SignedManifest {
        &self.signed
    }

    /// The recipients section; not authentic before it is unlocked.
    #[must_use]
    pub fn recipients(&self) -> &RecipientsFile {
        &self.recipients
    }

    /// What was insisted on.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Bytes of plaintext.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.signed.manifest().files.iter().map(|f| f.length).sum()
    }

    /// Checks every byte of every file against the signature, without a key.
    ///
    /// # Errors
    /// [`SealError::Root`], [`SealError::ChunkHash`], [`SealError::Padding`] and the like for the
    /// first file that differs.
    pub fn verify_content(&self, work: &Work<'_>) -> Result<(), SealError> {
        for file in &self.signed.manifest().files {
            let front = self.front(file)?;
            let tables = front.signed_tables(file)?;
            front.check_content(&tables, work)?;
        }
        Ok(())
    }

    /// Unwraps the model key with one of the identities.
    ///
    /// # Errors
    /// [`SealError::Key`], [`ModelError::RecipientsMac`], [`ModelError::ManifestMac`].
    pub fn unlock(self, identities: &[Box<dyn Identity>]) -> Result<SealedModel, SealError> {
        let key = unwrap_any(identities, &self.recipients)?;
        if !self.signed.authentic(&key) {
            return Err(ModelError::ManifestMac.into());
        }
        Ok(SealedModel::new(self, key))
    }

    /// The listed file of that path.
    pub(crate) fn listed(&self, path: &str) -> Result<&ManifestFile, SealError> {
        let files = &self.signed.manifest().files;
        files
            .iter()
            .find(|file| file.path.as_str() == path)
            .ok_or_else(|| {
                let names = files.iter().map(|f| f.path.to_string());
                ModelError::UnknownFile {
                    path: safetensors_header::shown(path),
                    listing: safetensors_header::listing(files.len(), names),
                }
                .into()
            })
    }

    /// Opens a listed file and checks its header.
    pub(crate) fn front(&self, file: &ManifestFile) -> Result<Front, SealError> {
        let front = Front::read(&file.path.sealed_under(&self.directory))?;
        front.check_listed(file)?;
        Ok(front)
    }
}

/// Checks that the directory holds exactly the listed files.
pub(super) fn check_files(directory: &Path, manifest: &Manifest) -> Result<(), SealError> {
    let mut expected: HashSet<PathBuf> = [MANIFEST_NAME, RECIPIENTS_NAME]
        .map(|name| directory.join(name))
        .into();
    for file in &manifest.files {
        expected.insert(file.path.sealed_under(directory));
    }
    let mut missing = expected.clone();
    walk(directory, &mut |path| {
        if expected.contains(&path) {
            missing.remove(&path);
            Ok(())
        } else {
            Err(ModelError::Unlisted { path }.into())
        }
    })?;
    match missing.into_iter().min() {
        Some(path) => Err(ModelError::Missing { path }.into()),
        None => Ok(()),
    }
}

fn walk(
    directory: &Path,
    found: &mut dyn FnMut(PathBuf) -> Result<(), SealError>,
) -> Result<(), SealError> {
    let failed = |source| SealError::Io {
        action: "list",
        path: directory.to_path_buf(),
        source,
    };
    // Read to the end first: no descriptor is held for each level.
    let entries = fs::read_dir(directory)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(failed)?;
    for entry in entries {
        // Links are not followed: a link to a directory is an unlisted file.
        if entry.file_type().map_err(failed)?.is_dir() {
            walk(&entry.path(), found)?;
        } else {
            found(entry.path())?;
        }
    }
    Ok(())
}
