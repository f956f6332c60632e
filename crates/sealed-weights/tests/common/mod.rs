//! A model in a temporary directory, and keys for it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use sealed_weights::error::SealError;
use sealed_weights::model::{Policy, SealJob, SealOptions, SealedModel};
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipient::{Identity, Recipient};
use sealed_weights::sealed_file::Trust;
use sealed_weights::signing::PublisherKey;
use sealed_weights::work::{Silent, Work};
use tempfile::TempDir;
use zeroize::Zeroizing;

pub struct Fixture {
    pub folder: TempDir,
    pub publisher: PublisherKey,
}

impl Fixture {
    pub fn new() -> Fixture {
        let folder = TempDir::new().unwrap();
        KeyFile::create(&folder.path().join("key")).unwrap();
        KeyFile::create(&folder.path().join("other")).unwrap();
        fs::create_dir_all(folder.path().join("plain/sub")).unwrap();
        Fixture {
            publisher: PublisherKey::from_seed(&Zeroizing::new([5; 32])).unwrap(),
            folder,
        }
    }

    pub fn plain(&self) -> PathBuf {
        self.folder.path().join("plain")
    }

    pub fn sealed(&self) -> PathBuf {
        self.folder.path().join("sealed")
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.plain().join(name), bytes).unwrap();
    }

    pub fn recipient(&self, name: &str) -> Box<dyn Recipient> {
        Box::new(KeyFile::read(&self.folder.path().join(name)).unwrap())
    }

    pub fn identity(&self, name: &str) -> Box<dyn Identity> {
        Box::new(KeyFile::read(&self.folder.path().join(name)).unwrap())
    }

    pub fn seal(&self, options: SealOptions, work: &Work<'_>) {
        self.try_seal(&self.plain(), &self.sealed(), options, work)
            .unwrap();
    }

    pub fn try_seal(
        &self,
        source: &Path,
        destination: &Path,
        options: SealOptions,
        work: &Work<'_>,
    ) -> Result<(), SealError> {
        SealJob::prepare(source, destination, options)?
            .run(&[self.recipient("key")], &self.publisher, work)
            .map(|_| ())
    }

    pub fn open(&self, key: &str, trust: Trust) -> SealedModel {
        let policy = Policy {
            trust,
            ..Policy::publisher(self.publisher.id())
        };
        SealedModel::open(&self.sealed(), &[self.identity(key)], policy).unwrap()
    }

    pub fn open_at(&self, path: &Path) -> SealedModel {
        let policy = Policy::publisher(self.publisher.id());
        SealedModel::open(path, &[self.identity("key")], policy).unwrap()
    }
}

pub fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

pub fn threads(count: usize) -> Work<'static> {
    Work {
        threads: NonZeroUsize::new(count).unwrap(),
        progress: &Silent,
    }
}

pub fn files_below(directory: &Path) -> HashMap<String, Vec<u8>> {
    let mut found = HashMap::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_string_lossy();
                found.insert(name.into_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}
