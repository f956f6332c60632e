//! What a key holder can make: sealed files, manifests and recipients sections, piece by piece.

use std::fs;
use std::ops::Range;
use std::path::Path;

use sealed_weights::cipher::Tag;
use sealed_weights::content::{ChunkHash, chunk_hash, content_root};
use sealed_weights::core_header::{ChunkSize, CoreHeader, PublicHeader};
use sealed_weights::ids::{FileId, ModelId};
use sealed_weights::manifest::{MANIFEST_NAME, Manifest, ManifestFile, SignedManifest};
use sealed_weights::recipient::{Recipient, WrapContext};
use sealed_weights::recipients::{RECIPIENTS_NAME, Recipients, RecipientsFile};
use sealed_weights::schedule::FileSchedule;
use sealed_weights::secret::ModelKey;
use sealed_weights::signing::PublisherKey;
use sealed_weights::suite::Suite;
use zeroize::Zeroizing;

/// Bytes of a chunk.
pub(crate) const CHUNK: usize = 4096;
pub(crate) const CONFIG: usize = 0;
pub(crate) const EMPTY: usize = 1;
pub(crate) const FIRST: usize = 2;
pub(crate) const SECOND: usize = 3;

/// A sealed file in its parts.
#[derive(Clone)]
pub(crate) struct Parts {
    pub core: CoreHeader,
    pub commitment: [u8; 32],
    pub public: Vec<u8>,
    pub tags: Vec<Tag>,
    pub hashes: Vec<ChunkHash>,
    pub data: Vec<u8>,
}

impl Parts {
    /// Seals `plain` with this header, whose length is set.
    pub(crate) fn seal(key: &ModelKey, mut core: CoreHeader, plain: &[u8]) -> Parts {
        core.length = plain.len() as u64;
        let public = core
            .public_header
            .map_or(0, |public| public.length as usize);
        let schedule = FileSchedule::derive(key, &core).unwrap();
        let mut data = plain.to_vec();
        let tags = (0..)
            .zip(data.chunks_mut(core.chunk_size.bytes()))
            .map(|(index, chunk)| schedule.cipher().seal_in_place(index, chunk).unwrap())
            .collect();
        let mut parts = Parts {
            commitment: *schedule.commitment(),
            public: plain[..public].to_vec(),
            tags,
            hashes: Vec::new(),
            data,
            core,
        };
        parts.rehash();
        parts
    }

    /// Hashes of the chunks as they are.
    pub(crate) fn rehash(&mut self) {
        self.hashes = self.data.chunks(CHUNK).map(chunk_hash).collect();
    }

    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.core.encode();
        bytes.extend_from_slice(&self.commitment);
        bytes.extend_from_slice(&self.public);
        bytes.extend_from_slice(self.tags.as_flattened());
        bytes.extend_from_slice(self.hashes.as_flattened());
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        bytes.extend_from_slice(&self.data);
        bytes
    }

    /// How a manifest would list it.
    pub(crate) fn listed(&self) -> ManifestFile {
        let core = self.core.digest();
        ManifestFile {
            path: self.core.path.clone(),
            length: self.core.length,
            file_id: self.core.file_id,
            core,
            root: content_root(&core, &self.commitment, &self.tags, &self.hashes),
        }
    }

    /// The bytes of a chunk in `data`.
    pub(crate) fn chunk(&self, index: usize) -> Range<usize> {
        index * CHUNK..((index + 1) * CHUNK).min(self.data.len())
    }

    /// Exchanges the ciphertext of two whole chunks.
    pub(crate) fn swap_data(&mut self, one: usize, two: usize) {
        let (one, two) = (self.chunk(one), self.chunk(two));
        let first = self.data[one.clone()].to_vec();
        self.data.copy_within(two.clone(), one.start);
        self.data[two].copy_from_slice(&first);
    }
}

/// A model with everything that its makers know.
#[derive(Clone)]
pub(crate) struct Model {
    pub name: &'static str,
    pub id: ModelId,
    pub version: u64,
    pub key: ModelKey,
    pub seed: u8,
    pub files: Vec<Parts>,
}

impl Model {
    /// Four files of two chunk counts, sealed with fixed keys; the first shard has a public header.
    pub(crate) fn standard(suite: Suite) -> Model {
        Model::of("standard", 1, suite)
    }

