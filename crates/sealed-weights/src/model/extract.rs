//! Opening a whole model into a directory in memory.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::statfs;

use super::sealed::SealedModel;
use super::staging::{
    Access, Staging, check_room, hidden_prefix, io_error, parent_of, remove_left_behind,
};
use crate::error::{ModelError, SealError};
use crate::work::Work;

/// `f_type` of the file systems whose files live in memory (Linux, statfs(2)).
const MEMORY_FILE_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Name that a hidden directory inside an empty one is called after.
const STAGED: &str = "model";

/// How to open a model into a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExtractOptions {
    /// Allow a directory whose files reach a disk.
    pub allow_disk: bool,
}

/// A directory that has been looked at and can take a model.
#[derive(Debug)]
pub struct Extraction<'a> {
    model: &'a SealedModel,
    directory: PathBuf,
    exists: bool,
}

impl<'a> Extraction<'a> {
    /// Looks at everything that can be known before the work starts. `directory` must be absent or
    /// empty.
    ///
    /// # Errors
    /// [`ModelError::OnDisk`], [`ModelError::NoRoom`], [`ModelError::NotEmpty`], [`SealError::Io`].
    pub fn prepare(
        model: &'a SealedModel,
        directory: &Path,
        options: ExtractOptions,
    ) -> Result<Extraction<'a>, SealError> {
        let exists = fs::symlink_metadata(directory).is_ok();
        if exists {
            remove_left_behind(directory, &hidden_prefix(&directory.join(STAGED))?);
            let mut entries = fs::read_dir(directory).map_err(io_error("list", directory))?;
            if entries.next().is_some() {
                return Err(ModelError::NotEmpty {
                    path: directory.to_path_buf(),
                }
                .into());
            }
        }
        let place = if exists {
            directory.to_path_buf()
        } else {
            parent_of(directory)
        };
        if !options.allow_disk && !is_memory_file_system(&place)? {
            return Err(ModelError::OnDisk {
                path: directory.to_path_buf(),
            }
            .into());
        }
        check_room(&place, needed(model))?;
        Ok(Extraction {
            model,
            directory: directory.to_path_buf(),
            exists,
        })
    }

    /// Opens every file into the directory, readable by its owner only. A directory that was absent
    /// appears whole or not at all; one that was empty is empty again after a failure.
    ///
    /// # Errors
    /// As [`crate::sealed_file::SealedFile::copy_to`], for the first file that is not authentic.
    pub fn run(&self, work: &Work<'_>) -> Result<(), SealError> {
        if self.exists {
            // Whole first, in a hidden directory inside: what a killed process leaves is not taken
            // for a model.
            let staging = Staging::beside(&self.directory.join(STAGED), Access::Private)?;
            self.write_all(staging.path(), work)?;
            let moved = move_up(staging.path(), &self.directory);
            if moved.is_err() {
                empty(&self.directory);
            }
            moved
        } else {
            let staging = Staging::beside(&self.directory, Access::Private)?;
            self.write_all(staging.path(), work)?;
            staging.publish_new()
        }
    }

    fn write_all(&self, directory: &Path, work: &Work<'_>) -> Result<(), SealError> {
        for listed in &self.model.manifest().files {
            let path = listed.path.under(directory);
            if let Some(parent) = path.parent() {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(parent)
                    .map_err(io_error("create", parent))?;
            }
            let destination: File = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .map_err(io_error("create", &path))?;
            let file = self.model.file(listed.path.as_str())?;
            file.copy_to(&destination, &path, work)?;
        }
        Ok(())
    }
}

/// Whether what is written below a directory stays in memory (or in swap, unless that is off).
///
/// # Errors
/// [`SealError::Io`] if the directory cannot be looked at.
pub fn is_memory_file_system(directory: &Path) -> Result<bool, SealError> {
    let stat = statfs(directory).map_err(|errno| io_error("look at", directory)(errno.into()))?;
    // The field's type differs between architectures; the magic numbers have 32 bits.
    Ok(MEMORY_FILE_SYSTEMS.contains(&(stat.f_type as u64 & 0xffff_ffff)))
}

/// Bytes of whole pages.
pub(crate) fn needed(model: &SealedModel) -> u64 {
    model
        .manifest()
        .files
        .iter()
        .map(|file| file.length.next_multiple_of(4096))
        .fold(0, u64::saturating_add)
}

fn move_up(from: &Path, to: &Path) -> Result<(), SealError> {
    for entry in fs::read_dir(from).map_err(io_error("list", from))? {
        let entry = entry.map_err(io_error("list", from))?;
        let target = to.join(entry.file_name());
        fs::rename(entry.path(), &target).map_err(io_error("create", &target))?;
    }
    Ok(())
}

fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let _ = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
    }
}
