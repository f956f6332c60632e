//! One thing that was looked for.

use super::Surroundings;
use serde::Serialize;
use std::env;
use std::path::{Path, PathBuf};

/// One thing that was looked for: where, in this order, and whether it is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Search {
    /// What it is.
    pub what: String,
    /// Where it was looked for, in this order.
    pub looked_in: Vec<String>,
    /// Where it is.
    pub found: Option<PathBuf>,
}

impl Search {
    /// Looks at the paths in turn; the first that exists is it.
    pub(super) fn first(what: impl Into<String>, places: Vec<PathBuf>) -> Self {
        Self {
            what: what.into(),
            looked_in: places.iter().map(|p| p.display().to_string()).collect(),
            found: places.into_iter().find(|place| place.exists()),
        }
    }
}

/// A program: a path as it is, a bare name in the folders of `PATH`.
pub(crate) fn find_program(name: &Path, surroundings: &Surroundings) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_owned());
    }
    let path = surroundings.variable("PATH")?;
    env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}
