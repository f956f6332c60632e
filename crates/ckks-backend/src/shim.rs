//! Building a shim: the user's compiler, against what the user installed.

use crate::discovery::{
    self, BuildRecord, RECORD_SCHEMA, ShimSources, Surroundings, Verification, digest,
    find_program, installation, record_path, shim_sources, verify,
};
use crate::vendor::{Build, Pinned, placeholders};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use thiserror::Error;

/// Lines of a compiler's complaint that are kept: the last ones.
const KEPT_LINES: usize = 40;

/// Largest object whose digest is taken.
const MAX_OBJECT: u64 = 1 << 30;

/// What the user decides about a build.
#[derive(Clone, Debug, Default)]
pub struct ShimOptions {
    /// Folder for the object; the folder of shims where it is left out.
    pub output: Option<PathBuf>,
    /// Compiler; that of the library's description where it is left out.
    pub compiler: Option<PathBuf>,
    /// Build even if the installed headers are not those of the pin.
    pub other_version: bool,
}

/// A call of the compiler, ready to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShimBuild {
    library: String,
    pin: String,
    compiler: PathBuf,
    /// Arguments as templates with everything but the output filled in.
    arguments: Vec<Argument>,
    /// Where the object will be.
    pub object: PathBuf,
    /// The installed headers against the pin.
    pub headers: Verification,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Argument {
    Text(OsString),
    Output,
}

/// A built shim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuiltShim {
    /// Where it is.
    pub object: PathBuf,
    /// SHA-256 of it.
    pub sha256: String,
    /// The installed headers against the pin.
    pub headers: Verification,
    /// What the compiler said although it succeeded: its last lines.
    pub warnings: String,
}

/// Why a shim was not built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShimError {
    /// What is missing, all of it; each with what to do.
    #[error("the shim of {library} cannot be built yet:\n{}", list(.missing))]
    Missing {
        /// The library.
        library: String,
        /// What is missing.
        missing: Vec<String>,
    },
    /// The library has no shim.
    #[error("{library} needs no shim: it runs in a Python worker; {install}")]
    NoShim {
        /// The library.
        library: String,
        /// How to install it.
        install: String,
    },
    /// The compiler failed.
    #[error("{compiler} failed ({status}):\n{output}")]
    Compiler {
        /// The compiler.
        compiler: String,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines.
        output: String,
    },
    /// A file or program that cannot be used.
    #[error("{what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// The path.
        path: String,
        /// Why it failed.
        source: io::Error,
    },
}

fn list(items: &[String]) -> String {
    let lines: Vec<_> = items.iter().map(|item| format!("  - {item}")).collect();
    lines.join("\n")
}

/// Checks everything that a build needs.
///
/// # Errors
/// [`ShimError::Missing`] with all that is missing, [`ShimError::NoShim`].
pub fn plan_shim(
    pinned: &Pinned,
    surroundings: &Surroundings,
    options: &ShimOptions,
) -> Result<ShimBuild, ShimError> {
    let Some(build) = &pinned.build else {
        return Err(ShimError::NoShim {
            library: pinned.name.clone(),
            install: pinned.install.clone(),
        });
    };
    let installed = installation(pinned, surroundings);
    let mut missing: Vec<String> = installed.missing.iter().map(ToString::to_string).collect();
    let headers = verify(pinned, surroundings);
    let named = |root: &str| {
        surroundings
            .path(root)
            .is_some_and(|folder| folder.is_dir())
    };
    if !options.other_version && pinned.files.iter().any(|file| named(&file.root)) {
        // What is not found is missing already, as a variable or a part, or is said here.
        let there = headers.files.iter().filter(|file| named(&file.root));
        let of_named = Verification {
            files: there.cloned().collect(),
        };
        missing.extend(of_named.complaints().into_iter().map(|complaint| {
            format!(
                "{complaint} ({}); --other-version builds all the same",
                pinned.pin.short()
            )
        }));
    }
    let sources = sources(pinned, build, surroundings, &mut missing);
    let wanted = match &options.compiler {
        Some(compiler) => compiler.clone(),
        None => PathBuf::from(&build.compiler),
    };
    let compiler = find_program(&wanted, surroundings);
    if compiler.is_none() {
        missing.push(format!(
            "no compiler {}; install it or name another with --compiler",
            wanted.display()
        ));
    }
    let folder = options
        .output
        .clone()
        .or_else(|| discovery::default_folder(surroundings));
    if folder.is_none() {
        missing.push("no folder for the shim; give --output or set CKKS_BACKEND_PATH".to_owned());
    }
    match (sources, compiler, folder) {
        (Some(sources), Some(compiler), Some(folder)) if missing.is_empty() => Ok(ShimBuild {
            library: pinned.name.clone(),
            pin: pinned.pin.long(),
            compiler,
            arguments: arguments(
                build,
                &sources,
                &values(&installed.parts, pinned, surroundings, &sources),
            ),
            object: folder.join(pinned.object_name()),
            headers,
        }),
        _ => Err(ShimError::Missing {
            library: pinned.name.clone(),
            missing,
        }),
    }
}

fn sources(
    pinned: &Pinned,
    build: &Build,
    surroundings: &Surroundings,
    missing: &mut Vec<String>,
) -> Option<ShimSources> {
    let (search, sources) = shim_sources(&pinned.name, surroundings);
    let Some(sources) = sources else {
        missing.push(format!(
            "no sources of the shim ({}); set CKKS_SHIMS to the repository's folder cuda/shims",
            search.looked_in.join(", ")
        ));
        return None;
    };
    let files = build.sources.iter().map(|file| sources.shim.join(file));
    for file in files.chain([sources.include.join("ckks_backend.h")]) {
        if !file.is_file() {
            missing.push(format!(
                "no {}: the repository is incomplete",
                file.display()
            ));
        }
    }
    Some(sources)
}

