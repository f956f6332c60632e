//! The libraries that can be asked for by name.

use crate::discovery::{
    Inspection, Located, Search, ShimObject, Surroundings, Verification, inspect, named_interpreter,
};
use crate::vendor::{self, Pinned};
use crate::worker::bootstrap::{BootstrapSpec, Bootstrapper};
use crate::worker::{Limits, WorkerCommand, layer, slots};
use crate::{Backend, BackendError, TrialSpec, native};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

const NATIVE: &str = "native";

/// What is known about one library on this machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LibraryStatus {
    /// Name for `--lib`.
    pub name: &'static str,
    /// Devices for `--device`.
    pub devices: Vec<&'static str>,
    /// Whether it can be opened here. A device may still be missing.
    pub available: bool,
    /// What it is.
    pub description: &'static str,
    /// Its description in this program; none for the engine of this repository.
    pub pinned: Option<&'static Pinned>,
    /// What was looked for, where, and where it is.
    pub searches: Vec<Search>,
    /// What is missing, each with what to do about it.
    pub missing: Vec<String>,
    /// The shim, if there is one.
    pub shim: Option<ShimObject>,
    /// The installed headers against the pin.
    pub headers: Option<Verification>,
    /// What else a reader should know.
    pub notes: Vec<String>,
}

/// Every library this program knows.
pub fn libraries() -> Vec<LibraryStatus> {
    let surroundings = Surroundings::current();
    let foreign = vendor::all().iter();
    std::iter::once(native_status())
        .chain(foreign.map(|pinned| status(pinned, inspect(pinned, &surroundings))))
        .collect()
}

/// What is known about the library of that name.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name; it lists the known ones.
pub fn library(name: &str) -> Result<LibraryStatus, BackendError> {
    if name == NATIVE {
        return Ok(native_status());
    }
    let pinned = known(name)?;
    Ok(status(pinned, inspect(pinned, &Surroundings::current())))
}

/// The first device of a library, without looking at what is installed; `cpu` for an unknown one.
pub fn first_device(name: &str) -> &'static str {
    let first = vendor::find(name).and_then(|pinned| pinned.devices.first());
    first.map_or("cpu", |device| device)
}

/// The device of a library that no other is asked for.
pub const DEFAULT_DEVICE: &str = "auto";

/// Checks that a library of that name, or the file of that path, exists here and has that device.
/// Returns the device: for [`DEFAULT_DEVICE`] the library's first.
///
/// # Errors
/// [`BackendError::NotAvailable`].
pub fn check(name: &str, device: &str) -> Result<String, BackendError> {
    if let Some(path) = path(name) {
        return match (path.is_file(), device) {
            (false, _) => Err(not_available(name, "there is no such file".to_owned())),
            (true, DEFAULT_DEVICE) => Ok(device.to_owned()),
            (true, _) => Err(not_available(
                name,
                "a library given by its path has the devices that it finds; leave --device out"
                    .to_owned(),
            )),
        };
    }
    device_of(&library(name)?, device)
}

/// The device that a library has of that name, if nothing of the library is missing.
fn device_of(library: &LibraryStatus, device: &str) -> Result<String, BackendError> {
    let mut reasons = library.missing.clone();
    let device = match library.devices.first() {
        Some(first) if device == DEFAULT_DEVICE => first,
        _ => device,
    };
    if !library.devices.contains(&device) {
        reasons.push(format!(
            "it has no device \"{device}\"; give --device {}",
            library.devices.join(" or ")
        ));
    }
    if reasons.is_empty() {
        return Ok(device.to_owned());
    }
    Err(not_available(library.name, reasons.join("; ")))
}

/// Opens a backend by name, or by the path of a shared object of the C ABI or of a worker in
/// Python. All but `native` run in a process of their own; `native` does where the specification
/// asks for it.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name or device, and what the backend refuses.
pub fn open(name: &str, device: &str, spec: &TrialSpec) -> Result<Box<dyn Backend>, BackendError> {
    let (located, start) = worker(name, device)?;
    let limits = limits(spec.stage_timeout, spec.memory_limit);
    match located {
        Located::Native if spec.isolate => layer::open(&start, spec, limits),
        Located::Native => native::open(spec),
        Located::SharedObject(_) | Located::Python { .. } => slots::open(&start, spec, limits),
    }
}

