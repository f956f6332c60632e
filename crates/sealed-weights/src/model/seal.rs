//! Sealing a model directory.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use zeroize::Zeroizing;

use super::documents::{read_manifest, write_new};
use super::signed::check_files;
use super::source::{self, SourceFile};
use super::staging::{Access, Staging, check_room, lock_unchanged, parent_of, resolved};
use super::tensors::read_header;
use crate::core_header::ChunkSize;
use crate::error::{ModelError, SealError};
use crate::ids::ModelId;
use crate::manifest::{MANIFEST_NAME, Manifest, ManifestFile, SignedManifest};
use crate::path::LogicalPath;
use crate::plain::PlainSource;
use crate::recipient::{Recipient, WrapContext};
use crate::recipients::{RECIPIENTS_NAME, Recipients, RecipientsFile};
use crate::seal_file::{FileSettings, seal_file};
use crate::secret::ModelKey;
use crate::signing::PublisherKey;
use crate::suite::Suite;
use crate::work::Work;

/// How to seal a model.
#[derive(Debug, Clone)]
pub struct SealOptions {
    /// The model's name; by default that of the source.
    pub model: Option<String>,
    /// The version; by default 1, or one more than the model that is replaced.
    pub version: Option<u64>,
    /// The cipher suite.
    pub suite: Suite,
    /// Plaintext bytes of a chunk.
    pub chunk_size: ChunkSize,
    /// Leave the headers of safetensors files (names, shapes and types of tensors) readable.
    pub public_header: bool,
    /// Seal what symbolic links out of the directory lead to.
    pub follow_links: bool,
    /// Replace an older version of the same model at the destination.
    pub replace: bool,
    /// Wait until every byte is on the disk before the destination appears.
    pub sync: bool,
}

impl Default for SealOptions {
    fn default() -> SealOptions {
        SealOptions {
            model: None,
            version: None,
            suite: Suite::for_this_machine(),
            chunk_size: ChunkSize::DEFAULT,
            public_header: false,
            follow_links: false,
            replace: false,
            sync: true,
        }
    }
}

/// A model that has been looked at and can be sealed.
#[derive(Debug)]
pub struct SealJob {
    /// `None` for files in memory.
    source: Option<PathBuf>,
    destination: PathBuf,
    options: SealOptions,
    model: String,
    model_id: ModelId,
    version: u64,
    replaced: Option<SignedManifest>,
    files: Vec<SourceFile>,
}

impl SealJob {
    /// Looks at everything that can be known before the work starts.
    ///
    /// # Errors
    /// [`ModelError`] for a source that cannot be sealed, a destination that exists or is too
    /// small, a version that does not grow; [`SealError::Io`].
    pub fn prepare(
        source: &Path,
        destination: &Path,
        options: SealOptions,
    ) -> Result<SealJob, SealError> {
        check_apart(source, destination)?;
        let files = source::list(source, options.follow_links)?;
        let mut job = SealJob::planned(files, destination, options, || default_name(source))?;
        job.source = Some(source.to_path_buf());
        Ok(job)
    }

    /// As [`SealJob::prepare`], for files that exist in memory only: their plaintext never reaches a
    /// disk, and is wiped when the job is dropped. The model is named after the destination unless
    /// the options name it.
    ///
    /// # Errors
    /// As [`SealJob::prepare`]; [`ModelError::BadName`] for a path that is given twice,
    /// [`ModelError::Empty`] without files.
    pub fn from_memory(
        files: Vec<(LogicalPath, Zeroizing<Vec<u8>>)>,
        destination: &Path,
        options: SealOptions,
    ) -> Result<SealJob, SealError> {
        if files.is_empty() {
            return Err(ModelError::Empty {
                path: PathBuf::from("memory"),
            }
            .into());
        }
        let name = || {
            destination
                .file_name()
                .map_or_else(|| "model".to_owned(), |n| n.to_string_lossy().into_owned())
        };
        SealJob::planned(source::in_memory(files)?, destination, options, name)
    }

