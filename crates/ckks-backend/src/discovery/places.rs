//! What of a library's installation is there.

use super::{Search, Surroundings};
use crate::vendor::{Part, Pinned, SystemHeader, Variable};
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

/// What a shim can be built against, and what is missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Installation {
    /// Every part that was looked for.
    pub searches: Vec<Search>,
    /// Paths of the parts that are there, by their names.
    pub parts: BTreeMap<String, PathBuf>,
    /// What is not there, each with what to set.
    pub missing: Vec<MissingPart>,
}

/// Something that is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MissingPart {
    /// A variable that is not set.
    Variable {
        /// Its name.
        name: String,
        /// What to set it to.
        meaning: String,
    },
    /// A variable that names no folder.
    NoFolder {
        /// Its name.
        name: String,
        /// Its value.
        value: PathBuf,
        /// What to set it to.
        meaning: String,
    },
    /// A part that is not in the folder of its variable.
    Part {
        /// What it is.
        what: String,
        /// The variable.
        root: String,
        /// The folders that it names.
        folders: Vec<PathBuf>,
        /// Where it was looked for below them.
        places: Vec<String>,
    },
    /// A header that the distribution has.
    Header {
        /// Its name.
        name: String,
        /// Where to get it.
        from: String,
    },
}

impl std::fmt::Display for MissingPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MissingPart::Variable { name, meaning } => {
                write!(f, "{name} is not set; set it to {meaning}")
            }
            MissingPart::NoFolder {
                name,
                value,
                meaning,
            } => {
                let value = value.display();
                write!(f, "{name}={value} is no folder; set it to {meaning}")
            }
            MissingPart::Part {
                what,
                root,
                folders,
                places,
            } => {
                let places = places.join(", ");
                let folders: Vec<_> = folders.iter().map(|f| f.display().to_string()).collect();
                let folders = folders.join(":");
                write!(f, "{what}: none of {places} in {root}={folders}")
            }
            MissingPart::Header { name, from } => write!(
                f,
                "no header {name}; install {from}, or set CPLUS_INCLUDE_PATH to a folder that has it"
            ),
        }
    }
}

/// Looks for every part of a library.
#[must_use]
pub fn installation(pinned: &Pinned, surroundings: &Surroundings) -> Installation {
    let mut installation = Installation::default();
    let needed = pinned.variables.iter().filter(|variable| variable.needed);
    for variable in needed {
        let folders = surroundings.folders(variable);
        if folders.is_empty() {
            installation.missing.push(MissingPart::Variable {
                name: variable.name.clone(),
                meaning: variable.meaning.clone(),
            });
        }
        let absent = folders.into_iter().filter(|folder| !folder.is_dir());
        installation
            .missing
            .extend(absent.map(|value| MissingPart::NoFolder {
                name: variable.name.clone(),
                value,
                meaning: variable.meaning.clone(),
            }));
    }
    for part in &pinned.parts {
        if let Some(root) = pinned.variable(&part.root) {
            look_for(part, root, surroundings, &mut installation);
        }
    }
    for header in &pinned.headers {
        look_for_header(header, surroundings, &mut installation);
    }
    installation
}

fn look_for(
    part: &Part,
    root: &Variable,
    surroundings: &Surroundings,
    installation: &mut Installation,
) {
    let folders = surroundings.folders(root);
    if folders.is_empty() {
        let places = part.places.iter();
        installation.searches.push(Search {
            what: part.what.clone(),
            looked_in: places
                .map(|place| format!("${}/{place}", root.name))
                .collect(),
            found: None,
        });
        return;
    }
    let below = |folder: &PathBuf| part.places.iter().map(|place| folder.join(place)).collect();
    let places: Vec<Vec<PathBuf>> = folders.iter().map(below).collect();
    let search = Search::first(&*part.what, places.concat());
    match &search.found {
        Some(path) => {
            installation.parts.insert(part.name.clone(), path.clone());
        }
        // A folder that is not there is said once, for its variable.
        None if folders.iter().all(|folder| folder.is_dir()) => {
            installation.missing.push(MissingPart::Part {
                what: part.what.clone(),
                root: root.name.clone(),
                folders,
                places: part.places.clone(),
            });
        }
        None => {}
    }
    installation.searches.push(search);
}

/// Where compilers look by themselves.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/local/include", "/usr/include"];

fn look_for_header(
    header: &SystemHeader,
    surroundings: &Surroundings,
    installation: &mut Installation,
) {
    let named = ["CPLUS_INCLUDE_PATH", "CPATH"];
    let named = named.iter().filter_map(|name| surroundings.variable(name));
    let mut folders: Vec<PathBuf> = named.flat_map(env::split_paths).collect();
    folders.extend(SYSTEM_FOLDERS.map(PathBuf::from));
    let places = folders.iter().map(|folder| folder.join(&header.name));
    let search = Search::first(&*header.name, places.collect());
    if search.found.is_none() {
        installation.missing.push(MissingPart::Header {
            name: header.name.clone(),
            from: header.from.clone(),
        });
    }
    installation.searches.push(search);
}
