//! A sealed directory under attack, and every way to open it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sealed_weights::error::SealError;
use sealed_weights::manifest::MANIFEST_NAME;
use sealed_weights::model::{
    ExtractOptions, Extraction, Policy, RotateOptions, Rotation, SealedModel, SignedModel,
};
use sealed_weights::recipient::Identity;
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipients::RECIPIENTS_NAME;
use sealed_weights::sealed_file::Trust;
use sealed_weights::suite::Suite;
use sealed_weights::work::{Silent, Work};
use tempfile::TempDir;

pub(crate) use crate::error_name::name;
use crate::forge::{Model, Parts};

/// A way to open a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Manifest and ciphertext against the signature, without a key.
    Keyless,
    /// Every file into memory, against the publisher's signature.
    Publisher,
    /// Every file into memory, against the tags only.
    KeyHolders,
    /// The whole model into a directory.
    Extract,
}

impl Route {
    pub(crate) const ALL: &[Route] = &[
        Route::Keyless,
        Route::Publisher,
        Route::KeyHolders,
        Route::Extract,
    ];
    /// Those that check against the signature.
    pub(crate) const SIGNED: &[Route] = &[Route::Keyless, Route::Publisher, Route::Extract];
    /// Those that need a key.
    pub(crate) const KEYED: &[Route] = &[Route::Publisher, Route::KeyHolders, Route::Extract];
}

/// Names of the errors seen.
pub(crate) type Refusals = BTreeSet<String>;

/// One sealed model in a folder of its own.
pub(crate) struct Site {
    folder: TempDir,
    pub model: Model,
    pub policy: Policy,
    reader: &'static str,
}

impl Site {
    /// Writes the standard model and asserts that it opens in every way.
    pub(crate) fn new(suite: Suite) -> Site {
        Site::with(Model::standard(suite))
    }

    /// The same for a model of choice.
    pub(crate) fn with(model: Model) -> Site {
        let site = Site {
            folder: TempDir::new().unwrap(),
            policy: Policy::publisher(model.publisher().id()),
            model,
            reader: "reader",
        };
        for (number, name) in (1..).zip(["reader", "other", "stranger"]) {
            let text = format!("sealed-weights-key-1 {}\n", hex::encode([number; 32]));
            let file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(site.folder.path().join(name))
                .unwrap();
            file.write_all_at(text.as_bytes(), 0).unwrap();
        }
        let keys = [site.key_file("reader"), site.key_file("other")];
        site.model.write(&site.directory(), &[&keys[0], &keys[1]]);
        site.accepted(Route::ALL);
        site
    }

    /// Whoever opens from now on.
    pub(crate) fn read_as(&mut self, reader: &'static str) {
        self.reader = reader;
    }

    pub(crate) fn key_file(&self, name: &str) -> KeyFile {
        KeyFile::read(&self.folder.path().join(name)).unwrap()
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().join("model")
    }

    /// A path in the sealed directory.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// The sealed file of that number.
    pub(crate) fn sealed(&self, file: usize) -> PathBuf {
        self.model.files[file]
            .core
            .path
            .sealed_under(&self.directory())
    }

