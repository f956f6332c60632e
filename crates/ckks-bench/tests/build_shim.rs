//! `build-shim`, with made-up installations and a made-up compiler.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod program;

use ckks_backend::vendor;
use program::{assert_has, bare, run};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn build_shim_lists_all_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = run(bare(folder.path()).args(["build-shim", "cheddar"]));
    assert_eq!((code, &*stdout), (3, ""), "{stderr}");
    assert_has(
        &stderr,
        &[
            "CHEDDAR_PREFIX is not set",
            "CHEDDAR_RMM_INCLUDE is not set",
            "CUDA_HOME is not set",
            "no compiler c++",
        ],
    );
    let (code, _, stderr) = run(bare(folder.path()).args(["build-shim", "nope"]));
    assert_eq!(code, 3);
    assert_has(
        &stderr,
        &["native, cheddar, fideslib, openfhe, seal, lattigo"],
    );
    let (code, _, stderr) = run(bare(folder.path()).args(["build-shim", "seal"]));
    assert_eq!(code, 2);
    assert_has(&stderr, &["needs no shim", "pip install"]);
    let (code, _, stderr) = run(bare(folder.path()).args(["build-shim", "native"]));
    assert_eq!(code, 2);
    assert_has(&stderr, &["built in"]);
}

/// A prefix with every file of the pin, but of other contents.
fn fake_prefix(folder: &Path) {
    for file in &vendor::find("cheddar").unwrap().files {
        let path = folder.join(&file.places[0]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "// something else\n").unwrap();
    }
}

#[test]
fn headers_of_another_version_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("prefix");
    fake_prefix(&prefix);
    let with_prefix = || {
        let mut command = bare(folder.path());
        command.env("CHEDDAR_PREFIX", &prefix);
        command
    };
    let (code, _, stderr) = run(with_prefix().args(["build-shim", "cheddar"]));
    assert_eq!(code, 3);
    assert_has(
        &stderr,
        &[
            "include/UserInterface.h differs from the pin",
            "library of Cheddar",
        ],
    );
    assert!(!stderr.contains("CHEDDAR_PREFIX is not set"), "{stderr}");
    let (code, stdout, _) = run(with_prefix().args(["libs", "--lib", "cheddar"]));
    assert_eq!(code, 0);
    assert_has(&stdout, &["differs from the pin", "0 match the pin"]);
    let line = ["run", "--lib", "cheddar", "--shape", "64x64"];
    let (code, _, stderr) = run(with_prefix().args(line));
    assert_eq!(code, 3);
    assert_has(
        &stderr,
        &["differs from the pin", "after setting CHEDDAR_RMM_INCLUDE"],
    );
    let (code, _, stderr) = run(bare(folder.path())
        .env("CHEDDAR_PREFIX", folder.path().join("absent"))
        .args(["build-shim", "cheddar"]));
    assert_eq!(code, 3);
    assert_has(&stderr, &["absent is no folder"]);
}

fn touch(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

/// Everything that the shim of Cheddar is built from, made up, and a compiler that does `body`.
struct Toolchain {
    folder: tempfile::TempDir,
    compiler: PathBuf,
}

impl Toolchain {
    fn new(body: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let pinned = vendor::find("cheddar").unwrap();
        fake_prefix(&at("CHEDDAR_PREFIX"));
        for part in &pinned.parts {
            touch(&at(&part.root).join(&part.places[0]));
        }
        for source in &pinned.build.as_ref().unwrap().sources {
            touch(&at("cuda/shims/cheddar").join(source));
        }
        for header in &pinned.headers {
            touch(&at("system").join(&header.name));
        }
        touch(&at("cuda/include/ckks_backend.h"));
        let compiler = at("compiler");
        fs::write(&compiler, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, compiler }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.folder.path());
        for variable in &vendor::find("cheddar").unwrap().variables {
            command.env(&variable.name, self.at(&variable.name));
        }
        command
            .env("CPLUS_INCLUDE_PATH", self.at("system"))
            .env("CKKS_SHIMS", self.at("cuda/shims"))
            .args(arguments);
        command
    }

    fn build(&self, arguments: &[&str]) -> (i32, String, String) {
        let line = [&["build-shim", "cheddar", "--other-version"], arguments].concat();
        run(self.command(&line).arg("--compiler").arg(&self.compiler))
    }
}

/// Writes "object" to the file after `-o`.
const COMPILES: &str =
    "while [ \"$1\" != -o ]; do shift; done; printf object > \"$2\"; echo 'a warning' >&2";