    /// Another model with the same paths and lengths; `number` decides its key and identifiers.
    pub(crate) fn of(name: &'static str, number: u8, suite: Suite) -> Model {
        let id = ModelId::new([number; 16]);
        let key = model_key(number);
        let plain = [
            ("config.json", br#"{"hidden_size":64}"#.to_vec(), false),
            ("empty.txt", Vec::new(), false),
            ("model-00001.safetensors", shard(["a", "b"], number), true),
            ("model-00002.safetensors", shard(["c", "d"], number), false),
        ];
        let files = (0..)
            .zip(plain)
            .map(|(place, (path, plain, public))| {
                let core = core(suite, id, [16 * number + place; 16], path);
                let core = if public { publish(core, &plain) } else { core };
                Parts::seal(&key, core, &plain)
            })
            .collect();
        Model {
            name,
            id,
            version: 7,
            key,
            seed: 5,
            files,
        }
    }

    /// The key of whoever signs.
    pub(crate) fn publisher(&self) -> PublisherKey {
        PublisherKey::from_seed(&Zeroizing::new([self.seed; 32])).unwrap()
    }

    /// The manifest that lists the files as they are.
    pub(crate) fn manifest(&self) -> Manifest {
        Manifest {
            model: self.name.to_owned(),
            model_id: self.id,
            version: self.version,
            created: 1_700_000_000,
            key_id: self.key.id(self.id),
            files: self.files.iter().map(Parts::listed).collect(),
        }
    }

    /// The manifest's text, signed.
    pub(crate) fn signed(&self) -> String {
        SignedManifest::sign(self.manifest(), &self.key, &self.publisher())
            .unwrap()
            .text()
            .to_owned()
    }

    /// What the wrapped keys are bound to.
    pub(crate) fn context(&self) -> WrapContext {
        WrapContext::new(self.name, self.id, self.key.id(self.id))
    }

    /// The recipients section's text.
    pub(crate) fn recipients(&self, recipients: &[&dyn Recipient]) -> String {
        let entries = recipients
            .iter()
            .map(|recipient| recipient.wrap(&self.key, &self.context()).unwrap())
            .collect();
        let section = Recipients {
            model: self.name.to_owned(),
            model_id: self.id,
            key_id: self.key.id(self.id),
            recipients: entries,
        };
        RecipientsFile::write(section, &self.key)
            .unwrap()
            .text()
            .to_owned()
    }

    /// Writes the sealed files, each where `core.path` says.
    pub(crate) fn write_files(&self, directory: &Path) {
        for file in &self.files {
            fs::write(file.core.path.sealed_under(directory), file.bytes()).unwrap();
        }
    }

    /// Writes the manifest that lists the files as they are.
    pub(crate) fn write_manifest(&self, directory: &Path) {
        fs::write(directory.join(MANIFEST_NAME), self.signed()).unwrap();
    }

    /// Writes all, for these recipients.
    pub(crate) fn write(&self, directory: &Path, recipients: &[&dyn Recipient]) {
        fs::create_dir_all(directory).unwrap();
        self.write_files(directory);
        self.write_manifest(directory);
        fs::write(directory.join(RECIPIENTS_NAME), self.recipients(recipients)).unwrap();
    }
}

pub(crate) fn model_key(number: u8) -> ModelKey {
    ModelKey::new(Zeroizing::new([0x40 + number; 32]))
}

pub(crate) fn core(suite: Suite, model_id: ModelId, file_id: [u8; 16], path: &str) -> CoreHeader {
    CoreHeader {
        suite,
        chunk_size: ChunkSize::new(CHUNK as u32).unwrap(),
        length: 0,
        file_id: FileId::new(file_id),
        model_id,
        salt: [file_id[0] ^ 0x5a; 32],
        path: path.parse().unwrap(),
        public_header: None,
    }
}

fn publish(core: CoreHeader, plain: &[u8]) -> CoreHeader {
    let json = u64::from_le_bytes(plain[..8].try_into().unwrap());
    let length = 8 + json as u32;
    CoreHeader {
        public_header: Some(PublicHeader {
            length,
            hash: *blake3::hash(&plain[..length as usize]).as_bytes(),
        }),
        ..core
    }
}

/// A safetensors file of two byte tensors, four chunks and a part of one.
fn shard(names: [&str; 2], number: u8) -> Vec<u8> {
    let header = format!(
        r#"{{"{}":{{"dtype":"U8","shape":[10000],"data_offsets":[0,10000]}},"{}":{{"dtype":"U8","shape":[7000],"data_offsets":[10000,17000]}}}}"#,
        names[0], names[1]
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend((0..17_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 ^ number));
    file
}