    pub(crate) fn document(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// Puts a document in place, and asserts that no way opens the model.
    pub(crate) fn refused_with_document(
        &self,
        name: &str,
        bytes: &[u8],
        routes: &[Route],
    ) -> Refusals {
        let before = fs::read(self.at(name)).unwrap();
        assert_ne!(before, bytes, "{name} is unaltered");
        fs::write(self.at(name), bytes).unwrap();
        let refusals = self.refused(routes);
        fs::write(self.at(name), before).unwrap();
        refusals
    }

    /// Puts a file in place, and asserts that no way opens the model.
    pub(crate) fn refused_with_file(
        &self,
        file: usize,
        bytes: &[u8],
        routes: &[Route],
    ) -> Refusals {
        assert_ne!(self.model.files[file].bytes(), bytes, "it is unaltered");
        fs::write(self.sealed(file), bytes).unwrap();
        let refusals = self.refused(routes);
        fs::write(self.sealed(file), self.model.files[file].bytes()).unwrap();
        refusals
    }

    /// Puts a file in place together with a manifest that lists it, made and signed with the
    /// model's own keys.
    pub(crate) fn refused_though_listed(
        &self,
        file: usize,
        parts: Parts,
        routes: &[Route],
    ) -> Refusals {
        let mut forged = self.model.clone();
        forged.files[file] = parts;
        forged.write_files(&self.directory());
        forged.write_manifest(&self.directory());
        let refusals = self.refused(routes);
        self.restore();
        refusals
    }

    /// Writes files and manifest as they were.
    pub(crate) fn restore(&self) {
        self.model.write_files(&self.directory());
        self.model.write_manifest(&self.directory());
    }

    /// Flips single bits of a file: those of `bits` of every byte of `places` that `step` leaves.
    pub(crate) fn refused_with_flips(
        &self,
        path: &Path,
        places: impl Iterator<Item = usize>,
        bits: &[u8],
        routes: &[Route],
    ) -> Refusals {
        let before = fs::read(path).unwrap();
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        let mut refusals = Refusals::new();
        for place in places {
            for bit in bits {
                file.write_all_at(&[before[place] ^ 1 << bit], place as u64)
                    .unwrap();
                refusals.extend(self.refused_as_is(routes));
                file.write_all_at(&before[place..=place], place as u64)
                    .unwrap();
            }
        }
        assert!(!refusals.is_empty(), "no bit was flipped");
        assert_eq!(fs::read(path).unwrap(), before);
        self.accepted(routes);
        refusals
    }

    /// Asserts that the model opens.
    pub(crate) fn accepted(&self, routes: &[Route]) {
        for &route in routes {
            if let Err(error) = self.open(route) {
                panic!("{route:?}: {error}");
            }
        }
    }

    /// Asserts that the model does not open, that nothing of it gets out, and that nothing on the
    /// disk changes.
    pub(crate) fn refused(&self, routes: &[Route]) -> Refusals {
        let before = snapshot(self.folder.path());
        let refusals = self.refused_as_is(routes);
        assert_eq!(snapshot(self.folder.path()), before, "the disk has changed");
        refusals
    }

    fn refused_as_is(&self, routes: &[Route]) -> Refusals {
        routes
            .iter()
            .map(|&route| match self.open(route) {
                Ok(()) => panic!("{route:?} accepts it"),
                Err(error) => name(&error),
            })
            .collect()
    }

    /// Opens everything. Buffers are all zero after a failure, and there is no output directory.
    pub(crate) fn open(&self, route: Route) -> Result<(), SealError> {
        let work = Work {
            threads: NonZeroUsize::MIN,
            progress: &Silent,
        };
        if route == Route::Keyless {
            return SignedModel::read(&self.directory(), self.policy.clone())?
                .verify_content(&work);
        }
        let model = self.unlock(route)?;
        if route == Route::Extract {
            let out = self.folder.path().join("out");
            let options = ExtractOptions { allow_disk: true };
            let opened = Extraction::prepare(&model, &out, options)?.run(&work);
            assert_eq!(opened.is_ok(), out.exists());
            if opened.is_ok() {
                fs::remove_dir_all(out).unwrap();
            }
            return opened;
        }
        for listed in &model.manifest().files {
            let file = model.file(listed.path.as_str())?;
            let mut plain = vec![0xaa; listed.length as usize];
            let read = file.read_into(0, &mut plain, &work);
            if read.is_err() {
                assert!(plain.iter().all(|byte| *byte == 0), "plaintext is left");
            }
            read?;
        }
        model.tensor_names().map(drop)
    }

    /// Opens the directory with the reader's key.
    pub(crate) fn unlock(&self, route: Route) -> Result<SealedModel, SealError> {
        let identities: [Box<dyn Identity>; 1] = [Box::new(self.key_file(self.reader))];
        let policy = Policy {
            trust: match route {
                Route::KeyHolders => Trust::KeyHolders,
                _ => Trust::Publisher,
            },
            ..self.policy.clone()
        };
        SealedModel::open(&self.directory(), &identities, policy)
    }

    /// Asserts that the model cannot be rotated, and that it stays as it is.
    pub(crate) fn refuses_to_rotate(&self, route: Route) -> Refusals {
        let before = snapshot(self.folder.path());
        let model = self.unlock(route).unwrap();
        let rotated = Rotation::prepare(&model, RotateOptions::default())
            .unwrap()
            .run(
                &[Box::new(self.key_file("reader"))],
                &self.model.publisher(),
                &Work::default(),
            );
        assert_eq!(snapshot(self.folder.path()), before, "the disk has changed");
        Refusals::from([name(&rotated.unwrap_err())])
    }

    /// The plaintext of one file.
    pub(crate) fn plain(&self, file: usize, route: Route) -> Result<Vec<u8>, SealError> {
        let path = &self.model.files[file].core.path;
        let read = self
            .unlock(route)?
            .file(path.as_str())?
            .read_all(&Work::default())?;
        Ok(read.to_vec())
    }

    /// Rewrites the recipients section for these key files.
    pub(crate) fn rewrap(&self, names: &[&str]) -> String {
        let keys: Vec<KeyFile> = names.iter().map(|name| self.key_file(name)).collect();
        let recipients: Vec<_> = keys.iter().map(|key| key as _).collect();
        let text = self.model.recipients(&recipients);
        fs::write(self.at(RECIPIENTS_NAME), &text).unwrap();
        text
    }
}

/// Every file below a directory with its bytes; links as they are.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let bytes = if kind.is_dir() {
                open.push(path.clone());
                b"directory".to_vec()
            } else if kind.is_file() {
                fs::read(&path).unwrap()
            } else {
                fs::read_link(&path).map_or(b"special".to_vec(), |to| {
                    to.into_os_string().into_encoded_bytes()
                })
            };
            found.insert(path, bytes);
        }
    }
    found
}

/// Both documents of a sealed directory.
pub(crate) const DOCUMENTS: [&str; 2] = [MANIFEST_NAME, RECIPIENTS_NAME];
