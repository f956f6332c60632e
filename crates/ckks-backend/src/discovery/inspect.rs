//! Everything about one library on this machine.

use super::{
    MissingPart, Search, ShimObject, Surroundings, Verification, cuda, default_folder,
    installation, objects, python, repository, verify,
};
use crate::vendor::{Package, Pinned, Reach};
use std::fmt::Write;
use std::path::PathBuf;

/// Where a library is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Located {
    /// In this program.
    Native,
    /// A shared object of the C ABI.
    SharedObject(PathBuf),
    /// A worker in Python.
    Python {
        /// The interpreter, which has the library's package.
        interpreter: PathBuf,
        /// The worker.
        script: PathBuf,
    },
}

/// Everything about one library on this machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inspection {
    /// Where it is; none where something is missing.
    pub located: Option<Located>,
    /// What was looked for.
    pub searches: Vec<Search>,
    /// What is missing, each with what to do; empty where it is located.
    pub missing: Vec<String>,
    /// The shim, if there is one.
    pub shim: Option<ShimObject>,
    /// The installed headers against the pin; none where no variable names an installation.
    pub headers: Option<Verification>,
    /// What else a trial may fail on, or a reader should know.
    pub notes: Vec<String>,
}

/// Looks for a library.
#[must_use]
pub fn inspect(pinned: &Pinned, surroundings: &Surroundings) -> Inspection {
    let mut inspection = match &pinned.reach {
        Reach::CAbi {} => shared_object(pinned, surroundings),
        Reach::Python {
            script,
            requirements,
            modules,
            ..
        } => worker(pinned, script, requirements, modules, surroundings),
    };
    if pinned.devices.iter().all(|device| device == "cuda") {
        inspection.notes.extend(cuda::absent(surroundings));
    }
    inspection
}

fn shared_object(pinned: &Pinned, surroundings: &Surroundings) -> Inspection {
    let mut inspection = Inspection::default();
    let shim = objects::search(pinned, surroundings);
    let installed = installation(pinned, surroundings);
    let mut roots = pinned.files.iter().map(|file| &file.root);
    if roots.any(|root| surroundings.path(root).is_some()) {
        inspection.headers = Some(verify(pinned, surroundings));
    }
    match &shim.found {
        Some(path) => {
            let shim = objects::examine(pinned, path.clone());
            if !shim.from_pin {
                inspection.notes.push(format!("the shim: {}", shim.origin));
            }
            inspection.located = Some(Located::SharedObject(path.clone()));
            inspection.shim = Some(shim);
        }
        None => {
            let complaints = inspection.headers.as_ref().map(Verification::complaints);
            inspection.missing.push(no_shim(
                pinned,
                surroundings,
                &installed.missing,
                &complaints.unwrap_or_default(),
            ));
        }
    }
    inspection.searches.push(shim);
    inspection.searches.extend(installed.searches);
    inspection
}

/// Says that there is no shim, and what to do to have one.
fn no_shim(
    pinned: &Pinned,
    surroundings: &Surroundings,
    missing: &[MissingPart],
    complaints: &[String],
) -> String {
    let name = &pinned.name;
    let object = pinned.object_name();
    let mut text = match default_folder(surroundings) {
        Some(folder) => format!("no shim {object} in {}", folder.display()),
        None => format!("no shim {object}: neither CKKS_BACKEND_PATH nor HOME says where"),
    };
    if surroundings.path("CKKS_BACKEND_PATH").is_none() {
        text.push_str(" (CKKS_BACKEND_PATH names another folder)");
    }
    let _ = write!(text, "; run `ckks-bench build-shim {name}`");
    let mut unset = Vec::new();
    let mut other = Vec::new();
    for part in missing {
        match part {
            MissingPart::Variable { name, meaning } => unset.push(format!("{name} ({meaning})")),
            _ => other.push(part.to_string()),
        }
    }
    other.extend(complaints.iter().cloned());
    if !unset.is_empty() {
        let _ = write!(text, " after setting {}", unset.join(", "));
    }
    if !other.is_empty() {
        let _ = write!(text, "; before that: {}", other.join("; "));
    }
    text
}

fn worker(
    pinned: &Pinned,
    script: &str,
    requirements: &str,
    modules: &[String],
    surroundings: &Surroundings,
) -> Inspection {
    let mut inspection = Inspection::default();
    let packages = pinned.packages();
    let search = repository::worker(script, surroundings);
    let list = match &search.found {
        Some(script) => script.with_file_name(requirements),
        None => PathBuf::from("workers").join(requirements),
    };
    if search.found.is_none() {
        inspection.missing.push(format!(
            "no worker {script} ({}); set CKKS_WORKERS to the repository's folder workers",
            search.looked_in.join(", ")
        ));
    }
    let found = python::interpreter(surroundings);
    let variable = python::VARIABLE;
    let advice = format!(
        "run `pip install -r {}`, or set {variable} to an interpreter that has what is in it",
        list.display()
    );
    match &found.found {
        None => inspection.missing.push(format!(
            "no Python interpreter ({}); install one, then {advice}",
            found.looked_in.join(", ")
        )),
        Some(interpreter) => match python::versions(interpreter, modules, &packages) {
            Err(why) => inspection.missing.push(format!("{why}; {advice}")),
            Ok(versions) => {
                let pairs = || packages.iter().zip(&versions);
                let other: Vec<_> = pairs()
                    .filter(|(package, here)| package.version != **here)
                    .map(|(Package { package, version }, here)| {
                        format!("{package} {here} differs from the pin {version}")
                    })
                    .collect();
                if other.is_empty() {
                    let names = pairs().map(|(one, here)| format!("{} {here}", one.package));
                    let names: Vec<_> = names.collect();
                    let note = format!("installed as pinned: {}", names.join(", "));
                    inspection.notes.push(note);
                } else {
                    let other = other.join(", ");
                    inspection.missing.push(format!("{other}; {advice}"));
                }
            }
        },
    }
    if let (true, Some(interpreter), Some(script)) = (
        inspection.missing.is_empty(),
        found.found.clone(),
        search.found.clone(),
    ) {
        inspection.located = Some(Located::Python {
            interpreter,
            script,
        });
    }
    inspection.searches.extend([found, search]);
    inspection
}
