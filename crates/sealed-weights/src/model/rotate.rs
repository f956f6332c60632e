//! A new data key for a model: everything is sealed anew.

use super::extract::needed;
use super::seal::{next_version, now, seal_into, write_manifest, write_recipients};
use super::sealed::SealedModel;
use super::staging::{Access, Staging, check_room, lock_unchanged, parent_of, resolved};
use crate::core_header::ChunkSize;
use crate::error::{ModelError, SealError};
use crate::manifest::{Manifest, SignedManifest};
use crate::recipient::Recipient;
use crate::seal_file::FileSettings;
use crate::sealed_file::Trust;
use crate::secret::ModelKey;
use crate::signing::PublisherKey;
use crate::suite::Suite;
use crate::work::Work;

/// How to seal anew.
#[derive(Debug, Clone, Copy)]
pub struct RotateOptions {
    /// The cipher suite.
    pub suite: Suite,
    /// Plaintext bytes of a chunk.
    pub chunk_size: ChunkSize,
    /// Wait until every byte is on the disk before the old files go.
    pub sync: bool,
}

impl Default for RotateOptions {
    fn default() -> RotateOptions {
        RotateOptions {
            suite: Suite::for_this_machine(),
            chunk_size: ChunkSize::DEFAULT,
            sync: true,
        }
    }
}

/// A model that can be sealed anew.
#[derive(Debug)]
pub struct Rotation<'a> {
    model: &'a SealedModel,
    options: RotateOptions,
}

impl<'a> Rotation<'a> {
    /// Checks that the new files fit beside the old ones.
    ///
    /// # Errors
    /// [`crate::error::ModelError::NoRoom`], [`SealError::Io`].
    pub fn prepare(
        model: &'a SealedModel,
        options: RotateOptions,
    ) -> Result<Rotation<'a>, SealError> {
        let bytes = needed(model);
        let files = model.manifest().files.len() as u64;
        check_room(
            &parent_of(model.signed().directory()),
            bytes + bytes / 8192 + 8192 * files,
        )?;
        Ok(Rotation { model, options })
    }

    /// Seals every file under a fresh key, as the next version, and exchanges the directories in
    /// one step. Plaintext is held one chunk for each thread at a time, and is always checked
    /// against the old signature.
    ///
    /// # Errors
    /// [`SealError`]; the model is then as it was.
    pub fn run(
        &self,
        recipients: &[Box<dyn Recipient>],
        publisher: &PublisherKey,
        work: &Work<'_>,
    ) -> Result<SignedManifest, SealError> {
        let directory = &resolved(self.model.signed().directory())?;
        let signed = self.model.signed().signed();
        if signed.publisher() != publisher.id() {
            return Err(ModelError::OtherPublisher {
                found: signed.publisher().to_string(),
                given: publisher.id().to_string(),
            }
            .into());
        }
        let version = next_version(signed.manifest().version)?;
        let _lock = lock_unchanged(directory, self.model.signed().signed())?;
        let old = self.model.manifest();
        let key = ModelKey::random()?;
        let staging = Staging::beside(directory, Access::Usual)?;
        write_recipients(staging.path(), &old.model, old.model_id, &key, recipients)?;
        let settings = FileSettings {
            key: &key,
            model_id: old.model_id,
            suite: self.options.suite,
            chunk_size: self.options.chunk_size,
            sync: self.options.sync,
        };
        let mut files = Vec::with_capacity(old.files.len());
        for listed in &old.files {
            // What is signed anew must be what was signed, and not what a key holder made of it.
            let path = listed.path.as_str();
            let source = self.model.file_trusting(path, Trust::Publisher)?;
            let public_bytes = source.core().public_header.map_or(0, |p| p.length);
            files.push(seal_into(
                staging.path(),
                &settings,
                listed.path.clone(),
                &source,
                public_bytes,
                work,
            )?);
        }
        let manifest = Manifest {
            version,
            created: now(),
            key_id: key.id(old.model_id),
            files,
            ..old.clone()
        };
        let signed = write_manifest(staging.path(), manifest, &key, publisher)?;
        staging.publish_over(old)?;
        Ok(signed)
    }
}
