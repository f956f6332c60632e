//! Shared objects of the backend ABI that do not encrypt, each with a fault of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Those that were compiled by this process.
static COMPILED: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

/// A shared object with the faults named, compiled once in each test process.
///
/// `fault` has words: `hang`, `exit=1` or `status-open=3` are faults of
/// `crates/ckks-backend/tests/objects/bad.c`, where they are explained; `SLOTS=64` and `COMPLEX=1`
/// set the slots. `plain` is the object without a fault, `no-object` a file that is no object.
///
/// `native` is the engine of this repository, for tests of packages that depend on
/// `ckks-native-abi`: cargo builds its shared object for them.
pub(crate) fn object(fault: &str) -> PathBuf {
    if fault == "native" {
        return native();
    }
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = compiled.get(fault) {
        return path.clone();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("objects");
    std::fs::create_dir_all(&folder).unwrap();
    let name = format!("libckks_backend_{}.so", fault.replace([' ', '='], "_"));
    let path = folder.join(name);
    // Other test processes may have it loaded: it is replaced, never overwritten.
    let new = path.with_extension(std::process::id().to_string());
    if fault == "no-object" {
        std::fs::write(&new, "not a shared object\n").unwrap();
    } else {
        compile(fault, &new);
    }
    std::fs::rename(&new, &path).unwrap();
    compiled.insert(fault.to_owned(), path.clone());
    path
}

/// Cargo puts shared objects where it puts the programs that tests are.
fn native() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.with_file_name("libckks_backend_native.so");
    assert!(path.exists(), "{} was not built", path.display());
    path
}

fn compile(fault: &str, to: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = root.join("crates/ckks-backend/tests/objects/bad.c");
    let text = std::fs::read_to_string(&source).unwrap();
    let defines = fault
        .split(' ')
        .filter(|&word| word != "plain")
        .map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, "1"));
            let name = if name == name.to_uppercase() {
                name.to_owned()
            } else {
                format!("FAULT_{}", name.to_uppercase().replace('-', "_"))
            };
            let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            // A fault that the source does not have would be a plain object.
            assert!(
                words.into_iter().filter(|&known| known == name).count() > 1,
                "bad.c has no {name}"
            );
            format!("-D{name}={value}")
        });
    let output = Command::new("cc")
        .args(["-std=c11", "-D_POSIX_C_SOURCE=200809L"])
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(root.join("cuda/include"))
        .args(defines)
        .arg("-o")
        .arg(to)
        .arg(&source)
        .output()
        .expect("a C compiler, as the README asks for");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cc failed for {fault}: {stderr}");
}
