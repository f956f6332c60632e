//! What discovery looks at: variables and folders of this process.

use crate::vendor::{self, Variable};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Variables of ours, beside those of the libraries.
const OURS: [&str; 9] = [
    "CKKS_BACKEND_PATH",
    "CKKS_SHIMS",
    "CKKS_WORKERS",
    "XDG_DATA_HOME",
    "HOME",
    "PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "LD_LIBRARY_PATH",
];

/// The variables, the program and the folder that decide what is found.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    variables: BTreeMap<String, OsString>,
    /// The running program.
    pub executable: Option<PathBuf>,
    /// The current folder.
    pub current_folder: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process; of the variables only the ones that matter.
    #[must_use]
    pub fn current() -> Self {
        let theirs = vendor::all().iter().flat_map(|pinned| &pinned.variables);
        let names = theirs.map(|variable| &*variable.name).chain(OURS);
        Self {
            variables: names
                .filter_map(|name| Some((name.to_owned(), env::var_os(name)?)))
                .collect(),
            executable: env::current_exe().ok(),
            current_folder: env::current_dir().ok(),
        }
    }

    /// These surroundings with one variable set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// A variable; an empty one is as good as none.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }

    /// The folders that a variable of a library names: one, or several where it is a list.
    #[must_use]
    pub fn folders(&self, variable: &Variable) -> Vec<PathBuf> {
        match self.variable(&variable.name) {
            None => Vec::new(),
            Some(value) if variable.list => env::split_paths(value)
                .filter(|folder| !folder.as_os_str().is_empty())
                .collect(),
            Some(value) => vec![PathBuf::from(value)],
        }
    }

    /// A variable that names a file or folder.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from)
    }
}