/// What placeholders stand for; several values where a variable names several folders.
type Values = BTreeMap<String, Vec<OsString>>;

/// The values of this build. Variables that are not set have no value.
fn values(
    parts: &BTreeMap<String, PathBuf>,
    pinned: &Pinned,
    surroundings: &Surroundings,
    sources: &ShimSources,
) -> Values {
    let mut values = BTreeMap::new();
    for variable in &pinned.variables {
        let folders = surroundings.folders(variable);
        let folders = folders.into_iter().map(PathBuf::into_os_string).collect();
        values.insert(variable.name.clone(), folders);
    }
    for (name, path) in parts {
        let folder = path.parent().unwrap_or(path);
        values.insert(format!("{name}.folder"), vec![folder.into()]);
        values.insert(name.clone(), vec![path.into()]);
    }
    let ShimSources { shim, include } = sources;
    let common = shim.with_file_name("common");
    for (name, path) in [("shim", shim), ("common", &common), ("include", include)] {
        values.insert(name.to_owned(), vec![path.into()]);
    }
    values
}

/// The text with its placeholders replaced, once for each value; nothing where one has none.
fn fill(text: &str, values: &Values) -> Vec<OsString> {
    let mut filled = vec![OsString::new()];
    let mut rest = text;
    for name in placeholders(text) {
        let Some((before, after)) = rest.split_once(&format!("{{{name}}}")) else {
            break;
        };
        let of_name = values.get(name).map_or(&[][..], |values| values);
        let append = |start: &OsString| {
            let whole = |value: &OsString| [start, OsStr::new(before), value].into_iter().collect();
            of_name.iter().map(whole).collect::<Vec<OsString>>()
        };
        filled = filled.iter().flat_map(append).collect();
        rest = after;
    }
    for text in &mut filled {
        text.push(rest);
    }
    filled
}

/// The arguments; those of optional variables that are not set are left out.
fn arguments(build: &Build, sources: &ShimSources, values: &Values) -> Vec<Argument> {
    let mut arguments = Vec::new();
    for text in &build.arguments {
        match text.as_str() {
            "{sources}" => {
                let files = build.sources.iter().map(|file| sources.shim.join(file));
                arguments.extend(files.map(|file| Argument::Text(file.into())));
            }
            "{output}" => arguments.push(Argument::Output),
            _ => arguments.extend(fill(text, values).into_iter().map(Argument::Text)),
        }
    }
    arguments
}

impl ShimBuild {
    /// The compiler and its arguments, as they would be given.
    #[must_use]
    pub fn command(&self) -> Vec<OsString> {
        self.command_into(&self.object)
    }

    fn command_into(&self, output: &Path) -> Vec<OsString> {
        let arguments = self.arguments.iter().map(|argument| match argument {
            Argument::Text(text) => text.clone(),
            Argument::Output => output.into(),
        });
        std::iter::once(self.compiler.clone().into())
            .chain(arguments)
            .collect()
    }

    /// Calls the compiler. The object is put in its place only when it is whole, with the record
    /// of how it was built beside it.
    ///
    /// # Errors
    /// [`ShimError::Compiler`], and [`ShimError::File`] where a program or file cannot be used.
    pub fn run(&self) -> Result<BuiltShim, ShimError> {
        let folder = self.object.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .map_err(|source| file("cannot make the folder", folder, source))?;
        let unfinished = self
            .object
            .with_extension(format!("{}.unfinished", std::process::id()));
        let built = self.compile(&unfinished);
        if built.is_err() {
            // It may not be there at all.
            let _ = fs::remove_file(&unfinished);
        }
        built
    }

    fn compile(&self, unfinished: &Path) -> Result<BuiltShim, ShimError> {
        let command = self.command_into(unfinished);
        let output = Command::new(&self.compiler)
            .args(&command[1..])
            .output()
            .map_err(|source| file("cannot start", &self.compiler, source))?;
        let said = last_lines(&output.stderr);
        if !output.status.success() {
            return Err(ShimError::Compiler {
                compiler: self.compiler.display().to_string(),
                status: output.status,
                output: said,
            });
        }
        let sha256 = digest(unfinished, MAX_OBJECT)
            .map_err(|source| file("cannot read what was built,", unfinished, source))?;
        let record = BuildRecord {
            schema: RECORD_SCHEMA.to_owned(),
            library: self.library.clone(),
            pin: self.pin.clone(),
            sha256: sha256.clone(),
            headers: self.headers.clone(),
            command: self.command().iter().map(|text| lossy(text)).collect(),
        };
        let record_path = record_path(&self.object);
        let text = serde_json::to_vec_pretty(&record).map_err(io::Error::from);
        // An object with the record of another is told by its digest, so the order is free.
        text.and_then(|text| fs::write(&record_path, text))
            .map_err(|source| file("cannot write", &record_path, source))?;
        fs::rename(unfinished, &self.object)
            .map_err(|source| file("cannot write", &self.object, source))?;
        Ok(BuiltShim {
            object: self.object.clone(),
            sha256,
            headers: self.headers.clone(),
            warnings: said,
        })
    }
}

fn lossy(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

fn file(what: &'static str, path: &Path, source: io::Error) -> ShimError {
    ShimError::File {
        what,
        path: path.display().to_string(),
        source,
    }
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(KEPT_LINES)..].join("\n")
}