#[test]
fn a_shim_is_built_and_found() {
    let tools = Toolchain::new(COMPILES);
    let (code, stdout, stderr) = tools.build(&[]);
    assert_eq!(code, 0, "{stderr}");
    let object = tools.at("data/ckks-bench/backends/libckks_backend_cheddar.so");
    assert_eq!(fs::read(&object).unwrap(), b"object");
    let sha256: String = Sha256::digest(b"object")
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_has(
        &stdout,
        &[
            &sha256,
            "differs from the pin",
            "libckks_backend_cheddar.so",
        ],
    );
    assert_has(&stderr, &["a warning"]);

    let (code, stdout, _) = run(&mut tools.command(&["libs", "--lib", "cheddar"]));
    assert_eq!(code, 0);
    assert_has(&stdout, &["found: ", "0 match the pin"]);
    assert!(!stdout.contains("no shim"), "{stdout}");

    fs::write(&object, b"another").unwrap();
    let (_, stdout, _) = run(&mut tools.command(&["libs", "--lib", "cheddar"]));
    assert_has(&stdout, &["changed since it was built"]);
    fs::remove_file(object.with_extension("build.json")).unwrap();
    let (_, stdout, _) = run(&mut tools.command(&["libs", "--lib", "cheddar"]));
    assert_has(&stdout, &["no record of how it was built"]);
    fs::write(object.with_extension("build.json"), b"{\"schema\": 1").unwrap();
    let (_, stdout, _) = run(&mut tools.command(&["libs", "--lib", "cheddar"]));
    assert_has(&stdout, &["no record of how it was built"]);
}

#[test]
fn the_output_folder_is_as_asked() {
    let tools = Toolchain::new(COMPILES);
    let output = tools.at("a folder");
    let (code, _, stderr) = tools.build(&["--output", output.to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    let mut names: Vec<_> = fs::read_dir(&output)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "libckks_backend_cheddar.build.json",
        "libckks_backend_cheddar.so",
    ];
    assert_eq!(names, expected);
    let mut libs = tools.command(&["libs", "--lib", "cheddar"]);
    let (_, stdout, _) = run(libs.env("CKKS_BACKEND_PATH", &output));
    assert_has(&stdout, &["a folder/libckks_backend_cheddar.so"]);
}

#[test]
fn print_only_prints() {
    let tools = Toolchain::new("exit 1");
    let (code, stdout, stderr) = tools.build(&["--print"]);
    assert_eq!(code, 0, "{stderr}");
    let words = shlex::split(&stdout).unwrap();
    assert_eq!(words[0], tools.compiler.to_str().unwrap());
    let library = tools.at("CHEDDAR_PREFIX/lib/libcheddar.so");
    assert!(words.contains(&library.display().to_string()), "{stdout}");
    assert!(!stdout.contains('{'), "{stdout}");
    assert!(!tools.at("data").exists());
}

#[test]
fn a_variable_may_name_several_folders() {
    let tools = Toolchain::new("exit 1");
    let [first, second] = ["first", "CHEDDAR_RMM_INCLUDE"].map(|name| tools.at(name));
    fs::create_dir(&first).unwrap();
    let folders = std::env::join_paths([&first, &second]).unwrap();
    let line = ["build-shim", "cheddar", "--other-version", "--print"];
    let mut command = tools.command(&line);
    command
        .env("CHEDDAR_RMM_INCLUDE", folders)
        .arg("--compiler")
        .arg(&tools.compiler);
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, 0, "{stderr}");
    let words = shlex::split(&stdout).unwrap();
    let place = |folder: &Path| {
        let word = format!("-isystem{}", folder.display());
        words.iter().position(|one| *one == word).unwrap()
    };
    assert!(place(&first) < place(&second), "{stdout}");
}

#[test]
fn a_compiler_that_fails_leaves_nothing() {
    let tools = Toolchain::new("echo 'error: no such thing' >&2; exit 4");
    let (code, stdout, stderr) = tools.build(&[]);
    assert_eq!((code, &*stdout), (1, ""));
    assert_has(&stderr, &["error: no such thing", "exit status: 4"]);
    let folder = tools.at("data/ckks-bench/backends");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    let silent = Toolchain::new("exit 0");
    let (code, _, stderr) = silent.build(&[]);
    assert_eq!(code, 2);
    assert_has(&stderr, &["cannot read what was built"]);
}

#[test]
fn a_repository_that_is_incomplete_is_named() {
    let tools = Toolchain::new(COMPILES);
    fs::remove_file(tools.at("cuda/include/ckks_backend.h")).unwrap();
    let (code, _, stderr) = tools.build(&[]);
    assert_eq!(code, 3);
    assert_has(
        &stderr,
        &["cuda/include/ckks_backend.h: the repository is incomplete"],
    );
    fs::remove_dir_all(tools.at("cuda")).unwrap();
    let (code, _, stderr) = tools.build(&[]);
    assert_eq!(code, 3);
    assert_has(&stderr, &["no sources of the shim", "set CKKS_SHIMS"]);
}