    fn planned(
        files: Vec<SourceFile>,
        destination: &Path,
        options: SealOptions,
        default_name: impl FnOnce() -> String,
    ) -> Result<SealJob, SealError> {
        let model = options.model.clone().unwrap_or_else(default_name);
        let mut destination = destination.to_path_buf();
        let replaced = match fs::symlink_metadata(&destination) {
            Err(_) => None,
            Ok(_) if options.replace => {
                destination = resolved(&destination)?;
                let old = read_manifest(&destination)?;
                // Whatever else is there would be lost.
                check_files(&destination, old.manifest())?;
                Some(old)
            }
            Ok(_) => {
                return Err(ModelError::Exists { path: destination }.into());
            }
        };
        let (model_id, version) = match &replaced {
            None => (ModelId::random()?, options.version.unwrap_or(1)),
            Some(old) => successor(old, &model, options.version)?,
        };
        // Header, padding and tables of each file, generously.
        let needed = files
            .iter()
            .map(|f| f.length() + f.length() / 8192 + 8192)
            .sum();
        check_room(&parent_of(&destination), needed)?;
        Ok(SealJob {
            source: None,
            destination,
            options,
            model,
            model_id,
            version,
            replaced,
            files,
        })
    }

    /// Bytes of plaintext.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(SourceFile::length).sum()
    }

    /// Number of files.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The model's name.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The version that will be sealed.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Seals the model for `recipients`, signed by `publisher`. The destination appears whole or
    /// not at all.
    ///
    /// # Errors
    /// [`SealError`]; the destination is then as it was.
    pub fn run(
        self,
        recipients: &[Box<dyn Recipient>],
        publisher: &PublisherKey,
        work: &Work<'_>,
    ) -> Result<SignedManifest, SealError> {
        let _lock = match &self.replaced {
            Some(old) if old.publisher() != publisher.id() => {
                return Err(ModelError::OtherPublisher {
                    found: old.publisher().to_string(),
                    given: publisher.id().to_string(),
                }
                .into());
            }
            Some(old) => Some(lock_unchanged(&self.destination, old)?),
            None => None,
        };
        let key = ModelKey::random()?;
        let staging = Staging::beside(&self.destination, Access::Usual)?;
        // Before the long work: a recipient that refuses is known at once.
        write_recipients(staging.path(), &self.model, self.model_id, &key, recipients)?;
        let settings = FileSettings {
            key: &key,
            model_id: self.model_id,
            suite: self.options.suite,
            chunk_size: self.options.chunk_size,
            sync: self.options.sync,
        };
        let mut listed = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let plain = file.open()?;
            let public_bytes = self.public_bytes(file, plain.as_ref())?;
            listed.push(seal_into(
                staging.path(),
                &settings,
                file.logical.clone(),
                plain.as_ref(),
                public_bytes,
                work,
            )?);
        }
        self.check_source()?;
        let signed = write_manifest(
            staging.path(),
            Manifest {
                model: self.model.clone(),
                model_id: self.model_id,
                version: self.version,
                created: now(),
                key_id: key.id(self.model_id),
                files: listed,
            },
            &key,
            publisher,
        )?;
        match &self.replaced {
            Some(old) => staging.publish_over(old.manifest())?,
            None => staging.publish_new()?,
        }
        Ok(signed)
    }

    /// The length of the header to leave readable; refuses what only pretends to be safetensors.
    fn public_bytes(&self, file: &SourceFile, plain: &dyn PlainSource) -> Result<u32, SealError> {
        if !file.logical.is_safetensors() {
            return Ok(0);
        }
        let (_, bytes) = read_header(plain, &file.logical)?;
        Ok(if self.options.public_header {
            bytes as u32
        } else {
            0
        })
    }

    /// Compares the source with what it was at first: another writer would leave a model whose
    /// files do not belong together.
    fn check_source(&self) -> Result<(), SealError> {
        let Some(source) = &self.source else {
            return Ok(());
        };
        let now = source::list(source, self.options.follow_links)?;
        let what = if now.len() != self.files.len() {
            format!(
                "it had {} files and now has {}",
                self.files.len(),
                now.len()
            )
        } else if let Some((_, changed)) =
            self.files.iter().zip(&now).find(|(then, now)| then != now)
        {
            format!("{} is another file now", changed.logical)
        } else {
            return Ok(());
        };
        Err(ModelError::DirectoryChanged {
            path: source.clone(),
            what,
        }
        .into())
    }
}

