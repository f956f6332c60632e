//! How the shim of a library is built.

use serde::{Deserialize, Serialize};

/// A file or folder that must exist before a compiler is started.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name in the arguments: `{name}` is its path, `{name.folder}` the folder it is in.
    pub name: String,
    /// What it is, for messages.
    pub what: String,
    /// The variable whose folder has it.
    pub root: String,
    /// Where it may be below that folder; the first that exists counts.
    pub places: Vec<String>,
}

/// A header that a distribution installs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemHeader {
    /// Its name as it is included.
    pub name: String,
    /// Where to get it.
    pub from: String,
}

/// A call of the compiler that makes the shared object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The compiler, unless the user names another.
    pub compiler: String,
    /// Sources, in `cuda/shims/NAME`.
    pub sources: Vec<String>,
    /// The arguments, with placeholders: `{sources}` (on its own) and `{output}`; `{include}`, the
    /// folder of our header; `{shim}` and `{common}`, the folders of the sources and of what all shims
    /// share; names of variables and of parts. An argument with a variable that may be left out, and
    /// is, is dropped.
    pub arguments: Vec<String>,
}
