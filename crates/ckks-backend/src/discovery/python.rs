//! The Python interpreter of the workers, and whether it has a library's package.

use super::{Search, Surroundings, find_program};
use crate::vendor::Package;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wait_timeout::ChildExt;

/// The variable that names the interpreter.
pub(super) const VARIABLE: &str = "CKKS_PYTHON";

/// An import that takes longer than this does not end.
const LIMIT: Duration = Duration::from_secs(30);

/// Most that is kept of what the check prints.
const MAX_OUTPUT: u64 = 1 << 14;

/// Imports modules and prints the versions of packages, one a line. Nothing in the current folder
/// can pass for a module.
const CHECK: &str = "\
import sys
sys.path = [entry for entry in sys.path if entry]
import importlib, importlib.metadata
for module in sys.argv[1].split(','):
    importlib.import_module(module)
for package in sys.argv[2].split(','):
    print(package, importlib.metadata.version(package))
";

/// Looks for the interpreter.
pub(super) fn interpreter(surroundings: &Surroundings) -> Search {
    let named = surroundings.path(VARIABLE);
    let candidates = match &named {
        Some(path) => vec![path.clone()],
        None => vec![PathBuf::from("python3"), PathBuf::from("python")],
    };
    let looked_in = match &named {
        Some(path) => vec![format!("{VARIABLE}={}", path.display())],
        None => vec![
            format!("${VARIABLE} (not set)"),
            "python3 on PATH".to_owned(),
            "python on PATH".to_owned(),
        ],
    };
    Search {
        what: "Python interpreter".to_owned(),
        looked_in,
        found: candidates
            .iter()
            .find_map(|candidate| find_program(candidate, surroundings)),
    }
}

/// The interpreter for a worker that is given by its path.
///
/// # Errors
/// What was looked for, and what to set, where there is none.
pub fn named_interpreter(surroundings: &Surroundings) -> Result<PathBuf, String> {
    let search = interpreter(surroundings);
    search.found.ok_or_else(|| {
        let looked_in = search.looked_in.join(", ");
        format!("no Python interpreter ({looked_in}); set {VARIABLE} to one")
    })
}

/// Versions of the packages, in their order, or why one of the modules cannot be imported.
pub(super) fn versions(
    interpreter: &Path,
    modules: &[String],
    packages: &[Package],
) -> Result<Vec<String>, String> {
    versions_within(interpreter, modules, packages, LIMIT)
}

fn versions_within(
    interpreter: &Path,
    modules: &[String],
    packages: &[Package],
    limit: Duration,
) -> Result<Vec<String>, String> {
    let modules = modules.join(",");
    let names: Vec<_> = packages.iter().map(|one| &*one.package).collect();
    let name = interpreter.display();
    let mut child = Command::new(interpreter)
        .args(["-c", CHECK, &modules, &names.join(",")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name} cannot be started: {error}"))?;
    let ended = child.wait_timeout(limit);
    if !matches!(ended, Ok(Some(_))) {
        // It may have ended in the meantime; either way it is gone afterwards.
        let _ = child.kill();
        let _ = child.wait();
        let seconds = limit.as_secs();
        return Err(format!(
            "{name} did not finish importing {modules} in {seconds} s"
        ));
    }
    let printed = text(child.stdout.take());
    if let Ok(Some(status)) = ended
        && !status.success()
    {
        let complaint = text(child.stderr.take());
        let last = complaint.lines().rev().find(|line| !line.trim().is_empty());
        return Err(format!("{name}: {}", last.unwrap_or("it failed silently")));
    }
    names
        .iter()
        .map(|package| {
            let mut lines = printed.lines().filter_map(|line| line.split_once(' '));
            let version = lines.find_map(|(of, version)| (of == *package).then_some(version));
            version
                .map(|version| version.trim().to_owned())
                .ok_or_else(|| format!("{name} says no version of {package}"))
        })
        .collect()
}

fn text(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What cannot be read is not shown.
        let _ = stream.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &tempfile::TempDir, body: &str) -> PathBuf {
        let path = folder.path().join("python");
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn check(body: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let packages = ["p", "q"].map(|name| Package {
            package: name.to_owned(),
            version: String::new(),
        });
        let limit = Duration::from_millis(500);
        versions_within(&program(&folder, body), &["m".to_owned()], &packages, limit)
    }

    #[test]
    fn interpreters_that_misbehave() {
        let fine = check("echo noise; echo q 2; echo p 1.2.3").unwrap();
        assert_eq!(fine, ["1.2.3", "2"]);
        let failed = check("echo 'ImportError: no' >&2; exit 1").unwrap_err();
        assert!(failed.ends_with("ImportError: no"), "{failed}");
        let silent = check("exit 1").unwrap_err();
        assert!(silent.contains("silently"), "{silent}");
        let some = check("echo p 1").unwrap_err();
        assert!(some.contains("no version of q"), "{some}");
        let hangs = check("exec sleep 60").unwrap_err();
        assert!(hangs.contains("did not finish importing m"), "{hangs}");
        let floods = check("exec yes").unwrap_err();
        assert!(floods.contains("did not finish"), "{floods}");
        let absent = versions(Path::new("/nonexistent/python"), &[], &[]).unwrap_err();
        assert!(absent.contains("cannot be started"), "{absent}");
    }
}
