//! One foreign library: its pin, how it is reached, what it needs.

use super::{Build, Part, Preset, SystemHeader};
use serde::{Deserialize, Serialize};

/// A foreign library under test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// Name for `--lib`.
    pub name: String,
    /// Its own name.
    pub title: String,
    /// What it is, in a few words.
    pub summary: String,
    /// Its source repository, `owner/name`.
    pub repository: String,
    /// SPDX expression of its licence.
    pub licence: String,
    /// The language it is written in.
    pub language: String,
    /// Bits of the words that residues are kept in.
    pub words: Vec<u32>,
    /// Devices for `--device`.
    pub devices: Vec<String>,
    /// What exactly is measured.
    pub pin: Pin,
    /// How the program talks to it.
    pub reach: Reach,
    /// How to install it, in a sentence or two.
    pub install: String,
    /// Environment variables that say where it is.
    #[serde(default, rename = "variable")]
    pub variables: Vec<Variable>,
    /// What has to be there before the shim can be built.
    #[serde(default, rename = "part")]
    pub parts: Vec<Part>,
    /// Files of the pinned version, by which an installation is recognised.
    #[serde(default, rename = "file")]
    pub files: Vec<PinnedFile>,
    /// Headers of the system that the shim includes.
    #[serde(default, rename = "header")]
    pub headers: Vec<SystemHeader>,
    /// How the shim is built; only where a shim is.
    #[serde(default)]
    pub build: Option<Build>,
    /// Ways to evaluate, where there are several.
    #[serde(default, rename = "mode")]
    pub modes: Vec<Mode>,
    /// Parameter sets.
    #[serde(rename = "preset")]
    pub presets: Vec<Preset>,
    /// What is known to be wrong with it at the pin.
    #[serde(default, rename = "defect")]
    pub defects: Vec<Defect>,
}

/// What exactly is measured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pin {
    /// A commit of the source repository.
    Commit {
        /// Its hash, 40 hex digits.
        commit: String,
        /// Its date, year-month-day.
        date: String,
        /// The version that the sources call themselves.
        version: String,
    },
    /// A release on the Python package index.
    PythonPackage {
        /// Name of the package.
        package: String,
        /// Its version.
        version: String,
        /// The library inside it.
        contains: String,
    },
}

impl Pin {
    /// Short enough for a table.
    #[must_use]
    pub fn short(&self) -> String {
        match self {
            Pin::Commit { commit, .. } => commit.chars().take(12).collect(),
            Pin::PythonPackage {
                package, version, ..
            } => format!("{package} {version}"),
        }
    }

    /// The whole pin.
    #[must_use]
    pub fn long(&self) -> String {
        match self {
            Pin::Commit {
                commit,
                date,
                version,
            } => format!("commit {commit} of {date}, version {version}"),
            Pin::PythonPackage {
                package,
                version,
                contains,
            } => format!("PyPI package {package} {version}: {contains}"),
        }
    }
}

/// How the program talks to a library. A worker process does, in either case.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reach {
    /// Through a shared object of our C ABI, built by `ckks-bench build-shim`.
    CAbi {},
    /// Through a worker in Python.
    Python {
        /// The worker, in the folder of workers.
        script: String,
        /// Pip's list of what it needs, beside it.
        requirements: String,
        /// The modules that must be importable.
        modules: Vec<String>,
        /// Further packages whose version counts.
        #[serde(default)]
        companions: Vec<Package>,
    },
}

/// A release on the Python package index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name of the package.
    pub package: String,
    /// Its version.
    pub version: String,
}

/// An environment variable that a library needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What to set it to.
    pub meaning: String,
    /// Whether nothing works without it.
    pub needed: bool,
    /// Whether it may name several folders, as `PATH` does.
    #[serde(default)]
    pub list: bool,
}

/// A file of the pinned version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// The variable whose folder has it.
    pub root: String,
    /// Where it is below that folder; several layouts, the first that exists counts.
    pub places: Vec<String>,
    /// SHA-256 of its bytes at the pin, 64 hex digits.
    pub sha256: String,
}

/// A way to evaluate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// Its name.
    pub name: String,
    /// What the library does in it.
    pub meaning: String,
}

/// Something known to be wrong with a library.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defect {
    /// Its name here.
    pub id: String,
    /// When it happens.
    pub condition: String,
    /// What happens then.
    pub consequence: String,
    /// What we do about it.
    pub remedy: String,
    /// Where that is known from.
    pub source: String,
    /// How it is known.
    pub evidence: Evidence,
}

/// How a defect is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// It happened to us.
    Seen,
    /// It follows from the sources; nobody saw it happen.
    Read,
    /// Others report it.
    Reported,
}

impl Evidence {
    /// As a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Seen => "seen",
            Evidence::Read => "read in the sources",
            Evidence::Reported => "reported",
        }
    }
}

impl Pinned {
    /// File name of the shared object with its shim.
    #[must_use]
    pub fn object_name(&self) -> String {
        format!("libckks_backend_{}.so", self.name)
    }

    /// The Python packages whose versions count; none for a library of the C ABI.
    #[must_use]
    pub fn packages(&self) -> Vec<Package> {
        let (
            Pin::PythonPackage {
                package, version, ..
            },
            Reach::Python { companions, .. },
        ) = (&self.pin, &self.reach)
        else {
            return Vec::new();
        };
        let first = Package {
            package: package.clone(),
            version: version.clone(),
        };
        std::iter::once(first).chain(companions.clone()).collect()
    }

    /// The variable of that name, if this library has it.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}
