//! Directories that appear whole or not at all.
//!
//! All is written beside the target under a hidden name, and becomes the target by one rename (or,
//! where something is replaced, by one exchange). A process that is killed leaves its hidden
//! directory, which holds only what the target would hold; the next one removes it. A lock tells
//! whether its owner still lives.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, renameat_with, statvfs};

use super::documents::read_manifest;
use super::signed::check_files;
use crate::document::decode_hex;
use crate::error::{ModelError, SealError};
use crate::ids;
use crate::manifest::{Manifest, SignedManifest};

const MARK: &str = ".weights-seal-";

/// Names tried before giving up; they are random, so one is enough but for a race.
const ATTEMPTS: usize = 16;

/// Who may look into a new directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Whoever the process's umask lets: for ciphertext.
    Usual,
    /// The owner only: for plaintext.
    Private,
}

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
    pub(crate) fn beside(target: &Path, access: Access) -> Result<Staging, SealError> {
        let parent = parent_of(target);
        let prefix = hidden_prefix(target)?;
        remove_left_behind(&parent, &prefix);
        let mode = match access {
            Access::Usual => 0o777,
            Access::Private => 0o700,
        };
        for _ in 0..ATTEMPTS {
            let unique: [u8; 8] = ids::random()?;
            let directory = parent.join(format!("{prefix}{}", hex::encode(unique)));
            DirBuilder::new()
                .mode(mode)
                .create(&directory)
                .map_err(io_error("create", &directory))?;
            let lock = open_directory(&directory).map_err(io_error("open", &directory))?;
            let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            // Between making and locking, another process may have taken it for one left behind.
            let same = fs::symlink_metadata(&directory)
                .is_ok_and(|now| lock.metadata().is_ok_and(|ours| now.ino() == ours.ino()));
            if locked && same {
                return Ok(Staging {
                    target: target.to_path_buf(),
                    parent,
                    directory,
                    _lock: lock,
                });
            }
        }
        Err(ModelError::Busy {
            path: target.to_path_buf(),
        }
        .into())
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

    /// Makes the directory the target in one step, with the mode and the owner of what was there,
    /// and removes the files of `old`.
    ///
    /// The target must hold exactly those: anything else in it would be lost.
    pub(crate) fn publish_over(self, old: &Manifest) -> Result<(), SealError> {
        keep_owner(&self.target, &self.directory)?;
        self.sync()?;
        check_files(&self.target, old)?;
        renameat_with(
            CWD,
            &self.directory,
            CWD,
            &self.target,
            RenameFlags::EXCHANGE,
        )
        .map_err(|errno| match errno {
            rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::BUSY => {
                ModelError::NoExchange {
                    path: self.target.clone(),
                    source: errno.into(),
                }
                .into()
            }
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

/// A sealed directory itself, where a link to it is given: exchanging the link would leave the
/// directory as it was.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf, SealError> {
    fs::canonicalize(path).map_err(io_error("open", path))
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

/// How hidden directories for a target begin.
pub(crate) fn hidden_prefix(target: &Path) -> Result<String, SealError> {
    let name = target
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| ModelError::BadName {
            path: target.to_path_buf(),
            reason: "it does not end in a name of UTF-8 text".to_owned(),
        })?;
    Ok(format!(".{name}{MARK}"))
}

/// Removes what killed processes of this user left for a target: directories of exactly the form
/// of their names, which nobody holds locked.
pub(crate) fn remove_left_behind(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let unique = name.to_str().and_then(|name| name.strip_prefix(prefix));
        if unique.and_then(decode_hex::<8>).is_none() {
            continue;
        }
        let Ok(directory) = open_directory(&entry.path()) else {
            continue;
        };
        let own = directory
            .metadata()
            .is_ok_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw());
        if own && flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Opens a directory itself: no link to one, and nothing that could block.
fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Gives a new file, or a directory with the files in it, the owner and itself the mode of an old
/// one.
pub(crate) fn keep_owner(old: &Path, new: &Path) -> Result<(), SealError> {
    let metadata = fs::metadata(old).map_err(io_error("look at", old))?;
    let mode = fs::Permissions::from_mode(metadata.mode() & 0o7777);
    fs::set_permissions(new, mode).map_err(io_error("set the mode of", new))?;
    let ours = fs::metadata(new).map_err(io_error("look at", new))?;
    if (ours.uid(), ours.gid()) == (metadata.uid(), metadata.gid()) {
        return Ok(());
    }
    give(new, metadata.uid(), metadata.gid())
}

fn give(path: &Path, uid: u32, gid: u32) -> Result<(), SealError> {
    lchown(path, Some(uid), Some(gid)).map_err(io_error("keep the owner of", path))?;
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        for entry in fs::read_dir(path).map_err(io_error("list", path))? {
            give(&entry.map_err(io_error("list", path))?.path(), uid, gid)?;
        }
    }
    Ok(())
}

pub(crate) fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> SealError {
    let path = path.to_path_buf();
    move |source| SealError::Io {
        action,
        path: path.clone(),
        source,
    }
}
