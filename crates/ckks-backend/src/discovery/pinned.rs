//! Whether an installation is the pinned version, by the digests of its files.

use super::{Surroundings, digest};
use crate::vendor::{Pinned, PinnedFile};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Largest file that is read to be compared.
const MAX_BYTES: u64 = 16 << 20;

/// A file of the pinned version in an installation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileCheck {
    /// The file, below the folder of its variable.
    pub place: String,
    /// The variable.
    pub root: String,
    /// What was found.
    pub state: FileState,
}

/// What was found of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum FileState {
    /// The bytes of the pin.
    Matches,
    /// Other bytes.
    Differs {
        /// Where.
        path: PathBuf,
        /// SHA-256 of what is there.
        sha256: String,
    },
    /// No such file, or none that can be read.
    NotFound,
}

/// The files of the pinned version in an installation.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Verification {
    /// Each file.
    pub files: Vec<FileCheck>,
}

impl Verification {
    /// Whether every file is as at the pin.
    #[must_use]
    pub fn matches(&self) -> bool {
        let mut states = self.files.iter().map(|file| &file.state);
        !self.files.is_empty() && states.all(|state| *state == FileState::Matches)
    }

    /// A sentence for each file that is not as at the pin.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |file: &FileCheck| match &file.state {
            FileState::Matches => None,
            FileState::Differs { path, .. } => {
                Some(format!("{} differs from the pin", path.display()))
            }
            FileState::NotFound => Some(format!("${}/{} not found", file.root, file.place)),
        };
        self.files.iter().filter_map(complaint).collect()
    }

    /// The result in a few words.
    #[must_use]
    pub fn summary(&self) -> String {
        let all = self.files.len();
        let count = |wanted: fn(&FileState) -> bool| {
            self.files.iter().filter(|file| wanted(&file.state)).count()
        };
        let same = count(|state| *state == FileState::Matches);
        let differ = count(|state| matches!(state, FileState::Differs { .. }));
        if all == 0 {
            "nothing to compare".to_owned()
        } else if same == all {
            format!("all {all} headers compared are those of the pin")
        } else {
            let absent = all - same - differ;
            format!("of {all} headers {same} match the pin, {differ} differ, {absent} not found")
        }
    }
}

/// Compares the files of an installation with the pin. Those of variables that are not set are
/// not found.
#[must_use]
pub fn verify(pinned: &Pinned, surroundings: &Surroundings) -> Verification {
    let files = pinned.files.iter().map(|file| check(file, surroundings));
    Verification {
        files: files.collect(),
    }
}

fn check(file: &PinnedFile, surroundings: &Surroundings) -> FileCheck {
    let folder = surroundings.path(&file.root);
    let found = folder.and_then(|folder| {
        let mut places = file.places.iter();
        places.find_map(|place| {
            let path = folder.join(place);
            path.is_file().then_some((place, path))
        })
    });
    let place = found
        .as_ref()
        .map_or(file.places.first(), |(place, _)| Some(*place));
    let state = found.and_then(|(_, path)| Some((digest(&path, MAX_BYTES).ok()?, path)));
    FileCheck {
        place: place.cloned().unwrap_or_default(),
        root: file.root.clone(),
        state: match state {
            None => FileState::NotFound,
            Some((sha256, _)) if sha256 == file.sha256 => FileState::Matches,
            Some((sha256, path)) => FileState::Differs { path, sha256 },
        },
    }
}
