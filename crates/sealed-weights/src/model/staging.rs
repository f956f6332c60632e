//! Directories that appear whole or not at all.
//!
//! All is written beside the target under a hidden name, and becomes the target by one rename (or,
//! where something is replaced, by one exchange). A process that is killed leaves its hidden
//! directory, which holds only what the target would hold; the next one removes it. A lock tells
//! whether its owner still lives.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with, statvfs};

use super::documents::read_manifest;
use crate::error::{ModelError, SealError};
use crate::ids;
use crate::manifest::SignedManifest;

const MARK: &str = ".weights-seal-";

/// A hidden directory that will become `target`; removed when dropped before that.
#[derive(Debug)]
pub(crate) struct Staging {
    target: PathBuf,
    parent: PathBuf,
    directory: PathBuf,
    /// Held for as long as the directory is in use.
    _lock: File,
}

impl Staging {
    /// Makes the directory, and removes those that killed processes left for the same target.
    pub(crate) fn beside(target: &Path) -> Result<Staging, SealError> {
        let parent = parent_of(target);
        let name = target
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| ModelError::BadName {
                path: target.to_path_buf(),
                reason: "it does not end in a name of UTF-8 text".to_owned(),
            })?;
        let prefix = format!(".{name}{MARK}");
        let failed = |action| io_error(action, &parent);
        // No other process may look while a new directory is not locked yet.
        let guard = File::open(&parent).map_err(failed("open"))?;
        flock(&guard, FlockOperation::LockExclusive).map_err(|e| failed("lock")(e.into()))?;
        remove_left_behind(&parent, &prefix);
        let unique: [u8; 8] = ids::random()?;
        let directory = parent.join(format!("{prefix}{}", hex::encode(unique)));
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(io_error("create", &directory))?;
        let lock = File::open(&directory)
            .and_then(|file| Ok(flock(&file, FlockOperation::LockExclusive).map(|()| file)?))
            .map_err(io_error("lock", &directory))?;
        Ok(Staging {
            target: target.to_path_buf(),
            parent,
            directory,
            _lock: lock,
        })
    }

    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// Makes the directory the target, which must not exist.
    pub(crate) fn publish_new(self) -> Result<(), SealError> {
        self.sync()?;
        let exists = || ModelError::Exists {
            path: self.target.clone(),
        };
        let renamed = renameat_with(
            CWD,
            &self.directory,
            CWD,
            &self.target,
            RenameFlags::NOREPLACE,
        );
        match renamed {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(exists().into()),
            // A file system without that flag.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                if fs::symlink_metadata(&self.target).is_ok() {
                    return Err(exists().into());
                }
                fs::rename(&self.directory, &self.target)
                    .map_err(io_error("create", &self.target))?;
            }
            Err(errno) => return Err(io_error("create", &self.target)(errno.into())),
        }
        sync_directory(&self.parent)
    }

    /// Makes the directory the target in one step and removes what was there.
    pub(crate) fn publish_over(self) -> Result<(), SealError> {
        self.sync()?;
        renameat_with(
            CWD,
            &self.directory,
            CWD,
            &self.target,
            RenameFlags::EXCHANGE,
        )
        .map_err(|errno| match errno {
            rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS => ModelError::NoExchange {
                path: self.target.clone(),
                source: errno.into(),
            }
            .into(),
            other => io_error("replace", &self.target)(other.into()),
        })?;
        // The hidden directory, which is removed on dropping, now holds what was replaced.
        sync_directory(&self.parent)
    }

    fn sync(&self) -> Result<(), SealError> {
        sync_tree(&self.directory)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After publishing it is gone, or holds what was replaced.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Locks a directory that is there, so that two processes do not change it at once.
fn lock_directory(path: &Path) -> Result<File, SealError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(ModelError::Busy {
            path: path.to_path_buf(),
        }
        .into()),
        Err(errno) => Err(io_error("lock", path)(errno.into())),
    }
}

/// Locks a sealed directory and checks that it still has the manifest that was read before: after
/// another process replaced or rotated it, changes for the old key would make it unreadable.
pub(crate) fn lock_unchanged(path: &Path, read: &SignedManifest) -> Result<File, SealError> {
    let lock = lock_directory(path)?;
    if read_manifest(path)?.digest() == read.digest() {
        return Ok(lock);
    }
    Err(ModelError::DirectoryChanged {
        path: path.to_path_buf(),
        what: "it has another manifest now".to_owned(),
    }
    .into())
}

/// Fails unless `path`'s file system has room for `needed` bytes.
pub(crate) fn check_room(path: &Path, needed: u64) -> Result<(), SealError> {
    let stat = statvfs(path).map_err(|errno| io_error("look at", path)(errno.into()))?;
    let available = stat.f_bavail.saturating_mul(stat.f_frsize);
    // A file system without a limit, such as a tmpfs of size 0, states no blocks at all.
    if stat.f_blocks != 0 && available < needed {
        return Err(ModelError::NoRoom {
            path: path.to_path_buf(),
            available,
            needed,
        }
        .into());
    }
    Ok(())
}

/// The directory that holds `path`.
pub(crate) fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Waits until a directory's entries are on the disk.
pub(crate) fn sync_directory(path: &Path) -> Result<(), SealError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(io_error("sync", path))
}

fn sync_tree(path: &Path) -> Result<(), SealError> {
    for entry in fs::read_dir(path).map_err(io_error("list", path))? {
        let entry = entry.map_err(io_error("list", path))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            sync_tree(&entry.path())?;
        }
    }
    sync_directory(path)
}

fn remove_left_behind(parent: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let unlocked = File::open(entry.path())
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if unlocked {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> SealError {
    let path = path.to_path_buf();
    move |source| SealError::Io {
        action,
        path: path.clone(),
        source,
    }
}
