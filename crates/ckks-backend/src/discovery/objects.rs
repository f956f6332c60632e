//! The shared objects with the shims, and what is recorded of how each was built.

use super::{Search, Surroundings, Verification};
use crate::vendor::Pinned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Name and version of the record's format.
pub const RECORD_SCHEMA: &str = "ckks-bench-shim/1";

/// Largest object and record that are read.
const MAX_OBJECT: u64 = 1 << 30;
const MAX_RECORD: u64 = 1 << 20;

/// What is written beside an object when it is built.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BuildRecord {
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// The library.
    pub library: String,
    /// The pin that its description had.
    pub pin: String,
    /// SHA-256 of the object.
    pub sha256: String,
    /// The installed headers against the pin.
    pub headers: Verification,
    /// The compiler and its arguments.
    pub command: Vec<String>,
}

/// The shared object with a shim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ShimObject {
    /// Where it is.
    pub path: PathBuf,
    /// What its record says of it.
    pub origin: String,
    /// Whether the record shows that it was built against the pin.
    pub from_pin: bool,
}

/// The folder of shims: `CKKS_BACKEND_PATH`, else `$XDG_DATA_HOME/ckks-bench/backends`, else
/// `~/.local/share/ckks-bench/backends`.
#[must_use]
pub fn default_folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let absolute = |name: &str| surroundings.path(name).filter(|path| path.is_absolute());
    surroundings.path("CKKS_BACKEND_PATH").or_else(|| {
        let data = absolute("XDG_DATA_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".local").join("share")))?;
        Some(data.join("ckks-bench").join("backends"))
    })
}

/// Looks for the shim of a library.
pub(super) fn search(pinned: &Pinned, surroundings: &Surroundings) -> Search {
    let place = default_folder(surroundings).map(|folder| folder.join(pinned.object_name()));
    Search::first("shim", place.into_iter().collect())
}

/// What is known of the object at a path.
pub(super) fn examine(pinned: &Pinned, path: PathBuf) -> ShimObject {
    let (origin, from_pin) = match read_record(&path) {
        None => ("no record of how it was built".to_owned(), false),
        Some(record) if record.library != pinned.name || record.schema != RECORD_SCHEMA => {
            ("its record is of something else".to_owned(), false)
        }
        Some(record) if digest(&path, MAX_OBJECT).ok().as_ref() != Some(&record.sha256) => {
            ("changed since it was built".to_owned(), false)
        }
        Some(record) if record.pin != pinned.pin.long() => {
            (format!("built for another pin: {}", record.pin), false)
        }
        Some(record) => (record.headers.summary(), record.headers.matches()),
    };
    ShimObject {
        path,
        origin,
        from_pin,
    }
}

fn read_record(object: &Path) -> Option<BuildRecord> {
    let mut text = String::new();
    let file = File::open(record_path(object)).ok()?;
    file.take(MAX_RECORD).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Where the record of an object is.
pub(crate) fn record_path(object: &Path) -> PathBuf {
    object.with_extension("build.json")
}

/// SHA-256 of a file of at most that many bytes, in hex.
pub(crate) fn digest(path: &Path, most: u64) -> io::Result<String> {
    if fs::metadata(path)?.len() > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    Ok(hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
