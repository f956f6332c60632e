//! Files of this repository that are used at run time: the shims' sources and the workers.

use super::{Search, Surroundings};
use std::path::{Path, PathBuf};

/// Where the sources of a shim are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShimSources {
    /// The folder with the sources.
    pub shim: PathBuf,
    /// The folder with our header.
    pub include: PathBuf,
}

/// The folder `below`, in the folder that the variable names or, where it is not set, in a folder
/// above the program or the current one.
fn search(what: &str, variable: &str, folder: &Path, file: &Path, s: &Surroundings) -> Search {
    if let Some(named) = s.path(variable) {
        return Search::first(what, vec![named.join(file)]);
    }
    let above = |start: &Option<PathBuf>| {
        let start = start.clone().unwrap_or_default();
        let folders: Vec<_> = start.ancestors().map(Path::to_owned).collect();
        folders
    };
    let mut candidates = above(&s.executable);
    candidates.extend(above(&s.current_folder));
    candidates.retain(|candidate| candidate.is_absolute());
    let found = candidates
        .into_iter()
        .map(|candidate| candidate.join(folder).join(file))
        .find(|candidate| candidate.exists());
    let folder = folder.display();
    Search {
        what: what.to_owned(),
        looked_in: vec![
            format!("${variable} (not set)"),
            format!("{folder} in the folders above the program"),
            format!("{folder} in the current folder and those above it"),
        ],
        found,
    }
}

/// Looks for a worker.
pub(super) fn worker(script: &str, surroundings: &Surroundings) -> Search {
    let (folder, file) = (Path::new("workers"), Path::new(script));
    search("worker", "CKKS_WORKERS", folder, file, surroundings)
}

/// Looks for the sources of a library's shim.
#[must_use]
pub fn shim_sources(name: &str, surroundings: &Surroundings) -> (Search, Option<ShimSources>) {
    let (folder, file) = (Path::new("cuda/shims"), Path::new(name));
    let what = "sources of the shim";
    let search = search(what, "CKKS_SHIMS", folder, file, surroundings);
    let sources = search.found.clone().and_then(|shim| {
        let include = shim.parent()?.parent()?.join("include");
        Some(ShimSources { shim, include })
    });
    (search, sources)
}
