//! The second implementation in `tests/reference`, in Python: what it sealed is opened, what it
//! says must be refused is refused, and it opens what this crate sealed.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "attacks/error_name.rs"]
mod error_name;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use sealed_weights::core_header::ChunkSize;
use sealed_weights::error::SealError;
use sealed_weights::model::{Policy, SealJob, SealOptions, SealedModel};
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipient::{Identity, Recipient};
use sealed_weights::sealed_file::Trust;
use sealed_weights::signing::{PublisherId, PublisherKey};
use sealed_weights::suite::Suite;
use sealed_weights::work::Work;
use serde::Deserialize;
use tempfile::TempDir;
use zeroize::Zeroizing;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    publisher: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    model: String,
    name: String,
    ops: Vec<Operation>,
    #[serde(default)]
    policy: Wanted,
    error: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Wanted {
    publishers: Option<Vec<String>>,
    model_id: Option<String>,
    min_version: Option<u64>,
    expect_digest: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
enum Operation {
    Xor {
        file: String,
        at: usize,
        hex: String,
    },
    Write {
        file: String,
        text: String,
    },
    Length {
        file: String,
        bytes: u64,
    },
    Remove {
        file: String,
    },
    Copy {
        file: String,
        to: String,
    },
    Link {
        file: String,
    },
}

impl Operation {
    fn apply(&self, directory: &Path) {
        let at = |name: &String| directory.join(name);
        match self {
            Operation::Xor {
                file,
                at: from,
                hex,
            } => {
                let mut bytes = fs::read(at(file)).unwrap();
                for (byte, mask) in bytes[*from..].iter_mut().zip(hex::decode(hex).unwrap()) {
                    *byte ^= mask;
                }
                fs::write(at(file), bytes).unwrap();
            }
            Operation::Write { file, text } => fs::write(at(file), text).unwrap(),
            Operation::Length { file, bytes } => {
                let file = fs::OpenOptions::new().write(true).open(at(file)).unwrap();
                file.set_len(*bytes).unwrap();
            }
            Operation::Remove { file } => fs::remove_file(at(file)).unwrap(),
            Operation::Copy { file, to } => drop(fs::copy(at(file), at(to)).unwrap()),
            Operation::Link { file } => {
                let outside = directory.with_file_name("outside");
                fs::rename(at(file), &outside).unwrap();
                symlink(outside, at(file)).unwrap();
            }
        }
    }
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn table() -> Table {
    let text = fs::read_to_string(vectors().join("rejections.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn publisher(text: &str) -> PublisherId {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).unwrap();
    PublisherId::new(bytes)
}

/// A private copy of the key, whose mode git does not keep.
fn key(folder: &Path) -> KeyFile {
    let path = folder.join("key");
    fs::copy(vectors().join("key"), &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    KeyFile::read(&path).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// The plaintext of every file.
fn open(
    directory: &Path,
    key: KeyFile,
    policy: Policy,
) -> Result<BTreeMap<String, Vec<u8>>, SealError> {
    let identities: [Box<dyn Identity>; 1] = [Box::new(key)];
    let model = SealedModel::open(directory, &identities, policy)?;
    model.tensor_names()?;
    let paths = model.manifest().files.iter().map(|file| &file.path);
    paths
        .map(|path| {
            let plain = model.file(path.as_str())?.read_all(&Work::default())?;
            Ok((path.to_string(), plain.to_vec()))
        })
        .collect()
}

fn plain() -> BTreeMap<String, Vec<u8>> {
    let names = [
        "config.json",
        "empty.txt",
        "model.safetensors",
        "sub/w\u{e9}ights.bin",
    ];
    names
        .iter()
        .map(|name| {
            let bytes = fs::read(vectors().join("plain").join(name)).unwrap();
            ((*name).to_owned(), bytes)
        })
        .collect()
}

#[test]
fn what_the_reference_sealed_is_opened() {
    let table = table();
    for suite in Suite::ALL {
        for trust in [Trust::Publisher, Trust::KeyHolders] {
            let folder = TempDir::new().unwrap();
            let policy = Policy {
                trust,
                min_version: Some(3),
                ..Policy::publisher(publisher(&table.publisher))
            };
            let directory = vectors().join(suite.name());
            assert_eq!(
                open(&directory, key(folder.path()), policy).unwrap(),
                plain()
            );
        }
    }
}

#[test]
fn what_must_be_refused_is_refused() {
    let table = table();
    for case in &table.cases {
        let folder = TempDir::new().unwrap();
        let directory = folder.path().join("model");
        copy(&vectors().join(&case.model), &directory);
        for operation in &case.ops {
            operation.apply(&directory);
        }
        let trusted = case.policy.publishers.as_ref();
        let policy = Policy {
            publishers: trusted.map_or_else(
                || vec![publisher(&table.publisher)],
                |list| list.iter().map(|text| publisher(text)).collect(),
            ),
            model_id: case.policy.model_id.as_ref().map(|id| id.parse().unwrap()),
            min_version: case.policy.min_version,
            expect_digest: case
                .policy
                .expect_digest
                .as_ref()
                .map(|digest| digest.parse().unwrap()),
            ..Policy::default()
        };
        let what = format!("{}: {}", case.model, case.name);
        match open(&directory, key(folder.path()), policy) {
            Ok(_) => panic!("{what}: accepted"),
            Err(error) => assert_eq!(error_name::name(&error), case.error, "{what}: {error}"),
        }
    }
    assert!(table.cases.len() > 100);
}

/// Python with the packages of the reference, if there is one. It must be there where
/// `SEAL_REFERENCE_PYTHON` names it or `SEAL_TEST_REQUIRE` is 1.
fn python() -> Option<String> {
    let named = std::env::var("SEAL_REFERENCE_PYTHON").ok();
    let required = named.is_some() || std::env::var("SEAL_TEST_REQUIRE").is_ok_and(|v| v == "1");
    let python = named.unwrap_or_else(|| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-c", "import blake3, cryptography"])
        .output()
        .is_ok_and(|output| output.status.success());
    assert!(
        found || !required,
        "{python} has no blake3 and cryptography: pip install -r \
         crates/sealed-weights/tests/reference/requirements.txt"
    );
    if !found {
        println!("skipped: {python} has no blake3 and cryptography");
    }
    found.then_some(python)
}

fn run(python: &str, program: &str, arguments: &[&str]) -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let output = Command::new(python)
        .arg("-B")
        .arg(programs.join(program))
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_vectors_are_what_the_reference_makes() {
    if let Some(python) = python() {
        run(
            &python,
            "make_vectors.py",
            &["--check", vectors().to_str().unwrap()],
        );
    }
}

#[test]
fn the_reference_opens_what_this_crate_sealed() {
    let Some(python) = python() else { return };
    for suite in Suite::ALL {
        for public_header in [false, true] {
            let folder = TempDir::new().unwrap();
            let (sealed, out) = (folder.path().join("sealed"), folder.path().join("out"));
            let signer = PublisherKey::from_seed(&Zeroizing::new([7; 32])).unwrap();
            let options = SealOptions {
                model: Some("made by \u{201c}Rust\u{201d} \"\\/".to_owned()),
                suite,
                chunk_size: ChunkSize::new(4096).unwrap(),
                public_header,
                sync: false,
                ..SealOptions::default()
            };
            let recipients: [Box<dyn Recipient>; 1] = [Box::new(key(folder.path()))];
            SealJob::prepare(&vectors().join("plain"), &sealed, options)
                .unwrap()
                .run(&recipients, &signer, &Work::default())
                .unwrap();
            let key = folder.path().join("key");
            run(
                &python,
                "sealed_reference.py",
                &[
                    sealed.to_str().unwrap(),
                    "--key",
                    key.to_str().unwrap(),
                    "--publisher",
                    &signer.id().to_string(),
                    "--to",
                    out.to_str().unwrap(),
                ],
            );
            for (name, bytes) in plain() {
                assert_eq!(fs::read(out.join(name)).unwrap(), bytes);
            }
        }
    }
}