/// Opens a library, by name or path, to check how it bootstraps.
///
/// # Errors
/// [`BackendError::NotAvailable`], [`BackendError::Unsupported`] where it cannot, and what the
/// library refuses.
pub fn open_bootstrap(
    name: &str,
    device: &str,
    spec: &BootstrapSpec,
    stage_timeout: Option<f64>,
    memory_limit: Option<u64>,
) -> Result<Bootstrapper, BackendError> {
    match worker(name, device)? {
        (Located::Native, _) => Err(BackendError::Unsupported(
            "native has no bootstrapping: a linear layer needs none".to_owned(),
        )),
        (_, start) => Bootstrapper::open(&start, spec, limits(stage_timeout, memory_limit)),
    }
}

/// Where a library is, and how its worker is started. Looks at what is installed once: to look at a
/// package of Python means to import it.
fn worker(name: &str, device: &str) -> Result<(Located, WorkerCommand), BackendError> {
    let path = path(name);
    let (located, notes) = match path {
        Some(path) => {
            check(name, device)?;
            (given(name, path)?, Vec::new())
        }
        None if name == NATIVE => {
            device_of(&native_status(), device)?;
            (Located::Native, Vec::new())
        }
        None => {
            let pinned = known(name)?;
            let inspection = inspect(pinned, &Surroundings::current());
            let located = inspection.located.clone();
            let library = status(pinned, inspection);
            device_of(&library, device)?;
            let missing = || not_available(name, library.missing.join("; "));
            let located = located.ok_or_else(missing)?;
            let unproven = library.shim.filter(|shim| !shim.from_pin);
            let notes =
                unproven.map(|shim| format!("shim not known to be the pin's: {}", shim.origin));
            (located, notes.into_iter().collect())
        }
    };
    let mut start = WorkerCommand::of(name, path.is_some(), &located)?;
    start.notes = notes;
    Ok((located, start))
}

fn limits(stage_timeout: Option<f64>, memory: Option<u64>) -> Limits {
    let seconds = |limit: f64| Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX);
    Limits {
        memory,
        call: stage_timeout.map_or(Limits::default().call, seconds),
        ..Limits::default()
    }
}

/// A name that is a path: it names a folder or an extension.
fn path(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_path = path.extension().is_some() || path.components().count() > 1;
    is_path.then_some(path)
}

/// The file of a path.
fn given(name: &str, path: &Path) -> Result<Located, BackendError> {
    let script = path.canonicalize();
    let path = script.map_err(|error| not_available(name, error.to_string()))?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("py") => Ok(Located::Python {
            interpreter: named_interpreter(&Surroundings::current())
                .map_err(|reason| not_available(name, reason))?,
            script: path,
        }),
        _ => Ok(Located::SharedObject(path)),
    }
}

/// The description of a foreign library.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name; it lists the known ones.
pub fn known(name: &str) -> Result<&'static Pinned, BackendError> {
    vendor::find(name).ok_or_else(|| {
        let mut names = vec![NATIVE];
        names.extend(vendor::all().iter().map(|pinned| &*pinned.name));
        let names = names.join(", ");
        not_available(
            name,
            format!("the known libraries are {names}; `ckks-bench libs` says what each needs"),
        )
    })
}

fn not_available(name: &str, reason: String) -> BackendError {
    BackendError::NotAvailable {
        name: name.to_owned(),
        reason,
    }
}

fn native_status() -> LibraryStatus {
    let kernels = ckks::simd::SimdLevel::detect().name();
    LibraryStatus {
        name: NATIVE,
        devices: vec!["cpu"],
        available: true,
        description: "the engine of this repository",
        pinned: None,
        searches: Vec::new(),
        missing: Vec::new(),
        shim: None,
        headers: None,
        notes: vec![format!("built in, nothing to install; kernels: {kernels}")],
    }
}

fn status(pinned: &'static Pinned, inspection: Inspection) -> LibraryStatus {
    LibraryStatus {
        name: &pinned.name,
        devices: pinned.devices.iter().map(|device| &**device).collect(),
        available: inspection.located.is_some(),
        description: &pinned.summary,
        pinned: Some(pinned),
        searches: inspection.searches,
        missing: inspection.missing,
        shim: inspection.shim,
        headers: inspection.headers,
        notes: inspection.notes,
    }
}
