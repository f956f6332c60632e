//! The directory that a run mounts on, or opens into.

use crate::error::CliError;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where a directory is made: the first of these that can be written.
const PLACES: [&str; 2] = ["/dev/shm", "/run"];
/// Names tried before giving up; they are random, so one is enough.
const ATTEMPTS: usize = 16;

/// What a directory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To mount on: it stays empty for everyone outside the namespace.
    MountPoint,
    /// To hold plaintext.
    Plaintext,
}

impl Kind {
    fn prefix(self) -> String {
        let kind = match self {
            Kind::MountPoint => "mount",
            Kind::Plaintext => "open",
        };
        format!("weights-seal-{kind}-{}-", geteuid())
    }

    fn places(self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = PLACES.iter().map(PathBuf::from).collect();
        match self {
            // A file system in memory, and no other.
            Kind::Plaintext => places.truncate(1),
            Kind::MountPoint => {
                let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
                places.splice(0..0, runtime.filter(|path| path.is_absolute()));
            }
        }
        places
    }

    /// Removes a directory of this kind. Only an empty one where it should be empty.
    fn remove(self, path: &Path) -> io::Result<()> {
        match self {
            Kind::MountPoint => fs::remove_dir(path),
            Kind::Plaintext => fs::remove_dir_all(path),
        }
    }
}

/// A fresh directory of mode 0700, removed when dropped. A lock on it tells that it is in use: the
/// kernel gives it up however the process ends.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    kind: Kind,
    _lock: Flock<File>,
}

impl Directory {
    /// Makes a directory, after removing those that killed runs of the same user left.
    ///
    /// # Errors
    /// [`CliError::Exec`] where no place can be written.
    pub fn create(kind: Kind) -> Result<Directory, CliError> {
        let places = kind.places();
        for place in &places {
            remove_left_behind(place, kind);
        }
        let mut reasons = Vec::new();
        for place in &places {
            match create_in(place, kind) {
                Ok(directory) => return Ok(directory),
                Err(error) => reasons.push(format!("{}: {error}", place.display())),
            }
        }
        let reasons = reasons.join(", ");
        Err(CliError::Exec {
            message: match kind {
                Kind::MountPoint => format!(
                    "no directory can be made to mount on ({reasons}); pass --at with an existing \
                     directory"
                ),
                Kind::Plaintext => format!("no directory can be made to open into ({reasons})"),
            },
            code: super::program::FAILED,
        })
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = self.kind.remove(&self.path);
    }
}

fn create_in(place: &Path, kind: Kind) -> io::Result<Directory> {
    for _ in 0..ATTEMPTS {
        let path = place.join(format!("{}{}", kind.prefix(), unique()?));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other?,
        }
        let lock = match lock(&path) {
            Ok(lock) => lock,
            Err(error) => {
                let _ = fs::remove_dir(&path);
                return Err(error);
            }
        };
        // Between making and locking, another run may have taken it for one left behind.
        let same = fs::symlink_metadata(&path).is_ok_and(|now| {
            lock.metadata()
                .is_ok_and(|locked| now.ino() == locked.ino())
        });
        if same {
            return Ok(Directory {
                path,
                kind,
                _lock: lock,
            });
        }
    }
    Err(io::Error::other("no free name"))
}

fn lock(path: &Path) -> io::Result<Flock<File>> {
    let file = File::open(path)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

fn remove_left_behind(place: &Path, kind: Kind) {
    let prefix = kind.prefix();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(&prefix) {
            continue;
        }
        // Neither links nor what another user gave that name.
        let own = fs::symlink_metadata(entry.path())
            .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == geteuid().as_raw());
        if own && let Ok(_lock) = lock(&entry.path()) {
            let _ = kind.remove(&entry.path());
        }
    }
}

/// 16 hexadecimal digits from the operating system's generator.
fn unique() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_left_behind_go_and_those_in_use_stay() {
        let place = tempfile::tempdir().unwrap();
        for kind in [Kind::MountPoint, Kind::Plaintext] {
            let used = create_in(place.path(), kind).unwrap();
            let left = place.path().join(format!("{}0", kind.prefix()));
            fs::create_dir(&left).unwrap();
            fs::write(used.path().join("f"), b"x").unwrap();
            if kind == Kind::Plaintext {
                fs::write(left.join("f"), b"x").unwrap();
            }
            remove_left_behind(place.path(), kind);
            assert!(used.path().join("f").exists());
            assert!(!left.exists());
            let path = used.path().to_path_buf();
            fs::remove_file(path.join("f")).unwrap();
            drop(used);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_directory_to_mount_on_is_never_removed_with_something_in_it() {
        let place = tempfile::tempdir().unwrap();
        let directory = create_in(place.path(), Kind::MountPoint).unwrap();
        let path = directory.path().to_path_buf();
        fs::write(path.join("f"), b"x").unwrap();
        drop(directory);
        assert!(path.join("f").exists());
    }
}