/// Seals one file below a directory.
pub(super) fn seal_into(
    directory: &Path,
    settings: &FileSettings<'_>,
    logical: LogicalPath,
    source: &dyn PlainSource,
    public_bytes: u32,
    work: &Work<'_>,
) -> Result<ManifestFile, SealError> {
    let path = logical.sealed_under(directory);
    let failed = |source| SealError::Io {
        action: "create",
        path: path.clone(),
        source,
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let destination = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(failed)?;
    seal_file(
        settings,
        logical,
        source,
        public_bytes,
        &destination,
        &path,
        work,
    )
}

/// Wraps the key for everyone and writes the recipients section.
pub(super) fn write_recipients(
    directory: &Path,
    model: &str,
    model_id: ModelId,
    key: &ModelKey,
    recipients: &[Box<dyn Recipient>],
) -> Result<(), SealError> {
    let context = WrapContext::new(model, model_id, key.id(model_id));
    let entries = recipients
        .iter()
        .map(|recipient| recipient.wrap(key, &context))
        .collect::<Result<_, _>>()?;
    let path = directory.join(RECIPIENTS_NAME);
    let section = Recipients {
        model: model.to_owned(),
        model_id,
        key_id: key.id(model_id),
        recipients: entries,
    };
    match RecipientsFile::write(section, key) {
        Ok(file) => write_new(&path, file.text()),
        Err(defect) => Err(SealError::Document { path, defect }),
    }
}

/// Signs and writes the manifest.
pub(super) fn write_manifest(
    directory: &Path,
    manifest: Manifest,
    key: &ModelKey,
    publisher: &PublisherKey,
) -> Result<SignedManifest, SealError> {
    let path = directory.join(MANIFEST_NAME);
    match SignedManifest::sign(manifest, key, publisher) {
        Ok(signed) => write_new(&path, signed.text()).map(|()| signed),
        Err(defect) => Err(SealError::Document { path, defect }),
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}

fn successor(
    old: &SignedManifest,
    model: &str,
    version: Option<u64>,
) -> Result<(ModelId, u64), ModelError> {
    let old = old.manifest();
    if old.model != model {
        return Err(ModelError::ContextDiffers {
            fields: format!("model ('{}' is there, '{model}' is new)", old.model),
        });
    }
    let next = next_version(old.version)?;
    match version {
        Some(wanted) if wanted < next => Err(ModelError::OldVersion {
            found: wanted,
            wanted: next,
        }),
        wanted => Ok((old.model_id, wanted.unwrap_or(next))),
    }
}

/// The version after `version`.
pub(super) fn next_version(version: u64) -> Result<u64, ModelError> {
    version
        .checked_add(1)
        .ok_or(ModelError::LastVersion { version })
}

/// Refuses a destination inside the source, which would be sealed into itself, and a source inside
/// the destination, which would be replaced together with it.
fn check_apart(source: &Path, destination: &Path) -> Result<(), SealError> {
    let source = resolved(source)?;
    let inside = match fs::canonicalize(destination) {
        Ok(destination) => destination.starts_with(&source) || source.starts_with(&destination),
        Err(_) => resolved(&parent_of(destination))?.starts_with(&source),
    };
    if inside {
        return Err(ModelError::BadName {
            path: destination.to_path_buf(),
            reason: "it lies inside the source, or the source inside it; choose a place apart"
                .to_owned(),
        }
        .into());
    }
    Ok(())
}

fn default_name(source: &Path) -> String {
    fs::canonicalize(source)
        .ok()
        .as_deref()
        .and_then(Path::file_name)
        .map_or_else(|| "model".to_owned(), |n| n.to_string_lossy().into_owned())
}
